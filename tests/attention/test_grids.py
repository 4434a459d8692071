"""Models whose stages are grids of several sizes: their maps are their own, and each cell is where it has its middle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import transformers as hub
from torch import Tensor, nn
from transformers.models.hiera import modeling_hiera as hiera

import headscope as hs
from headscope.attention.grids import solved
from headscope.attention.one import prepare, record
from headscope.attention.parts import group, sides
from headscope.attention.recording import recording
from headscope.attention.windows import placed
from tests.helpers.small_models import sharpen
from tests.helpers.vision_models import STAGED, STAGES, captured, made, vision

pytest.importorskip("PIL.Image")


def noise(width: int = 150, height: int = 100) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 256, (height, width, 3), np.uint8)


def own(family: str, monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """What the module's own softmax gives on `noise`, call by call, ``[window head query key]``."""
    module: Any = vision(family).module
    _, ready = prepare(vision(family), None, image=noise())
    weights: list[np.ndarray] = []
    softmax = nn.functional.softmax

    def spied(*args: Any, **options: Any) -> Tensor:
        weights.append((out := softmax(*args, **options)).detach().numpy())
        return out

    monkeypatch.setattr(nn.functional, "softmax", spied)
    if family == "SegFormer":
        module.set_attn_implementation("eager")
    attention = hiera.HieraMaskUnitAttention
    forward = attention.forward

    def told(part: Any, states: Tensor, **_: Any) -> Any:
        weights.append((out := forward(part, states, True))[1].numpy())
        return out

    monkeypatch.setattr(attention, "forward", told)
    with torch.no_grad():
        module(**ready)
    return weights


