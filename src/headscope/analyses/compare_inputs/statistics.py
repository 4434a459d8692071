"""Two inputs of one model: which tokens or words stand for each other, and how each head's rows differ there."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.compare_models.statistics import drift
from headscope.errors import InputError
from headscope.maps import AttentionMaps
from headscope.measures.choose import choose
from headscope.measures.dataset import names
from headscope.measures.measure import Measure
from headscope.measures.single import surface
from headscope.measures.tidy import tidy
from headscope.tokens import Tokens

Align = Literal["position", "word"]
Floats = npt.NDArray[np.float64]

COLUMNS = (
    *("layer", "head", "paper", "measure", "a", "b", "difference"),
    *("js", "cosine", "change", "from", "to"),
)
"""Columns of the tidy table; from ``js`` on they are of the head's aligned maps, whatever the measure."""


def aligned(a: AttentionMaps, b: AttentionMaps, align: Align) -> tuple[AttentionMaps, AttentionMaps]:
    """The rows and columns of two inputs that stand for each other, in order: as many in both.

    By ``position`` the n-th token stands for the n-th, and there must be as many. By ``word`` maps are over words, and
    the same words (in any case, special tokens among them) in the same order stand for each other, as `difflib` finds
    them; the others are left out, so that rows need not sum to 1.

    Raises `InputError` where there are not as many tokens, or no two words are the same.
    """
    if align == "position":
        if len(a.query) != len(b.query):
            raise InputError(
                f"inputs: expected as many tokens to align them by position, found {len(a.query)} and {len(b.query)}; "
                "align them by word"
            )
        return a, b
    if align != "word":
        raise InputError(f"align: expected 'position' or 'word', found {align!r}")
    a, b = a.words(), b.words()
    first, second = matched(_words(a.query), _words(b.query))
    if not len(first):
        raise InputError("inputs: expected a word that is in both, found none; align them by position")
    masks = (np.isin(np.arange(len(one.query)), own) for one, own in ((a, first), (b, second)))
    one, other = (maps.take(mask, mask) for maps, mask in zip((a, b), masks, strict=True))
    return one, other


def matched(a: Sequence[str], b: Sequence[str]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The places of words that are the same in two lists, in order: as many in each, rising in both."""
    blocks = SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
    pairs = [(one + step, two + step) for one, two, size in blocks for step in range(size)]
    found = np.array(pairs, np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def compare(
    a: AttentionMaps,
    b: AttentionMaps,
    *,
    align: Align = "position",
    measures: Sequence[str | Measure] | None = None,
    meta: Mapping[str, Any] | None = None,
) -> xr.Dataset:
    """Compare two inputs in every head.

    Returns:
        Over ``(measure, layer, head)``: ``a``, ``b`` (of the whole inputs, over pieces or, aligned by word, over words)
        and ``difference`` (A − B). Over ``(layer, head)``, means over the rows that stand for each other (in a causal
        model without the first): ``js`` (nats; what a row gives to the words that are left out is one more outcome) and
        ``cosine``; and the largest change of a weight: ``change`` (A − B), ``from`` and ``to`` (the tokens' names in A,
        and B's behind a slash where it differs).
    """
    one, other = aligned(a, b, align)
    if [len(layer) for layer in one.layers] != [len(layer) for layer in other.layers]:
        raise InputError("inputs: expected maps of one model, found maps with other layers or heads")
    whole = (a, b) if align == "position" else (a.words(), b.words())
    chosen = choose(("surface", "patterns") if measures is None else measures)
    own = [surface(maps, chosen, over="pieces" if align == "position" else "words") for maps in whole]
    shared = [name for name in names(own[0]) if name in own[1].data_vars]
    if not shared:
        raise InputError("measures: expected one that both inputs have, found none")
    axes = ("measure", "layer", "head")
    values = [np.stack([found[name].values for name in shared]) for found in own]
    variables: dict[str, Any] = {
        "a": (axes, values[0]),
        "b": (axes, values[1]),
        "difference": (axes, values[0] - values[1]),
        **_moved(one, other),
    }
    titles = {one.name: one.title for one in chosen}
    about = {
        **(meta or {}),
        "align": align,
        "rows": len(one.query) - int(a.causal),
        "of": [len(maps.query) for maps in whole],
        "difference": "A − B",
    }
    coords: dict[str, Any] = {
        "measure": shared,
        "layer": list(one.index),
        "head": np.arange(values[0].shape[2]),
        "title": ("measure", [titles[name] for name in shared]),
        "units": ("measure", [own[0][name].attrs["units"] for name in shared]),
    }
    return xr.Dataset(variables, coords, {"meta": json.dumps(about, ensure_ascii=False)})


def table(found: xr.Dataset) -> pd.DataFrame:
    """One row a measure and head, with `COLUMNS`. Heads that a layer does not have have no row."""
    return tidy(found, COLUMNS, "a")


def _moved(a: AttentionMaps, b: AttentionMaps) -> dict[str, Any]:
    """How the aligned rows of each head differ, over (layer, head)."""
    heads = max(len(layer) for layer in a.layers)
    shape = (len(a), heads)
    found = {name: np.full(shape, np.nan) for name in ("js", "cosine", "change")}
    text = {name: np.full(shape, "", dtype=object) for name in ("from", "to")}
    start = int(a.causal)
    rows = len(a.query) - start
    if rows < 1:
        raise InputError(f"inputs: expected rows to compare, found {len(a.query)} that stand for each other")
    for place, (one, other) in enumerate(zip(a.layers, b.layers, strict=True)):
        first, second = (np.asarray(layer, np.float64) for layer in (one, other))
        count = len(first)
        found["js"][place, :count], found["cosine"][place, :count] = (
            drift(_whole(first[:, start:]), _whole(second[:, start:])) / rows
        )
        gap = (first - second).reshape(count, -1)
        most = np.abs(gap).argmax(1)
        found["change"][place, :count] = gap[np.arange(count), most]
        for head, at in enumerate(most):
            query, key = divmod(int(at), first.shape[2])
            text["from"][place, head] = _both(a.query, b.query, query)
            text["to"][place, head] = _both(a.key, b.key, key)
    axes = ("layer", "head")
    return {
        **{name: (axes, array) for name, array in found.items()},
        **{name: (axes, array.astype(str)) for name, array in text.items()},
    }


def _whole(rows: Floats) -> Floats:
    """Rows with what is left out of them as one more outcome."""
    return np.concatenate([rows, np.maximum(1.0 - rows.sum(-1, keepdims=True), 0.0)], -1)


def _both(a: Tokens, b: Tokens, place: int) -> str:
    one, other = a.pieces[place], b.pieces[place]
    return one if one == other else f"{one} / {other}"


def _words(tokens: Tokens) -> list[str]:
    return [piece.casefold() for piece in tokens.pieces]
