"""Calls of pieces of an axis, told as one over all of it: windows of a grid, stretches of patches, tiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import groupby
from math import isqrt
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from headscope.attention.record import AttentionRecord
from headscope.core.arrays import Ints
from headscope.core.types import AnyDict
from headscope.models.places import both_sides, pixels_of, there
from headscope.models.within import above, modules_of

_AXES = ("self", "given", "encoder", "decoder", "patches", "sound", "time", "space", "predictor")

LARGEST = 4_000_000_000
"""Bytes of the maps of a stage that are kept: its windows are few, but its maps are of every pair on its grid."""


class GridCells(NamedTuple):
    """The grid that an axis is, row by row.

    Attributes:
        rows, columns: how many cells it has.
        patches: how many rows and columns of the model's patches there are.
    """

    rows: int
    columns: int
    patches: tuple[int, int]


@dataclass(eq=False)
class Placed(AttentionRecord):
    """Calls that are told as one, over an axis on which each has its positions. Its weights are made when asked for.

    Attributes:
        calls: what the model did, such as a layer's attention in each of its windows. Windows stand in the batch axis
            of a call, those of one input after each other.
        places: of each call ``[window position]``: where on the axis each of a window's positions is; -1: nowhere, as
            it is padding, or of another axis.
        block: ``[position]``: only positions of one number see each other.
        cells: the grid that the axis is; None for another axis.
    """

    calls: Sequence[AttentionRecord] = ()
    places: Sequence[Tensor] = ()
    block: Tensor = field(default_factory=lambda: torch.empty(0))
    cells: GridCells | None = None

    @property
    def called(self) -> Sequence[AttentionRecord]:
        """What the model did."""
        return self.calls

    @property
    def leaks(self) -> bool:
        """Whether rows give part of their mass to what is no key: a sink, or a window's padding."""
        padded = self.cells is not None and any(bool((places < 0).any()) for places in self.places)
        return padded or self.sinks is not None

    def joined(self, weights: Sequence[Tensor]) -> Tensor:
        """What each call has for its pairs, as ``[batch head query key]`` of the axis; 0 for other pairs."""
        batch, _, size, _ = self.shape
        full = weights[0].new_zeros(batch, weights[0].shape[1], size, size)
        for given, places in zip(weights, self.places, strict=True):
            windows = given.reshape(batch, len(places), *given.shape[1:]).transpose(1, 2)
            if (places >= 0).all():
                full[:, :, places[:, :, None], places[:, None]] = windows
                continue
            for number, place in enumerate(places):
                kept = place >= 0
                spots = place[kept]
                full[:, :, spots[:, None], spots] = windows[:, :, number][:, :, kept][..., kept]
        return full

    def weights(self, rows: slice = slice(None)) -> Tensor:
        """The attention weights ``[batch head query key]``, all queries or some."""
        return self.joined([call.weights() for call in self.calls])[..., rows, :]

    def recompute(self, rows: slice = slice(None)) -> Tensor:
        """The weights again, from q, k and the rest."""
        return self.joined([call.recompute() for call in self.calls])[..., rows, :]

    def visible(self, rows: slice = slice(None)) -> Tensor:
        """Which keys each query may see, bool, broadcasting to ``[batch head query key]``."""
        seen = (self.block[:, None] == self.block)[None, None]
        masks = [call.visible() for call in self.calls]
        if any(mask is not None and not mask.all() for mask in masks):
            visible = [
                torch.ones(call.shape, dtype=torch.bool, device=self.q.device)
                if mask is None
                else mask.expand(call.shape)
                for mask, call in zip(masks, self.calls, strict=True)
            ]
            seen = seen & self.joined(visible)
        return seen[..., rows, :]

    def scores(self, rows: slice = slice(None)) -> Tensor:
        """What softmax is taken of, ``[batch head query key]``; hidden keys have −inf."""
        scores = self.joined([call.scores() for call in self.calls])
        return scores.masked_fill(~self.visible(), -torch.inf)[..., rows, :]