@pytest.mark.parametrize("family", [family for family in STAGED if family not in ("MobileViT", "Hiera")])
def test_maps_of_stages_are_the_models_own(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = captured(family, noise())
    calls = iter(own(family, monkeypatch))
    for maps in parts.values():
        for layer in maps.layers:
            np.testing.assert_allclose(layer, next(calls)[0], atol=1e-6)
    assert next(calls, None) is None
    assert list(parts) == [f"stage {number + 1}" for number in range(len(parts))]
    assert len(parts["stage 1"].key) < len(parts["stage 1"].query)
    for axis in (axis for maps in parts.values() for axis in (maps.query, maps.key)):
        assert axis.boxes is not None
        assert np.nanmin(axis.boxes, 0).tolist()[:2] == [0, 0]
        assert np.nanmax(axis.boxes, 0)[2:] == pytest.approx([150, 100])
    last = list(parts.values())[-1].query
    assert (last.pieces[0] == "[CLS]") == last.mask("special")[0] == (family in ("PVT", "CvT"))


def test_sets_that_are_interleaved_lie_on_the_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """MobileViT: cell (r, c) is of set 2 (r mod 2) + (c mod 2), and sees that set alone."""
    parts = captured("MobileViT", noise())
    calls = iter(own("MobileViT", monkeypatch))
    assert {name: (maps.index, len(maps.key)) for name, maps in parts.items()} == {
        "stage 1": ((2, 3), 64),
        "stage 2": ((4, 5, 6, 7), 16),
        "stage 3": ((8, 9, 10), 4),
    }
    for maps in parts.values():
        side = int(len(maps.key) ** 0.5)
        row, column = np.divmod(np.arange(side**2), side)
        of, place = 2 * (row % 2) + column % 2, row // 2 * (side // 2) + column // 2
        for number, layer in enumerate(maps.layers):
            weights = next(calls)
            assert len(weights) == 4
            expected = weights.transpose(0, 2, 3, 1)[of[:, None], place[:, None], place]
            expected = np.where((of[:, None] == of)[..., None], expected, 0).transpose(2, 0, 1)
            np.testing.assert_allclose(layer, expected, atol=1e-6)
            np.testing.assert_array_equal(maps.sight(number)[0], of[:, None] == of)
    assert next(calls, None) is None


def unrolled(row: int, column: int, side: int, levels: int) -> int:
    """The number of a cell of a square grid where one position of every unit stands after another (Hiera)."""
    if not levels:
        return row * side + column
    inner = unrolled(row // 2, column // 2, side // 2, levels - 1)
    return (2 * (row % 2) + column % 2) * (side // 2) ** 2 + inner


def test_units_whose_queries_are_pooled_lie_on_the_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hiera: 16 × 16 cells in units of 8 × 8; each stage pools 2 × 2, and its first layer looks at the stage before."""
    parts = captured("Hiera", noise())
    calls = iter(own("Hiera", monkeypatch))
    assert list(parts) == ["stage 1", "stage 1 to 2", "stage 2", "stage 2 to 3", "stage 3", "stage 3 to 4"]
    for maps, levels in zip(parts.values(), ((3, 3), (2, 3), (2, 2), (1, 2), (1, 1), (0, 1)), strict=True):
        for layer in maps.layers:
            weights = next(calls)[0]  # head window query key
            windows = weights.shape[1]
            at = [
                np.array(
                    [
                        unrolled(row, column, 2 << level, level)
                        for row in range(2 << level)
                        for column in range(2 << level)
                    ]
                )
                for level in levels
            ]
            (query, of), (key, of_key) = ((number // windows, number % windows) for number in at)
            seen = of[:, None] == of_key
            expected = weights[:, of[:, None], query[:, None], key] * seen
            np.testing.assert_allclose(layer, expected, atol=1e-6)
    assert next(calls, None) is None


SIDE = 256
LARGE: dict[str, Callable[[], Any]] = {
    "MobileViT": lambda: hub.MobileViTModel(
        hub.MobileViTConfig(
            image_size=SIDE,
            hidden_sizes=[16, 20, 24],
            neck_hidden_sizes=[4, 4, 8, 8, 12, 12, 16],
            num_attention_heads=2,
        )
    ),
    "PVT": lambda: hub.PvtModel(hub.PvtConfig(image_size=SIDE, **STAGES)),
    "PVT v2": lambda: hub.PvtV2Model(hub.PvtV2Config(**STAGES)),
    "SegFormer": lambda: hub.SegformerModel(hub.SegformerConfig(**STAGES)),
    "CvT": lambda: hub.CvtModel(hub.CvtConfig(embed_dim=[8, 16, 16], num_heads=[1, 2, 2], depth=[1, 2, 3])),
    "Hiera": lambda: hub.HieraModel(
        hub.HieraConfig(image_size=[SIDE, SIDE], embed_dim=8, depths=[1, 1, 1, 1], num_heads=[1, 2, 4, 8])
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("family", LARGE)
def test_a_cell_is_where_what_it_sees_has_its_middle(family: str) -> None:
    """By gradients: pixels that a query or key in the midst depends on, where no token looks at another.

    Kernels are made even, so that the middle of what they see is their own.
    """
    module, processor = made(
        lambda: (LARGE[family]().double(), hub.ViTImageProcessor(size={"height": SIDE, "width": SIDE}))
    )
    model = hs.load((module, processor))
    for part in module.modules():
        if isinstance(part, nn.Conv2d):
            part.weight.data = part.weight.data[:, :, :1, :1].expand_as(part.weight).clone()
    axes, ready = prepare(model, None, image=np.full((SIDE, SIDE, 3), 90, np.uint8))
    pixels = ready["pixel_values"].clone().requires_grad_()
    calls: list[Any] = []

    def apart(call: Any) -> Tensor:
        calls.append(call)
        return call.weights() * 0

    with torch.enable_grad(), recording(module, apart):
        module(pixels)
    looked, direction = 0, torch.Generator().manual_seed(0)
    for name, records in group(placed(module, calls, ready, 1)).items():
        both = sides(model, name, records, 0, ready, axes)
        for (axis, _), vectors in zip(both, (records[-1].q, records[-1].k), strict=True):
            if axis.mask("special").any() if "special" in axis.named else False:
                continue  # float64's gradient of CvT's convolutions is wrong where [CLS] was cut off
            assert axis.boxes is not None
            middles = (axis.boxes[:, :2] + axis.boxes[:, 2:]) / 2
            token = int(np.abs(middles - SIDE / 2).sum(1).argmin())
            vector = vectors[0].transpose(0, 1).flatten(1)[token]
            drawn = torch.randn(vector.shape, dtype=torch.float64, generator=direction)
            seen = torch.autograd.grad(vector @ drawn, pixels, retain_graph=True)[0][0].abs().sum(0).numpy()
            at = np.arange(SIDE) + 0.5
            middle = np.array([seen.sum(0) @ at, seen.sum(1) @ at]) / seen.sum()
            # The largest of four, which Hiera pools, is of one of them.
            allowed = 0.25 * (axis.boxes[token, 2] - axis.boxes[token, 0]) if family == "Hiera" else 0.1
            assert np.abs(middle - middles[token]).max() <= allowed, (name, middle, middles[token])
            looked += 1
    assert looked >= 4


@pytest.mark.parametrize("family", STAGED)
def test_a_bright_spot_lights_up_a_cell_near_it(family: str) -> None:
    """Of what the model's own processor makes of a picture that is no square. Kernels overlap, so a neighbour may be it."""
    model, grey = vision(family), np.full((100, 150, 3), 90, np.uint8)

    def keys(image: np.ndarray) -> dict[str, Tensor]:
        with hs.edit(model, lambda call: call.weights() * 0):
            _, ready = prepare(model, None, image=image)
            calls = placed(model.module, record(model, ready), ready, 1)
        stages = [*group(calls).items()][:2]  # what later ones see is most of so small a picture
        return {name: each[-1].k[0].transpose(0, 1).flatten(1) for name, each in stages}

    before, parts = keys(grey), captured(family, grey)
    for column, row in ((22, 20), (110, 30), (70, 85)):
        spot = grey.copy()
        spot[row - 2 : row + 3, column - 2 : column + 3] = 255
        for name, after in keys(spot).items():
            boxes = parts[name].key.boxes
            token = int((after - before[name]).abs().sum(1).argmax())
            left, top, right, bottom = boxes[token]
            outside = max(
                (left - column) / (right - left),
                (column - right) / (right - left),
                (top - row) / (bottom - top),
                (row - bottom) / (bottom - top),
            )
            assert outside <= 0.5, (name, (column, row), boxes[token])


def test_a_picture_of_any_size_has_its_grid() -> None:
    """Sides that are no whole number of cells: some models pad, others cut."""
    wide = solved(25 * 38, (100, 150), (0.0, 0.0))
    assert wide is not None
    assert wide[:3] == (25, 38, (4, 4))
    cut = solved(12 * 18, (100, 150), (-1.5, -1.5))
    assert cut is not None
    assert cut[:4] == (12, 18, (8, 8), (-1.5, -1.5))
    with_class = solved(1 + 4 * 5, (100, 150), (0.0, 0.0), befores=(0, 1))
    assert with_class is not None
    assert (with_class.rows, with_class.columns, with_class.before) == (4, 5, 1)
    assert solved(7, (64, 64), (0.0, 0.0)) is None


def test_heads_beside_windows_are_told_by_how_they_lie_in_memory() -> None:
    """Four heads and four windows: the heads are what a projection was cut into."""

    class Windows(nn.Module):
        num_heads = 4

        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.qkv = nn.Linear(16, 48)

        def forward(self, states: Tensor) -> Tensor:
            q, k, v = self.qkv(states).reshape(1, 5, 4, 3, 4, 4).permute(3, 0, 4, 2, 1, 5)
            return ((q @ k.transpose(-1, -2)).softmax(-1) @ v).transpose(1, 3).reshape(1, 20, 16)

    module, states = sharpen(Windows()), torch.randn(1, 20, 16)
    model = hs.load(module, inputs={"states": states})
    (call,) = record(model, {"states": states})
    q, k, _ = module.qkv(states).reshape(5, 4, 3, 4, 4).permute(2, 1, 3, 0, 4)  # window head position dim
    np.testing.assert_allclose(call.weights().numpy(), (q @ k.mT).softmax(-1).detach().numpy(), atol=1e-6)
