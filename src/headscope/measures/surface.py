"""Surface measures of a head: where its rows look, by position, by kind of token, and how broadly.

Source: Clark et al. 2019, "What Does BERT Look At?", section 3. A measure is a statistic of single rows
of a map and a rule for which rows count; its figure is the sum over these rows by their number. The same
definitions serve whole maps (`headscope.measures.single`) and streams over a corpus
(`headscope.run.measure`).

Where paper and released code differ, the defaults are exact, and the preset ``clark2019`` does what the
code does: it divides offsets by all n rows of an input instead of the n − 1 that have such a key, takes
means of inputs and then over inputs, smooths entropies by 0.0001, counts the pieces "." and "," as
punctuation and sets all token types to 0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from headscope.errors import InputError
from headscope.tokens import BoolArray, Tokens

Statistic = Literal["offset", "mass", "entropy", "largest"]
Rows = Literal["all", "reach", "choice", "first", "sep", "not sep"]
Preset = Literal["clark2019"]

PRESETS: tuple[Preset, ...] = ("clark2019",)


@dataclass(frozen=True)
class Measure:
    """One measure: a statistic of rows, and which rows.

    Attributes:
        name: its column, such as ``previous``.
        title: for figures.
        description: one sentence that says what is averaged.
        units: ``share`` (of a row's attention, 0 to 1) or ``nats``.
        source: the section of the paper.
        statistic: of a row: the weight at an `offset`, the mass on a class, entropy or the largest weight.
        offset: o of ``offset``, the weight that row i gives to key i + o.
        of: the class of ``mass``.
        rows: ``all``; those that ``reach`` a key at the offset; those with a ``choice`` (the first row of a
            causal model sees only itself); the ``first``; separators (``sep``) or all others (``not sep``).
        divisor: what the sum is divided by: the number of these rows, or what the released code takes.
    """

    name: str
    title: str
    description: str
    units: Literal["share", "nats"]
    source: str
    statistic: Statistic
    offset: int = 0
    of: str = ""
    rows: Rows = "all"
    divisor: Literal["rows", "tokens", "two", "tokens less two"] = "rows"

    @property
    def needs(self) -> tuple[str, ...]:
        """Classes of tokens without which the measure says nothing."""
        return tuple(
            dict.fromkeys(
                [
                    *([self.of] if self.statistic == "mass" and self.of != "first" else []),
                    *(["sep"] if self.rows in ("sep", "not sep") else []),
                ]
            )
        )

    def absent(self, causal: bool) -> str | None:
        """Why a causal model has no such measure; None where it has."""
        if causal and self.statistic == "offset" and self.offset > 0:
            return "a causal model does not see later tokens"
        if causal and self.rows == "first":
            return "the first token of a causal model sees only itself"
        return None

    def select(self, tokens: Tokens, causal: bool) -> BoolArray:
        """The rows that count, ``[query]``."""
        count = len(tokens)
        place = np.arange(count)
        if self.rows == "reach":
            return (place + self.offset >= 0) & (place + self.offset < count)
        if self.rows == "choice":
            return place > 0 if causal else np.ones(count, np.bool_)
        if self.rows == "first":
            return place == 0
        if self.rows == "all":
            return np.ones(count, np.bool_)
        separators = mask(tokens, "sep")
        return separators if self.rows == "sep" else ~separators

    def divide_by(self, tokens: Tokens, causal: bool) -> float:
        """What the sum over rows is divided by for its mean over one input."""
        if self.divisor == "rows":
            return float(self.select(tokens, causal).sum())
        return float({"tokens": len(tokens), "two": 2, "tokens less two": len(tokens) - 2}[self.divisor])


def offset(by: int, name: str = "", title: str = "") -> Measure:
    """The weight that each token gives to the one `by` places after it (before it, below 0)."""
    where = f"{abs(by)} {'place' if abs(by) == 1 else 'places'} {'before' if by < 0 else 'after'} it"
    where = {-1: "before it", 0: "itself", 1: "after it"}.get(by, where)
    target = "itself" if by == 0 else f"the one {where}"
    rows = "" if by == 0 else ", over the tokens that have one"
    return Measure(
        name or f"offset{by:+d}",
        title or f"{abs(by)} {'before' if by < 0 else 'after'}",
        f"Mean weight that a token gives to {target}{rows}.",
        "share",
        "Clark et al. 2019, §3.1",
        "offset",
        offset=by,
        rows="reach",
    )


def to_class(of: str) -> Measure:
    """The mass that each token gives to a class of tokens."""
    return Measure(
        f"to_{of}",
        f"to {of}",
        f"Mean share of a token's attention that goes to tokens of the class {of}.",
        "share",
        "Clark et al. 2019, §3.2",
        "mass",
        of=of,
    )


_SEPARATORS = "Clark et al. 2019, §3.2"
_ENTROPY = "Clark et al. 2019, §3.3"

MEASURES: Mapping[str, Measure] = {
    measure.name: measure
    for measure in (
        offset(-1, "previous", "previous token"),
        offset(0, "current", "itself"),
        offset(1, "next", "next token"),
        Measure(
            "first",
            "first token",
            "Mean share of a token's attention that goes to the first token of the input; in a causal model "
            "the first token itself is left out.",
            "share",
            _SEPARATORS,
            "mass",
            of="first",
            rows="choice",
        ),
        Measure(
            "sep",
            "separators",
            "Mean share of a token's attention that goes to separators.",
            "share",
            _SEPARATORS,
            "mass",
            of="sep",
        ),
        Measure(
            "sep_sep",
            "separators to separators",
            "Mean share of a separator's attention that goes to separators, itself included.",
            "share",
            _SEPARATORS,
            "mass",
            of="sep",
            rows="sep",
        ),
        Measure(
            "rest_sep",
            "others to separators",
            "Mean share of the attention of a token that is no separator that goes to separators.",
            "share",
            _SEPARATORS,
            "mass",
            of="sep",
            rows="not sep",
        ),
        Measure(
            "cls",
            "[CLS]",
            "Mean share of a token's attention that goes to the classification token.",
            "share",
            _SEPARATORS,
            "mass",
            of="cls",
        ),
        Measure(
            "punctuation",
            "punctuation",
            "Mean share of a token's attention that goes to pieces of punctuation (Unicode category P).",
            "share",
            _SEPARATORS,
            "mass",
            of="punctuation",
        ),
        Measure(
            "entropy",
            "entropy",
            "Mean entropy of a token's attention; uniform attention over n keys has ln n.",
            "nats",
            _ENTROPY,
            "entropy",
        ),
        Measure(
            "entropy_first",
            "entropy of the first token",
            "Mean entropy of the first token's attention ([CLS] in BERT).",
            "nats",
            _ENTROPY,
            "entropy",
            rows="first",
        ),
        Measure(
            "largest",
            "largest weight",
            "Mean of the largest weight in a token's row.",
            "share",
            "",
            "largest",
        ),
    )
}
"""The measures that have a name of their own, in the order in which they are printed."""

_CODE = {  # what the released code divides by, where that is not the number of rows
    "previous": "tokens",
    "next": "tokens",
    "sep_sep": "two",
    "rest_sep": "tokens less two",
}
SMOOTHING: Mapping[Preset | None, float] = {None: 0.0, "clark2019": 0.0001}
"""Weight of the uniform distribution in entropies."""


def parse(name: str) -> Measure:
    """The measure of a name: one of `MEASURES`, ``offset-2`` or ``offset+3`` for any integer, ``to_<class>``.

    Raises `InputError` for any other name.
    """
    if name in MEASURES:
        return MEASURES[name]
    if match := re.fullmatch(r"offset([+-]\d{1,9})", name):
        return offset(int(match[1]), name)
    if re.fullmatch(r"to_\w+", name):
        return to_class(name.removeprefix("to_"))
    known = ", ".join(MEASURES)
    raise InputError(f"measures: expected {known}, offset-2 (any number) or to_<class>, found {name!r}")


def choose(names: Sequence[str] | None = None, preset: Preset | None = None) -> list[Measure]:
    """The measures of some names (by default all of `MEASURES`), as the preset computes them.

    Raises `InputError` for a name that is no measure, for one that is given twice and for none.
    """
    if isinstance(names, str):
        raise InputError(f"measures: expected a list of names, found one string {names!r}")
    if preset is not None and preset not in PRESETS:
        raise InputError(f"preset: expected {', '.join(PRESETS)}, found {preset!r}")
    found = [parse(name.strip()) for name in (MEASURES if names is None else names)]
    if not found:
        raise InputError("measures: expected at least one, found none")
    for place, measure in enumerate(found):
        if measure in found[:place]:
            raise InputError(f"measures: expected each once, found {measure.name!r} again")
    if preset is None:
        return found
    return [_of_code(measure) for measure in found]


def _of_code(measure: Measure) -> Measure:
    divisor = "tokens" if measure.statistic == "offset" else _CODE.get(measure.name, "rows")
    description = measure.description
    if measure.of == "punctuation":
        description = 'Mean share of a token\'s attention that goes to the pieces "." and ",".'
    if measure.statistic == "entropy":
        description += " Weights are smoothed by 0.0001."
    if divisor == "tokens":
        description = description.replace(", over the tokens that have one", ", over all tokens")
    return replace(measure, divisor=divisor, description=description)  # pyright: ignore[reportArgumentType]


def prepared(tokens: Tokens, preset: Preset | None) -> Tokens:
    """Tokens with the classes that a preset takes them to have."""
    if preset is None:
        return tokens
    marks = np.array([piece in (".", ",") for piece in tokens.pieces], np.bool_)
    return tokens.with_classes(punctuation=marks)


def mask(tokens: Tokens, of: str) -> BoolArray:
    """The tokens of a class; none where the input has no such class."""
    there = of == "first" or of in tokens.classes or (of == "special" and tokens.special_mask is not None)
    return tokens.mask(of) if there else np.zeros(len(tokens), np.bool_)


def classes(measures: Sequence[Measure]) -> tuple[str, ...]:
    """The classes on which these measures need the mass of each row."""
    return tuple(dict.fromkeys(measure.of for measure in measures if measure.statistic == "mass"))


def offsets(measures: Sequence[Measure]) -> tuple[int, ...]:
    """The offsets at which these measures need the weights."""
    return tuple(dict.fromkeys(measure.offset for measure in measures if measure.statistic == "offset"))


def selection(
    measures: Sequence[Measure], tokens: Tokens, causal: bool
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Which rows count for each measure ``[measure query]``, 0 or 1, and the divisors ``[measure]``."""
    rows = np.array([measure.select(tokens, causal) for measure in measures], np.float64)
    return rows, np.array([measure.divide_by(tokens, causal) for measure in measures])


def without(measures: Sequence[Measure], causal: bool, counts: Mapping[str, int]) -> dict[str, str]:
    """Which of these measures say nothing, and why.

    Args:
        measures: what was asked for.
        causal: whether the model is causal.
        counts: how many tokens of each class there were.
    """
    found: dict[str, str] = {}
    for measure in measures:
        reason = measure.absent(causal)
        for of in measure.needs:
            if reason is None and not counts.get(of):
                reason = f"the inputs have no {_CALLED.get(of, f'tokens of the class {of}')}"
        if reason is not None:
            found[measure.name] = reason
    return found


_CALLED = {"sep": "separators", "cls": "[CLS]", "punctuation": "punctuation"}
