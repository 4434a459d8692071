"""Which roles heads have in one model and not in the other."""

from __future__ import annotations

from typing import Any

import pandas as pd  # pyright: ignore[reportMissingTypeStubs]

from headscope.analyses.roles.statistics import NONE
from headscope.errors import InputError

COLUMNS = ("layer", "head", "paper", "role", "a", "b", "change", "q_a", "q_b")
"""Columns of the changes: scores and q in each model, NaN where it does not have the role; kept, lost or gained."""

BY_ROLE = ("role", "heads_a", "heads_b", "share_a", "share_b", "best_a", "best_b")
"""Columns by role: how many heads have it, their share of all heads, and the best score."""


def changes(a: pd.DataFrame, b: pd.DataFrame) -> pd.DataFrame:
    """What each head's roles of A became in B, one row a head and role, from two tables of `headscope.roles`.

    A role is ``kept``, ``lost`` (only in A) or ``gained`` (only in B). Raises `InputError` for models whose heads
    differ in number: they have no counterparts.
    """
    if set(_heads(a)) != set(_heads(b)):
        raise InputError(
            f"roles: {len(set(_heads(a)))} heads and {len(set(_heads(b)))}, or other layers: heads have no "
            "counterparts; compare them by role"
        )
    keys = ["layer", "head", "paper", "role"]
    tables: list[tuple[Any, str]] = [(a, "a"), (b, "b")]
    first, second = (
        table.loc[table["role"] != NONE, [*keys, "score", "q"]].rename(
            columns={"score": name, "q": f"q_{name}"}
        )
        for table, name in tables
    )
    rows: Any = first.merge(second, on=keys, how="outer").sort_values(
        ["layer", "head", "role"], ignore_index=True
    )
    there = rows[["a", "b"]].notna()
    rows["change"] = "kept"
    rows.loc[~there["b"], "change"] = "lost"
    rows.loc[~there["a"], "change"] = "gained"
    return rows[list(COLUMNS)]


def by_role(a: pd.DataFrame, b: pd.DataFrame) -> pd.DataFrame:
    """How many heads have each role in each model, with `BY_ROLE`: for models of any shape."""
    tables: list[tuple[Any, str]] = [(a, "a"), (b, "b")]
    names = [
        role
        for role in dict.fromkeys(str(role) for table, _ in tables for role in table["role"])
        if role != NONE
    ]
    rows: dict[str, list[Any]] = {name: [] for name in BY_ROLE}
    for role in names:
        rows["role"].append(role)
        for table, name in tables:
            own = table[table["role"] == role]
            rows[f"heads_{name}"].append(len(own))
            rows[f"share_{name}"].append(len(own) / len(set(_heads(table))))
            rows[f"best_{name}"].append(float(own["score"].max()) if len(own) else float("nan"))
    return pd.DataFrame(rows)


def _heads(table: Any) -> list[tuple[int, int]]:
    return list(zip(table["layer"], table["head"], strict=True))
