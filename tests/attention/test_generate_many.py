"""Several prompts: each is written as if it were alone, and one that cannot be is told by its number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers

import headscope as hs
from headscope.models import Model
from tests.helpers.small_models import sharpen
from tests.helpers.small_tokenizers import byte_level

PROMPTS = ["The cat sat.", "She opened the door and"]


@pytest.fixture(scope="module")
def model() -> Model:
    torch.manual_seed(0)
    size: dict[str, Any] = {"n_embd": 32, "n_layer": 2, "n_head": 4, "bos_token_id": 0, "eos_token_id": 0}
    config = transformers.GPT2Config(vocab_size=len(byte_level()), **size)
    return hs.load((sharpen(transformers.GPT2LMHeadModel(config)), byte_level()))


@pytest.mark.parametrize("options", [{}, {"do_sample": True, "seed": 3}])
def test_a_list_of_prompts_gives_a_list_of_maps(model: Model, options: dict[str, Any]) -> None:
    several = hs.generate(model, PROMPTS, max_new_tokens=4, **options)
    assert isinstance(several, list)
    for maps, prompt in zip(several, PROMPTS, strict=True):
        alone = hs.generate(model, prompt, max_new_tokens=4, **options)
        assert maps.query.ids.tolist() == alone.query.ids.tolist()
        assert all(
            np.array_equal(mine, theirs) for mine, theirs in zip(maps.layers, alone.layers, strict=True)
        )
    one = hs.generate(model, [model.encode(PROMPTS[0])], max_new_tokens=4, **options)
    assert len(one) == 1
