"""What differs between two cards beyond the error of their figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]

from headscope.analyses.model_card.card import Card
from headscope.core.counts import layers_by_heads
from headscope.core.heads import Head
from headscope.core.validation import Level, validated
from headscope.errors import InputError
from headscope.statistics.jackknife import differs, false_discovery

_FIGURES = ("score", "se", "documents")
COLUMNS = ("list", "layer", "head", "paper", "a", "b", "difference", "se", "p", "q")


@validated
def card_differences(a: Card, b: Card, *, level: Level = 0.05) -> pd.DataFrame:
    """The heads whose scores differ in two cards by more than their errors, with `COLUMNS`, the largest first.

    p is Student's t of a difference by its standard error, as if the two were independent (of one corpus they are not,
    and p is too large rather than too small); q is p after Benjamini and Hochberg over all heads and lists. A
    difference that the digits of a card do not hold is none. ``attrs["layers"]`` names the parts whose weights differ,
    ``attrs["corpora"]`` the corpora that do, ``attrs["only"]`` the lists that one of them has.

    Raises `InputError` for models with other layers or heads.

    >>> made = hs.card(model, hs.corpora.builtin(), limit=12)
    >>> len(hs.card_differences(made, made))
    0
    """
    shapes = [card.data["model"]["heads"] for card in (a, b)]
    if shapes[0] != shapes[1]:
        raise InputError(
            f"cards: expected models of as many layers and heads, found {a.name} with "
            f"{layers_by_heads(shapes[0])} and {b.name} with {layers_by_heads(shapes[1])}"
        )
    digits = min(card.data["digits"] for card in (a, b))
    rows: list[tuple[Any, ...]] = []
    for name in a.lists:
        others = {row["head"]: row for row in b.rows(name)} if name in b.lists else {}
        for row in a.rows(name):
            figures = [[one.get(of) for of in _FIGURES] for one in (row, others.get(row["head"], {}))]
            if None not in figures[0] + figures[1]:  # what is told from the weights alone has no error
                head = Head.parse(row["head"])
                rows.append((name, head.layer, head.head, head.paper, *figures[0], *figures[1]))
    table: Any = pd.DataFrame(rows, columns=[*COLUMNS[:4], "a", "se_a", "of_a", "b", "se_b", "of_b"])
    moved = table["a"] - table["b"]
    table["difference"] = moved.where(moved.abs() > 10.0**-digits, 0.0)
    table["se"] = np.hypot(table["se_a"], table["se_b"])
    documents = np.minimum(table["of_a"], table["of_b"])
    figures = (table["difference"], table["se"], documents)
    value, error, count = (np.asarray(figure, float) for figure in figures)
    table["p"] = differs(value, error, count)
    table["q"] = false_discovery(table["p"].to_numpy())
    tests = len(table)
    table = table[table["q"] <= level].sort_values("p", kind="stable", ignore_index=True)[list(COLUMNS)]
    layers = [card.data["model"]["layers"] for card in (a, b)]
    corpora = [{name: one["sha256"] for name, one in card.data["corpora"].items()} for card in (a, b)]
    table.attrs = {
        "layers": _other(*layers),
        "corpora": _other(*corpora),
        "only": sorted(set(a.lists) ^ set(b.lists)),
        "tests": tests,
    }
    return table


def _other(one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    """The names whose checksums are not the same."""
    names = list(dict.fromkeys([*one, *other]))
    return [name for name in names if one.get(name) != other.get(name)]
