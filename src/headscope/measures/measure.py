"""What a measure is: a statistic of single rows of a matrix, and a rule for which rows count.

Its figure is the sum over these rows by their number. The same definitions serve whole maps
(`headscope.measures.choose`) and streams over a corpus (`headscope.runs.task`). `pair_measure` and `row_measure`
make a measure of your own from one function:

>>> @pair_measure("same_piece", "Mass on earlier copies of the same piece.")
... def same_piece(tokens, queries):
...     earlier = np.arange(len(tokens)) < queries[:, None]
...     return earlier & (tokens.ids == tokens.ids[queries, None])
>>> headscope.measure(model, corpus, measures=["entropy", same_piece])

Where measures come from: BibTeX entries by key, for `Measure.cite`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from inspect import signature
from typing import Any, Literal

import numpy as np

from headscope.core.arrays import Bools, Floats, Ints
from headscope.core.maps import AttentionMaps
from headscope.core.tokens import Tokens
from headscope.core.validation import validated
from headscope.errors import InputError

_TEXT = (files("headscope.measures") / "sources.bib").read_text("utf-8")

BIBTEX: Mapping[str, str] = {
    entry[entry.index("{") + 1 : entry.index(",")]: entry for entry in re.split(r"\n\n(?=@)", _TEXT.strip())
}
"""The entries of ``sources.bib``. A key is the first author and the year in which the work first appeared."""


def bibtex(keys: Iterable[str]) -> str:
    """The entries of some keys, in their order, a blank line between them; empty for none.

    Raises `InputError` for a key that is not in `BIBTEX`.
    """
    wanted = list(dict.fromkeys(keys))
    for key in wanted:
        if key not in BIBTEX:
            raise InputError(f"sources: expected one of {', '.join(BIBTEX)}, found {key!r}")
    return "\n\n".join(BIBTEX[key] for key in wanted)


Statistic = Literal["offset", "mass", "entropy", "largest", "pairs", "rows"]
Rows = Literal["all", "reach", "choice", "first", "class", "not class", "pairs"]
Matrix = Literal["weights", "gradient", "norm"]
Pairs = Callable[[Tokens, Ints], np.ndarray]
"""``(tokens, queries) -> [query key]``: what a weight of these queries on each key is worth, 0 or False for nothing."""
RowFunction = Callable[..., np.ndarray]
"""``(weights [head query key], tokens, queries) -> [head query]``: one figure a row of each head.

