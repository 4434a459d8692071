"""Modules whose padding or batch is their own: a mask that is not heeded, inputs without padding, PyTorch's fast path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from numpy.testing import assert_allclose
from torch import Tensor, nn
from torch.nn import functional as F

import headscope as hs
from headscope import corpora
from headscope.errors import HeadscopeWarning, RefusedError
from headscope.models import Model
from tests.helpers.small_models import sharpen, sizes
from tests.helpers.small_tokenizers import demo

LONG, SHORT = "The cat sat on the mat near the door of the old house.", "It slept."


def padded(*names: str) -> dict[str, Tensor]:
    batch = demo()([LONG, SHORT], padding=True, return_tensors="pt")
    return {name: batch[name] for name in names}


class Denoiser(transformers.LlamaModel):
    """A language model of diffusion: it looks both ways, and takes a mask that it does not heed."""

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Any:
        count, tokens = input_ids.shape
        everything = torch.zeros(count, 1, tokens, tokens)
        return super().forward(input_ids=input_ids, attention_mask=everything, use_cache=False)


@pytest.fixture(scope="module")
def denoiser() -> Model:
    torch.manual_seed(0)
    config = transformers.LlamaConfig(vocab_size=len(demo()), **sizes(inner=48, keys=2))
    return hs.load((sharpen(Denoiser(config)), demo()))


def test_a_mask_that_is_not_heeded_is_told(denoiser: Model) -> None:
    assert not denoiser.causal
    assert denoiser.same_length == 1
    given = padded("input_ids", "attention_mask")
    with pytest.raises(
        RefusedError, match=r"found 0\.\d\d of a token's attention on it \(input 1, layer 0\)"
    ):
        hs.capture(denoiser, inputs=given)
    alone = [hs.capture(denoiser, text) for text in (LONG, SHORT)]
    assert all(maps.sight(0).all() for maps in alone)
    denoiser.module.set_attn_implementation("eager")
    with torch.no_grad():
        theirs = transformers.LlamaModel.forward(
            denoiser.module,
            given["input_ids"][1:, :5],
            attention_mask=torch.zeros(1, 1, 5, 5),
            output_attentions=True,
        ).attentions
    for mine, expected in zip(alone[1].layers, theirs, strict=True):
        assert_allclose(mine, expected[0].numpy(), atol=1e-5)
    corpus = corpora.texts([LONG, SHORT])
    together, single = (hs.measure(denoiser, corpus, batch_size=size) for size in (8, 1))
    assert_allclose(together["previous"].values, single["previous"].values, atol=1e-6)


class Convolved(nn.Module):
    """Its mask hides keys, but a convolution reads the padding beside a text."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.words = nn.Embedding(len(demo()), 32)
        self.beside = nn.Conv1d(32, 32, 3, padding=1)
        self.attention = nn.MultiheadAttention(32, 4, batch_first=True)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        states = self.beside(self.words(input_ids).mT).mT
        return self.attention(states, states, states, key_padding_mask=attention_mask == 0)[0]


def test_padding_that_moves_a_map_is_told() -> None:
    model = hs.load((Convolved().eval(), demo()))
    with pytest.warns(
        HeadscopeWarning, match="padding moves the attention of Convolved, so the maps of the shorter"
    ):
        both = hs.capture(model, inputs=padded("input_ids", "attention_mask"))
    alone = hs.capture(model, SHORT)
    assert np.abs(both[1].layers[0] - alone.layers[0]).max() > 1e-4


