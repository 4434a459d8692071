"""From the records of a pass to labelled maps, part by part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headscope.attention.record import IMPLICIT, AttentionRecord, GridCells
from headscope.attention.recording import edits
from headscope.attention.windows import tile_names
from headscope.core.arrays import AnyFloats, Bools, Floats, Ints
from headscope.core.grid import Frames, Grid
from headscope.core.maps import DUST, AttentionMaps, Kind
from headscope.core.tokens import Tokens
from headscope.errors import InputError, RefusedError
from headscope.models.denoisers import Canvas
from headscope.models.encode import of_ids
from headscope.models.model import Model
from headscope.models.perceive import of_tower
from headscope.models.pictures import prefixed
from headscope.models.places import Tile
from headscope.models.series import steps
from headscope.models.within import virtual_tokens


class Parts(dict[str, AttentionMaps]):
    """The maps of a model of several parts, by name: ``parts.encoder``, ``parts.cross``, ``parts["decoder"]``."""

    def __getattr__(self, name: str) -> AttentionMaps:
        if name not in self:
            raise AttributeError(f"this model has the parts {', '.join(self)}; found {name!r}")
        return self[name]

    @property
    def text(self) -> str | None:
        """What the model wrote, in maps of `headscope.generate`; else None."""
        return next((maps.text for maps in self.values() if maps.text is not None), None)

    def __repr__(self) -> str:
        return "Parts(" + ", ".join(f"{name}: {maps!r}" for name, maps in self.items()) + ")"


def group(records: Sequence[AttentionRecord]) -> dict[str, list[AttentionRecord]]:
    """Records by part, each sorted by layer: ``encoder``, ``decoder``, ``cross``, a tower's name, or ``self``; or the
    areas or the coarser and coarser grids that they are of, ``stage 1``, ….
    """
    if not records:
        raise RefusedError("no attention was seen in the forward pass")
    names = _names({record.stack: record.kind for record in records if record.area != IMPLICIT})
    parts: dict[str, list[AttentionRecord]] = {}
    held: dict[tuple[str, int, int], str] = {}
    for record in records:
        part = record.area or names[record.stack]
        if (other := held.setdefault((part, record.step, record.layer), record.stack)) != record.stack:
            raise RefusedError(
                f"layer {record.layer} of the part {part!r} is {other} and {record.stack}: two stacks of this model "
                "cannot be told apart, so their maps would be taken for one's"
            )
        parts.setdefault(part, []).append(record)
    parts = {name: sorted(calls, key=lambda call: (call.step, call.layer)) for name, calls in parts.items()}
    return parts


def _names(kinds: Mapping[str, Kind]) -> dict[str, str]:
    """What to call each pile of layers: by kind where that tells them apart, else by where their names differ."""
    seq2seq = any(kind != "self" for kind in kinds.values())
    called = {"encoder": "encoder", "cross": "cross", "self": "decoder" if seq2seq else "self"}
    selves = [stack for stack, kind in kinds.items() if kind == "self"]
    names = {stack: called[kind] for stack, kind in kinds.items()}
    if len(selves) > 1:
        heads = {stack: stack.split(".*")[0].split(".") for stack in selves}
        firsts = {
            stack: next((w for w in words if any(w not in other for other in heads.values())), "")
            for stack, words in heads.items()
        }
        if len(set(firsts.values())) > 1 and all(firsts.values()):
            for stack, first in firsts.items():
                first = first.removesuffix("_model").removesuffix("_tower")
                names[stack] = "vision" if first == "visual" else first
    return names


def assemble(
    records: Sequence[AttentionRecord],
    row: int,
    query: Tokens,
    key: Tokens,
    keep_query: Bools | slice = slice(None),
    keep_key: Bools | slice = slice(None),
    *,
    meta: Mapping[str, Any] | None = None,
) -> AttentionMaps:
    """`AttentionMaps` of one row of a batch from the records of one part, one record a layer."""
    shapes = {record.shape[2:] for record in records}
    if len(shapes) > 1:
        sizes = ", ".join(f"{queries} × {keys}" for queries, keys in sorted(shapes))
        raise RefusedError(
            f"layers of this model look at different axes ({sizes} tokens), so they make no one grid of maps"
        )
    layers = [
        numpy_of(record.weights()[row], double=True)[:, keep_query][:, :, keep_key] for record in records
    ]
    sinks = None
    if any(record.leaks for record in records):
        sinks = [
            np.clip(1.0 - layer.sum(-1), 0.0, 1.0) * record.leaks
            for layer, record in zip(layers, records, strict=True)
        ]
    kind = records[0].kind
    signed = [record.signed for record in records if record.signed is not None]
    seen = [seen_by(record, row)[:, keep_query][:, :, keep_key] for record in records]
    if edits.now() or any(record.area for record in records):
        # An edit may look where the mask does not, and a mask of a finite number may let something through.
        seen = [agreed(mask | (layer > DUST)) for mask, layer in zip(seen, layers, strict=True)]
    else:
        # A query that sees no key gives no weight, though a mask of a finite number has made its row even.
        rows = [mask.any(-1, keepdims=True) for mask in seen]
        layers = [layer if some.all() else layer * some for layer, some in zip(layers, rows, strict=True)]
        key = _padded(seen, key)
        query = _padded(seen, query) if kind != "cross" else query
    causal, visible = sight_of(seen, kind)
    return AttentionMaps(
        layers,
        query,
        key,
        kind,
        causal,
        sinks,
        [record.layer for record in records],
        # A row of a mixer that lets nothing through is all 0.
        partial=bool(edits.now()) or (bool(signed) and any(not layer.any(-1).all() for layer in layers)),
        meta=dict(meta or {}),
        visible=visible,
        signed=[numpy_of(one[row])[:, keep_query][:, :, keep_key] for one in signed] or None,
    )


def _padded(seen: Sequence[Bools], key: Tokens) -> Tokens:
    """An axis with a class ``padding`` where no query sees some keys, such as those of a camera that is not there."""
    there = np.any([mask.any((0, 1)) for mask in seen], 0)
    return key if there.all() else key.with_classes(padding=~there)


def seen_by(record: AttentionRecord, row: int) -> Bools:
    """Which keys each query of a batch's row can see, ``[head query key]``; ``[1 query key]`` where heads agree."""
    _, _, queries, keys = record.shape
    seen = record.sight()
    return agreed(seen[min(row, len(seen) - 1)].expand(-1, queries, keys).cpu().numpy())


