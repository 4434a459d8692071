"""What a model looked at as it wrote, without the maps of all pairs: memory is linear in length."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from numpy.testing import assert_allclose, assert_array_equal
from torch.utils._python_dispatch import TorchDispatchMode

import headscope as hs
from headscope.attention import generate
from headscope.errors import RefusedError
from headscope.models import Model
from tests.helpers.small_models import sharpen, sizes
from tests.helpers.small_tokenizers import demo

LAYERS, HEADS, LONG = 4, 8, 300


@pytest.fixture(scope="module")
def llama() -> Model:
    torch.manual_seed(0)
    size = sizes(64, LAYERS, HEADS, inner=48, length=400)
    return hs.load(sharpen(transformers.LlamaForCausalLM(transformers.LlamaConfig(vocab_size=60, **size))))


def prompt(count: int) -> hs.Tokens:
    ids = np.random.default_rng(0).integers(3, 60, count)
    return hs.Tokens([str(number) for number in ids], ids=ids)


class Largest(TorchDispatchMode):
    """The largest tensor that is made, and the most that lives between two layers, in numbers."""

    made = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for tensor in out if isinstance(out, tuple | list) else [out]:
            if isinstance(tensor, torch.Tensor):
                self.made = max(self.made, tensor.untyped_storage().nbytes() // 4)
        return out


def test_the_rows_that_wrote_are_those_of_the_whole(llama: Model) -> None:
    given = prompt(20)
    whole = hs.generate(llama, given, max_new_tokens=5)
    rows = hs.generate(llama, given, max_new_tokens=5, rows="written")
    assert isinstance(whole, hs.AttentionMaps)
    assert isinstance(rows, hs.AttentionMaps)
    assert rows.meta["written"] == whole.meta["written"]
    assert rows.weights.shape == (LAYERS, HEADS, 5, 24)
    assert_allclose(rows.weights, whole.weights[:, :, 19:], atol=1e-5)
    assert rows.query.pieces == whole.query.pieces[19:]
    assert rows.key.pieces == whole.key.pieces
    assert_array_equal(rows.key.mask("generated"), np.arange(24) >= 20)
    assert_array_equal(rows.sight(0)[0], np.tri(24, dtype=bool)[19:])


def test_no_map_of_all_pairs_is_made_and_nothing_of_that_size_is_kept(llama: Model) -> None:
    def alive() -> int:
        tensors = [thing for thing in gc.get_objects() if type(thing) is torch.Tensor]
        return sum({t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}.values())

    kept: list[int] = []
    before = alive()
    handle = llama.module.lm_head.register_forward_hook(lambda *_: kept.append(alive() - before))
    try:
        with Largest() as largest:
            maps = hs.generate(llama, prompt(LONG), max_new_tokens=3, rows="written")
    finally:
        handle.remove()
    assert isinstance(maps, hs.AttentionMaps)
    assert maps.weights.nbytes == 4 * LAYERS * HEADS * 3 * (LONG + 2)
    assert largest.made <= 2 * LONG**2  # a mask of all heads; a layer's maps are four times that
    assert max(kept) < 4 * LAYERS * HEADS * LONG**2 / 5
    with Largest() as largest:
        hs.generate(llama, prompt(LONG), max_new_tokens=3)
    assert largest.made >= HEADS * LONG**2


def test_of_an_encoder_decoder_the_words_that_are_written() -> None:
    torch.manual_seed(0)
    size = {
        "d_model": 32,
        "num_layers": 2,
        "num_heads": 4,
        "d_kv": 8,
        "d_ff": 48,
        "decoder_start_token_id": 0,
    }
    module = sharpen(
        transformers.T5ForConditionalGeneration(transformers.T5Config(vocab_size=len(demo()), **size))
    ).double()
    t5 = hs.load((module, demo()))
    whole, rows = (
        hs.generate(t5, "The cat sat.", max_new_tokens=4, rows=rows) for rows in ("all", "written")
    )
    assert [*whole] == ["encoder", "decoder", "cross"]
    assert [*rows] == ["decoder", "cross"]
    for part in rows:
        assert_allclose(rows[part].weights, whole[part].weights, atol=1e-6)


def test_maps_that_do_not_fit_are_refused_with_the_way(llama: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generate, "memory", lambda: 1e6)
    with pytest.raises(
        RefusedError,
        match=r"this machine's memory, found 0\.0 GB .* \(32 heads × 100 × 100 tokens\); rows='written'",
    ):
        hs.generate(llama, prompt(100), max_new_tokens=3)
    assert hs.generate(llama, prompt(100), max_new_tokens=3, rows="written")