def placed(
    model: nn.Module,
    records: Sequence[AttentionRecord],
    inputs: Mapping[str, Tensor],
    rows: int,
    axes: Mapping[str, Any] | None = None,
) -> list[AttentionRecord]:
    """The calls of a pass, those of pieces of an axis told as one call over all of it.

    - Windows that are cut from a grid and shifted (Swin): one call a layer, over the grid of its stage
      (`AttentionRecord.area` is ``stage 1``, …).
    - A layer that is called for one stretch of patches after another (Qwen2.5-VL): one call.
    - Tiles of a picture, pictures or frames in the batch axis (Idefics3): one call each (``tile 1``, …).
    - A layer that looks along time at one place and over each frame alone (TimeSformer): ``time`` and ``space``.

    Args:
        model: the module that ran.
        records: its calls, in order.
        inputs: what it ran on.
        rows: how many inputs there were; the tiles of a picture are one.
        axes: what `headscope.attention.one.prepare` gives, whose tiles name the calls of each.

    Calls that are neither are as they were.
    """
    grids, names = _Grids(model, inputs), tile_names(axes or {})
    joined: list[AttentionRecord] = []
    for _, group in groupby(records, lambda record: (record.module, record.layer, record.step)):
        calls = list(group)
        if len(calls) > 1:
            joined += _chunks(calls) if all(call.shape[0] == rows == 1 for call in calls) else calls
        elif (stage := grids.of(calls[0], rows)) is not None:
            joined.append(stage)
        elif (divided := grids.divided(calls[0], rows)) is not None:
            joined.append(divided)
        else:
            joined += _tiles(calls[0], rows, inputs, names)
    return joined


def expected_bytes(records: Sequence[AttentionRecord]) -> int:
    """How many bytes the maps of a part take in float32, where it attends in windows; else 0."""
    sizes = [record.shape for record in records if isinstance(record, Placed)]
    return sum(4 * heads * queries * keys for _, heads, queries, keys in sizes)