def agreed(seen: Bools) -> Bools:
    """What heads see ``[head query key]``, as ``[1 query key]`` where all of them see the same."""
    return seen[:1] if (seen == seen[:1]).all() else seen


def is_causal(layers: Sequence[Bools], kind: Kind) -> bool:
    """Whether no query sees a key after it. Arguments as in `sight_of`."""
    return kind == "self" and all(
        seen.shape[1] == seen.shape[2] > 1 and not np.triu(seen, 1).any() for seen in layers
    )


def sight_of(layers: Sequence[Bools], kind: Kind) -> tuple[bool, list[Bools] | None]:
    """Whether maps are causal, and what their layers see where that does not say it; equal layers share an array.

    Args:
        layers: which keys each query can see, ``[head query key]`` or ``[1 query key]``.
        kind: of the maps.
    """
    queries, keys = layers[0].shape[1:]
    causal = is_causal(layers, kind)
    expected = np.tri(queries, keys, dtype=np.bool_) if causal else np.ones((queries, keys), np.bool_)
    if all((seen == expected).all() for seen in layers):
        return causal, None
    visible: list[Bools] = []
    for seen in layers:
        seen = seen[0] if len(seen) == 1 else seen
        visible.append(next((mask for mask in visible if np.array_equal(mask, seen)), seen))
    return causal, visible


GIVEN = "given"
"""The name of the axis that came beside `inputs`: that of every side with as many tokens."""


def labels(count: int, what: str) -> Tokens:
    """An axis without a tokenizer: patches, frames or positions, numbered from 0."""
    return Tokens([f"{what}{number}" for number in range(count)])


