"""What a state shows of an input: which layers, heads, rows and columns, and the numbers at them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from headscope.errors import InputError, ShapeError
from headscope.maps import AttentionMaps, FloatArray
from headscope.neurons import Neurons
from headscope.tokens import IntArray, Tokens
from headscope.views import fold
from headscope.views.canvas import label
from headscope.views.columns import Column, from_corpus, from_input
from headscope.views.gold import Gold, placed
from headscope.views.inputs import Included, Input, piece_labels, word_labels
from headscope.views.seeing import areas, blocks, coarse, looks, of_blocks, together
from headscope.views.state import DEFAULTS
from headscope.views.telling import sinks

if TYPE_CHECKING:
    import xarray as xr

Matrix = npt.NDArray[np.float64]
Sees = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Heads:
    """One head, or several made into one. `head` is None for an aggregate."""

    name: str
    head: int | None
    matrix: Matrix


@dataclass(frozen=True)
class Figures:
    """A measure of every head: how it is called, and its value by layer and head (NaN: none)."""

    title: str
    units: str
    values: Mapping[tuple[int, int], float]


class Pinned(NamedTuple):
    """The row and the column of the chosen tokens, among those that are shown; None where there is none."""

    row: int | None
    column: int | None


class Selection:
    """What a state shows of one input, or of one minus another.

    Attributes:
        state: the state, with defaults where it says nothing.
        rows, columns: places of the shown queries and keys on their (pieces' or words') axes.
        query, key: those tokens.
        layers: the model's own index of each shown layer.
        signed: whether what is shown has negative values.
        scale: the largest magnitude of the quantity (1 for weights).
        of: what the quantity is of, in a few words; None where nothing is said.
        against: what is subtracted, of the same shape; None where one input is shown.
        blocks: the blocks of patches that are the queries of many; None where each patch is one.
        links: the gold links of the part, by tokens.
        folded: whether pictures within the text are one token each, of the queries and of the keys.
    """

    def __init__(
        self,
        one: Input,
        state: Mapping[str, Any],
        include_layers: Sequence[int] | None = None,
        include_heads: Sequence[int] | None = None,
        *,
        measures: xr.Dataset | None = None,
        against: Selection | None = None,
        columns: Sequence[Column] = (),
    ) -> None:
        self.state = {**DEFAULTS, **state}
        if self.state["scale"] == "neuron":
            self.state["unit"] = "pieces"  # words have no neurons
        self.part = one.part(self.state["part"])
        self._included = Included(one.parts[self.part], include_layers, include_heads)
        self.blocks = blocks(self._included, one.side)
        self.maps: AttentionMaps = coarse(self._included.maps, self.blocks)
        self.neurons: Neurons | None = None if self.blocks else one.neurons.get(self.part)
        self._beside, self._measures = columns, measures
        self.layers = self._included.index
        self.layer = self.layers[0] if self.state["layer"] < 0 else int(self.state["layer"])
        if self.layer not in self.layers:
            raise InputError(f"state: layer takes one of {self.layers} of this input; found {self.layer}")
        of_layer = self.heads(self.layer)
        open_heads = [int(head) for head in self.state["heads"] if int(head) in of_layer]
        self.state["heads"] = open_heads or of_layer[:1]
        axes = (self.maps.query, self.maps.key)
        words = self.state["unit"] == "words"
        # What each token is shown as part of: itself, its word, or its picture.
        self._number = [fold.groups(axis, words=words, unfolded=self._unfolded()) for axis in axes]
        self.folded = [
            len(set(number.tolist())) < len(set(fold.groups(axis, words=words, unfolded=None).tolist()))
            for axis, number in zip(axes, self._number, strict=True)
        ]
        self._merges = None
        if any(int(number.max(initial=-1)) + 1 < len(number) for number in self._number):
            counts = None if self.blocks is None else self.blocks.counts
            self._merges = (fold.matrices(self._number[0], counts)[0], fold.matrices(self._number[1])[1])
        whole = [
            fold.axis(axis, number, words=words) for axis, number in zip(axes, self._number, strict=True)
        ]
        named = word_labels if words else piece_labels
        whole = [replace(axis, pieces=named(axis)) for axis in whole]
        sides = (None, None) if self.state["filter"] == "all" else tuple(self.state["filter"])
        self.rows, self.columns = (
            _kept(axis, side, self.state["special"]) for axis, side in zip(whole, sides, strict=True)
        )
        if not self.state["sinks"] and self.state["scale"] != "neuron":
            left_out = sinks(self._included)
            left_out = self._number[1][left_out]
            self.columns = np.setdiff1d(self.columns, left_out)
        if not len(self.rows) or not len(self.columns):
            raise InputError("state: the filter leaves no token; show special tokens, or another filter")
        self.query, self.key = whole[0].take(self.rows), whole[1].take(self.columns)
        self._by_name = {
            name: layers if self.blocks is None else [self.blocks.mean(np.asarray(each)) for each in layers]
            for name, layers in one.quantities(self.part).items()
        }
        self.links = [of_blocks(link, self.blocks) for link in one.links.get(self.part, ())]
        self._quantity = self._find()
        self.of = one.notes.get(self.state["quantity"])
        self.signed = against is not None or any(
            bool((np.asarray(layer) < 0).any()) for layer in self._quantity
        )
        self.against = against
        self.scale = 1.0 if self.state["quantity"] == "weights" else self._largest()
        if against is not None:
            self.scale = max(self.scale, against.scale)
            mine, other = ((len(each.query), len(each.key)) for each in (self, against))
            if mine != other:
                raise InputError(
                    "state: side 'difference' subtracts inputs of as many tokens; these show {} × {} and "
                    "{} × {} (side='both' draws them side by side)".format(*mine, *other)
                )

    def _unfolded(self) -> Sequence[int] | None:
        """The pictures within a text whose tokens stand on their own; None: all, on the picture and beside q and k."""
        scale, picture = self.state["scale"], self.state["picture"]
        return (
            None if scale == "neuron" or (scale == "head" and picture == "image") else self.state["unfolded"]
        )

    def heads(self, layer: int) -> list[int]:
        """The shown heads of a layer; none where there is no such layer."""
        return self._included.of(layer)

    def weights(self, layer: int, head: int) -> Matrix:
        """The shown part of one head's weights, ``[row column]``, whatever the quantity is."""
        return self._shown(self.maps.layers[self.maps.index.index(layer)][head], "weights")

    def norms(self, layer: int, head: int) -> Matrix | None:
        """The shown part of one head's ‖α·v·W_O‖, ``[row column]``; None where it is not there."""
        norms = self._by_name.get("norms")
        if norms is None:
            return None
        return self._shown(norms[self.maps.index.index(layer)][head], "norms")

    def matrix(self, layer: int, head: int) -> Matrix:
        """The shown part of one head's matrix, ``[row column]``; of the difference where there is one."""
        matrix = self._shown(self._quantity[self.maps.index.index(layer)][head])
        if self.against is None:
            return matrix
        return matrix - self.against.matrix(layer, head) if head in self.against.heads(layer) else matrix

    def hidden(self) -> Sees:
        """The pairs that none of the drawn heads can see, in either input of a difference, ``[row column]``."""
        return ~self.sees(self.state["aggregate"] == "layers")

    def sees(
        self, every: bool = False, *, layer: int | None = None, heads: Sequence[int] | None = None
    ) -> Sees:
        """The pairs that any of some heads can see, in either input of a difference, ``[row column]``.

        Args:
            every: in any layer.
            layer: by default the open one.
            heads: by default the open ones.
        """
        seen = np.zeros((len(self.rows), len(self.columns)), np.bool_)
        for each in self.layers if every else [self.layer if layer is None else layer]:
            sight = self.maps.sight(self.maps.index.index(each))
            asked = [head for head in heads or self.state["heads"] if head in self.heads(each)]
            for head in asked if len(sight) > 1 else [0]:
                own = np.asarray(sight[head], np.float64)
                if self._merges is not None:
                    own = self._merges[0] @ own @ self._merges[1]
                seen |= own[np.ix_(self.rows, self.columns)] > 0
        return seen if self.against is None else seen | self.against.sees(every, layer=layer, heads=heads)

    def looks(self) -> Matrix | None:
        """How much each head gives each key on average, whatever is filtered, ``[head key]`` of all layers; of the
        difference where there is one. None where no key is an area of a picture.
        """
        boxes = areas(self._included.maps.key)
        if boxes is None:
            return None
        shares, largest = looks(self._included, ~np.isnan(boxes[:, 0]))
        found: Matrix = shares * largest[:, None]
        other = None if self.against is None else self.against.looks()
        return found if other is None or other.shape != found.shape else found - other

    def mean(self, layer: int) -> Matrix:
        """The mean over all heads of a layer, ``[row column]``; of the difference where there is one."""
        return self._of_layer(together(self._included).means[self.layers.index(layer)], "mean", layer)

    def rollout(self) -> Matrix | None:
        """Attention rollout up to the open layer, ``[row column]``; None where there is none."""
        rolled = together(self._included).rollout
        if rolled is None:
            return None
        return self._of_layer(rolled[self.layers.index(self.layer)], "rollout", self.layer)

    def _of_layer(self, matrix: FloatArray, name: str, layer: int) -> Matrix:
        own = self._shown(matrix if self.blocks is None else self.blocks.mean(matrix), "weights")
        if self.against is None:
            return own
        other = self.against.mean(layer) if name == "mean" else self.against.rollout()
        return own if other is None else own - other

    def fair(self, matrix: Matrix) -> Matrix:
        """What each row of a shown matrix gives on average to the shown keys that it sees, by size, ``[row 1]``.

        1/n of it where all of its weight is shown. A matrix with signs has no shares to give: there it is the mean
        size of all pairs. The page does the same (``fair`` of ``cut.ts``).
        """
        seen = (~self.hidden()).sum(1, keepdims=True)
        sizes: Matrix = np.abs(matrix).sum(1, keepdims=True)
        if self.signed:
            return np.full(sizes.shape, float(sizes.sum()) / max(1, int(seen.sum())))
        return sizes / np.maximum(seen, 1)

    def drawn_heads(self) -> list[Heads]:
        """The heads that the head view shows, the open one last, or what they make together."""
        heads = self._of_input()
        if self.against is None:
            return heads
        pairs = zip(heads, self.against.drawn_heads(), strict=False)
        return [Heads(mine.name, mine.head, mine.matrix - other.matrix) for mine, other in pairs]

    def pinned(self) -> Pinned:
        """The chosen tokens: the pinned one, or one on each side. A state names them by their pieces."""
        pin, between = self.state["pin"], self.state["between"]
        if between is not None:
            pins = list(zip(("from", "to"), between, strict=True))
        else:
            pins = [] if pin is None else [tuple(pin)]
        found: dict[str, int] = {}
        for side, place in pins:
            if side not in ("from", "to"):
                raise InputError(f"state: pin takes ('from', place) or ('to', place), found {pin!r}")
            at, shown = (0, self.rows) if side == "from" else (1, self.columns)
            if place < len(self._number[at]):
                place = int(self._number[at][place])
            places = shown.tolist()
            if place in places:
                found[side] = places.index(place)
        return Pinned(found.get("from"), found.get("to"))

    def pinned_in_words(self) -> str:
        """Which tokens are chosen, as a caption says it; empty for none."""
        sides = zip(("from", "to"), (self.query, self.key), self.pinned(), strict=True)
        return ", ".join(
            f"{side} {label(axis.pieces[place])}" for side, axis, place in sides if place is not None
        )

    def gold(self) -> list[Gold]:
        """The links that lie over the picture; none over a difference, where nothing is right or wrong."""
        if not self.state["gold"] or self.against is not None:
            return []
        shown: list[IntArray] = []
        for number, kept in zip(self._number, (self.rows, self.columns), strict=True):
            place = np.full(int(number[-1]) + 1, -1)
            place[kept] = np.arange(len(kept))
            shown.append(place[number])
        axes, crossed = (self.maps.query, self.maps.key), self.maps.kind == "cross"
        found = (placed(link, axes, (shown[0], shown[1]), crossed) for link in self.links)
        return [link for link in found if link is not None]

    def figures(self) -> Figures | None:
        """The state's measure of every shown head; None where the input has no such measure."""
        name, index, heads = str(self.state["measure"]), self.layers, self._included.heads
        columns: list[Column] = []
        if not name.startswith("corpus:"):
            columns = [*from_input(self._included), *self._beside]
        elif self._measures is not None:
            columns = from_corpus(self._measures, index, heads)
        for column in columns:
            if column.name == name:
                values = {
                    (layer, head): float(column.values[row, place])
                    for row, layer in enumerate(index)
                    for place, head in enumerate(heads[row])
                }
                return Figures(column.title, column.units, values)
        return None

    def measured(self, layer: int, head: int) -> dict[str, float]:
        """Every measure of one head on this very input, by name."""
        alone = Included(self._included.maps, [layer], [head])
        return {column.name: float(column.values[0, 0]) for column in from_input(alone)}

    def _of_input(self) -> list[Heads]:
        how, layer, index = self.state["aggregate"], self.layer, self.maps.index
        heads: list[int] = self.state["heads"]
        count = f"{len(heads)} heads"
        layers = self.layers if how == "layers" else [layer]
        pairs = [(each, head) for each in layers for head in heads if head in self.heads(each)]
        stack = np.stack([self._shown(self._quantity[index.index(each)][head]) for each, head in pairs])
        if how == "layers":
            name = f"Head {heads[0]}" if len(heads) == 1 else count
            return [Heads(f"{name}, mean of all layers", None, stack.mean(0))]
        if how == "none" or len(heads) == 1:
            return [Heads(f"L{layer}H{head}", head, m) for head, m in zip(heads, stack, strict=True)]
        if how == "mean":
            return [Heads(f"Layer {layer}, mean of {count}", None, stack.mean(0))]
        largest = np.take_along_axis(stack, np.abs(stack).argmax(0)[None], 0)[0]
        return [Heads(f"Layer {layer}, maximum of {count}", None, largest)]

    def _cut(self, layers: Sequence[npt.NDArray[Any]]) -> list[npt.NDArray[Any]]:
        return self._included.cut(layers, str(self.state["quantity"]))

    def _largest(self) -> float:
        """The largest magnitude of what may be shown: of pairs, and of words where these are shown."""
        layers = self._cut(self._quantity)
        if self._merges is not None:
            before, after = self._merges
            layers += [before @ np.asarray(layer, np.float64) @ after for layer in layers]
        return max((float(np.abs(layer).max(initial=0.0)) for layer in layers), default=0.0) or 1.0

    def _find(self) -> Sequence[npt.NDArray[Any]]:
        name, by_part = self.state["quantity"], self._by_name
        if name == "weights":
            return self.maps.layers
        if name not in by_part:
            known = ", ".join(map(repr, ["weights", *by_part]))
            raise InputError(f"state: quantity takes {known}; found {name!r}")
        for layer, matrix in zip(self.maps.layers, by_part[name], strict=True):
            if np.shape(matrix) != layer.shape:
                raise ShapeError(f"{name}: expected [head query key] {layer.shape}, found {np.shape(matrix)}")
        return by_part[name]

    def _shown(self, matrix: npt.ArrayLike, quantity: str | None = None) -> Matrix:
        part = np.asarray(matrix, np.float64)
        if self._merges is not None:
            part = self._merges[0] @ part @ self._merges[1]
        part = part[np.ix_(self.rows, self.columns)]
        if self.state["renormalise"] and (quantity or self.state["quantity"]) == "weights":
            total = part.sum(-1, keepdims=True)
            part = np.divide(part, total, out=np.zeros_like(part), where=total > 1e-6)
        return part


