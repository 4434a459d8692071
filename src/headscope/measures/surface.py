"""Surface measures of a head: where its rows look, by position, by kind of token, and how broadly.

Source: Clark et al. 2019, "What Does BERT Look At?", section 3.

Where paper and released code differ, the defaults are exact, and the preset ``clark2019`` does what the
code does: it divides offsets by all n rows of an input instead of the n − 1 that have such a key, takes
means of inputs and then over inputs, smooths entropies by 0.0001, counts the pieces "." and "," as
punctuation and sets all token types to 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

import numpy as np

from headscope.core.tokens import Tokens
from headscope.measures.measure import Measure, Rows, by_name

Preset = Literal["clark2019"]

_CLARK = ("clark2019",)


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
        keys=_CLARK,
    )


def to_class(of: str, whose: str = "", but: bool = False) -> Measure:
    """The mass that each token, each of a class, or each but those of a class, gives to a class of tokens."""
    rows = f"{'not_' if but else ''}{whose}_" if whose else ""
    subject = f"a token that is {'not ' if but else ''}of the class {whose}" if whose else "a token"
    return _mass(
        f"{rows}to_{of}",
        f"{rows.replace('_', ' ')}to {of}",
        f"the attention of {subject} that goes to tokens of the class {of}",
        of,
        "all" if not whose else "not class" if but else "class",
        whose,
    )


def _mass(name: str, title: str, what: str, of: str, rows: Rows = "all", whose: str = "") -> Measure:
    text = f"Mean share of {what}."
    source = "Clark et al. 2019, §3.2"
    return Measure(name, title, text, "share", source, "mass", of=of, rows=rows, whose=whose, keys=_CLARK)


def _entropy(name: str, title: str, what: str, rows: Rows = "all") -> Measure:
    source = "Clark et al. 2019, §3.3"
    return Measure(name, title, f"Mean entropy of {what}.", "nats", source, "entropy", rows=rows, keys=_CLARK)


MEASURES: Mapping[str, Measure] = by_name(
    offset(-1, "previous", "previous token"),
    offset(0, "current", "itself"),
    offset(1, "next", "next token"),
    _mass(
        "first",
        "first token",
        "a token's attention that goes to the first token of the input; in a causal model the first token itself is "
        "left out",
        "first",
        "choice",
    ),
    _mass("sep", "separators", "a token's attention that goes to separators", "sep"),
    _mass(
        "sep_sep",
        "separators to separators",
        "a separator's attention that goes to separators, itself included",
        "sep",
        "class",
        "sep",
    ),
    _mass(
        "rest_sep",
        "others to separators",
        "the attention of a token that is no separator that goes to separators",
        "sep",
        "not class",
        "sep",
    ),
    _mass("cls", "[CLS]", "a token's attention that goes to the classification token", "cls"),
    _mass(
        "punctuation",
        "punctuation",
        "a token's attention that goes to pieces of punctuation (Unicode category P)",
        "punctuation",
    ),
    _entropy("entropy", "entropy", "a token's attention; uniform attention over n keys has ln n"),
    _entropy(
        "entropy_first", "entropy of the first token", "the first token's attention ([CLS] in BERT)", "first"
    ),
    Measure(
        "largest", "largest weight", "Mean of the largest weight in a token's row.", "share", None, "largest"
    ),
)
"""The measures that have a name of their own, in the order in which they are printed."""

_CODE = {  # what the released code divides by, where that is not the number of rows
    "previous": "tokens",
    "next": "tokens",
    "sep_sep": "two",
    "rest_sep": "tokens less two",
}
SMOOTHING: Mapping[Preset | None, float] = {None: 0.0, "clark2019": 0.0001}
"""Weight of the uniform distribution in entropies."""


def of_code(measure: Measure) -> Measure:
    """A measure as the released code of Clark et al. 2019 computes it."""
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
