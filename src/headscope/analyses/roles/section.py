"""The section on what heads do: the roles that their figures support."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypedDict

import pandas as pd  # pyright: ignore[reportMissingTypeStubs]

from headscope.analyses.measure.section import patterns
from headscope.analyses.roles import statistics
from headscope.analyses.roles.run import roles as run_roles
from headscope.analyses.roles.statistics import NONE, heads_in, leading, units_of
from headscope.analyses.study import LEVEL, Study
from headscope.heads import Head
from headscope.measures.dataset import description
from headscope.views.blobs import Blobs
from headscope.views.payload import Absent, Part, SectionInfo
from headscope.views.section import Section
from headscope.views.sentences import by_role, head_name, sentence


class RoleRow(TypedDict):
    """A role of a head: its score between `low` and `high`, the bar it passed, and how sure that is."""

    layer: int
    head: int
    role: str
    units: str
    score: float
    low: float
    high: float
    threshold: float
    chance: float
    p: float
    q: float
    n: int


class RolesSection(SectionInfo):
    """What heads do: the roles that they have, the heads without, and what was not tested."""

    kind: Literal["roles"]
    rows: list[RoleRow]
    without: list[Part]
    why: dict[str, str]
    untested: list[Absent]
    command: str | None


@dataclass(frozen=True)
class Roles(Section):
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
    opens: ClassVar[bool] = True

    def info(self, blobs: Blobs) -> RolesSection:
        """The rows; nothing travels beside them."""
        table: Any = self.table
        names = {"ci_low": "low", "ci_high": "high"}
        named = table[table["role"] != NONE].drop(columns="paper").rename(columns=names)
        rows: list[RoleRow] = named.assign(units=named["role"].map(units_of)).to_dict("records")
        without = table.loc[table["role"] == NONE, ["layer", "head"]].itertuples(index=False)
        given = {row["role"] for row in rows}
        return RolesSection(
            kind="roles",
            title="Patterns and roles",
            about=self._about(int(table.attrs.get("tests", 0))),
            rows=rows,
            without=[head_name(Head(*place)) for place in without],
            why={name: str(why) for name, why in table.attrs.get("roles", {}).items() if name in given},
            untested=[
                Absent(measure=str(name), reason=str(why))
                for name, why in table.attrs.get("untested", {}).items()
            ],
            command=self.command,
        )

    def findings(self) -> list[list[Part]]:
        """How many heads have a role, and which roles there are, each with its first heads."""
        heads = heads_in(self.table)
        roles = leading(self.table)
        if not roles:
            return [sentence(f"None of the {heads} heads has one of the roles that are tested for.")]
        having = "head has" if len(roles) == 1 else "heads have"
        names: dict[str, list[Part]] = {}
        for head, role in sorted(roles.items()):
            names.setdefault(role, []).append(head_name(head))
        return [sentence(f"{len(roles)} of {heads} {having} a role: ", *by_role(names), ".")]

    def _about(self, tests: int) -> str:
        counted = f"{self.documents:,} documents" if self.documents else "documents"
        return (
            "A role is a measure and a bar. A head has it when its score is above the bar by more than luck: "
            f"{tests:,} tests over {counted}, q after Benjamini and Hochberg at {self.level:g}, so at most "
            f"{100 * self.level:.0f} % of the roles named are expected to be wrong. "
            "Intervals are 95 %, by document. Choose a row to see the head."
        )


def role_table(study: Study) -> pd.DataFrame:
    """The roles of the report's model."""

    def run() -> pd.DataFrame:
        measured = patterns(study)
        if study.model.causal:  # sinks and induction have inputs of their own
            return run_roles(study.model, study.corpus, level=LEVEL, limit=study.limit)
        return statistics.roles(study.surface, measured, level=LEVEL)

    return study.once("roles", run)


def known_roles(study: Study) -> pd.DataFrame | None:
    """The same, or None where they could not be told: then that is said in their own section."""
    try:
        return role_table(study)
    except Exception:
        return None


def section(study: Study) -> list[Section]:
    """The roles of heads, tested."""
    table = role_table(study)
    documents = description(study.surface)["corpus"].get("documents")
    return [Roles(table, LEVEL, documents, study.again("roles"))]