class Unpadded(nn.Module):
    """Drops the padding, and attends over all texts of a batch in one call, each to itself."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.words = nn.Embedding(len(demo()), 32)
        self.query, self.key, self.value = (nn.Linear(32, 32) for _ in range(3))

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        keep = attention_mask.bool()
        states = self.words(input_ids[keep])[None]
        text = torch.arange(len(input_ids)).repeat_interleave(keep.sum(1))
        q, k, v = (
            of(states).unflatten(2, (4, 8)).transpose(1, 2) for of in (self.query, self.key, self.value)
        )
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=text[:, None] == text)
        out = states.new_zeros(*input_ids.shape, 32)
        out[keep] = mixed.transpose(1, 2).flatten(2)[0]
        return out


def test_several_inputs_in_one_call_are_told_and_each_alone_is_read() -> None:
    module = Unpadded().eval()
    model = hs.load((module, demo()))
    given = padded("input_ids", "attention_mask")
    total = int(given["attention_mask"].sum())
    with pytest.raises(
        RefusedError, match=rf"found several inputs in one call \({total} positions\); give one at a time"
    ):
        hs.capture(model, inputs=given)
    corpus = corpora.texts([LONG, SHORT])
    with pytest.raises(
        RefusedError, match=rf"found several inputs in one call \({total} positions\); batch_size=1"
    ):
        hs.measure(model, corpus)
    assert int(hs.measure(model, corpus, batch_size=1)["previous_n"].max()) == total - 2
    states = module.words(given["input_ids"][1, :5])
    q, k = (of(states).unflatten(1, (4, 8)).transpose(0, 1) for of in (module.query, module.key))
    expected = (q @ k.mT / 8**0.5).softmax(-1)
    assert_allclose(hs.capture(model, SHORT).layers[0], expected.detach().numpy(), atol=1e-6)


class Encoder(nn.Module):
    def __init__(self, nested: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.words = nn.Embedding(len(demo()), 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=nested)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return self.layers(self.words(input_ids), src_key_padding_mask=attention_mask == 0)


def layer_by_layer(module: Encoder, given: Mapping[str, Tensor]) -> list[Tensor]:
    """The weights of each layer ``[batch head query key]``, by its own parameters."""
    states, weights = module.words(given["input_ids"]), []
    for layer in module.layers.layers:
        own: Any = layer
        q, k, _ = F.linear(states, own.self_attn.in_proj_weight, own.self_attn.in_proj_bias).chunk(3, -1)
        q, k = (x.unflatten(2, (4, 8)).transpose(1, 2) for x in (q, k))
        scores = (q @ k.mT / 8**0.5).masked_fill(given["attention_mask"][:, None, None] == 0, -torch.inf)
        weights.append(scores.softmax(-1))
        states = own(states, src_key_padding_mask=given["attention_mask"] == 0)
    return weights


@pytest.mark.parametrize("nested", [True, False])
def test_the_fast_path_of_pytorch_is_seen(nested: bool) -> None:
    module = Encoder(nested).eval()
    model = hs.load((module, demo()))
    given = padded("input_ids", "attention_mask")
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        expected = layer_by_layer(module, given)
    finally:
        torch.backends.mha.set_fastpath_enabled(before)
    with torch.no_grad():
        module(**given)  # by the fast path
        both = hs.capture(model, inputs=given)
    lengths = given["attention_mask"].sum(1).tolist()
    for row, (maps, length) in enumerate(zip(both, lengths, strict=True)):
        for mine, theirs in zip(maps.layers, expected, strict=True):
            assert_allclose(mine, theirs[row, :, :length, :length].detach().numpy(), atol=1e-5)
            assert not theirs[row, :, :, length:].any()


class Masked(nn.Module):
    """Takes a mask of pairs without a batch axis, as PyTorch's own layers do."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)

    def forward(self, src: Tensor, src_mask: Tensor) -> Tensor:
        return self.layer(src, src_mask=src_mask)


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("names", [("src", "src_mask"), ("src_mask", "src")])
def test_a_mask_of_pairs_is_of_every_input(rows: int, names: tuple[str, str]) -> None:
    every = {"src": torch.randn(rows, 5, 32), "src_mask": ~torch.ones(5, 5, dtype=torch.bool).tril()}
    given = {name: every[name] for name in names}
    captured = hs.capture(hs.load(Masked().eval(), inputs=given), inputs=given)
    several = captured if isinstance(captured, list) else [captured]
    assert len(several) == rows
    assert all(maps.causal and len(maps.query) == 5 for maps in several)


class Slice(nn.Module):
    """The last 4 of 12 positions look at all before them."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.attention = nn.MultiheadAttention(32, 4, batch_first=True)

    def forward(self, states: Tensor) -> Tensor:
        hidden = ~torch.ones(4, 12, dtype=torch.bool).tril(8)
        return self.attention(states[:, -4:], states, states, attn_mask=hidden, need_weights=False)[0]


def test_queries_that_are_a_slice_see_what_stands_up_to_them() -> None:
    given = {"states": torch.randn(1, 12, 32)}
    module = Slice().eval()
    maps = hs.capture(hs.load(module, inputs=given), inputs=given)
    hidden = ~torch.ones(4, 12, dtype=torch.bool).tril(8)
    states = given["states"]
    _, expected = module.attention(
        states[:, -4:], states, states, attn_mask=hidden, average_attn_weights=False
    )
    assert_allclose(maps.layers[0], expected[0].detach().numpy(), atol=1e-6)
    assert (maps.sight(0) == ~hidden.numpy()).all()
