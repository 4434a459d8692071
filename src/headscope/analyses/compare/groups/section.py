"""The section on two groups of labelled inputs: which heads differ, or that none does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.compare.groups import statistics as two_groups
from headscope.analyses.roles.statistics import heads_in
from headscope.core.counts import plural
from headscope.core.heads import Head
from headscope.core.types import AnyDict
from headscope.measures.dataset import description
from headscope.views import blocks, digits
from headscope.views.blobs import Blobs
from headscope.views.blocks import Block, BlocksSection, CellInfo, TableBlock
from headscope.views.payload import Part, Pin, Reason
from headscope.views.reasons import because
from headscope.views.section import Section, not_measured
from headscope.views.sentences import head_name, sentence

LISTED = 300
"""How many rows a page lists of those that differ."""

LARGE = 2.0
"""What fills half of a bar: 0.8 is called a large effect."""

NEAREST = 8
"""How many are listed where nothing differs."""


def printed(figures: xr.Dataset, *, level: float = two_groups.LEVEL) -> tuple[Sequence[Block], Sequence[str]]:
    """What differs, and what the groups are."""
    section = GroupsSection(figures, level=level)
    return section.info(Blobs())["blocks"], [section.inputs()]


@dataclass(frozen=True)
class GroupsSection(Section):
    """Two groups of labelled inputs.

    Attributes:
        figures: from `headscope.compare.groups`.
        examples: the place of an example with a typical input of each group, by measure and head.
        pins: the token of the first whose row shows the measure there.
        level: up to which q a head is said to differ.
        command: what gives the same figures.
    """

    figures: xr.Dataset
    examples: Mapping[tuple[str, Head], int] = field(default_factory=dict[tuple[str, Head], int])
    pins: Mapping[tuple[str, Head], Pin] = field(default_factory=dict[tuple[str, Head], Pin])
    level: float = two_groups.LEVEL
    command: str | None = None

    @property
    def meta(self) -> AnyDict:
        """What made the figures."""
        return description(self.figures)

    @property
    def differing(self) -> pd.DataFrame:
        """The rows whose q is at most `level`, the largest effects first."""
        return two_groups.differing(self.figures, self.level)

    @property
    def listed(self) -> pd.DataFrame:
        """The rows that the page lists: those that differ, or those of the smallest q and p where none does."""
        rows: Any = self.differing
        if len(rows):
            return rows.head(LISTED)
        every: Any = two_groups.table(self.figures)
        return every.sort_values(["q", "p"], kind="stable").head(NEAREST)

    def headline(self) -> str:
        """How many heads differ."""
        count, (a, b) = (
            heads_in(self.differing),
            (str(group["label"]) for group in self.meta["groups"]),
        )
        return f"{plural(count, 'head')} known to differ between {a} and {b}" if count else ""

    def findings(self) -> list[list[Part]]:
        """How many heads differ between two groups of texts, and the one that does most; or that none is known to."""
        a, b = (str(group["label"]) for group in self.meta["groups"])
        rows: Any = self.differing
        between = f"Between texts labelled {a} and {b},"
        if not len(rows):
            listed: Any = self.listed
            least = (
                f"the smallest q is {listed['q'].min():.2g}"
                if len(listed)
                else "no measure could be compared"
            )
            return [sentence(f"{between} no head is known to differ: {least}.")]
        first = next(rows.itertuples())
        count = heads_in(rows)
        head = Head.at(first)
        return [
            sentence(
                f"{between} {count} {'head differs' if count == 1 else 'heads differ'} (q ≤ {self.level:g}), most ",
                head_name(head, self._reason(str(first.measure), head, float(first.difference))),
                f" in “{self.figures.sel(measure=first.measure)['title'].item()}” (Hedges' g {first.effect:.2f}).",
            )
        ]

    def named(self) -> Iterator[tuple[Head, int]]:
        """The heads of the rows."""
        return ((head, example) for (_, head), example in self.examples.items())

    def info(self, blobs: Blobs) -> BlocksSection:
        """What differs, the largest effects first, or that nothing does; then what comes nearest to it."""
        text = two_groups.sentence(self.figures, self.level)
        rows = self.listed
        shown = (
            [blocks.paragraph(self._listed(len(rows)), tone="note"), self._table(rows)] if len(rows) else []
        )
        return blocks.section(
            "groups",
            "Two groups of texts",
            self._about(),
            [blocks.paragraph(f"{text[0].upper()}{text[1:]}."), *shown],
            [
                *self._tested(),
                "A head is one hypothesis: the largest statistic of its measures against the largest in each draw. "
                "Heads are adjusted by Benjamini and Hochberg, so that about one in twenty of those named is expected "
                "to be there by chance.",
                "A typical input is the one whose figure is nearest to its group's mean.",
                *not_measured(self.meta, "Not compared here"),
            ],
            self.command,
        )

    def _about(self) -> str:
        meta = self.meta
        return (
            f"{self.inputs()} Every measure of every head, compared in the means of inputs: Hedges' g, and p and q of "
            f"the null of {two_groups.null_in(meta)}, by {two_groups.drawn(meta)} (seed {meta['seed']}). "
            "Choose a row to see a typical input of each group."
        )

    def inputs(self) -> str:
        """The inputs of each group."""
        meta = self.meta
        a, b = (
            f"{one['inputs']:,} inputs labelled {one['label']}, {one['tokens']:.1f} tokens on average"
            for one in meta["groups"]
        )
        return f"{meta.get('corpus', {}).get('name') or 'the texts'}: A is {a}; B is {b}."

    def _tested(self) -> list[str]:
        """What the null is and is not, and what the range beside a difference is."""
        meta = self.meta
        if meta["null"] == two_groups.MEANS:
            null = (
                "What is tested is that means are equal. Each group's documents are drawn by themselves, so the groups "
                "may differ in spread."
            )
        else:
            null = (
                "What is tested is that figures have the same distribution in both groups. A head of equal means is "
                "named as well where its spread differs, as it does between short and long texts."
            )
        other = "words or subject" if meta["length"] else "length, words or subject"
        few = two_groups.no_interval(meta)
        return [
            null,
            f"Groups that differ in {other} differ in attention as well: a difference is not yet one of what the "
            "labels mean.",
            *(["Means and differences are at equal length."] if meta["length"] else []),
            f"{few[0].upper()}{few[1:]}."
            if few
            else "The range below a difference is its 95 % interval, by document; it is not adjusted for the choice of "
            "the row.",
        ]

    def _listed(self, count: int) -> str:
        differ = len(self.differing)
        if not differ:
            return f"The {count} smallest q, none of them at most {self.level:g}:"
        if differ > count:
            return f"The {count} largest effects of {differ:,} with q ≤ {self.level:g}:"
        return f"All with q ≤ {self.level:g}, the largest effects first:"

    def _table(self, rows: Any) -> TableBlock:
        labels: Any = self.figures[["title", "units"]].to_dataframe()
        rows = rows.join(labels, on="measure")
        return blocks.table(
            "groups",
            rows.assign(
                unit=[None if unit == "share" else f" {unit}" for unit in rows["units"]],
                same=len(self.differing) == 0,
            ),
            two_groups.COLUMNS,
            [
                *(CellInfo(of="head", aside="paper"), CellInfo(of="title", aside="unit")),
                *("group_a", "group_b"),
                CellInfo(of="difference", low="ci_low", high="ci_high", error="se", tone="strong"),
                *("effect", CellInfo(of="effect", draw="change", label="", most=LARGE)),
                *("p", "q", CellInfo(of="n_a", name="n_b")),
            ],
            of="groups",
            title="Heads of two groups",
            reasons=[self._reason(row.measure, Head.at(row), row.difference) for row in rows.itertuples()],
            units="units",
            faint="same",
        )

    def _reason(self, measure: str, head: Head, difference: float) -> Reason:
        """A head is named for a difference; it opens on a typical input of each group."""
        of: Any = self.figures.sel(measure=measure)
        title, units = str(of["title"].item()), str(of["units"].item())
        figure = digits.signed(difference, 3) + ("" if units == "share" else f" {units}")
        return because(
            f"{title}, A − B",
            figure,
            "between the groups",
            example=self.examples.get((measure, head)),
            pin=self.pins.get((measure, head)),
        )