def from_ids(ids: Ints, tokenizer: Any) -> Tokens:
    """An axis from bare ids: the vocabulary's pieces where there is a tokenizer, else the numbers."""
    if tokenizer is None:
        return Tokens([str(number) for number in ids], ids=ids)
    pieces = tokenizer.convert_ids_to_tokens(ids.tolist())
    if any(piece is None for piece in pieces):
        position = [piece is None for piece in pieces].index(True)
        raise InputError(
            f"inputs: id {ids[position]} at position {position} is not in the tokenizer's vocabulary"
        )
    return of_ids(tokenizer, ids.tolist())


def numpy_of(tensor: Tensor, *, double: bool = False) -> AnyFloats:
    """A tensor as an array of float32, or of float64 where that is what it is and `double` says so."""
    tensor = tensor.detach()
    return (tensor if double and tensor.dtype == torch.float64 else tensor.float()).cpu().numpy()


def doubles(tensor: Tensor) -> Floats:
    """A tensor as an array of float64."""
    return tensor.detach().double().cpu().numpy()


def sides(
    model: Model,
    part: str,
    records: Sequence[AttentionRecord],
    row: int,
    ready: Mapping[str, Tensor],
    axes: Mapping[str, Tokens],
) -> list[tuple[Tokens, Bools | slice]]:
    """The query's and the key's tokens of one part and one row, and which positions of each are no padding."""
    first = records[0]
    known = None if model.checked is None else model.checked.text_first
    if GIVEN not in axes and (canvas := Canvas.of(model.module, ready, known)) is not None:
        queries, keys = first.shape[2:]
        crosses = queries != keys or first.kind == "cross"
        return [(canvas.axis(queries), slice(None)), (canvas.axis(keys, key=crosses), slice(None))]
    if first.cells is not None:
        return [(on_grid(cells, axes.get("patches")), slice(None)) for cells in first.cells]
    _, _, queries, keys = first.shape
    part = "self" if part == IMPLICIT else part
    named = (("decoder", queries), ("encoder", keys)) if part == "cross" else ((part, queries), (part, keys))
    looks = of_tower(first.module)
    (query, kept), key = (_axis(model, side, looks, count, row, ready, axes) for side, count in named)
    if part != "cross" and queries < keys == len(key[0]) and query is not axes.get(part):
        same = [record for record in records if record.shape == first.shape]  # of one step of a text's
        at = _stretch([seen_by(record, row) for record in same])
        # Where no mask says which keys the queries are, they are called otherwise.
        query = labels(queries, "query ") if at is None else key[0].take(slice(at, at + queries))
    return [(query, kept), key]


def _stretch(layers: Sequence[Bools]) -> int | None:
    """Which of the keys the first query is, where each sees one more than the one before it, up to itself; else None.

    Args:
        layers: which keys each query can see, ``[head query key]`` or ``[1 query key]``.
    """
    count, keys = layers[0].shape[1:]
    expected = np.tri(count, keys, keys - count, dtype=np.bool_)
    # What is hidden before a query besides, as by a window or as padding, does not say where it stands.
    after = all(
        (seen <= expected).all() and seen[:, np.arange(count), keys - count + np.arange(count)].all()
        for seen in layers
    )
    return keys - count if after else None


def on_grid(cells: GridCells, patches: Tokens | None) -> Tokens:
    """The axis of the cells of a grid; of a picture whose patches are known, each with its area of it."""
    axis = Grid(cells.rows, cells.columns)
    if patches is not None and patches.picture is not None and patches.boxes is not None:
        first, last = np.nanmin(patches.boxes[:, :2], 0), np.nanmax(patches.boxes[:, 2:], 0)
        step = (last - first) / cells.of[::-1]  # pixels of the picture for one that the model takes
        size = step * cells.side[::-1] * (cells.columns, cells.rows)
        ends = np.minimum(first + size, patches.picture.size)
        first = first + step * cells.moved[::-1]
        area = (*first.tolist(), *(first + size).tolist())
        axis = Tile(patches.picture, cells.rows, cells.columns, area).cells(cells.rows, cells.columns)
        places = np.array(axis.places).reshape(cells.rows, cells.columns, 5)
        # Cells whose middles are moved up and left have all that is nearest to them.
        places[:, -1, 3] = np.maximum(places[:, -1, 3], ends[0])
        places[-1, :, 4] = np.maximum(places[-1, :, 4], ends[1])
        axis = replace(axis, places=places.reshape(-1, 5))
    axis = replace(axis, special_mask=np.zeros(len(axis), np.bool_)).longer(["[CLS]"] * cells.before, -1)
    return axis.with_classes(cls=axis.special) if cells.before else axis


