"""Which roles heads have in one model and not in the other."""

from __future__ import annotations

from typing import Any

import pandas as pd  # pyright: ignore[reportMissingTypeStubs]

from headscope.analyses.roles.statistics import NONE, heads_in
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
    if _heads(a) != _heads(b):
        raise InputError(
            f"roles: {heads_in(a)} heads and {heads_in(b)}, or other layers: heads have no counterparts; "
            "compare them by role"
        )
    keys = ["layer", "head", "paper", "role"]
    tables: list[tuple[Any, str]] = [(a, "a"), (b, "b")]
    first, second = (
        table.loc[table["role"] != NONE, [*keys, "score", "q"]].rename(
            columns={"score": name, "q": f"q_{name}"}
        )
        for table, name in tables
    )
    rows: Any = first.merge(second, on=keys, how="outer", indicator="change")
    change = {"both": "kept", "left_only": "lost", "right_only": "gained"}
    rows["change"] = rows["change"].astype(str).map(change)
    return rows[list(COLUMNS)].sort_values(["layer", "head", "role"], ignore_index=True)


def by_role(a: pd.DataFrame, b: pd.DataFrame) -> pd.DataFrame:
    """How many heads have each role in each model, with `BY_ROLE`: for models of any shape."""
    roles: list[dict[str, Any]] = []
    tables: dict[str, Any] = {"a": a, "b": b}
    for role in dict.fromkeys(role for table in tables.values() for role in table["role"]):
        row: dict[str, Any] = {"role": role}
        for name, table in tables.items():
            scores = table.loc[table["role"] == role, "score"]
            row[f"heads_{name}"] = len(scores)
            row[f"share_{name}"] = len(scores) / heads_in(table)
            row[f"best_{name}"] = scores.max()
        if role != NONE:
            roles.append(row)
    return pd.DataFrame(roles, columns=list(BY_ROLE))


def _heads(table: Any) -> set[tuple[int, int]]:
    return set(zip(table["layer"], table["head"], strict=True))
