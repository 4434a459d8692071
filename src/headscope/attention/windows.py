"""Calls of pieces of an axis, told as one over all of it: windows of a grid, stretches of patches, tiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import groupby
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from headscope.attention.grids import Cut, Grids
from headscope.attention.record import AttentionRecord
from headscope.core.types import AnyDict
from headscope.models.denoisers import Canvas
from headscope.models.places import pixels_of, there

_AXES = ("self", "given", "encoder", "decoder", "patches", "sound", "time", "space", "predictor")

LARGEST = 4_000_000_000
"""Bytes of the maps of a stage that are kept: its windows are few, but its maps are of every pair on its grid."""


@dataclass(eq=False)
class _Made(AttentionRecord):
    """A call that the model did not make so.

    Attributes:
        calls: what it did, such as a layer's attention in each of its windows.
    """

    calls: Sequence[AttentionRecord] = ()

    @property
    def called(self) -> Sequence[AttentionRecord]:
        """What the model did."""
        return self.calls


@dataclass(eq=False)
class Placed(_Made):
    """Calls that are told as one, over axes on which each has its positions. Its weights are made when asked for.

    Windows stand in the batch axis of a call, those of one input after each other.

    Attributes:
        places: of each call those of its queries and of its keys, as `Cut.places`.
        seen: which pairs of positions are of one window and region, ``[query key]``.
    """

    places: Sequence[tuple[Tensor, Tensor]] = ()
    seen: Tensor = field(default_factory=lambda: torch.empty(0))

    @property
    def leaks(self) -> bool:
        """Whether rows give part of their mass to what is no key: a sink, or a window's padding."""
        padded = self.cells is not None and any(bool((keys < 0).any()) for _, keys in self.places)
        return padded or self.sinks is not None

    def joined(self, weights: Sequence[Tensor]) -> Tensor:
        """What each call has for its pairs, as ``[batch head query key]`` of the axes; 0 for other pairs."""
        batch, _, queries, keys = self.shape
        full = weights[0].new_zeros(batch, weights[0].shape[1], queries, keys)
        for given, (rows, columns) in zip(weights, self.places, strict=True):
            windows = given.reshape(batch, len(rows), *given.shape[1:]).transpose(1, 2)
            if (rows >= 0).all() and (columns >= 0).all():
                full[:, :, rows[:, :, None], columns[:, None]] = windows
                continue
            for number, (row, column) in enumerate(zip(rows, columns, strict=True)):
                part = windows[:, :, number][:, :, row >= 0][..., column >= 0]
                full[:, :, row[row >= 0][:, None], column[column >= 0]] = part
        return full

    def weights(self, rows: slice = slice(None)) -> Tensor:
        """The attention weights ``[batch head query key]``, all queries or some."""
        return self.joined([call.weights() for call in self.calls])[..., rows, :]

    def recompute(self, rows: slice = slice(None)) -> Tensor:
        """The weights again, from q, k and the rest."""
        return self.joined([call.recompute() for call in self.calls])[..., rows, :]

    def visible(self, rows: slice = slice(None)) -> Tensor:
        """Which keys each query may see, bool, broadcasting to ``[batch head query key]``."""
        seen = self.seen[None, None]
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

    - Layers whose axes are several grids of a picture (Swin, MobileViT, Hiera; keys that are fewer, as in PVT): one
      call a layer, over the grid of its stage (`AttentionRecord.area` is ``stage 1``, …).
    - A layer that is called for one stretch of patches after another (Qwen2.5-VL): one call.
    - Tiles of a picture, pictures or frames in the batch axis (Idefics3), and channels of a series (PatchTST): one call
      each (``tile 1``, …).
    - A layer that looks along time at one place and over each frame alone (TimeSformer): ``time`` and ``space``.
    - Calls of a denoiser keep to themselves; their area says of what they are (``joint``, ``cross 16 × 16``).

    Args:
        model: the module that ran.
        records: its calls, in order.
        inputs: what it ran on.
        rows: how many inputs there were; the tiles of a picture are one.
        axes: what `headscope.attention.one.prepare` gives, whose tiles name the calls of each.

    Calls that are neither are as they were.
    """
    if (canvas := Canvas.of(model, inputs)) is not None:
        areas = [canvas.area(*record.shape[2:]) for record in records]
        several = len(set(areas)) > 1
        return [
            replace(record, area=area if several else "") for record, area in zip(records, areas, strict=True)
        ]
    shapes: dict[str, set[tuple[int, ...]]] = {}
    for record in records:
        shapes.setdefault(record.stack, set()).add(record.shape[2:])
    grids = Grids(model, inputs, {stack for stack, sizes in shapes.items() if len(sizes) > 1})
    names = tile_names(axes or {})
    joined: list[AttentionRecord] = []
    for _, group in groupby(records, lambda record: (record.module, record.layer, record.step)):
        calls = list(group)
        if len(calls) > 1:
            joined += _chunks(calls) if all(call.shape[0] == rows == 1 for call in calls) else calls
        elif (sides := grids.of(calls[0], rows)) is not None:
            joined.append(_joined(calls, [sides], rows, grids.area(*sides)))
        elif (divided := grids.divided(calls[0], rows)) is not None:
            joined.append(_joined(calls, [divided[1:]], rows, divided[0]))
        else:
            joined += _pieces(calls[0], rows, inputs, names)
    return joined


def expected_bytes(records: Sequence[AttentionRecord]) -> int:
    """How many bytes the maps of a part take in float32, where it attends in windows; else 0."""
    sizes = [record.shape for record in records if isinstance(record, Placed)]
    return sum(4 * heads * queries * keys for _, heads, queries, keys in sizes)


def _chunks(calls: Sequence[AttentionRecord]) -> list[AttentionRecord]:
    """Calls for one stretch of an axis after another, told as one."""
    lengths = [call.shape[2] for call in calls]
    ends = np.cumsum(lengths)
    stretches = [
        Cut(np.arange(end - length, end)[None], int(ends[-1]))
        for length, end in zip(lengths, ends.tolist(), strict=True)
    ]
    return [_joined(calls, [(stretch, stretch) for stretch in stretches], 1)]


def tile_names(axes: Mapping[str, Any]) -> list[str]:
    """The names of what a model looks at one by one: ``tile 1``, ``picture 2``, ``frame 3``."""
    return [name for name in axes if name not in _AXES]


def _pieces(
    record: AttentionRecord, rows: int, inputs: Mapping[str, Tensor], names: Sequence[str]
) -> list[AttentionRecord]:
    """A call for all tiles of a picture, or all channels of a series, told as one each.

    Latents that look at tiles (Idefics2) are apart.
    """
    pixels, values, (count, _, queries, keys) = pixels_of(inputs), inputs.get("past_values"), record.shape
    if (
        values is not None
        and values.ndim == 3
        and record.kind != "cross"
        and count > rows
        and not count % rows
    ):
        # PatchTST attends within each channel, or else among these at each patch.
        what = "patch" if keys == values.shape[2] else "channel"
        every = count // rows
        if what == "patch" or every == values.shape[2]:
            return [one_of(record, slice(at, None, every), f"{what} {at + 1}") for at in range(every)]
    if rows != 1 or count == 1 or pixels is None or count not in (len(there(pixels)), len(names)):
        return [record]
    names = names if len(names) == count else [f"tile {number + 1}" for number in range(count)]
    return [
        one_of(record, slice(at, at + 1), name if queries == keys else f"{name} latents")
        for at, name in enumerate(names)
    ]


@dataclass(eq=False)
class OneOf(_Made):
    """A call of several rows, told of some of them alone.

    Attributes:
        at_rows: which rows.
    """

    at_rows: slice = field(default_factory=lambda: slice(None))

    def joined(self, weights: Sequence[Tensor]) -> Tensor:
        """What these rows have for their pairs."""
        return weights[0][self.at_rows]


def one_of(record: AttentionRecord, rows: slice, area: str) -> OneOf:
    """Some rows of a call, as a call over `area`."""
    fields_of: AnyDict = {field.name: getattr(record, field.name) for field in fields(AttentionRecord)}
    for name in ("q", "k", "v", "mask", "bias", "given"):
        tensor: Tensor | None = fields_of[name]
        if tensor is not None and tensor.ndim == 4 and len(tensor) > 1:
            fields_of[name] = tensor[rows]
    fields_of["area"] = area
    return OneOf(**fields_of, calls=[record], at_rows=rows)


def _joined(
    calls: Sequence[AttentionRecord], sides: Sequence[tuple[Cut, Cut]], rows: int, area: str = ""
) -> AttentionRecord:
    """Calls told as one: how the queries and keys of each lie on the axes, and how many inputs there are."""
    first, (query, key) = calls[0], sides[0]
    cells = None if query.cells is None or key.cells is None else (query.cells, key.cells)
    if cells is not None and all(np.array_equal(cut.places, np.arange(cut.size)[None]) for cut in sides[0]):
        first.area, first.cells = area, cells  # one window, in order
        return first
    home = first.q.device

    def vectors(of: Sequence[Tensor], side: int) -> Tensor:
        full = of[0].new_zeros(rows, of[0].shape[1], sides[0][side].size, of[0].shape[3])
        for given, cut in zip(of, sides, strict=True):
            windows = torch.as_tensor(cut[side].places, device=home)
            rowed = given.reshape(rows, len(windows), *given.shape[1:]).transpose(1, 2).flatten(2, 3)
            kept = windows.flatten() >= 0
            full[:, :, windows.flatten()[kept]] = rowed[:, :, kept]
        return full

    seen = np.zeros((query.size, key.size), np.bool_)
    for left, right in sides:
        seen |= (left.block[:, None] == right.block) & (left.block >= 0)[:, None]
    values = [call.v for call in calls if call.v is not None]
    return Placed(
        module=first.module,
        stack=first.stack,
        layer=first.layer,
        kind=first.kind,
        q=vectors([call.q for call in calls], 0),
        k=vectors([call.k for call in calls], 1),
        v=vectors(values, 1) if len(values) == len(calls) else None,
        scaling=first.scaling,
        softcap=first.softcap,
        sinks=first.sinks,
        route=first.route,
        step=first.step,
        followed=all(call.followed for call in calls),
        area=area,
        cells=cells,
        calls=calls,
        places=[
            (torch.as_tensor(left.places, device=home), torch.as_tensor(right.places, device=home))
            for left, right in sides
        ],
        seen=torch.as_tensor(seen, device=home),
    )
