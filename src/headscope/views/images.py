"""Heads on a picture: what each looks at, all heads together, rollout, and blocks of patches where there are many."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from headscope.core import kernels
from headscope.core.arrays import AnyFloats, Bools, Ints
from headscope.core.maps import AttentionMaps
from headscope.core.media import Picture, covering
from headscope.core.tokens import Tokens
from headscope.views import fold
from headscope.views.inputs import Included
from headscope.views.payload import LinkInfo

WHOLE = 130_000_000
"""Up to so many weights a part of a view has each patch as a query; of more it has blocks of neighbouring patches."""


def looks(included: Included, on: Bools) -> tuple[AnyFloats, AnyFloats]:
    """How much each head looks at each key on average, as a share of its largest on an area, ``[head key]``; and these
    largest, ``[head]``.

    A mean over the queries that see the key; of an axis of text and picture over those of the text, as the question is
    where they look. `on` says which keys are areas.
    """
    text = fold.reading(included.maps.query)
    rows = slice(None) if text is None else text
    shares: list[AnyFloats] = []
    largest: list[AnyFloats] = []
    for weights, seen in included.weights():
        mean = weights[:, rows].sum(1) / np.maximum(seen[:, rows].sum(1), 1)
        largest.append(mean[:, on].max(1, initial=0.0))
        shares.append(np.where(on, mean / np.maximum(largest[-1], 1e-12)[:, None], 0.0))
    return np.concatenate(shares), np.concatenate(largest)


class Together(NamedTuple):
    """All heads of each shown layer in one map ``[query key]``: their mean, and the rollout up to the layer.

    `rollout` is None where there can be none, and `why` says it.
    """

    means: list[AnyFloats]
    rollout: list[AnyFloats] | None
    why: str | None


def together(included: Included) -> Together:
    """The mean over all heads of each shown layer, and attention rollout up to it (`kernels.rollout`)."""
    maps = included.maps
    means = [layer.mean(0, dtype=np.float32) for layer in maps.layers]
    why = _unrolled(maps)
    rolled = None
    if why is None:
        last = max(included.places)
        every = list(kernels.rollout(means[: last + 1]))
        rolled = [every[place] for place in included.places]
    return Together([means[place] for place in included.places], rolled, why)


def _unrolled(maps: AttentionMaps) -> str | None:
    """Why there is no rollout of these maps; None where there is."""
    if maps.kind == "cross" or len(maps.query) != len(maps.key):
        return "queries and keys are not the same tokens"
    if maps.partial:
        return "these maps have some of the keys alone"
    if tuple(maps.index) != tuple(range(len(maps))):
        return f"it needs every layer from 0 on, and these maps have {', '.join(map(str, maps.index))}"
    return None


@dataclass(frozen=True, eq=False)
class PatchBlocks:
    """Patches put together, `side` × `side` neighbours at a time; other tokens stay by themselves.

    Attributes:
        side: how many patches a side of a block has.
        of: ``[token]``: the block that each token is in.
        tokens: the axis of blocks; the area of a block is that of its patches.
    """

    side: int
    of: Ints
    tokens: Tokens

    @property
    def counts(self) -> Ints:
        """How many tokens each block has, ``[block]``."""
        return np.bincount(self.of)

    def sum(self, rows: npt.NDArray[Any], axis: int = -1) -> AnyFloats:
        """The sum over the tokens of each block along an axis."""
        return np.add.reduceat(*self._sorted(rows, axis))

    def mean(self, rows: npt.NDArray[Any], axis: int = -2) -> AnyFloats:
        """The mean over the tokens of each block along an axis."""
        summed = self.sum(rows, axis)
        shape = [1] * rows.ndim
        shape[axis] = -1
        return (summed / self.counts.reshape(shape)).astype(rows.dtype)

    def any(self, rows: Bools) -> Bools:
        """Whether a token of a block has it, along the axis before the last."""
        return np.logical_or.reduceat(*self._sorted(rows, -2))

    def _sorted(self, rows: npt.NDArray[Any], axis: int) -> tuple[npt.NDArray[Any], Ints, int]:
        order = np.argsort(self.of, kind="stable")
        return rows.take(order, axis), np.flatnonzero(np.diff(self.of[order], prepend=-1)), axis


_known: WeakKeyDictionary[AttentionMaps, dict[int, AttentionMaps]] = WeakKeyDictionary()


def blocks(included: Included, side: int = 1) -> PatchBlocks | None:
    """The blocks whose queries a view shows, of at least `side` patches a side; None where it has room for each patch.

    Maps of texts and causal ones are shown whole: nobody could say what a block of theirs sees.
    """
    maps = included.maps
    boxes = maps.query.boxes
    per_query = sum(map(len, included.heads)) * len(maps.key)
    if boxes is None or maps.causal:
        return None
    if side < 2 and per_query * len(maps.query) <= WHOLE:
        return None
    most = int(np.sqrt((~np.isnan(boxes[:, 0])).sum()))
    for size in count(max(2, side)):
        grouped = blocked(maps.query, size)
        if per_query * len(grouped.tokens) <= WHOLE or size >= most:
            return grouped


def in_words(included: Included, blocks: PatchBlocks) -> str:
    """Why a view has blocks of patches, and how each patch is shown."""
    heads, tokens = sum(map(len, included.heads)), len(included.maps.query)
    weights = tokens * len(included.maps.key)
    some = WHOLE // weights
    return (
        f"{heads} heads on {tokens:,} tokens are {heads * weights / 1e6:,.0f} million weights: as queries this view "
        f"has blocks of {blocks.side} × {blocks.side} patches, each the mean of its patches"
        + (
            f"; of up to {some} heads it has every patch (include_layers=[...], include_heads=[...])"
            if some
            else ""
        )
    )


def blocked(tokens: Tokens, side: int) -> PatchBlocks:
    """The axis whose tokens are blocks of `side` × `side` patches. Patches may stand in any order.

    >>> blocked(hs.Grid(3, 3, ["[CLS]"], hs.Picture(np.zeros((9, 9, 3), np.uint8))), 2).tokens.pieces
    ('[CLS]', 'patches[0-1,0-1]', 'patches[0-1,2]', 'patches[2,0-1]', 'patches[2,2]')
    """
    assert tokens.places is not None
    on, count = tokens.on(Picture), len(tokens)
    row, column = (np.zeros(count, np.int64) for _ in range(2))
    for medium in range(len(tokens.media)):
        here = on & (tokens.medium == medium)
        for place, side_of in ((row, 2), (column, 1)):
            place[here] = np.unique(tokens.places[here, side_of].round(3), return_inverse=True)[1]
    # A token without an area is a block of its own: no block of patches has a negative number.
    numbers = (tokens.medium * count + row // side) * count + column // side
    numbers = np.where(on, numbers, -1 - np.arange(count))
    _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    order = np.argsort(first)  # blocks stand where their first patch stood
    of = np.argsort(order)[inverse]
    first = first[order]
    pieces = [tokens.pieces[int(place)] for place in first]
    for block, place in enumerate(first.tolist()):
        if on[place]:
            mine = of == block
            spans = ((axis[mine].min(), axis[mine].max()) for axis in (row, column))
            pieces[block] = "patches[{},{}]".format(*(_span(*span) for span in spans))
    return PatchBlocks(
        side, of, replace(tokens.take(first), pieces=pieces, places=covering(tokens.places, of))
    )


def _span(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}-{high}"


def coarse(maps: AttentionMaps, blocks: PatchBlocks | None) -> AttentionMaps:
    """Maps from blocks to tokens, each row the mean of its tokens' rows; the same maps where there are no blocks."""
    if blocks is None:
        return maps
    made = _known.setdefault(maps, {})
    if blocks.side not in made:
        made[blocks.side] = put_together(maps, blocks, None)
    return made[blocks.side]