class _Grids:
    """The grids of a model whose stages attend in windows."""

    def __init__(self, model: nn.Module, inputs: Mapping[str, Tensor]) -> None:
        self._modules = modules_of(model)
        pixels = inputs.get("pixel_values")
        self._size = None if pixels is None or pixels.ndim != 4 else (pixels.shape[2], pixels.shape[3])
        self._stages: dict[str, GridCells] = {}

    def of(self, record: AttentionRecord, rows: int) -> Placed | None:
        """A call in windows, told as one over the grid of its stage; None for another call."""
        layer = next((name for name in above(record.module) if _shifts(self._modules[name])), None)
        if layer is None or self._size is None:
            return None
        stage = next((name for name in above(layer) if hasattr(self._modules[name], "blocks")), None)
        cells = None if stage is None else self._cells(stage)
        if stage is None or cells is None:
            return None
        side, shift = isqrt(record.shape[2]), int(vars(self._modules[layer])["shift_size"])
        places, regions = _cut(cells, side, shift)
        if side * side != record.shape[2] or record.shape[0] != rows * len(places):
            return None
        number = list(self._stages).index(stage) + 1
        block = np.zeros(cells.rows * cells.columns, np.int64)
        kept = places >= 0
        block[places[kept]] = (np.arange(len(places))[:, None] * 9 + regions)[kept]
        return _joined([record], [places], block, rows, f"stage {number}", cells)

    def divided(self, record: AttentionRecord, rows: int) -> Placed | None:
        """A call along time or over frames, told as one over all patches of a video; None for another call."""
        if not any(hasattr(self._modules[name], "temporal_attention") for name in above(record.module)):
            return None
        time, windows = "temporal" in record.module, record.shape[0] // rows
        if windows == 1:
            return None
        places = np.arange(windows * record.shape[2])
        places = places.reshape(-1, windows).T if time else places.reshape(windows, -1)
        block = np.zeros(places.size, np.int64)
        block[places] = np.arange(windows)[:, None]
        return _joined([record], [places], block, rows, "time" if time else "space")

    def _cells(self, stage: str) -> GridCells | None:
        if stage not in self._stages:
            if self._stages:
                before, grid = list(self._stages.items())[-1]
                merges = getattr(self._modules[before], "downsample", None) is not None
                down, across = ((grid.rows + 1) // 2, (grid.columns + 1) // 2) if merges else grid[:2]
                self._stages[stage] = GridCells(down, across, grid.patches)
            else:
                configs = (getattr(self._modules[name], "config", None) for name in above(stage))
                patches = (both_sides(getattr(config, "patch_size", None)) for config in configs)
                patch = next(filter(None, patches), None)
                if patch is None or self._size is None:
                    return None
                down, across = (-(-size // side) for size, side in zip(self._size, patch, strict=True))
                self._stages[stage] = GridCells(down, across, (down, across))
        return self._stages[stage]


def _shifts(module: nn.Module) -> bool:
    """Whether a module is a layer that cuts its grid into windows which move."""
    return "window_size" in vars(module) and isinstance(vars(module).get("shift_size"), (int, Tensor))


def _cut(cells: GridCells, side: int, shift: int) -> tuple[Ints, Ints]:
    """How a grid is cut into windows, as Swin does it (Liu et al. 2021, section 3.2 and figure 4).

    Returns which cell of the grid each window's positions are, ``[window position]``, -1 for padding; and which region
    of the shifted grid they are of: what was not side by side before the shift is in different ones.
    """
    down, across = (-(-size // side) * side for size in cells[:2])
    grid = np.full((down, across), -1)
    grid[: cells.rows, : cells.columns] = np.arange(cells.rows * cells.columns).reshape(cells[:2])
    grid = np.roll(grid, (-shift, -shift), (0, 1))
    rows, columns = (
        (np.arange(size) >= size - side).astype(int) + (np.arange(size) >= size - shift)
        for size in (down, across)
    )
    regions = (rows[:, None] * 3 + columns) * (shift > 0)

    def windows(values: Ints) -> Ints:
        return (
            values.reshape(down // side, side, across // side, side).swapaxes(1, 2).reshape(-1, side * side)
        )

    return windows(grid), windows(regions)


def _chunks(calls: Sequence[AttentionRecord]) -> list[AttentionRecord]:
    """Calls for one stretch of an axis after another, told as one."""
    block = np.repeat(np.arange(len(calls)), [call.shape[2] for call in calls])
    places = [np.flatnonzero(block == number)[None] for number in range(len(calls))]
    return [_joined(calls, places, block, 1)]


def tile_names(axes: Mapping[str, Any]) -> list[str]:
    """The names of what a model looks at one by one: ``tile 1``, ``picture 2``, ``frame 3``."""
    return [name for name in axes if name not in _AXES]


def _tiles(
    record: AttentionRecord, rows: int, inputs: Mapping[str, Tensor], names: Sequence[str]
) -> list[AttentionRecord]:
    """A call for all tiles of a picture, told as one a tile; where latents look at these (Idefics2), apart."""
    pixels, (count, _, queries, keys) = pixels_of(inputs), record.shape
    if rows != 1 or count == 1 or pixels is None or count not in (len(there(pixels)), len(names)):
        return [record]
    names = names if len(names) == count else [f"tile {number + 1}" for number in range(count)]
    return [
        one_of(record, at, name if queries == keys else f"{name} latents") for at, name in enumerate(names)
    ]


@dataclass(eq=False)
class OneOf(AttentionRecord):
    """A call of several rows, told of one of them alone.

    Attributes:
        calls: what the model did.
        at_row: which row.
    """

    calls: Sequence[AttentionRecord] = ()
    at_row: int = 0

    @property
    def called(self) -> Sequence[AttentionRecord]:
        """What the model did."""
        return self.calls

    def joined(self, weights: Sequence[Tensor]) -> Tensor:
        """What the row has for its pairs."""
        return weights[0][self.at_row][None]


def one_of(record: AttentionRecord, row: int, area: str) -> OneOf:
    """One row of a call, as a call over `area`."""
    fields_of: AnyDict = {field.name: getattr(record, field.name) for field in fields(AttentionRecord)}
    for name in ("q", "k", "v", "mask", "bias", "given"):
        tensor: Tensor | None = fields_of[name]
        if tensor is not None and tensor.ndim == 4 and len(tensor) > 1:
            fields_of[name] = tensor[row][None]
    fields_of["area"] = area
    return OneOf(**fields_of, calls=[record], at_row=row)


def _joined(
    calls: Sequence[AttentionRecord],
    places: Sequence[Ints],
    block: Ints,
    rows: int,
    area: str = "",
    cells: GridCells | None = None,
) -> Placed:
    """Calls told as one; arguments as the attributes of `Placed`, and how many inputs there are."""
    first = calls[0]
    spots = [torch.as_tensor(place, device=first.q.device) for place in places]

    def vectors(of: Sequence[Tensor]) -> Tensor:
        full = of[0].new_zeros(rows, of[0].shape[1], len(block), of[0].shape[3])
        for given, windows in zip(of, spots, strict=True):
            rowed = given.reshape(rows, len(windows), *given.shape[1:]).transpose(1, 2).flatten(2, 3)
            kept = windows.flatten() >= 0
            full[:, :, windows.flatten()[kept]] = rowed[:, :, kept]
        return full

    values = [call.v for call in calls if call.v is not None]
    return Placed(
        module=first.module,
        stack=first.stack,
        layer=first.layer,
        kind=first.kind,
        q=vectors([call.q for call in calls]),
        k=vectors([call.k for call in calls]),
        v=vectors(values) if len(values) == len(calls) else None,
        scaling=first.scaling,
        softcap=first.softcap,
        sinks=first.sinks,
        route=first.route,
        step=first.step,
        followed=all(call.followed for call in calls),
        area=area,
        calls=calls,
        places=spots,
        block=torch.as_tensor(block, device=first.q.device),
        cells=cells,
    )
