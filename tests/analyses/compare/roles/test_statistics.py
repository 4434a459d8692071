"""What roles became."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

from headscope.analyses.compare.roles import run as two_roles
from headscope.errors import InputError

ROLES = ("previous token", "next token", "broad")


def every_role(*held: tuple[int, str, float], heads: int = 3, se: float = 0.02) -> pd.DataFrame:
    """Every head of a layer against some roles: those held, with their scores, and the others at 0.2."""
    scores = {(head, role): score for head, role, score in held}
    rows = [
        (0, head, "x", role, scores.get((head, role), 0.2), 1e-6 if (head, role) in scores else 1.0, 0.1)
        for head in range(heads)
        for role in ROLES
    ]
    table = pd.DataFrame(rows, columns=["layer", "head", "paper", "role", "score", "q", "chance"])
    table.attrs["untested"] = {}
    return table.assign(se=se, documents=12.0, n=50, threshold=0.5, offsets=np.nan)


def test_roles_are_kept_lost_and_gained() -> None:
    a = every_role((0, "next token", 0.9), (1, "broad", 0.7))
    b = every_role((0, "next token", 0.6), (2, "broad", 0.8))
    found = two_roles.changes(a, b)
    assert tuple(found.columns) == two_roles.COLUMNS
    expected = [[0, "next token", "kept"], [1, "broad", "lost"], [2, "broad", "gained"]]
    assert found[["head", "role", "change"]].values.tolist() == expected
    assert found["a"].tolist() == [0.9, 0.7, 0.2]
    assert found["b"].tolist() == [0.6, 0.2, 0.8]
    assert found["q_b"].tolist() == [1e-6, 1.0, 1e-6]
    np.testing.assert_allclose(found["se"], np.hypot(0.02, 0.02))
    t = stats.t(11)
    p = 2 * t.sf(np.abs(found["difference"]) / np.hypot(0.02, 0.02))
    np.testing.assert_allclose(found["p"], p)
    np.testing.assert_allclose(found["ci_high"] - found["difference"], t.ppf(0.975) * np.hypot(0.02, 0.02))
    with pytest.raises(InputError, match="3 heads and 4, or other layers: heads have no counterparts"):
        two_roles.changes(a, every_role(heads=4))


def test_a_role_is_lost_only_where_scores_are_known_to_differ() -> None:
    """Just above the bar in one model and just below in the other: nobody knows whether anything changed."""
    a, b = every_role((0, "next token", 0.5328)), every_role()
    b.loc[(b["head"] == 0) & (b["role"] == "next token"), "score"] = 0.5313
    (row,) = two_roles.changes(a, b).itertuples()
    assert (row.change, row.a, row.b, row.q_a, row.q_b) == ("unclear", 0.5328, 0.5313, 1e-6, 1.0)
    assert row.ci_low < 0 < row.ci_high


def test_differences_are_paired_where_both_read_the_same() -> None:
    a, b = every_role((0, "next token", 0.55)), every_role()
    b.loc[(b["head"] == 0) & (b["role"] == "next token"), "score"] = 0.5
    assert two_roles.changes(a, b)["change"].tolist() == ["unclear"]
    axes = ("measure", "layer", "head")
    paired = xr.Dataset(
        {"difference": (axes, [[[0.05]]]), "se": (axes, [[[0.004]]]), "documents": (axes, [[[12.0]]])},
        {"measure": ["next"], "layer": [0], "head": [0]},
    )
    (row,) = two_roles.changes(a, b, [paired]).itertuples()
    assert (row.change, row.se, row.paired) == ("lost", 0.004, True)


def test_roles_are_counted() -> None:
    a = pd.DataFrame(
        {"layer": 0, "head": [0, 1, 2], "role": ["next token", "broad", "none"], "score": [0.9, 0.7, np.nan]}
    )
    b = pd.DataFrame(
        {
            "layer": 0,
            "head": [0, 1, 2, 3],
            "role": ["next token", *["none"] * 3],
            "score": [0.6, *[np.nan] * 3],
        }
    )
    by = two_roles.by_role(a, b).set_index("role")
    assert by.loc["next token", ["heads_a", "heads_b", "share_b", "best_b"]].tolist() == [1, 1, 0.25, 0.6]
    assert by.loc["broad", "heads_b"] == 0