def within(zoom: Sequence[int] | None, rows: int, columns: int) -> tuple[slice, slice]:
    """The rows and columns of a window (first row, rows, first column, columns), moved to lie in the matrix.

    The page does the same (``within`` of ``matrixlayout.ts``).
    """
    if zoom is None:
        return slice(0, rows), slice(0, columns)
    return _window(zoom[0], zoom[1], rows), _window(zoom[2], zoom[3], columns)


def _window(first: int, size: int, most: int) -> slice:
    size = min(max(size, 1), most)
    first = min(max(first, 0), most - size)
    return slice(first, first + size)


def texts(tokens: Tokens) -> IntArray:
    """The text each token is of: 0 for A, 1 for B. Special tokens are of the text they stand in or end."""
    if tokens.sequence_ids is None:
        return np.zeros(len(tokens), np.int64)
    numbers = np.array(tokens.sequence_ids)
    last = 0
    for place, number in enumerate(numbers.tolist()):
        last = max(number, last)
        numbers[place] = last
    return numbers


def is_pair(tokens: Tokens) -> bool:
    """Whether the tokens are of two texts."""
    return bool((texts(tokens) == 1).any())


def _kept(tokens: Tokens, side: str | None, special: bool) -> IntArray:
    keep = np.ones(len(tokens), bool)
    if side is not None:
        if tokens.sequence_ids is None or not is_pair(tokens):
            raise InputError("state: a filter needs two texts; capture a pair (pair=B)")
        keep &= tokens.sequence_ids == "ab".index(side)
    if not special and tokens.special_mask is not None:
        keep &= ~tokens.special_mask
    return np.flatnonzero(keep)
