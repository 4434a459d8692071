"""Models whose attention is over several grids of a picture, or within parts of one: which cell each position is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import isqrt
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from headscope.attention.record import AttentionRecord, GridCells
from headscope.core.arrays import Ints
from headscope.models.places import both_sides
from headscope.models.within import above, modules_of


class Cut(NamedTuple):
    """How a side of a call lies on an axis.

    Attributes:
        places: ``[window position]``: where on the axis each of a window's positions is; -1: nowhere, as it is padding,
            or of another axis.
        size: how many positions the axis has.
        regions: ``[window position]``: only positions of one window and one region see each other; None: all do.
        cells: the grid that the axis is; None for another axis.
    """

    places: Ints
    size: int
    regions: Ints | None = None
    cells: GridCells | None = None

    @property
    def block(self) -> Ints:
        """``[position]``: which window and region it is of; -1 for none."""
        block = np.full(self.size, -1)
        kept = self.places >= 0
        windows = np.arange(len(self.places))[:, None] * 9 + (0 if self.regions is None else self.regions)
        block[self.places[kept]] = np.broadcast_to(windows, self.places.shape)[kept]
        return block


Sides = tuple[Cut, Cut]
"""Of the queries and of the keys of a call."""


class Grids:
    """The grids of a model whose stages are several of a picture.

    Args:
        model: the module that ran.
        inputs: what it ran on.
        several: the stacks of layers whose axes are of several sizes.
    """

    def __init__(self, model: nn.Module, inputs: Mapping[str, Tensor], several: set[str]) -> None:
        self._modules = modules_of(model)
        pixels = inputs.get("pixel_values")
        self._size = None if pixels is None or pixels.ndim != 4 else (pixels.shape[2], pixels.shape[3])
        self._several = several
        self._class = any(name.endswith("cls_token") for name, _ in model.named_parameters())
        self._stages: dict[str, GridCells] = {}
        self._seen: list[GridCells] = []

    def of(self, record: AttentionRecord, rows: int) -> Sides | None:
        """How the queries and keys of a call lie on their grids; None for another call."""
        if self._size is None or record.kind == "cross" or record.shape[0] % rows:
            return None
        ways = (self._shifted, self._interleaved, self._unrolled, self._plain)
        sides = next((sides for way in ways if (sides := way(record, rows, self._size)) is not None), None)
        if sides is None or any(len(cut.places) * rows != record.shape[0] for cut in sides):
            return None
        return sides

    def divided(self, record: AttentionRecord, rows: int) -> tuple[str, Cut, Cut] | None:
        """How a call along ``time`` or over frames (``space``) lies on all patches of a video; None for another."""
        windows = record.shape[0] // rows
        if windows == 1 or _holding(self._modules, record.module, "temporal_attention") is None:
            return None
        time = "temporal" in record.module
        places = np.arange(windows * record.shape[2])
        cut = Cut(places.reshape(-1, windows).T if time else places.reshape(windows, -1), len(places))
        return "time" if time else "space", cut, cut

    def area(self, query: Cut, key: Cut) -> str:
        """What the axes of a call are called: their stage; of keys of a stage before it, both."""
        assert query.cells is not None
        if query.cells not in self._seen:
            self._seen.append(query.cells)
        number = self._seen.index(query.cells) + 1
        before = (
            self._seen.index(key.cells) + 1 if key.cells is not None and key.cells in self._seen else number
        )
        return f"stage {before} to {number}" if before < number else f"stage {number}"

    def _shifted(self, record: AttentionRecord, rows: int, size: tuple[int, int]) -> Sides | None:
        """Windows that are cut from a grid and shifted (Swin)."""
        layer = next((name for name in above(record.module) if _shifts(self._modules[name])), None)
        stage = None if layer is None else _holding(self._modules, layer, "blocks")
        cells = None if stage is None else self._cells(stage, size)
        if layer is None or cells is None:
            return None
        side, shift = isqrt(record.shape[2]), int(vars(self._modules[layer])["shift_size"])
        places, regions = _cut(cells, side, shift)
        if side * side != record.shape[2]:
            return None
        cut = Cut(places, cells.rows * cells.columns, regions, cells)
        return cut, cut

    def _cells(self, stage: str, size: tuple[int, int]) -> GridCells | None:
        if stage not in self._stages:
            if self._stages:
                before, grid = list(self._stages.items())[-1]
                merges = getattr(self._modules[before], "downsample", None) is not None
                sides = tuple(side * (1 + merges) for side in grid.side)
            else:
                configs = (getattr(self._modules[name], "config", None) for name in above(stage))
                patches = (both_sides(getattr(config, "patch_size", None)) for config in configs)
                sides = next(filter(None, patches), None)
            if sides is None:
                return None
            down, across = (-(-pixels // int(side)) for pixels, side in zip(size, sides, strict=True))
            self._stages[stage] = GridCells(down, across, (sides[0], sides[1]), (0.0, 0.0), size)
        return self._stages[stage]

    def _interleaved(self, record: AttentionRecord, rows: int, size: tuple[int, int]) -> Sides | None:
        """Every so many cells down and across make a set (MobileViT); the layer itself says which."""
        name = _holding(self._modules, record.module, "unfolding")
        if name is None:
            return None
        layer: Any = self._modules[name]
        sets = int(layer.patch_height * layer.patch_width)
        cells = solved(record.shape[2] * sets, size, record.moved[0], multiple=int(layer.patch_height))
        if cells is None:
            return None
        numbers = torch.arange(cells.rows * cells.columns, dtype=torch.float64)
        places, _ = layer.unfolding(numbers.view(1, 1, cells.rows, cells.columns))
        cut = Cut(places[..., 0].long().numpy(), len(numbers), None, cells)
        return cut, cut

    def _unrolled(self, record: AttentionRecord, rows: int, size: tuple[int, int]) -> Sides | None:
        """Units of a grid, one position of each after another, whose queries are pooled (Hiera)."""
        name = _holding(self._modules, record.module, "reroll")
        number = re.search(r"stages\.(\d+)\.", record.module)
        if name is None or number is None:
            return None
        encoder: Any = self._modules[name]
        windows = record.shape[0] // rows
        sides: list[Cut] = []
        for count, moved in zip(
            (windows * record.shape[2], windows * record.shape[3]), record.moved, strict=True
        ):
            stage = int(number[1]) - (count > windows * record.shape[2])
            high, wide = encoder.schedule[stage][1]
            if high * wide != count:
                return None
            at = encoder.reroll(torch.arange(count)[None, :, None], stage).flatten().argsort()
            cells = GridCells(high, wide, (size[0] / high, size[1] / wide), moved, size)
            sides.append(Cut(at.view(-1, windows).T.numpy(), count, None, cells))
        return sides[0], sides[1]

    def _plain(self, record: AttentionRecord, rows: int, size: tuple[int, int]) -> Sides | None:
        """All cells of a grid, row by row, whose keys may be fewer than its queries (PVT, SegFormer, CvT)."""
        if record.stack not in self._several or record.shape[0] != rows:
            return None
        sides: list[Cut] = []
        for count, moved in zip(record.shape[2:], record.moved, strict=True):
            cells = solved(count, size, moved, befores=(0, 1) if self._class else (0,))
            if cells is None:
                return None
            sides.append(Cut(np.arange(count)[None], count, None, cells))
        return sides[0], sides[1]


def solved(
    count: int,
    size: tuple[int, int],
    moved: tuple[float, float],
    *,
    befores: Sequence[int] = (0,),
    multiple: int = 1,
) -> GridCells | None:
    """The grid of square cells that a picture of some pixels, down and across, has so many of; None where none has.

    Args:
        count: of cells, and of what stands before them.
        size: of the picture.
        moved: as in `GridCells`.
        befores: how many tokens may stand before the cells.
        multiple: of what the rows and columns are a multiple; the grid is stretched to that.

    Where several have, that whose cells are whole comes first, then a power of two.
    """
    solutions: list[tuple[tuple[bool, int, bool, int], GridCells]] = []
    for before in befores:
        for side in range(1, max(size) + 1):
            exact = not (size[0] % side or size[1] % side)
            for shape in {
                tuple(-(-pixels // side) for pixels in size),
                tuple(pixels // side for pixels in size),
            }:
                rows, columns = (-(-cells // multiple) * multiple for cells in shape)
                if rows * columns == count - before > 0:
                    down, across = side * shape[0] / rows, side * shape[1] / columns
                    cells = GridCells(rows, columns, (down, across), moved, size, before)
                    solutions.append(((not exact, before, bool(side & (side - 1)), side), cells))
    return min(solutions)[1] if solutions else None


def _holding(modules: Mapping[str, nn.Module], module: str, name: str) -> str | None:
    """The innermost of the modules above one that has an attribute of this name."""
    return next((holder for holder in above(module) if hasattr(modules[holder], name)), None)


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
