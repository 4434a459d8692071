"""The section on what heads do: the roles that their figures support."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd  # pyright: ignore[reportMissingTypeStubs]

from headscope.analyses.roles.statistics import NONE, ROLES
from headscope.heads import Head
from headscope.views.blobs import Blobs
from headscope.views.payload import Absent, Part, RoleRow, RolesSection


@dataclass(frozen=True)
class Roles:
    """The roles of heads, a row each.

    Attributes:
        table: from `headscope.roles` or `headscope.analyses.roles.statistics.roles`.
        level: the expected share of wrong roles among those named.
        documents: of the corpus.
        command: what gives the same table.
    """

    table: pd.DataFrame
    level: float = 0.05
    documents: int | None = None
    command: str | None = None

    def info(self, blobs: Blobs) -> RolesSection:
        """The rows; nothing travels beside them."""
        table: Any = self.table
        attrs: dict[str, Any] = table.attrs
        units = {role.name: "nats" if role.measure == "entropy" else "share" for role in ROLES}
        rows = [
            RoleRow(
                layer=int(row.layer),
                head=int(row.head),
                role=str(row.role),
                units=units.get(str(row.role), "share"),
                score=float(row.score),
                low=float(row.ci_low),
                high=float(row.ci_high),
                threshold=float(row.threshold),
                chance=float(row.chance),
                p=float(row.p),
                q=float(row.q),
                n=int(row.n),
            )
            for row in table.itertuples()
            if row.role != NONE
        ]
        without = [Head(int(row.layer), int(row.head)) for row in table.itertuples() if row.role == NONE]
        given = {row["role"] for row in rows}
        return RolesSection(
            kind="roles",
            title="Patterns and roles",
            about=self._about(int(attrs.get("tests", 0))),
            rows=rows,
            without=[Part(text=str(head), layer=head.layer, head=head.head) for head in without],
            why={name: str(why) for name, why in attrs.get("roles", {}).items() if name in given},
            untested=[
                Absent(measure=str(name), reason=str(why)) for name, why in attrs.get("untested", {}).items()
            ],
            command=self.command,
        )

    def _about(self, tests: int) -> str:
        counted = f"{self.documents:,} documents" if self.documents else "documents"
        return (
            "A role is a measure and a bar. A head has it when its score is above the bar by more than luck: "
            f"{tests:,} tests over {counted}, q after Benjamini and Hochberg at {self.level:g}, so at most "
            f"{100 * self.level:.0f} % of the roles named are expected to be wrong. "
            "Intervals are 95 %, by document. Choose a row to see the head."
        )
