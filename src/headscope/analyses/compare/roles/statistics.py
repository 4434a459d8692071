"""Which roles heads have in one model and not in the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.roles.statistics import NONE, ROLES, heads_in, named
from headscope.errors import InputError
from headscope.statistics.jackknife import differs, interval
from headscope.statistics.significance import false_discovery

COLUMNS = (
    *("layer", "head", "paper", "role", "a", "b", "change", "q_a", "q_b"),
    *("difference", "se", "ci_low", "ci_high", "p", "q", "paired"),
)
"""Columns of the changes: scores and q in each model, what became of the role, and A − B with its error and test."""

_MEASURES = {role.name: role.variable for role in ROLES}

CHANGES = ("kept", "lost", "gained", "unclear")
"""What may become of a role."""

BY_ROLE = ("role", "heads_a", "heads_b", "share_a", "share_b", "best_a", "best_b")
"""Columns by role: how many heads have it, their share of all heads, and the best score."""


def changes(
    a: pd.DataFrame, b: pd.DataFrame, paired: Sequence[xr.Dataset] = (), *, level: float = 0.05
) -> pd.DataFrame:
    """What each head's roles of A became in B, one row a head and role, from two tables of all tests.

    A role is ``kept`` where both have it. Where one has it, it is ``lost`` (only in A) or ``gained`` (only in B) if the
    scores differ by more than luck: q ≤ `level`, of Student's t over documents, two-sided, Benjamini and Hochberg over
    the rows. Else it is ``unclear``: one model is above the bar by more than luck, the other is not known to be, and
    the scores are not known to differ.

    Args:
        a, b: from `headscope.analyses.roles.run.every_role`.
        paired: comparisons of the two models on the same inputs (`headscope.compare.models`, their ``figures``), whose
            errors are paired by document. Of measures that none has, the errors of both are taken as independent.
        level: of q.

    Raises `InputError` for models whose heads differ in number: they have no counterparts.
    """
    if _heads(a) != _heads(b):
        raise InputError(
            f"roles: {heads_in(a)} heads and {heads_in(b)}, or other layers: heads have no counterparts; "
            "compare them by role"
        )
    keys = ["layer", "head", "paper", "role"]
    both: Any = (a, b)
    tables: Any = [table.set_index(keys) for table in both]
    has = [_having(table, level) for table in (a, b)]
    either = tables[0].index.union(tables[1].index, sort=False)
    either = either[[bool({row} & (has[0] | has[1])) for row in either]]
    first, second = (table.reindex(either) for table in tables)
    passed = [(table["q"] <= level).to_numpy() for table in (first, second)]
    rows: Any = pd.DataFrame(index=either)
    rows = rows.assign(
        a=first["score"],
        b=second["score"],
        q_a=first["q"],
        q_b=second["q"],
        difference=first["score"] - second["score"],
        se=np.hypot(first["se"], second["se"]),
        documents=np.minimum(first["documents"], second["documents"]),
        paired=False,
    ).reset_index()
    _pair(rows, paired)
    value, se, documents = (rows[name].to_numpy(float) for name in ("difference", "se", "documents"))
    low, high = interval(value, se, documents)
    p = differs(value, se, documents)
    q = false_discovery(p)
    apart = np.where(passed[0], "lost", "gained")
    change = np.where(passed[0] & passed[1], "kept", np.where(q <= level, apart, "unclear"))
    rows = rows.assign(ci_low=low, ci_high=high, p=p, q=q, change=change)
    return rows[list(COLUMNS)].sort_values(["layer", "head", "role"], ignore_index=True)


def _having(tests: pd.DataFrame, level: float) -> set[tuple[Any, ...]]:
    rows: Any = named(tests, level)
    return set(zip(rows["layer"], rows["head"], rows["paper"], rows["role"], strict=True))


def _pair(rows: Any, paired: Sequence[xr.Dataset]) -> None:
    """Take differences and their errors from the first comparison that has the measure of a role."""
    measures = rows["role"].map(_MEASURES)
    for figures in reversed(paired):
        there = measures.isin(figures["measure"].values)
        keys = {"measure": measures, "layer": rows["layer"], "head": rows["head"]}
        one = figures.sel({name: xr.DataArray(key[there], dims="row") for name, key in keys.items()})
        for name in ("difference", "se", "documents"):
            rows.loc[there, name] = one[name].values
        rows.loc[there, "paired"] = True


def by_role(a: pd.DataFrame, b: pd.DataFrame) -> pd.DataFrame:
    """How many heads have each role in each model, with `BY_ROLE`, from two tables of `headscope.roles`.

    For models of any shape.
    """
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
