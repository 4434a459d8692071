"""What the report, the command line, `headscope.table` and the documentation know of an analysis: its record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import TYPE_CHECKING, Any

from headscope.core import lazy
from headscope.core.types import AnyDict, AnyMapping

if TYPE_CHECKING:
    from headscope.core.tokens import Kind

ANY: tuple[Kind, ...] = ("text", "images", "sounds")
"""Inputs of any kind."""


@dataclass(frozen=True)
class Entry:
    """A section of the report.

    Attributes:
        name: what ``--sections`` calls it.
        title: what it is, for the help.
        order: where it stands on the page; sections are made in the order of their analyses.
        decoder: where it stands on the page of a causal language model; None: where it stands on others.
        make: takes a `Study` and returns the `Section`s of the page.
        needs: the input of the report without which there is no such section, such as ``pairs``.
        reads: what it is made of: the ``text``, or another input of the report, such as ``treebank``.
        options: options of the report that only this section takes, such as ``--pairs``.
        accompanies: sections that are made with this one. It is then made even if nobody asked for it, and not shown.
        last: whether it is made when all others are, since it tells of all figures.
        cost: its time as a multiple of that of the surface measures; 0 where it says so itself.
        doing: what is said to take that time.
        of: the kinds of inputs that it can be made of.
        unless: what keeps it from being made of others.
    """

    name: str
    title: str
    order: int
    make: str
    needs: str = ""
    reads: str = "text"
    options: tuple[str, ...] = ()
    accompanies: tuple[str, ...] = ()
    last: bool = False
    cost: float = 0.0
    doing: str = ""
    decoder: int | None = None
    of: tuple[Kind, ...] = ("text",)
    unless: str = "about words"

    def place(self, *, causal: bool) -> int:
        """Where it stands on the page of a model."""
        return self.order if self.decoder is None or not causal else self.decoder

    @property
    def language(self) -> bool:
        """Whether it is about annotated sentences, and left out where the tokenizer does not know them."""
        return self.reads in ("treebank", "coref")


@dataclass(frozen=True)
class Analysis:
    """One analysis, and its command, whose options the signatures and docstrings of what it runs say.

    Paths such as ``run:syntax`` are relative to its package and loaded when they are first used. ``command.py`` has
    what a command does and its function does not: see docs/architecture.md.

    Attributes:
        name: what it is called.
        order: where its command stands in the help, and when its sections are made.
        function: its public function.
        command: what is typed for it, such as ``compare models``; empty: it has no command.
        help: what the command does, in a sentence.
        heading: under which heading the help lists it.
        groups: of options that commands share, in the order of the help: `headscope.console.commands.GROUPS`.
        positions: what is given by its place: what stands for it in the usage, and its help.
        reads: makes a corpus of what is given by its place; where it is empty, the function that runs is given that.
        more: other functions that take options: those that ``run`` of ``command.py`` hands them to, or the figure's.
        named: parameters that are typed by another name; of a list one that may be repeated. An empty one is no option.
        metavars: what stands for values, where their type does not tell.
        output: what ``-o`` takes, and the suffixes it may have; by default those of tables and datasets.
        rules: which options need, or exclude, others: `headscope.console.groups.expect_together`.
        estimate: says in one line what a run will take.
        axis: the axis, or variable, by which `headscope.table` and `headscope.figure` know its results.
        section: makes of a result its `Section`, or the blocks alone, which the page and the terminal show; or a pair,
            these and remarks.
        table: the tidy table of a result.
        rows: the table that a command writes, where it is another.
        columns: of the rows that a command answers with, in order; one that some tables lack ends in ``?``, and ``|``
            parts tables of other columns. ``headscope skill COMMAND`` and docs/json.md promise them.
        every: the table of every head, where `table` is of the best ones.
        figure: draws a result.
        files: what writes the files beside ``-o``, by their options. `figure` is one, unless its path is empty.
        view: shows a result as a page, in a notebook and as a picture.
        merge: puts the parts of shards together.
        sections: of the report.
        package: where its files are, as it was found.
    """

    name: str
    order: int
    function: str
    command: str = ""
    help: str = ""
    heading: str = "Measure"
    groups: tuple[str, ...] = ("model", "table")
    positions: Mapping[str, str] = field(default_factory=dict[str, str])
    reads: str = ""
    more: tuple[str, ...] = ()
    named: Mapping[str, str] = field(default_factory=dict[str, str])
    metavars: Mapping[str, str] = field(default_factory=dict[str, str])
    output: tuple[str, tuple[str, ...]] = ("", ())
    rules: Mapping[str, str] = field(default_factory=dict[str, str])
    estimate: str = ""
    axis: str = ""
    section: str = ""
    table: str = ""
    rows: str = ""
    columns: str = ""
    every: str = ""
    figure: str = ""
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    view: str = ""
    merge: str = ""
    sections: tuple[Entry, ...] = ()
    package: str = ""

    def load(self, path: str) -> Any:
        """What a path of this record names."""
        return lazy.attribute(self.full(path))

    def taken(self, path: str, options: AnyMapping) -> AnyDict:
        """Those of some options that a function of this record takes, behind its ``*``."""
        taken = signature(self.load(path)).parameters.values()
        names = {one.name for one in taken if one.kind is one.KEYWORD_ONLY}
        return {name: value for name, value in options.items() if name in names}

    def full(self, path: str) -> str:
        """A path of this record from the package on."""
        return path if path.startswith("headscope.") else f"{self.package}.{path}"


def entries(analyses: Mapping[str, Analysis]) -> list[tuple[Analysis, Entry]]:
    """All sections of a report, in the order of the page."""
    pairs = [(one, entry) for one in analyses.values() for entry in one.sections]
    return sorted(pairs, key=lambda pair: pair[1].order)
