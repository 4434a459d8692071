"""The section on what heads do: the roles that their figures support."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any, ClassVar

import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.artefacts.section import study_artefacts
from headscope.analyses.measure.section import patterns
from headscope.analyses.roles import statistics
from headscope.analyses.roles.offsets import INPUTS
from headscope.analyses.roles.run import every_role, needles, seen_roles, with_offsets
from headscope.analyses.roles.statistics import (
    BROAD,
    COLUMNS,
    NONE,
    ROLES,
    SINK,
    broad_heads,
    heads_in,
    roles_of,
    units_of,
)
from headscope.analyses.study import LEVEL, Seen, Study
from headscope.core.counts import plural
from headscope.core.heads import Head
from headscope.core.types import AnyMapping
from headscope.errors import RefusedError
from headscope.measures.dataset import description
from headscope.runs.rare import with_rarest
from headscope.statistics.overlap import in_words
from headscope.views import blocks, digits
from headscope.views.blobs import Blobs
from headscope.views.blocks import BarInfo, Block, BlocksSection, CellInfo, ListBlock, ListEntry, TableBlock
from headscope.views.digits import percent
from headscope.views.payload import Part, Reason
from headscope.views.reasons import CORPUS, because
from headscope.views.section import Section
from headscope.views.sentences import by_role, head_name, sentence, text

LEAST_BAR = 0.25
"""The page lets one move the bar down to this."""


@dataclass(frozen=True)
class Roles(Section):
    """The roles of heads, a row each.

    Attributes:
        table: from `headscope.roles` or `headscope.analyses.roles.statistics.roles`.
        tests: every head against every role (`headscope.analyses.roles.run.every_role`), where the page shall let one
            move the bar.
        level: the expected share of wrong roles among those named.
        documents: of the corpus.
        command: what gives the same table.
        seen: where measures are seen that are taken on inputs of their own.
    """

    table: pd.DataFrame
    tests: pd.DataFrame | None = None
    level: float = 0.05
    documents: int | None = None
    command: str | None = None
    seen: Mapping[str, Seen] = field(default_factory=dict[str, Seen])
    opens: ClassVar[bool] = True
    pictured: ClassVar[str | None] = "roles"

    def named(self) -> Iterator[tuple[Head, str]]:
        """The heads that have a role, and its measure."""
        table: Any = self.table
        for row in table[table["role"] != NONE].itertuples():
            if (measure := of_role(row.role, row.score, self.seen).get("measure")) is not None:
                yield Head.at(row), measure

    def info(self, blobs: Blobs) -> BlocksSection:
        """The roles that heads have, the heads without, and what was not tested."""
        table: Any = self.table
        why = {
            name: str(reason)
            for name, reason in table.attrs.get("roles", {}).items()
            if (table["role"] == name).any()
        }
        absent, untested = table.attrs.get("not_found", {}), table.attrs.get("untested", {})
        folds: list[Block] = [_without(table, self.seen)]
        if scores := _scores(self.tests, self.seen):
            folds.append(
                blocks.folded(
                    "Move the bar",
                    blocks.paragraph(
                        "Bars of 0.5 are a convention. These heads have an interval above the bar that is chosen here, "
                        "whatever chance is; no q is in this.",
                        tone="note",
                    ),
                    scores,
                )
            )
        if lists := self._lists():
            held = blocks.definitions({name: in_words(one) for name, one in lists.items()})
            folds.append(blocks.folded("How far the list of each role's highest heads holds", held))
        if why:
            folds.append(blocks.folded("Where the bars come from", blocks.definitions(why)))
        if absent:
            tested = f"{plural(len(absent), 'role')} tested that no head is known to have"
            folds.append(blocks.folded(tested, blocks.definitions(absent)))
        if untested:
            folds.append(
                blocks.folded(f"{plural(len(untested), 'role')} not tested", blocks.definitions(untested))
            )
        shown = (table["role"] != NONE).to_numpy(bool)
        return blocks.section(
            "roles",
            "Patterns and roles",
            "A head has a role when its score is above the bar by more than luck. Choose a row to see the head.",
            [_table(table, shown, why, self.seen), *folds],
            self._notes(int(table.attrs.get("tests", 0))),
            self.command,
        )

    def headline(self) -> str:
        """The roles that heads have."""
        names = list(self.marks())
        roles = [name for name in names if name != BROAD]
        few = f"{', '.join(roles[:3])}{' and more' * (len(roles) > 3)}"
        return f"Heads with a role: {few}" if roles else "No head is known to have a role"

    def findings(self) -> list[list[Part]]:
        """How many heads have a role, and which roles there are, each with its first heads."""
        heads = heads_in(self.table)
        names: dict[str, list[list[Part]]] = {}
        roles = roles_of(self.table)
        rows: Any = self.table.sort_values("score", ascending=False, kind="stable")
        for row in rows.itertuples():
            head = Head(row.layer, row.head)
            if row.role == _first(roles.get(head, [""])):
                reason = of_role(row.role, row.score, self.seen)
                names.setdefault(row.role, []).append(
                    [head_name(head, reason), text(f" ({percent(row.score)})")]
                )
        broad = len(broad_heads(self.table))
        rest = ""
        if broad:
            attends = "head attends" if broad == 1 else "heads attend"
            rest = f" {broad} {'more ' if roles else ''}{attends} broadly, which is no pattern."
        if not roles:
            return [
                sentence(
                    f"None of the {heads} heads is known to have one of the roles that are tested for.{rest}"
                )
            ]
        having = "has" if len(roles) == 1 else "have"
        lines = [
            sentence(f"{len(roles)} of {heads} heads {having} a role: ", *by_role(names, SINK), f".{rest}")
        ]
        return [*lines, *self._off_the_sink()]

    def _off_the_sink(self) -> list[list[Part]]:
        """What heads with a sink do with the rest of their attention."""
        rows: Any = self.table
        off = {role.name: role.of for role in ROLES if role.of is not None}
        names: dict[str, list[list[Part]]] = {}
        for row in (
            rows[rows["role"].isin(off)].sort_values("score", ascending=False, kind="stable").itertuples()
        ):
            reason = of_role(row.role, row.score, self.seen)
            part = [head_name(Head(row.layer, row.head), reason), text(f" ({percent(row.score)})")]
            names.setdefault(str(off[row.role]), []).append(part)
        sinks = int((rows["role"] == "sink").sum())
        if not names:
            return []
        heads = len(rows.loc[rows["role"].isin(off), ["layer", "head"]].drop_duplicates())
        having = "has" if heads == 1 else "have"
        opening = f"Of {sinks} heads with a sink, {heads} {having} a role with the first token taken out: "
        return [sentence(opening, *by_role(names), ".")]

    @property
    def covered(self) -> set[str]:
        """The measures of the roles that were tested: the table and the notes below it tell what was found."""
        untested = self.table.attrs.get("untested", {})
        parked = {"first"} if SINK in {*self.table["role"]} else set[str]()
        return parked | {role.measure for role in ROLES if role.name not in untested and role.name != BROAD}

    def marks(self) -> dict[str, dict[Head, Reason]]:
        """The heads of each role; the sink, which says least of a head, last."""
        heads: dict[str, dict[Head, Reason]] = {}
        table: Any = self.table
        for row in table[table["role"] != NONE].sort_values(["layer", "head"], kind="stable").itertuples():
            heads.setdefault(row.role, {})[Head.at(row)] = of_role(row.role, row.score, self.seen)
        order = [role.name for role in ROLES if role.of is None and role.name != SINK]
        return {role: heads[role] for role in [*order, SINK] if role in heads}

    def _notes(self, tests: int) -> list[str]:
        counted = plural(self.documents, "document") if self.documents else "documents"
        bar = "the bar is above it."
        table: Any = self.table
        if table["offsets"].notna().any():
            bar = (
                "offsets is what a head would score that looks at places alone, each as often as this one does; the "
                "bar is above both."
            )
        return [
            f"A role is a measure and a bar: {tests:,} tests over {counted}, q after Benjamini and Hochberg at "
            f"{self.level:g} within each family of roles, so at most {100 * self.level:.0f} % of those named of a "
            f"family are expected to be wrong.{self._needed()}",
            f"Chance is uniform attention; {bar} Intervals are 95 %, by document.",
            *self._off_note(),
        ]

    def _lists(self) -> dict[str, AnyMapping]:
        """How far the list of each role that a head has holds."""
        table: Any = self.table
        return {
            name: one for name, one in table.attrs.get("lists", {}).items() if (table["role"] == name).any()
        }

    def _needed(self) -> str:
        """How many documents these lists take."""
        sizes = [
            f"{name} {format(one['needed'], ',.0f') if one else 'too few documents to say'}"
            for name, one in self._lists().items()
        ]
        needed = f" For two corpora to share .9 of the ten heads highest in a role it takes about: {'; '.join(sizes)}."
        return needed * bool(sizes)

    def _off_note(self) -> list[str]:
        off = [role.name for role in ROLES if role.of is not None]
        table: Any = self.table
        if not table["role"].isin(off).any():
            return []
        return [
            "Off the sink: of heads whose first token is a sink, the same measures of their attention with the first "
            "token taken out, put to sum to 1 again. How little that may be, the score as a sink says."
        ]


_OFF = {role.name for role in ROLES if role.of is not None}


def _first(names: list[str]) -> str:
    """Choose the first role that says more than that a head parks its attention; those off the sink come apart."""
    return next((name for name in names if name != SINK and name not in _OFF), names[0])


_MEASURES = {role.name: role.measure for role in statistics.ROLES}
SHORT = {"sink": "first", "copy_suppression": "entropy"}
"""Measures that one short input says nothing of, and what is shown there."""

_OVER = {
    "induction": "on repeated random tokens",
    "duplicate": "on repeated random tokens",
    "retrieval": "of the copied tokens",
    "copy_suppression": "of the corpus",
}
"""What measures are over that are taken on inputs of their own."""

_NO_ROLE = because("none of the roles that are tested for", "", measure="entropy")


def of_role(role: str, score: float, seen: Mapping[str, Seen]) -> Reason:
    """A head is named for a role, with its score."""
    units = units_of(role)
    figure = f"{score:.3f}" if units == "share" else f"{score:.2f} {units}"
    return _shown(role, figure, role, seen)


def _shown(says: str, figure: str, role: str, seen: Mapping[str, Seen]) -> Reason:
    """A reason that is seen where the page shows the measure of a role."""
    measure = _MEASURES[role]
    if measure in seen:
        example, pin = seen[measure]
        return because(says, figure, _OVER[measure], example=example, pin=pin)
    return because(says, figure, _OVER.get(measure, CORPUS), measure=SHORT.get(measure, measure))


def _table(table: Any, shown: Any, why: Mapping[str, str], seen: Mapping[str, Seen]) -> TableBlock:
    """The roles, a row each; heads without one are saved alone."""
    units = [units_of(role) if there else "share" for role, there in zip(table["role"], shown, strict=True)]
    cells = [
        *(
            "head",
            "paper",
            CellInfo(of="role", title="why", aside="unit"),
            CellInfo(of="score", tone="strong"),
        ),
        CellInfo(of="ci_low", draw="range", low="ci_low", high="ci_high"),
        CellInfo(
            of="score",
            label="",
            draw="bar",
            low="ci_low",
            high="ci_high",
            base="threshold",
            chance="chance",
        ),
        *("threshold", "chance"),
        *(
            ["offsets"] if table.loc[shown, "offsets"].notna().any() else []
        ),  # of pictures and sounds there are none
        *("p", "q", "n"),
        *(["stays"] if table["stays"].notna().any() else []),
    ]
    return blocks.table(
        "roles",
        table.assign(
            units=units,
            unit=[None if unit == "share" else f" {unit}" for unit in units],
            why=[why.get(role) if there else None for role, there in zip(table["role"], shown, strict=True)],
        ),
        list(COLUMNS),
        cells if shown.any() else [],
        of="roles",
        title="Roles of heads",
        reasons=[
            of_role(row.role, row.score, seen) if there else None
            for row, there in zip(table.itertuples(), shown, strict=True)
        ],
        shown=[place for place, there in enumerate(shown) if there],
        units="units",
    )


def _without(table: Any, seen: Mapping[str, Seen]) -> Block:
    """The heads that have no role, by the role that each comes nearest to, the highest score first."""
    rows = table[table["role"] == NONE]
    if rows.empty:
        return blocks.paragraph("Every head has one of these roles.", tone="note")
    rows = rows.assign(nearest=rows["nearest"].where(rows["nearest"].notna(), "nothing that is tested"))
    entries = [
        ListEntry(
            name=f"nearest to {nearest} ({len(group)})",
            parts=[
                _named(row.layer, row.head, row.nearest_score, _no_role(nearest, row.nearest_score, seen))
                for row in group.sort_values("nearest_score", ascending=False, kind="stable").itertuples()
            ],
        )
        for nearest, group in rows.groupby("nearest", sort=False)
    ]
    return blocks.folded("Heads without these roles", ListBlock(kind="list", entries=entries))


def _named(layer: int, head: int, score: float, reason: Reason) -> Part:
    """The name of a head, with its score when it is pointed at."""
    name = head_name(Head(int(layer), int(head)), reason)
    return {**name, "title": digits.figure(score)} if score == score else name


def _no_role(nearest: str, score: float, seen: Mapping[str, Seen]) -> Reason:
    if score != score:
        return _NO_ROLE
    return _shown(f"no role, nearest to {nearest}", f"{score:.2f}", nearest, seen)


def _scores(tests: Any, seen: Mapping[str, Seen]) -> ListBlock | None:
    """The heads whose interval lies above a bar that can be moved: of shares alone, as entropies have another."""
    if tests is None:
        return None
    rows = tests[(tests["ci_low"] > LEAST_BAR) & (tests["role"].map(units_of) == "share")]
    if rows.empty:
        return None
    rows = rows.sort_values("score", ascending=False, kind="stable").round(4)
    entries = [
        ListEntry(
            name=str(role),
            parts=[
                {
                    **_named(row.layer, row.head, row.score, of_role(str(role), row.score, seen)),
                    "low": row.ci_low,
                }
                for row in group.itertuples()
            ],
        )
        for role, group in rows.groupby("role", sort=False)
    ]
    bar = BarInfo(label="Bar", least=LEAST_BAR, most=0.95, step=0.05, value=0.5, none="No head stays.")
    return ListBlock(kind="list", entries=entries, bar=bar)


def role_tests(study: Study) -> pd.DataFrame:
    """Every head of the report's model against every role."""

    def run() -> pd.DataFrame:
        if study.corpus.kind != "text":
            return seen_roles(study.surface, partial(study_artefacts, study))
        measured = patterns(study)
        if study.model.causal:  # sinks and induction have inputs of their own
            return every_role(
                study.model, study.corpus, limit=study.limit, retrieved=partial(retrieved, study)
            )
        text = list(islice(with_rarest(study.model, study.corpus, limit=study.limit), INPUTS))
        return statistics.every(*with_offsets([study.surface, measured], study.model, text))

    return study.once("roles", run)


def retrieved(study: Study) -> xr.Dataset:
    """What is known of retrieval, with the ablation where heads can be switched off."""

    def run() -> xr.Dataset:
        heads = sum(study.model.checked.parts[0].heads) if study.model.checked is not None else 0
        try:
            return needles(study.model, k=min(10, heads // 4))
        except RefusedError:
            return needles(study.model)

    return study.once("retrieval", run)


def known_tests(study: Study) -> pd.DataFrame | None:
    """The same, or None where roles could not be told: then that is said in their own section."""
    try:
        return role_tests(study)
    except Exception:
        return None


def known_roles(study: Study) -> pd.DataFrame | None:
    """The roles that these tests support."""
    every = known_tests(study)
    return None if every is None else statistics.named(every, LEVEL)


def section(study: Study) -> list[Section]:
    """The roles of heads, tested."""
    tests = role_tests(study)
    table = statistics.named(tests, LEVEL)
    documents = description(study.surface)["corpus"].get("documents")
    return [Roles(table, tests, LEVEL, documents, study.command("roles"), study.seen)]