def _axis(
    model: Model,
    side: str,
    looks: bool,
    count: int,
    row: int,
    ready: Mapping[str, Tensor],
    axes: Mapping[str, Tokens],
) -> tuple[Tokens, Bools | slice]:
    """The tokens of one axis of one row, and which of its positions are no padding.

    Args:
        looks: it is of the part that looks at pictures, in a model that reads texts, too.
    """
    for name in (side, GIVEN):
        if name in axes and len(axes[name]) == count:
            return axes[name], slice(None)
    patches = axes[side] if side in tile_names(axes) else axes.get("patches")
    if patches is not None:
        both = axes.get("self")  # of text and picture, whatever it is called
        if both is not None and len(both) == count and not looks:
            return both, slice(None)
        mask = ready.get("pixel_attention_mask")
        if mask is not None and mask.shape[1:] == (count,):  # SigLIP 2 pads patches
            keep = mask[row].cpu().numpy().astype(bool)
            return patches.take(keep), keep
        if (axis := prefixed(patches, model, count)) is not None:
            return axis, slice(None)
    if (known := _length(side, ready, axes)) and known + virtual_tokens(model.module) == count != known:
        tokens, kept = _axis(model, side, looks, known, row, ready, axes)
        keep = np.arange(count) < count - known
        keep[count - known :][kept] = True
        return after_virtual(tokens, count - known), keep
    if (axis := steps(model.config, ready, row, side, count)) is not None:
        return axis, slice(None)
    padding = next((ready[name] for name in ready if name.endswith("padding_mask")), None)
    if padding is not None and padding.dtype == torch.bool and padding.shape[1:] == (count,):
        keep = ~padding[row].cpu().numpy()
        return labels(count, "position ").take(keep), keep
    prefix = "decoder_" if side == "decoder" and "decoder_input_ids" in ready else ""
    ids, mask = ready.get(f"{prefix}input_ids"), ready.get(f"{prefix}attention_mask")
    if ids is not None and ids.shape[1] == count:
        keep = np.ones(count, bool)
        if mask is not None and mask.ndim == 2 and mask.shape[1] == count:
            keep = mask[row].cpu().numpy().astype(bool)
        return from_ids(ids[row].cpu().numpy()[keep].astype(np.int64), model.tokenizer), keep
    if "sound" in axes and not prefix:
        stretch = axes["sound"]
        assert stretch.times is not None
        return Frames(count, float(stretch.times[0, 1]) / count, stretch.sound), slice(None)
    pixels = any("pixel" in name for name in ready)
    audio = any(name in ("input_values", "input_features") for name in ready)
    return labels(count, "patch " if pixels else "frame " if audio else "position "), slice(None)


def _length(side: str, ready: Mapping[str, Tensor], axes: Mapping[str, Tokens]) -> int:
    """How many tokens a side has of its own; 0 where it is not known."""
    ids = ready.get("decoder_input_ids" if side == "decoder" else "input_ids")
    return len(axes[side]) if side in axes else 0 if ids is None else ids.shape[1]


def after_virtual(tokens: Tokens, count: int) -> Tokens:
    """An axis on which so many virtual tokens stand first, which have no id (-1) and are in no text."""
    longer = tokens.longer([f"virtual {number}" for number in range(count)], -1)
    return longer.with_classes(virtual=np.arange(len(longer)) < count)