One that names an argument ``visible`` is given there which keys each query can see, ``[head query key]``, or
``[1 query key]`` where heads agree.
"""
Sight = bool | Bools
"""What rows see: whether each sees only itself and what stands before it (a causal model), or else all; where there are
windows, which keys each query can see, ``[... query key]``."""

_ROWS_AT_A_TIME = 512


@dataclass(frozen=True)
class Measure:
    """One measure: a statistic of rows, and which rows.

    Attributes:
        name: its column, such as ``previous``.
        title: for figures.
        description: one sentence that says what is averaged.
        units: ``share`` (of a row's attention, 0 to 1), ``nats``, ``tokens``, ….
        source: where it comes from: a paper and its section; None: it is headscope's, or your, own.
        statistic: of a row: the weight at an `offset`, the mass on a class, entropy, the largest weight, the sum
            of weights by what `pairs` are worth, or what a function makes of whole `rows`.
        offset: o of ``offset``, the weight that row i gives to key i + o.
        of: the class of ``mass``.
        rows: ``all``; those that ``reach`` a key at the offset, which they can see; those with a ``choice`` (the first
            row of a causal model, or of a chunk, sees only itself); the ``first``; those of a ``class`` (`whose`) or
            ``not class``; those with ``pairs`` that they can see.
        whose: the class of ``rows``.
        divisor: what the sum is divided by: the number of these rows, or what the released code of Clark et al.
            takes.
        pairs: of the statistic ``pairs``, and of the rows ``pairs``.
        among: of the statistic ``pairs``: the keys whose weights are put to sum to 1 in each row; None: all as they
            are.
        function: of the statistic ``rows``.
        matrix: what the rows are of: attention weights α; the gradient's size ``|∂L/∂α|``; or the norms
            ``‖α f(x)‖`` of what each key contributes, as shares of their row.
        keys: names of its sources in `headscope.measures.measure`.
        requires: classes of tokens without which the measure says nothing, beside those that it names.
        example: makes maps of one head on which ``docs/measures.md`` works it out; None: one of that page's does.
        stays: whether it is told as well how often each head stays among the highest where documents are drawn again.
    """

    name: str
    title: str
    description: str
    units: str
    source: str | None
    statistic: Statistic
    offset: int = 0
    of: str = ""
    rows: Rows = "all"
    whose: str = ""
    divisor: Literal["rows", "tokens", "two", "tokens less two"] = "rows"
    pairs: Pairs | None = None
    function: RowFunction | None = None
    matrix: Matrix = "weights"
    keys: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    among: Pairs | None = None
    example: Callable[[], AttentionMaps] | None = None
    stays: bool = False

    def cite(self) -> str:
        """BibTeX of the works that the measure comes from; empty for one that comes from none."""
        return bibtex(self.keys)

    @property
    def needs(self) -> tuple[str, ...]:
        """Classes of tokens without which the measure says nothing."""
        named = [self.of if self.statistic == "mass" else "", self.whose, *self.requires]
        return tuple(dict.fromkeys(name for name in named if name not in ("", "first")))

    def absent(self, causal: bool) -> str | None:
        """Why a causal model has no such measure; None where it has."""
        if causal and self.statistic == "offset" and self.offset > 0:
            return "a causal model does not see later tokens"
        if causal and self.rows == "first":
            return "the first token of a causal model sees only itself"
        return None

    def select(self, tokens: Tokens, sight: Sight) -> Bools:
        """The rows that count, ``[query]``, or ``[... query]`` where `sight` is ``[... query key]``."""
        count = len(tokens)
        place = np.arange(count)
        if self.rows == "pairs":
            return self._with_pairs(tokens, sight)
        if isinstance(sight, np.ndarray):
            if self.rows == "reach":
                return _diagonal(sight, self.offset)
            if self.rows == "choice":
                return sight.sum(-1) > 1
            return self.select(tokens, False) & sight.any(-1)
        if self.rows == "reach":
            return (place + self.offset >= 0) & (place + self.offset < count)
        if self.rows == "choice":
            return place > 0 if sight else np.ones(count, np.bool_)
        if self.rows == "first":
            return place == 0
        if self.rows == "all":
            return np.ones(count, np.bool_)
        members = mask(tokens, self.whose)
        return members if self.rows == "class" else ~members

    def divide_by(self, tokens: Tokens, rows: np.ndarray) -> Floats:
        """What the sum over `rows` (`select`) is divided by for its mean over one input, ``[...]``."""
        if self.divisor == "rows":
            return rows.sum(-1, dtype=np.float64)
        number = {"tokens": len(tokens), "two": 2, "tokens less two": len(tokens) - 2}[self.divisor]
        return np.full(rows.shape[:-1], float(number))

    def worth(self, tokens: Tokens, queries: Ints) -> Floats:
        """What `pairs` gives, ``[query key]``. Raises `InputError` for another shape, or what is no number."""
        return self._of_pairs(self.pairs, tokens, queries)

    def counted(self, tokens: Tokens, queries: Ints) -> Floats:
        """The keys that are `among`, ``[query key]``, as `worth`."""
        return self._of_pairs(self.among, tokens, queries)

    @property
    def looks(self) -> bool:
        """Whether `function` is given which keys each query can see."""
        return self.function is not None and _takes_visible(self.function)

    def of_rows(self, weights: Floats, tokens: Tokens, queries: Ints, visible: Bools | None = None) -> Floats:
        """What `function` gives, ``[head query]``. Raises `InputError` for another shape, or what is no number.

        `visible` is which keys each query can see, ``[head query key]`` or ``[1 query key]``; None: all of them.
        """
        assert self.function is not None
        more: dict[str, Bools] = {}
        if self.looks:
            more["visible"] = np.ones((1, *weights.shape[1:]), np.bool_) if visible is None else visible
        values = np.asarray(self.function(weights, tokens, queries, **more), np.float64)
        return _checked(self.name, values, weights.shape[:2], "[head query]")

    def _of_pairs(self, pairs: Pairs | None, tokens: Tokens, queries: Ints) -> Floats:
        assert pairs is not None
        values = np.asarray(pairs(tokens, queries), np.float64)
        return _checked(self.name, values, (len(queries), len(tokens)), "[query key]")

    def _with_pairs(self, tokens: Tokens, sight: Sight) -> Bools:
        count = len(tokens)
        rows = np.zeros(sight.shape[:-1] if isinstance(sight, np.ndarray) else count, np.bool_)
        for start in range(0, count, _ROWS_AT_A_TIME):
            queries = np.arange(start, min(start + _ROWS_AT_A_TIME, count))
            worth = self.worth(tokens, queries) != 0
            if isinstance(sight, np.ndarray):
                worth = worth & sight[..., queries, :]
            elif sight:
                worth &= np.arange(count) <= queries[:, None]
            rows[..., queries] = worth.any(-1)
        return rows


@validated
def pair_measure(
    name: str,
    description: str,
    *,
    title: str = "",
    units: str = "share",
    rows: Rows = "pairs",
    among: Pairs | None = None,
    needs: tuple[str, ...] = (),
    source: str | None = None,
    keys: tuple[str, ...] = (),
    example: Callable[[], AttentionMaps] | None = None,
) -> Callable[[Pairs], Measure]:
    """Make a measure of a function that says what each pair of tokens is worth.

    The function gets `Tokens` and the positions of some queries, and returns ``[query key]`` of numbers or
    booleans: the figure of a row is the sum of its weights by these. Memory stays linear in length.

    Args:
        name: its column.
        description: one sentence: what is averaged over which rows.
        title: for figures; by default the name.
        units: ``share`` where the pairs are worth 0 or 1.
        rows: which rows count; by default those with at least one pair that they can see.
        among: says of pairs which weights of a row are put to sum to 1, so that its figure is a mean over these; a row
            that gives them nothing has 0. By default all weights count as they are.
        needs: classes of tokens without which it says nothing, such as ``patch`` (tokens with an area of a picture).
        source: the paper and its section; None: no paper's.
        keys: names of its sources in `headscope.measures.measure`, for `Measure.cite`.
        example: makes maps of one head on which its figure can be worked out on paper.

    >>> @hs.pair_measure("same_piece", "Mass on earlier copies of the same piece.")
    ... def same_piece(tokens, queries):
    ...     earlier = np.arange(len(tokens)) < queries[:, None]
    ...     return earlier & (tokens.ids == tokens.ids[queries, None])
    >>> float(hs.measure(model, corpus, measures=[same_piece])["same_piece"].max()) <= 1
    True
    """

    fixed = (_name(name), title or name, description, units, source, "pairs")
    return lambda pairs: Measure(
        *fixed, rows=rows, pairs=pairs, keys=keys, requires=needs, among=among, example=example
    )


@validated
def row_measure(
    name: str,
    description: str,
    *,
    title: str = "",
    units: str = "",
    rows: Rows = "all",
    pairs: Pairs | None = None,
    needs: tuple[str, ...] = (),
    source: str | None = None,
    keys: tuple[str, ...] = (),
    example: Callable[[], AttentionMaps] | None = None,
) -> Callable[[RowFunction], Measure]:
    """Make a measure of a function of whole rows: ``(weights [head query key], tokens, queries) -> [head query]``.

    The function gets some rows of all or some heads of one layer and one input, in float64: it must not rely on
    how many. Where it names an argument ``visible`` it is given there which keys each query can see, ``[head query
    key]`` or ``[1 query key]``: what a causal model, a window or a chunk hides has weight 0, but so may a key that is
    seen. Other arguments as in `pair_measure`; with ``rows="pairs"`` those rows count that see one of `pairs`.

    >>> @hs.row_measure("second", "The second largest weight of a row.", units="share")
    ... def second(weights, tokens, queries):
    ...     return np.partition(weights, -2, axis=-1)[..., -2]
    >>> @hs.row_measure("reached", "Share of the keys a token sees to which it gives at least half of an even share.")
    ... def reached(weights, tokens, queries, visible):
    ...     seen = visible.sum(-1)
    ...     return (visible & (weights >= 0.5 / seen[..., None])).sum(-1) / seen
    """
    if (rows == "pairs") != (pairs is not None):
        raise InputError(f"measure {name}: expected pairs with rows='pairs' only, found rows={rows!r}")

    fixed = (_name(name), title or name, description, units, source, "rows")
    return lambda function: Measure(
        *fixed, rows=rows, pairs=pairs, function=function, keys=keys, requires=needs, example=example
    )


def by_name(*measures: Measure) -> dict[str, Measure]:
    """A group of measures, by their names."""
    return {measure.name: measure for measure in measures}


def mask(tokens: Tokens, of: str) -> Bools:
    """The tokens of a class; none where the input has no such class."""
    return tokens.mask(of) if of in tokens.named else np.zeros(len(tokens), np.bool_)


def classes(measures: Sequence[Measure]) -> tuple[str, ...]:
    """The classes on which these measures need the mass of each row."""
    return tuple(dict.fromkeys(measure.of for measure in measures if measure.statistic == "mass"))


def offsets(measures: Sequence[Measure]) -> tuple[int, ...]:
    """The offsets at which these measures need the weights."""
    return tuple(dict.fromkeys(measure.offset for measure in measures if measure.statistic == "offset"))


def selection(measures: Sequence[Measure], tokens: Tokens, sight: Sight) -> tuple[Floats, Floats]:
    """Which rows count for each measure ``[measure query]``, 0 or 1, and the divisors ``[measure]``.

    ``[measure ... query]`` and ``[measure ...]`` where `sight` is ``[... query key]``.
    """
    rows = [measure.select(tokens, sight) for measure in measures]
    divisors = [measure.divide_by(tokens, selected) for measure, selected in zip(measures, rows, strict=True)]
    return np.array(rows, np.float64), np.array(divisors)


def without(
    measures: Sequence[Measure],
    causal: bool,
    counts: Mapping[str, int],
    rows: Sequence[Any] | np.ndarray,
    known: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Which of these measures do not apply to the inputs, and why.

    Args:
        measures: what was asked for.
        causal: whether the model is causal.
        counts: how many tokens of each class there were.
        rows: of each measure, whether an input has a row that counts.
        known: reasons that are known already.

    Raises `InputError` where none applies.
    """
    absent: dict[str, str] = {}
    for measure in measures:
        reason = measure.absent(causal)
        for of in measure.needs:
            if reason is None and not counts.get(of):
                reason = f"the inputs have no {_CALLED.get(of, f'tokens of the class {of}')}"
        if reason is not None:
            absent[measure.name] = reason
    absent |= known or {}
    for measure, there in zip(measures, rows, strict=True):
        if not there and measure.name not in absent:
            text = measure.description.rstrip(".")
            absent[measure.name] = f"the inputs have no row for the {text[:1].lower()}{text[1:]}"
    if all(measure.name in absent for measure in measures):
        reasons = "; ".join(f"{name}: {reason}" for name, reason in absent.items())
        raise InputError(f"measures: none of these measures applies here: {reasons}")
    return absent


_CALLED = {
    "sep": "separators",
    "cls": "[CLS]",
    "punctuation": "punctuation",
    "register": "registers",
    "patch": "patches whose areas are known",
    "frame": "frames of sound",
    "step": "steps of a time series",
    "image": "picture among their tokens",
    "question": "question beside a picture",
    "generated": "words that were generated",
}


@cache
def _takes_visible(function: RowFunction) -> bool:
    return "visible" in signature(function).parameters


def _diagonal(seen: Bools, offset: int) -> Bools:
    """Whether each query can see the key at an offset from it, ``[... query]``."""
    line = np.diagonal(seen, offset, -2, -1)
    rows = np.zeros(seen.shape[:-1], np.bool_)
    rows[..., max(0, -offset) :][..., : line.shape[-1]] = line
    return rows


def _name(name: str) -> str:
    if not name.isidentifier():
        raise InputError(f"measure: expected a name of letters, digits and _, found {name!r}")
    return name


def _checked(name: str, values: Floats, shape: tuple[int, ...], axes: str) -> Floats:
    if values.shape != shape:
        raise InputError(f"measure {name}: expected {axes} {shape}, found shape {values.shape}")
    if not np.isfinite(values).all():
        raise InputError(f"measure {name}: expected finite numbers, found NaN or infinity")
    return values
