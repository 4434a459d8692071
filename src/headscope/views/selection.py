"""What a state shows of an input: which layers, heads, rows and columns, and the numbers at them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from headscope import words as _words
from headscope.errors import InputError, ShapeError
from headscope.maps import AttentionMaps
from headscope.neurons import Neurons
from headscope.tokens import IntArray, Tokens
from headscope.views.explorer import Input

Matrix = npt.NDArray[np.float64]

DEFAULTS: Mapping[str, Any] = {
    "scale": "head",
    "filter": "all",
    "special": True,
    "renormalise": False,
    "unit": "pieces",
    "draw": "auto",
    "picture": "lines",
    "measure": "none",
    "sort": False,
    "threshold": 0.02,
    "top_k": 0,
    "aggregate": "none",
    "quantity": "weights",
    "pin": None,
    "zoom": None,
    "input": 0,
    "side": "one",
    "values": False,
    "theme": "auto",
}
"""What a state says where it says nothing."""


@dataclass(frozen=True)
class Heads:
    """One head, or several made into one. `head` is None for an aggregate."""

    name: str
    head: int | None
    matrix: Matrix


class Selection:
    """What a state shows of one input.

    Attributes:
        state: the state, with defaults where it says nothing.
        rows, columns: places of the shown queries and keys on their (pieces' or words') axes.
        query, key: those tokens.
        layers: the model's own index of each shown layer.
        signed: whether the quantity has negative values.
        scale: the largest magnitude of the quantity (1 for weights).
    """

    def __init__(
        self,
        one: Input,
        state: Mapping[str, Any],
        include_layers: Sequence[int] | None = None,
        include_heads: Sequence[int] | None = None,
    ) -> None:
        self.state = {**DEFAULTS, **state}
        self.part: str = self.state.get("part", next(iter(one.parts)))
        self.maps: AttentionMaps = one.parts[self.part]
        self.neurons: Neurons | None = one.neurons.get(self.part)
        self.layers = [
            layer for layer in self.maps.index if include_layers is None or layer in set(include_layers)
        ]
        self._heads = include_heads
        self.layer = int(self.state.get("layer", self.layers[0]))
        self.state.setdefault("heads", self.heads(self.layer)[:1])
        whole = (self.maps.query, self.maps.key)
        self._words = None
        if self.state["unit"] == "words":
            self._words = (_words.matrix(self.maps.query)[0], _words.matrix(self.maps.key)[1])
            whole = (_words.words(self.maps.query), _words.words(self.maps.key))
        sides = (None, None) if self.state["filter"] == "all" else tuple(self.state["filter"])
        self.rows, self.columns = (
            _kept(axis, side, self.state["special"]) for axis, side in zip(whole, sides, strict=True)
        )
        if not len(self.rows) or not len(self.columns):
            raise InputError("state: the filter leaves no token; show special tokens, or another filter")
        self.query, self.key = whole[0].take(self.rows), whole[1].take(self.columns)
        self._quantity = self._find(one)
        self.signed = any(bool((np.asarray(layer) < 0).any()) for layer in self._quantity)
        largest = max((float(np.abs(layer).max(initial=0.0)) for layer in self._quantity), default=1.0)
        self.scale = 1.0 if self.state["quantity"] == "weights" else (largest or 1.0)

    def heads(self, layer: int) -> list[int]:
        """The shown heads of a layer."""
        count = len(self.maps.layers[self.maps.index.index(layer)])
        asked = range(count) if self._heads is None else sorted(set(self._heads))
        return [head for head in asked if head < count]

    def matrix(self, layer: int, head: int) -> Matrix:
        """The shown part of one head's matrix, ``[row column]``."""
        return self._shown(np.asarray(self._quantity[self.maps.index.index(layer)][head], np.float64))

    def chosen(self) -> list[Heads]:
        """The heads that the head view shows, the open one last, or what they make together."""
        state, layer = self.state, self.layer
        heads = [int(head) for head in state["heads"]]
        if state["aggregate"] == "layers":
            shown = [np.mean([self.matrix(one, head) for head in self.heads(one)], 0) for one in self.layers]
            return [Heads("mean of all layers", None, np.mean(shown, 0))]
        matrices = [self.matrix(layer, head) for head in heads]
        if state["aggregate"] == "none" or len(heads) == 1:
            return [Heads(f"L{layer}H{head}", head, m) for head, m in zip(heads, matrices, strict=True)]
        if state["aggregate"] == "mean":
            return [Heads(f"mean of {len(heads)} heads", None, np.mean(matrices, 0))]
        return [Heads(f"maximum of {len(heads)} heads", None, np.max(matrices, 0))]

    def pinned(self) -> tuple[Literal["from", "to"], int] | None:
        """The side and the row (or column) of the pinned token, where it is shown."""
        pin = self.state["pin"]
        if pin is None:
            return None
        side, place = pin
        if side not in ("from", "to"):
            raise InputError(f"state: pin takes ('from', place) or ('to', place), found {pin!r}")
        places = (self.rows if side == "from" else self.columns).tolist()
        return (cast(Any, side), places.index(place)) if place in places else None

    def _find(self, one: Input) -> Sequence[npt.NDArray[Any]]:
        name = self.state["quantity"]
        if name == "weights":
            return self.maps.layers
        by_part = {kind: found[self.part] for kind, found in one.matrices.items() if self.part in found}
        if self.neurons is not None and self.neurons.norms is not None:
            by_part.setdefault("norms", self.neurons.norms)
        if name not in by_part:
            known = ", ".join(map(repr, ["weights", *by_part]))
            raise InputError(f"state: quantity takes {known}; found {name!r}")
        for layer, matrix in zip(self.maps.layers, by_part[name], strict=True):
            if np.shape(matrix) != layer.shape:
                raise ShapeError(f"{name}: expected [head query key] {layer.shape}, found {np.shape(matrix)}")
        return by_part[name]

    def _shown(self, matrix: Matrix) -> Matrix:
        if self._words is not None:
            matrix = self._words[0] @ matrix @ self._words[1]
        matrix = matrix[self.rows][:, self.columns]
        if self.state["renormalise"]:
            total = matrix.sum(-1, keepdims=True)
            matrix = np.divide(matrix, total, out=np.zeros_like(matrix), where=total > 0)
        return matrix


def texts(tokens: Tokens) -> IntArray:
    """The text each token is of: 0 for A, 1 for B. Special tokens are of the text they stand in or end."""
    if tokens.sequence_ids is None:
        return np.zeros(len(tokens), np.int64)
    found = np.array(tokens.sequence_ids)
    last = 0
    for place, number in enumerate(found.tolist()):
        last = max(number, last)
        found[place] = last
    return found


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
