"""Rotary frequencies that hang on the length of an input: maps are those of a model that has read nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

import headscope as hs
from headscope.attention.recording import evaluating
from headscope.errors import InputError
from headscope.models.rotary import remembered
from tests.helpers.small_models import BORDER, SCALED, scaled
from tests.helpers.small_tokenizers import byte_level

IDS = np.random.default_rng(1).integers(12, 60, 2 * BORDER + 7)


def tokens_of(ids: Any) -> hs.Tokens:
    return hs.Tokens([str(number) for number in ids], ids=np.array(ids))


def fresh(kind: str, **options: Any) -> Any:
    module = scaled(kind, **options)
    module.set_attn_implementation("eager")
    return module


@pytest.mark.slow
@pytest.mark.parametrize("kind", SCALED)
@pytest.mark.parametrize("length", [BORDER, BORDER + 1, BORDER + 9])
def test_maps_are_those_of_a_model_that_has_read_nothing_longer(kind: str, length: int) -> None:
    module = scaled(kind)
    model = hs.load(module)
    with torch.no_grad():
        module(torch.tensor(IDS[None]))
        own = fresh(kind)(torch.tensor(IDS[None, :length]), output_attentions=True).attentions
    state = {name: tensor.clone() for name, tensor in module.named_buffers()}
    maps: Any = hs.capture(model, tokens_of(IDS[:length]))
    for layer, weights in enumerate(own):
        assert_allclose(maps.layers[layer], weights[0], atol=1e-6)
    if kind == "llama":
        assert model.max_length is None
        assert all(torch.equal(tensor, state[name]) for name, tensor in module.named_buffers())


@pytest.mark.slow
@pytest.mark.parametrize("kind", SCALED)
@pytest.mark.parametrize("start", [BORDER - 4, BORDER, BORDER + 3])
def test_what_a_model_used_while_it_wrote(kind: str, start: int) -> None:
    """Of a model that reads all again at the border (Phi-3) each row is the one that wrote."""
    module = fresh(kind)
    given = torch.tensor(IDS[None, :start])
    options = {"max_new_tokens": 8, "do_sample": False, "output_attentions": True}
    own = module.generate(given, **options, return_dict_in_generate=True)
    model = hs.load(scaled(kind))
    hs.capture(model, tokens_of(IDS[:55]))
    made: Any = hs.generate(model, tokens_of(IDS[:start]), max_new_tokens=8)
    assert made.query.ids.tolist() == own.sequences[0, :-1].tolist()
    for layer, maps in enumerate(made.layers):
        row = 0
        for step in own.attentions:
            weights = step[layer][0]
            rows = weights[:, max(0, row - weights.shape[2]) :] if row == 0 else weights[:, -1:]
            end = row + rows.shape[1]
            assert_allclose(maps[:, row:end, : weights.shape[2]], rows, atol=1e-6)
            row = end
        assert row == len(made.query)


def test_only_inputs_of_one_length_share_a_batch_above_the_border() -> None:
    tokenizer = byte_level()
    model = hs.load((scaled("llama", tokens=len(tokenizer)), tokenizer))
    texts = [("cat dog " * 40)[: 12 + 3 * number] for number in range(16)]
    corpus = hs.corpora.texts(texts)
    together = hs.measure(model, corpus, measures=["entropy"], batch_size=8)
    alone = hs.measure(model, corpus, measures=["entropy"], batch_size=1)
    assert_allclose(together["entropy"].values, alone["entropy"].values, atol=1e-6)
    lengths = [
        {len(example.tokens or ()) for example in batch}
        for block in hs.corpora.blocks(corpus.encoded(model), same_length=model.same_length)
        for batch in block
    ]
    assert any(len(some) > 1 for some in lengths)
    assert all(len(some) == 1 for some in lengths if max(some) > BORDER)
    with pytest.raises(InputError, match="expected inputs of one length in a batch"):
        model.inputs([model.encode(texts[-1]), model.encode(texts[0])])


def test_a_module_that_remembers_is_left_with_what_it_knew() -> None:
    module = scaled("llama")
    module(torch.tensor(IDS[None]))
    (part, _, _) = next(remembered(module.modules()))
    known = part.inv_freq.clone()
    with evaluating(module):
        module(torch.tensor(IDS[None, :30]))
        assert not torch.equal(part.inv_freq, known)
    assert torch.equal(part.inv_freq, known)
    assert part.max_seq_len_cached == len(IDS)
