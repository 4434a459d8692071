"""What differs between two cards beyond the error of their figures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
from scipy.special import ndtr  # pyright: ignore[reportMissingTypeStubs]

from headscope.analyses.model_card.card import Card
from headscope.core.heads import Head
from headscope.core.validation import Level, validated
from headscope.errors import InputError
from headscope.statistics.significance import false_discovery

COLUMNS = ("list", "layer", "head", "paper", "a", "b", "difference", "se", "p", "q")


@validated
def card_differences(a: Card, b: Card, *, level: Level = 0.05) -> pd.DataFrame:
    """The heads whose scores differ in two cards by more than their errors, with `COLUMNS`, the largest first.

    p is of a difference as large, by its standard error as if the two were independent (of one corpus they are not, and
    it is too large rather than too small); q is p after Benjamini and Hochberg over all heads and lists. A difference
    that the digits of a card do not hold is none. ``attrs["layers"]`` names the parts whose weights differ,
    ``attrs["corpora"]`` the corpora that do, ``attrs["only"]`` the lists that one of them has.

    Raises `InputError` for models with other layers or heads.

    >>> made = hs.card(model, hs.corpora.builtin(), limit=12)
    >>> len(hs.card_differences(made, made))
    0
    """
    shapes = [card.data["model"]["heads"] for card in (a, b)]
    if shapes[0] != shapes[1]:
        raise InputError(
            f"cards: expected models of as many layers and heads, found {a.name} with {_shape(shapes[0])} and {b.name} "
            f"with {_shape(shapes[1])}"
        )
    rows: list[dict[str, Any]] = []
    for name in a.lists:
        if name in b.lists:
            others = {row["head"]: row for row in b.rows(name)}
            for row in a.rows(name):
                if row["head"] in others:
                    rows += _row(name, row, others[row["head"]], max(a.data["digits"], b.data["digits"]))
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    if len(table):
        table["q"] = false_discovery(table["p"].to_numpy())
    table = table[table["q"] <= level].sort_values("p", kind="stable", ignore_index=True)
    layers = [card.data["model"]["layers"] for card in (a, b)]
    corpora = [{name: one["sha256"] for name, one in card.data["corpora"].items()} for card in (a, b)]
    table.attrs = {
        "layers": _other(*layers),
        "corpora": _other(*corpora),
        "only": sorted(set(a.lists) ^ set(b.lists)),
        "tests": len(rows),
    }
    return table


def _row(name: str, one: Mapping[str, Any], other: Mapping[str, Any], digits: int) -> list[dict[str, Any]]:
    """A head's two scores; nothing where one has none, or no error."""
    values, errors = ([row.get(of) for row in (one, other)] for of in ("score", "se"))
    if None in values:
        return []
    difference = values[0] - values[1]
    same = abs(difference) <= 10.0**-digits
    if None in errors and not same:  # told from weights alone: it differs, or does not
        errors = [0.0, 0.0]
    se = math.hypot(*(error or 0.0 for error in errors))
    p = 1.0 if same else 2 * float(ndtr(-abs(difference) / se)) if se > 0 else 0.0
    head = Head.parse(one["head"])
    figures = (values[0], values[1], difference, se, p, np.nan)
    return [dict(zip(COLUMNS, (name, head.layer, head.head, head.paper, *figures), strict=True))]


def _other(one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    """The names whose checksums are not the same."""
    names = list(dict.fromkeys([*one, *other]))
    return [name for name in names if one.get(name) != other.get(name)]


def _shape(heads: list[int]) -> str:
    return f"{len(heads)} layers of {'/'.join(map(str, sorted(set(heads))))}"
