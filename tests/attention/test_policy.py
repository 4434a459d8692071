"""A robot's policy: a prefix of cameras and text that all of it sees, and actions behind it; one camera is not there."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from torch import Tensor, nn
from torch.nn import functional as F

import headscope as hs
from tests.helpers.small_models import small

BASE, WRIST, TEXT, ACTIONS = slice(0, 4), slice(4, 8), slice(8, 13), slice(13, 16)
THERE = np.array([True] * 4 + [False] * 4 + [True] * 8)
BLOCK = np.array([0] * 13 + [1] * 3)


class Policy(nn.Module):
    """Attends under a mask of pairs ``[batch 1 query key]``."""

    def __init__(self, fused: bool, *, size: int = 16, heads: int = 2) -> None:
        super().__init__()
        self.fused, self.heads = fused, heads
        self.project, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)

    def qkv(self, states: Tensor) -> list[Tensor]:
        parts = self.project(states).chunk(3, -1)
        return [x.unflatten(-1, (self.heads, -1)).transpose(1, 2) for x in parts]

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        q, k, v = self.qkv(states)
        if self.fused:
            mixed = F.scaled_dot_product_attention(q, k, v, mask)
        else:  # as openpi does it
            scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
            mixed = scores.masked_fill(~mask, -2.3819763e38).softmax(-1) @ v
        return self.out(mixed.transpose(1, 2).flatten(2))


def inputs(sees: np.ndarray) -> dict[str, Tensor]:
    states = torch.randn(1, 16, 16, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return {"states": states, "mask": torch.tensor(sees)[None, None]}


def share(maps: hs.AttentionMaps, block: str) -> np.ndarray:
    """What the actions give a block, by head."""
    return maps.layers[0][:, maps.query.mask("actions")][:, :, maps.key.mask(block)].sum(-1).mean(-1)


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("padding_looks", [False, True])
def test_a_camera_in_the_middle_that_is_not_there(fused: bool, padding_looks: bool) -> None:
    torch.manual_seed(0)
    policy = Policy(fused).double()
    sees = (BLOCK[:, None] >= BLOCK) & THERE & (padding_looks | THERE[:, None])
    given = inputs(sees)
    eyes = [
        hs.Picture(np.full((8, 8, 3), shade, np.uint8), name)
        for shade, name in ((90, "base"), (160, "wrist"))
    ]
    words = ["pick", "up", "the", "red", "cube"]
    base, wrist = (hs.Grid(2, 2, picture=eye) for eye in eyes)
    axis = hs.Axis({"camera base": base, "camera wrist": wrist, "text": words, "actions": 3})
    maps = hs.capture(hs.load(policy, inputs=given), axis, inputs=given)
    assert isinstance(maps, hs.AttentionMaps)
    assert maps.query.pieces == axis.pieces
    assert maps.key.places is not None
    assert_array_equal(maps.key.medium, [0] * 4 + [1] * 4 + [-1] * 8)  # no token on another's picture
    assert_array_equal(maps.key.places[[0, 4, 7], 1:], [[0, 0, 4, 4], [0, 0, 4, 4], [4, 4, 8, 8]])
    assert_array_equal(maps.key.mask("camera wrist"), ~THERE)
    q, k, _ = (x[0].detach().numpy() for x in policy.qkv(given["states"]))
    odds = np.exp(q @ k.swapaxes(-1, -2) * 8**-0.5) * sees
    expected = odds / np.maximum(odds.sum(-1, keepdims=True), 1e-300)
    weights = maps.layers[0]
    assert weights.dtype == np.float64
    assert_allclose(weights, expected, atol=1e-12)
    assert not weights[:, :, WRIST].any()
    assert_array_equal(maps.query.mask("padding"), ~THERE)
    assert_array_equal(maps.key.mask("padding"), ~THERE)
    assert_array_equal(maps.sight(0)[0], sees)
    blocks = {"camera base": BASE, "camera wrist": WRIST, "text": TEXT, "actions": ACTIONS}
    shares = {name: share(maps, name) for name in blocks}
    for name, block in blocks.items():
        assert_allclose(shares[name], expected[:, ACTIONS, block].sum(-1).mean(-1), atol=1e-12)
    assert not shares["camera wrist"].any()
    assert_allclose(sum(shares.values()), 1, atol=1e-12)
    assert maps.visible is not None
    assert not maps.causal


def test_padding_in_the_middle_of_ids_is_taken_out_where_it_stands() -> None:
    llama = small("llama")
    ids = torch.arange(5, 17)[None]
    mask = torch.tensor([[0] * 2 + [1] * 3 + [0] * 3 + [1] * 3 + [0]])
    places = torch.arange(12)[None]
    maps = hs.capture(llama, inputs={"input_ids": ids, "attention_mask": mask, "position_ids": places})
    kept = mask.bool()
    alone = hs.capture(llama, inputs={"input_ids": ids[kept][None], "position_ids": places[kept][None]})
    assert isinstance(maps, hs.AttentionMaps)
    assert isinstance(alone, hs.AttentionMaps)
    assert maps.query.pieces == ("7", "8", "9", "13", "14", "15")
    assert_allclose(maps.weights, alone.weights, atol=1e-5)
