"""What roles became."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from headscope.analyses.compare_roles import statistics as two_roles
from headscope.errors import InputError


def roles(*held: tuple[int, int, str, float], heads: int = 3) -> pd.DataFrame:
    have = {(layer, head) for layer, head, _, _ in held}
    rest = [(0, head, "none", np.nan) for head in range(heads) if (0, head) not in have]
    table = pd.DataFrame([*held, *rest], columns=["layer", "head", "role", "score"])
    return table.assign(paper="x", q=0.01)


def test_roles_are_kept_lost_and_gained() -> None:
    a = roles((0, 0, "next token", 0.9), (0, 1, "broad", 0.7))
    b = roles((0, 0, "next token", 0.6), (0, 2, "broad", 0.8))
    found = two_roles.changes(a, b)
    assert tuple(found.columns) == two_roles.COLUMNS
    assert found[["head", "role", "change"]].values.tolist() == [
        [0, "next token", "kept"],
        [1, "broad", "lost"],
        [2, "broad", "gained"],
    ]
    assert found["a"].tolist()[:2] == [0.9, 0.7]
    by = two_roles.by_role(a, roles((0, 0, "next token", 0.6), heads=4)).set_index("role")
    assert by.loc["next token", ["heads_a", "heads_b", "share_b", "best_b"]].tolist() == [1, 1, 0.25, 0.6]
    assert by.loc["broad", "heads_b"] == 0
    with pytest.raises(InputError, match="3 heads and 4, or other layers: heads have no counterparts"):
        two_roles.changes(a, roles(heads=4))
