"""The section on which head feeds which: edges, each open where it is strongest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import xarray as xr

from headscope.analyses.composition import statistics
from headscope.analyses.composition.run import Work, composition
from headscope.analyses.roles.synthetic import repeated_tokens
from headscope.analyses.study import Study
from headscope.core.heads import Head
from headscope.corpora import Example
from headscope.errors import InputError, RefusedError
from headscope.measures.sums import Floats
from headscope.models import Model
from headscope.views import blocks
from headscope.views.blobs import Blobs
from headscope.views.blocks import BlocksSection, CellInfo
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

_OVER = "on repeated random tokens"
_NAMED = 5
_READ = {"K": "keys", "Q": "queries", "V": "values"}


@dataclass(frozen=True)
class Composition(Section):
    """Which head feeds which.

    Attributes:
        result: from `headscope.composition`.
        seen: of each edge, by its place in the table, where the reader and the writer are seen; empty for nowhere.
    """

    result: xr.Dataset
    seen: Sequence[tuple[int, Pin, Pin]] = field(default=())

    def info(self, blobs: Blobs) -> BlocksSection:
        """The edges."""
        rows: Any = statistics.table(self.result)
        pairs = int(self.result["q"].notnull().sum())
        none = f"No head has surely more than {percent(statistics.LEAST)} of what another reads."
        return BlocksSection(
            kind="blocks",
            name="composition",
            title="Which head feeds which",
            about="Whose writing heads read: in their keys, their queries and their values.",
            blocks=[blocks.paragraph(none, tone="note") if rows.empty else self._edges(rows)],
            notes=[
                f"Measured {_OVER}. A share is exact, with the norms' divisors as they are: K of the score of what a "
                "head attends to less the mean key, by who wrote the keys; Q the same by who wrote the queries; V of "
                "the size of the values that it takes there. The first token is left out.",
                f"Shown are writers that surely have more than {percent(statistics.LEAST)}, and more than if what they "
                f"write were turned at random; q is over all {pairs:,} pairs of heads and kinds.",
            ],
            command=None,
        )

    def headline(self) -> str:
        """How many edges there are."""
        return (
            f"{blocks.count(len(statistics.table(self.result)), 'pair')} of heads where one reads the other"
        )

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
        many = "1 head reads, in its" if len(first) == 1 else f"{len(first)} heads read, in their"
        return [sentence(f"{many} {_READ[kind]}, what ", wrote, " wrote: ", *names, f"{more}.")]

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

    def _reason(self, place: int, row: Mapping[str, Any], *, reader: bool) -> Reason:
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
    return [Composition(result, _seen(study, rows, inputs[:LOOKED_AT]) if rows else ())]


def _inputs(model: Model) -> list[Example]:
    try:
        return repeated_tokens(model, tokens=TOKENS, sequences=SEQUENCES)
    except InputError:  # a model with room for fewer
        return repeated_tokens(model, sequences=SEQUENCES)


def _seen(
    study: Study, rows: Sequence[Mapping[str, Any]], inputs: Sequence[Example]
) -> list[tuple[int, Pin, Pin]]:
    """Of each edge the input on which it is strongest, and where reader and writer are seen there."""
    work, gallery = Work(study.model), study.gallery
    gallery.room()
    sums = [work.summed(example) for example in inputs]
    heads, added = sums[0][0], dict[int, int | None]()
    seen: list[tuple[int, Pin, Pin]] = []
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
    return seen
