"""What the report says of roles."""

from __future__ import annotations

import pandas as pd

from headscope.analyses.roles.section import Roles
from headscope.analyses.roles.statistics import COLUMNS


def test_a_head_with_a_sink_is_told_by_what_else_it_does() -> None:
    row = dict.fromkeys(COLUMNS, 0.0) | {"layer": 1, "paper": "2-1", "score": 0.9}
    held = [(0, "sink"), (0, "induction, off the sink"), (1, "sink"), (1, "induction")]
    table = pd.DataFrame([row | {"head": head, "role": role} for head, role in held])
    assert ["".join(part["text"] for part in said) for said in Roles(table).findings()] == [
        "2 of 2 heads have a role: induction L1H1 (90%); sink L1H0 (90%).",
        "Of 2 heads with a sink, 1 has a role with the first token taken out: induction L1H0 (90%).",
    ]
    assert list(Roles(table).marks()) == ["induction", "sink"]
