"""A joint transformer in thirty lines, without a library: its axis is named by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from torch import Tensor, nn
from torch.nn import functional as F

import headscope as hs
from headscope.errors import InputError


class Block(nn.Module):
    """Words and latents have weights of their own, and attend together (Esser et al. 2024)."""

    def __init__(self, size: int = 16, heads: int = 2) -> None:
        super().__init__()
        self.heads = heads
        self.words, self.latents = nn.Linear(size, 3 * size), nn.Linear(size, 3 * size)
        self.words_out, self.latents_out = nn.Linear(size, size), nn.Linear(size, size)

    def forward(self, words: Tensor, latents: Tensor) -> tuple[Tensor, Tensor]:
        both = torch.cat([self.words(words), self.latents(latents)], 1)
        q, k, v = (x.unflatten(-1, (self.heads, -1)).transpose(1, 2) for x in both.chunk(3, -1))
        mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        count = words.shape[1]
        return words + self.words_out(mixed[:, :count]), latents + self.latents_out(mixed[:, count:])


class JointTransformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(2))

    def forward(self, words: Tensor, latents: Tensor) -> Tensor:
        for block in self.blocks:
            words, latents = block(words, latents)
        return latents


@pytest.fixture(scope="module")
def made() -> tuple[JointTransformer, dict[str, Tensor]]:
    torch.manual_seed(0)
    module = JointTransformer().double().eval()
    return module, {"words": torch.randn(1, 8, 16).double(), "latents": torch.randn(1, 16, 16).double()}


def test_latents_look_at_words(made: tuple[JointTransformer, dict[str, Tensor]]) -> None:
    module, inputs = made
    picture = hs.Picture(np.zeros((8, 8, 3), np.uint8))
    axis = hs.Axis({"text": 8, "latent": hs.Grid(4, 4, picture=picture)})
    maps = hs.capture(hs.load(module, inputs=inputs), axis, inputs=inputs)
    assert isinstance(maps, hs.AttentionMaps)
    words, latents = inputs["words"], inputs["latents"]
    for layer, block in zip(maps.layers, module.blocks, strict=True):
        assert isinstance(block, Block)
        with torch.no_grad():
            both = torch.cat([block.words(words), block.latents(latents)], 1)[0]
            q, k, _ = (x.unflatten(-1, (2, -1)).transpose(0, 1) for x in both.chunk(3, -1))
            assert_allclose(layer, (q @ k.mT * 8**-0.5).softmax(-1), atol=1e-12)
            words, latents = block(words, latents)
    text, latent = maps.key.mask("text"), maps.query.mask("latent")
    heat = maps.weights[:, :, latent][..., text].mean((0, 1))
    assert_allclose(heat, maps.weights[:, :, 8:, :8].mean((0, 1)))
    assert maps.query.boxes is not None
    assert maps.query.boxes[-1].tolist() == [6, 6, 8, 8]


def test_an_axis_of_another_length_is_refused(made: tuple[JointTransformer, dict[str, Tensor]]) -> None:
    module, inputs = made
    with pytest.raises(
        InputError, match=r"text: expected 24 tokens, as JointTransformer attends over, found 9"
    ):
        hs.capture(hs.load(module, inputs=inputs), hs.Axis({"text": 9}), inputs=inputs)
