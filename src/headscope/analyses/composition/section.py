"""The section on which head feeds which: edges, each open where it is strongest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.composition import statistics
from headscope.analyses.composition.run import CompositionWork, composition
from headscope.analyses.roles.run import repeated_tokens
from headscope.analyses.roles.section import known_roles, of_role
from headscope.analyses.roles.statistics import SINK, roles_of
from headscope.analyses.study import Study
from headscope.analyses.writes.run import COPIES, written
from headscope.analyses.writes.statistics import table as writes_table
from headscope.attention.one import prepare
from headscope.attention.stream import Reader
from headscope.core.arrays import Floats
from headscope.core.counts import plural
from headscope.core.heads import Head
from headscope.core.types import AnyMapping
from headscope.corpora import Example
from headscope.errors import InputError, RefusedError
from headscope.live.lines import AskedLine, Lines
from headscope.models import Model
from headscope.statistics.jackknife import needs
from headscope.views import blocks
from headscope.views.blobs import Blobs
from headscope.views.blocks import Block, BlocksSection, CellInfo, GraphBlock, GraphEdge
from headscope.views.digits import percent
from headscope.views.explorer import Input
from headscope.views.payload import Part, Pin, Reason
from headscope.views.reasons import because
from headscope.views.section import Section
from headscope.views.sentences import comma, head_name, sentence, text

TOKENS, SEQUENCES = 16, 12
"""Random tokens of an input, which come twice, and how many inputs."""

LOOKED_AT = 4
"""Among so many inputs the one is looked for on which an edge is strongest."""

LINES = 30
"""So many lines of the heads behind an edge travel with an example."""

SURELY, WRITERS = 0.1, 3
"""Of a head with a role up to so many writers are named that surely have more than this of what it reads."""

_OVER = "on repeated random tokens"
_NAMED = 5
_READ = {"K": "keys", "Q": "queries", "V": "values"}


@dataclass(frozen=True)
class Composition(Section):
    """Which head feeds which.

    Attributes:
        result: from `headscope.composition`.
        seen: of each edge, by its place in the table, where the reader and the writer are seen; empty for nowhere.
        roles: those of each head that has some, and the reason to name it.
        copies: of a head by its weights, the share of tokens that it raises when it looks at them.
    """

    result: xr.Dataset
    seen: Sequence[tuple[int, Pin, Pin]] = field(default=())
    roles: Mapping[Head, tuple[Sequence[str], Reason]] = field(
        default_factory=dict[Head, tuple[Sequence[str], Reason]]
    )
    copies: Mapping[Head, float] = field(default_factory=dict[Head, float])

    def info(self, blobs: Blobs) -> BlocksSection:
        """The edges."""
        rows: Any = statistics.table(self.result)
        pairs = int(self.result["q"].notnull().sum())
        none = f"No head has surely more than {percent(statistics.LEAST)} of what another reads."
        if self.result["share"].isnull().all():
            none = "No head reads what another wrote: that takes two layers, and inputs of several tokens."
        elif not self.result["share_low"].notnull().any():
            none = f"{needs('documents')[0].upper()}{needs('documents')[1:]}."
        return blocks.section(
            "composition",
            "Which head feeds which",
            "Whose writing heads read: in their keys, their queries and their values.",
            [
                *(
                    [blocks.paragraph(none, tone="note")]
                    if rows.empty
                    else [self._graph(rows), self._edges(rows)]
                ),
                *self._with_roles(),
            ],
            [
                f"Measured {_OVER}. A share is exact, with the norms' divisors as they are: K of the score of what a "
                "head attends to less the mean key, by who wrote the keys; Q the same by who wrote the queries; V of "
                "the size of the values that it takes there. The first token is left out.",
                f"Shown are writers that surely have more than {percent(statistics.LEAST)}, and more than if what they "
                f"write were turned at random; q is over all {pairs:,} pairs of heads and kinds.",
            ],
        )

    def headline(self) -> str:
        """How many edges there are."""
        return f"{plural(len(statistics.table(self.result)), 'pair')} of heads where one reads the other"

    def findings(self) -> list[list[Part]]:
        """The head that most others read."""
        rows: Any = statistics.table(self.result)
        if rows.empty:
            return []
        groups = rows.groupby(["writer", "kind"], sort=False)
        (writer, kind), first = max(groups, key=lambda group: len(group[1]))
        names: list[Part] = []
        for position, (place, row) in enumerate(first.head(_NAMED).iterrows()):
            head = Head(int(row["layer"]), int(row["head"]))
            name = head_name(head, self._reason(cast("int", place), row, reader=True))
            names += [*comma(position), name, text(f" ({percent(row['share'])})")]
        more = f" and {len(first) - _NAMED} more" if len(first) > _NAMED else ""
        place, row = next(first.iterrows())
        wrote = head_name(Head.parse(str(writer)), self._reason(cast("int", place), row, reader=False))
        readers = [Head(int(row["layer"]), int(row["head"])) for _, row in first.iterrows()]
        role = self._role(Head.parse(str(writer)))
        named = sentence(f"what the {role} head " if role else "what ", wrote, " wrote: ")
        who, rest = self._who(readers)
        reads = "reads, in its" if len(first) == 1 else "read, in their"
        return [sentence(f"{who} {reads} {_READ[kind]}, ", *named, *names, f"{more}{rest}.")]

    def _who(self, heads: Sequence[Head]) -> tuple[str, str]:
        """How many heads these are, by the role that most of them have; and how many have it, where not all do."""
        count = Counter(role for head in heads if head in self.roles for role in self.roles[head][0])
        role, most = count.most_common(1)[0] if count else ("", 0)
        if most == len(heads):
            return plural(most, f"{role} head"), ""
        return plural(len(heads), "head"), f"; {most} of them {role} heads" if most > 1 else ""

    def _graph(self, rows: Any) -> GraphBlock:
        """Heads that feed each other."""
        heads: dict[Head, Part] = {}
        edges: list[GraphEdge] = []
        for place, row in enumerate(rows.to_dict("records")):
            ends = Head.parse(row["writer"]), Head(int(row["layer"]), int(row["head"]))
            for head, reader in zip(ends, (False, True), strict=True):
                name = head_name(head, self._reason(place, row, reader=reader))
                heads.setdefault(head, {**name, "title": self._role(head)})
            writer, reader = (list(heads).index(head) for head in ends)
            reason = self._reason(place, row, reader=True)
            edges.append(
                GraphEdge(
                    writer=writer,
                    reader=reader,
                    kind=row["kind"],
                    share=round(float(row["share"]), 4),
                    reason=reason,
                )
            )
        return GraphBlock(
            kind="graph", title="Heads that feed each other", heads=list(heads.values()), edges=edges
        )

    def _with_roles(self) -> list[Block]:
        """What each head with a role reads, beside what it writes."""
        all_read = {
            head: {kind: self._writers(head, kind) for kind in statistics.KINDS}
            for head in self.roles
            if self._role(head) != SINK
        }
        read = {head: by for head, by in all_read.items() if any(by.values()) or head in self.copies}
        heads = list(read)
        if not heads:
            return []

        def writers(head: Head, kind: str, name: str) -> list[Part]:
            return [
                {
                    **head_name(writer, because(f"is read by {head} in its {name}", percent(share), _OVER)),
                    "text": f"{writer} {percent(share)}",
                }
                for writer, share in read[head][kind]
            ]

        named = {name: [writers(head, kind, name) for head in heads] for kind, name in _READ.items()}
        named = {name: column for name, column in named.items() if any(column)}
        rows = pd.DataFrame(
            {
                "layer": [head.layer for head in heads],
                "head": [head.head for head in heads],
                "role": [", ".join(self.roles[head][0]) for head in heads],
                **{
                    name: [", ".join(part["text"] for part in parts) for parts in column]
                    for name, column in named.items()
                },
                "itself": [self.copies.get(head, np.nan) for head in heads],
            }
        )
        copied = ["itself"] if any(head in self.copies for head in heads) else []
        return [
            blocks.paragraph(
                f"What heads with a role read: whose writing surely has more than {percent(SURELY)} of it."
            ),
            blocks.table(
                "reads",
                rows,
                ("layer", "head", "paper", "role", *named, *copied),
                ["head", "role", *(CellInfo(of=name, draw="heads") for name in named), *copied],
                of="composition",
                title="What heads with a role read, and what they write",
                reasons=[self.roles[head][1] for head in heads],
                heads=named,
            ),
        ]

    def _role(self, head: Head) -> str:
        """The first role of a head; empty for none."""
        return self.roles[head][0][0] if head in self.roles else ""

    def _writers(self, head: Head, kind: str) -> list[tuple[Head, float]]:
        """The writers that surely have much of what a head reads, the largest first."""
        theirs = self.result.sel(kind=kind, reader=str(head))
        sure = (theirs["share_low"] > SURELY) & (theirs["q"] <= statistics.LEVEL)
        some = theirs.sel(writer=sure.values).sortby("share", ascending=False)
        pairs = zip(some["writer"].values[:WRITERS], some["share"].values, strict=False)
        return [(Head.parse(str(writer)), float(share)) for writer, share in pairs]

    def _edges(self, rows: Any) -> Any:
        records = rows.to_dict("records")
        return blocks.table(
            "composition",
            rows,
            statistics.COLUMNS,
            [
                *("head", "paper"),
                CellInfo(of="kind"),
                CellInfo(of="writer", draw="heads"),
                blocks.bar("share", "ci_low", "ci_high"),
                blocks.figure("share", "ci_low", "ci_high"),
                "q",
            ],
            of="composition",
            title="Which head feeds which",
            reasons=[self._reason(place, row, reader=True) for place, row in enumerate(records)],
            heads={
                "writer": [
                    [head_name(Head.parse(row["writer"]), self._reason(place, row, reader=False))]
                    for place, row in enumerate(records)
                ]
            },
        )

    def _reason(self, place: int, row: AnyMapping, *, reader: bool) -> Reason:
        name = Head(int(row["layer"]), int(row["head"]))
        says = f"reads {row['writer']} in its {_READ[row['kind']]}" if reader else f"is read by {name}"
        example, pins = (None, (None, None)) if not self.seen else (self.seen[place][0], self.seen[place][1:])
        return because(
            says, percent(float(row["share"])), _OVER, example=example, pin=pins[0 if reader else 1]
        )


def section(study: Study) -> list[Section]:
    """Which head feeds which in a causal language model; why where that cannot be told."""
    if not study.model.causal or study.model.encoder_decoder:
        return []
    try:
        inputs = _inputs(study.model)
        result = composition(study.model, inputs)
    except (InputError, RefusedError) as error:
        study.absent["composition"] = str(error)
        return []
    edges: Any = statistics.table(result)
    rows: list[Any] = edges.to_dict("records")
    seen = _seen(study, rows, inputs[:LOOKED_AT]) if rows else ()
    return [Composition(result, seen, _roles(study), _copies(study) if "writes" in study.sections else {})]


def _roles(study: Study) -> dict[Head, tuple[Sequence[str], Reason]]:
    """The heads that have roles, where the page knows them anyway."""
    if not study.examples and "roles" not in study.sections:
        return {}
    table: Any = known_roles(study)
    first = {} if table is None else {Head(row.layer, row.head): row for row in table[::-1].itertuples()}
    return {
        head: (roles, of_role(first[head].role, first[head].score, study.seen))
        for head, roles in roles_of(table).items()
    }


def _copies(study: Study) -> dict[Head, float]:
    """The heads that copy by their weights."""
    try:
        result = written(study)
    except (InputError, RefusedError):
        return {}
    rows: Any = writes_table(result)
    sure = rows[rows["itself_low"] > rows["itself_chance"] + COPIES]
    return {Head.at(row): float(row.itself) for row in sure.itertuples()}


def _inputs(model: Model) -> list[Example]:
    try:
        return repeated_tokens(model, tokens=TOKENS, sequences=SEQUENCES)
    except InputError:  # a model with room for fewer
        return repeated_tokens(model, sequences=SEQUENCES)


def _seen(study: Study, rows: Sequence[AnyMapping], inputs: Sequence[Example]) -> list[tuple[int, Pin, Pin]]:
    """Of each edge the input on which it is strongest, and where reader and writer are seen there."""
    work, gallery = CompositionWork(study.model), study.gallery
    gallery.room()
    sums = [work.summed(example) for example in inputs]
    heads, added = sums[0][0], dict[int, int | None]()
    seen: list[tuple[int, Pin, Pin]] = []
    lines: dict[int, list[AskedLine]] = {}
    for row in rows:
        reader = Head(row["layer"], row["head"])
        at = (statistics.KINDS.index(row["kind"]), heads.index(str(reader)), heads.index(row["writer"]), 0)
        best = int(np.argmax([terms[at] for _, terms, _, _ in sums]))
        if best not in added:
            added[best] = gallery.add(inputs[best])
        example = added[best]
        if example is None:
            return []
        maps = cast("Input", study.inputs[example]).first
        weights: Floats = maps.layers[list(maps.index).index(reader.layer)][reader.head].copy()
        weights[:, 0] = 0.0  # where what it has no use for goes
        query, key = np.unravel_index(int(weights.argmax()), weights.shape)
        wrote = query if row["kind"] == "Q" else key
        seen.append((example, Pin(side="from", place=int(query)), Pin(side="from", place=int(wrote))))
        lines.setdefault(example, []).append(AskedLine(reader, int(query), int(key)))
    for example, some in lines.items():
        one = cast("Input", study.inputs[example])
        axes, ready = prepare(study.model, one.first.query)
        last = max(line.head.layer for line in some)
        chains = Lines(Reader(study.model, ready), axes, ready, "self", last).chains(some, LINES)
        study.inputs[example] = replace(one, reads={"self": chains})
    return seen
