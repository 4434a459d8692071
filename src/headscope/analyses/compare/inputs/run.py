"""What does a model do differently on two inputs?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.compare.models.statistics import drift, with_rest
from headscope.analyses.result import Comparison, Result
from headscope.attention.one import capture
from headscope.core.arrays import Ints
from headscope.core.maps import AttentionMaps
from headscope.core.tokens import Tokens
from headscope.core.types import AnyDict, AnyMapping, AnyPath
from headscope.core.validation import validated
from headscope.errors import InputError
from headscope.live.view import Text, view
from headscope.measures.choose import choose, surface
from headscope.measures.measure import Measure
from headscope.measures.tidy import labelled, tidy
from headscope.models import Model
from headscope.runs.long import described
from headscope.runs.options import COMMAND
from headscope.views.blocks import Block, rows_of
from headscope.views.view import View

Align = Literal["position", "word"]

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
                f"inputs: expected as many tokens in both, found {len(a.query)} and {len(b.query)}; align them by word"
            )
        return a, b
    if align != "word":
        raise InputError(f"align: expected 'position' or 'word', found {align!r}")
    a, b = a.words(), b.words()
    first, second = matched(_words(a.query), _words(b.query))
    if not len(first):
        raise InputError("inputs: no word is in both; align them by position")
    in_a, in_b = (np.isin(np.arange(len(maps.query)), places) for maps, places in ((a, first), (b, second)))
    return a.take(in_a, in_a), b.take(in_b, in_b)


def matched(a: Sequence[str], b: Sequence[str]) -> tuple[Ints, Ints]:
    """The places of words that are the same in two lists, in order: as many in each, rising in both."""
    blocks = SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
    pairs = [(block.a + step, block.b + step) for block in blocks for step in range(block.size)]
    places = np.array(pairs, np.int64).reshape(-1, 2)
    return places[:, 0], places[:, 1]


def compare(
    a: AttentionMaps,
    b: AttentionMaps,
    *,
    align: Align = "position",
    measures: Sequence[str | Measure] | None = None,
    meta: AnyMapping | None = None,
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
        raise InputError("inputs: expected maps of one model, found other layers or heads in the second")
    pair = (a, b) if align == "position" else (a.words(), b.words())
    definitions = choose(("surface", "patterns") if measures is None else measures)
    over = "pieces" if align == "position" else "words"
    first, second = (surface(maps, definitions, over=over) for maps in pair)
    shared = [measure for measure in definitions if measure.name in first and measure.name in second]
    if not shared:
        raise InputError("measures: none of these measures applies to both inputs")
    values = [np.stack([figures[measure.name].values for measure in shared]) for figures in (first, second)]
    variables = {"a": values[0], "b": values[1], "difference": values[0] - values[1], **_moved(one, other)}
    about = {
        **(meta or {}),
        "align": align,
        "rows": len(one.query) - int(a.causal),
        "of": [len(maps.query) for maps in pair],
        "difference": "A − B",
    }
    return labelled(variables, shared, one.index, about)


def table(dataset: xr.Dataset) -> pd.DataFrame:
    """One row a measure and head, with `COLUMNS`. Heads that a layer does not have have no row."""
    return tidy(dataset, COLUMNS, "a")


def findings(figures: xr.Dataset) -> list[str | Block]:
    """The heads that differ most."""
    rows: Any = table(figures)
    rows = rows.drop_duplicates(["layer", "head"]).sort_values("js", ascending=False, kind="stable")
    return [
        "the heads that differ most (Jensen–Shannon, nats a row; the weight that changed most, A − B)",
        *rows_of(rows, dropped=("measure", "a", "b", "difference")),
    ]


def _moved(a: AttentionMaps, b: AttentionMaps) -> AnyDict:
    """How the aligned rows of each head differ, over (layer, head)."""
    start = int(a.causal)
    rows = len(a.query) - start
    if rows < 1:
        raise InputError(f"inputs: too few tokens stand for each other to compare rows, found {len(a.query)}")
    shape = (len(a), max(len(layer) for layer in a.layers))
    js, cosine, change = (np.full(shape, np.nan) for _ in range(3))
    queries, keys = (np.full(shape, "", dtype=object) for _ in range(2))
    for layer, (one, other) in enumerate(zip(a.layers, b.layers, strict=True)):
        first, second = (np.asarray(maps, np.float64) for maps in (one, other))
        count = len(first)
        js[layer, :count], cosine[layer, :count] = (
            drift(with_rest(first[:, start:]), with_rest(second[:, start:])) / rows
        )
        gap = (first - second).reshape(count, -1)
        largest = np.abs(gap).argmax(1)
        change[layer, :count] = gap[np.arange(count), largest]
        for head, place in enumerate(largest):
            query, key = divmod(int(place), first.shape[2])
            queries[layer, head], keys[layer, head] = _both(a.query, b.query, query), _both(a.key, b.key, key)
    figures = {
        "js": js,
        "cosine": cosine,
        "change": change,
        "from": queries.astype(str),
        "to": keys.astype(str),
    }
    return {name: (("layer", "head"), array) for name, array in figures.items()}


def _both(a: Tokens, b: Tokens, place: int) -> str:
    one, other = a.pieces[place], b.pieces[place]
    return one if one == other else f"{one} / {other}"


def _words(tokens: Tokens) -> list[str]:
    return [piece.casefold() for piece in tokens.pieces]


@dataclass(frozen=True, eq=False, repr=False)
class ComparedInputs(Comparison):
    """Two inputs of one model, compared.

    Attributes:
        figures: see `headscope.analyses.compare.inputs.run.compare`.
        a, b: the maps of the tokens or words that stand for each other.
        model: that made them.
        texts: the two inputs.
    """

    figures: xr.Dataset
    a: AttentionMaps
    b: AttentionMaps
    model: Model
    texts: tuple[Text, Text]

    def save(self, path: AnyPath, *, raw: bool = False) -> Path:
        """Write it as its suffix says, and return the path: the explorer of A − B as ``.html``, ``.svg``, ``.pdf`` or
        ``.png``, the table as ``.csv``, ``.parquet``, ``.json`` or ``.tex``, the figures as ``.nc``.

        Raises `InputError` for another suffix, and where nothing can be written.
        """
        return Result.of(self.figures, self.view).save(path, raw=raw)

    def view(self, **state: Any) -> View:
        """The explorer of A, of B and of A − B, which comes first, opened at the head that differs most.

        `state` is as in `headscope.view`.
        """
        js = self.figures["js"].stack(place=("layer", "head"))
        layer, head = js.dropna("place").idxmax("place").item()
        state = {"side": "difference", "layer": int(layer), "heads": [int(head)], **state}
        if self.a.partial or self.b.partial:
            return view(self.a, against=self.b, **state)
        return view(self.model, self.texts[0], against=self.texts[1], **state)


@validated
def inputs(
    model: Model,
    a: Text,
    b: Text,
    *,
    align: Align = "position",
    measures: Sequence[str | Measure] | None = None,
) -> ComparedInputs:
    """Compare what every head does on two texts, or two pairs of texts.

    Args:
        model: from `headscope.load`: a model of one part.
        a, b: strings, ``(A, B)`` tuples or `Tokens`, as in `headscope.capture`; A is the first of the difference.
        align: which tokens stand for each other: those at the same ``position``, or the same ``word``. See
            `headscope.analyses.compare.inputs.run.aligned`.
        measures: which measures, by names or definitions; by default the groups ``surface`` and ``patterns``.

    Raises:
        InputError: inputs that cannot be aligned, or an encoder-decoder.

    >>> float(hs.compare.inputs(model, "The cat sat.", "The cat sat.").table["js"].max())
    0.0
    """
    first, second = capture(model, a), capture(model, b)
    if not isinstance(first, AttentionMaps) or not isinstance(second, AttentionMaps):
        raise InputError(f"{model.name}: expected a model of one part, found one of several")
    meta = {"model": described(model, ())["model"], "command": COMMAND.get()}
    figures = compare(first, second, align=align, measures=measures, meta=meta)
    return ComparedInputs(figures, *aligned(first, second, align), model, (a, b))