def put_together(maps: AttentionMaps, query: PatchBlocks | None, key: PatchBlocks | None) -> AttentionMaps:
    """Maps between blocks: to a block the sum over its tokens, from it the mean, as with words.

    None leaves a side as it is. Clark et al. 2019, §4.1.
    """

    def weights(layer: AnyFloats) -> AnyFloats:
        rows = layer if query is None else query.mean(layer)
        return rows if key is None else key.sum(rows)

    def sight(seen: Bools) -> Bools:
        rows = seen if query is None else query.any(seen)
        return rows if key is None else key.any(rows.swapaxes(-1, -2)).swapaxes(-1, -2)

    sink = maps.sink
    return replace(
        maps,
        meta=maps.meta if key is None else {**maps.meta, "together": key.side},
        layers=[weights(layer) for layer in maps.layers],
        query=maps.query if query is None else query.tokens,
        key=maps.key if key is None else key.tokens,
        sink=sink if sink is None or query is None else [query.mean(row, -1) for row in sink],
        visible=None if maps.visible is None else [sight(layer) for layer in maps.visible],
        signed=None,
    )


def of_blocks(link: LinkInfo, blocks: PatchBlocks | None) -> LinkInfo:
    """A gold link whose queries are blocks."""
    if blocks is None:
        return link
    moved = [
        sorted(set(blocks.of[places].tolist()))
        for places in ([link["source"]] if link["side"] == "from" else link["targets"])
    ]
    if link["side"] == "from":
        return {**link, "source": moved[0]}
    candidates = link["candidates"]
    if candidates is not None:
        candidates = [sorted(set(blocks.of[places].tolist())) for places in candidates]
    return {**link, "targets": moved, "candidates": candidates}
