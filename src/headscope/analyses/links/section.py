"""The section on links, in the form of table 1 of Clark et al. 2019, and what it shares with that on relations."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import xarray as xr

from headscope.analyses.clusters import CHOSEN_ON, note, untested
from headscope.analyses.links.questions import ALL
from headscope.analyses.result import table as table_of
from headscope.analyses.study import LEVEL
from headscope.core.counts import plural
from headscope.core.heads import Head
from headscope.core.types import AnyMapping
from headscope.measures.dataset import description
from headscope.statistics.resample import DIVISIONS
from headscope.views import blocks
from headscope.views.blobs import Blobs
from headscope.views.blocks import (
    BlocksSection,
    CasesInfo,
    CasesOf,
    CellInfo,
    LinkSentence,
    LinkShown,
    TableBlock,
)
from headscope.views.digits import fixed, percent, share, span
from headscope.views.payload import Part, Reason
from headscope.views.reasons import CORPUS, because
from headscope.views.section import Section, number
from headscope.views.sentences import NAMED, comma, head_name, text


class Drawn(NamedTuple):
    """Inputs in which a label's best head is right on all its links, and others; drawn from so many."""

    right: Sequence[LinkShown] = ()
    wrong: Sequence[LinkShown] = ()
    looked: int = 0


class Terms(NamedTuple):
    """What things are called: a kind of link, its instances, what a head finds of it, and the baselines.

    A section is `of` an analysis, with a `title`; `rule` is the column of the best baseline, a table is of `kinds`, and
    its sentences show a `link`.
    `called` is how a reader is told a kind, and `meaning` what it means.
    """

    kind: str
    instances: str
    target: str
    baseline: str
    rule: str
    kinds: str
    link: str
    of: str
    title: str
    called: Callable[[str], str] = str
    meaning: Callable[[str], str | None] = dict[str, str]().get


def signed(rule: Any, offset: str) -> str:
    """What a baseline is called, and `offset` before that of one."""
    name = rule if isinstance(rule, str) else f"{rule:+d}"
    return f"{offset} {name}".replace("-", "−") if name.startswith(("+", "-")) else name


@dataclass(frozen=True)
class BestHeads(Section):
    """The best head of each kind of link, a row each.

    Attributes:
        result: from `headscope.links` or `headscope.syntax`.
        sentences: those that `examples` name by their indices.
        examples: for each kind.
        command: what gives the same table.
    """

    result: xr.Dataset
    sentences: Sequence[LinkSentence] = ()
    examples: Mapping[str, Drawn] = field(default_factory=dict[str, Drawn])
    command: str | None = None
    terms: ClassVar[Terms]
    together: ClassVar[tuple[str, ...]]
    """Rows of several kinds."""

    @property
    def rows(self) -> Any:
        """The table of the result."""
        return table_of(self.result)

    @property
    def kinds(self) -> list[Any]:
        """The rows of single kinds, or the only one."""
        rows = [*self.rows.itertuples()]
        return [row for row in rows if row[1] not in self.together or len(rows) == 1]

    def headline(self) -> str:
        """Of how many kinds a head is known to beat each baseline; empty where that is not tested."""
        rows = [row for row in self.kinds if row[1] not in self.together]
        kinds = [row for row in rows if not row.few and row.q == row.q]
        known = sum(row.q < LEVEL for row in kinds)
        counted = plural(len(kinds), self.terms.kinds[:-1])
        return f"A head beats the {self.terms.baseline} in {known} of {counted}" if kinds else ""

    def findings(self) -> list[list[Part]]:
        """The kinds whose best head is known to be better than each baseline, chosen and scored apart."""
        meta = description(self.result)
        kind, instances, target, baseline, rule, *_, called, _ = self.terms
        enough = [row for row in self.kinds if not row.few]
        tried = [row for row in enough if row.q == row.q]
        if not enough:
            return [[text(f"No {kind} has enough {instances} here to name its best head.")]]
        if not tried:
            return [[text(f"No {kind} can be tested here: {untested(meta)}.")]]
        tested = f"{len(tried)} {kind}{'' if len(tried) == 1 else 's'} with enough {instances}"
        better = f"a head that finds {target} better than the best {baseline}"
        clear = sorted((row for row in tried if row.q < LEVEL), key=lambda row: -row.difference)
        if not clear:
            return [[text(f"Of {tested}, none is known to have {better}.")]]
        parts = [text(f"Of {tested}, {len(clear)} {'have' if len(clear) > 1 else 'has'} {better}: ")]
        explained = False
        for position, row in enumerate(clear[:NAMED]):
            head = Head.at(row)
            accuracy, other, split = (
                percent(figure) for figure in (row.accuracy, row.baseline_accuracy, row.split_accuracy)
            )
            best = signed(getattr(row, rule), "offset").replace("nearest", "nearest candidate")
            comparison = f"by {best} {other}"
            if split != accuracy or row.times < row.choices:  # what choosing the head adds to its figure
                chosen = "" if explained else f" where the best head is chosen on other {meta['clusters']}"
                whose = (
                    f"{row.times} of {row.choices}"
                    if explained
                    else f"{head} in {row.times} of {row.choices} choices"
                )
                comparison += f"; {split}{chosen}, {whose}"
                explained = True
            name = called(str(row[1]))
            parts += [
                *comma(position),
                text(f"{name} "),
                head_name(head, self.reason(row)),
                text(f" ({accuracy}, {comparison})"),
            ]
        more = len(clear) - NAMED
        return [[*parts, text(f" and {more} more." if more > 0 else ".")]]

    def named(self) -> Iterator[tuple[Head, int]]:
        """The best head of each kind, on its inputs."""
        for row in self.rows.itertuples():
            shown = self.examples.get(row[1], Drawn())
            for link in (*shown.right, *shown.wrong):
                if (example := self.sentences[link["sentence"]]["example"]) is not None:
                    yield Head.at(row), example

    def reason(self, row: Any) -> Reason:
        """Why the head of a row is named: as the best one for a kind of link, which is seen where an example shows it.

        All kinds together are seen in any of them.
        """
        name = self.terms.called(str(row[1]))
        arrow = str(row.direction).replace("->", "→")
        named = self.examples.get(str(row[1]))
        kinds: list[Any] = [named] if named else list(self.examples.values())
        shown: Iterator[Any] = (one for kind in kinds for one in (*kind.right, *kind.wrong))
        places: Iterator[Any] = ((self.sentences[one["sentence"]]["example"], one) for one in shown)
        example, seen = next((place for place in places if place[0] is not None), (None, None))
        return because(
            f"{name}, {arrow}: finds {self.terms.target} of",
            percent(float(row.accuracy)),
            f"of {int(row.n):,} {self.terms.instances}, {CORPUS}",
            example=example,
            pin=seen and seen["pins"][0],
            label=name if named else None,
            here=f"{sum(seen['right'])} of {len(seen['right'])}" if seen and named else None,
        )

    def info(self, blobs: Blobs) -> BlocksSection:
        """The best head of each kind, and inputs that show it."""
        terms = self.terms
        return blocks.section(
            terms.of,
            f"{terms.title}, head by head",
            f"Each row is a {terms.kind} with the head that is right about its {terms.instances} most often. The "
            f"dashed line is the best {terms.baseline}. Choose a row to see where its head is right and where it is "
            "wrong.",
            [self._table(), *(blocks.paragraph(line, tone="note") for line in self.remarks())],
            self._notes(),
            self.command,
        )

    def remarks(self) -> Sequence[str]:
        """What is said below the table."""
        return ()

    @abstractmethod
    def method(self, n: str, meta: AnyMapping, corpus: str) -> tuple[str, list[str]]:
        """What is right, over so many instances of a corpus, and what else is said of it, for the notes."""

    def extra(self, kinds: Sequence[str]) -> tuple[Mapping[Any, Any], list[CellInfo | str], Any]:
        """Columns that stand beside those of these kinds, their cells behind q, and rows below."""
        return {}, [], None

    def _table(self) -> TableBlock:
        """The best head of each kind against its baseline, and sentences where it is right and where it is wrong."""
        terms, rows = self.terms, self.rows
        kind, *_ = columns = [*rows.columns]
        names = rows[kind].tolist()
        best = f"the best {terms.baseline}"
        chosen: list[str | None] = []
        for row in rows.itertuples():
            head = "" if row.few else str(Head.at(row))
            gain, low, high = row.difference, row.difference_low, row.difference_high
            how = f"{head} was the choice {row.times} times of {row.choices}; beside {best}: {share(gain)}"
            chosen.append(
                None if number(row.split_accuracy) is None else f"{how}, 95\u00a0% {span(low, high)}"
            )
        rules = zip(rows[terms.rule], rows["baseline_accuracy"], strict=True)
        more, cells, others = self.extra(names)
        few = rows["few"].to_numpy(bool)
        rows = rows.assign(
            arrow=rows["direction"].replace("->", "→", regex=True),
            chosen=chosen,
            rule=[None if number(score) is None else signed(rule, "at") for rule, score in rules],
            meaning=[words and f"  {words}" for words in map(terms.meaning, names)],
            **more,
        )
        cases = [None if row.few else self._cases(row) for row in rows.itertuples()]
        shown = [place for place, one in enumerate(cases) if one and one["links"]]
        ends = ("ci_low", "ci_high")
        return blocks.table(
            f"{terms.link}s",
            rows,
            columns,
            [
                *(CellInfo(of=kind, aside="meaning"), "n", CellInfo(of="head", under="arrow")),
                *(blocks.bar("accuracy", *ends, "baseline_accuracy"), blocks.figure("accuracy", *ends)),
                CellInfo(of="split_accuracy", low="split_low", high="split_high", title="chosen"),
                CellInfo(of="baseline_accuracy", under="rule"),
                *(CellInfo(of="q", title="p"), *cells),
            ],
            of=terms.of,
            title=f"{terms.kinds.capitalize()} and their best heads",
            reasons=[
                None if faint else reason
                for faint, reason in zip(few, map(self.reason, rows.itertuples()), strict=True)
            ],
            faint="few",
            others=others,
            off=f"No counterpart among these {terms.kinds}",
            cases=CasesInfo(
                link=f"the {terms.link}",
                sentences=[*self.sentences],
                texts=[],
                rows=cases,
                first=max(shown, key=lambda place: rows["accuracy"].iloc[place], default=None),
            ),
        )

    def _cases(self, row: Any) -> CasesOf:
        head = Head.at(row)
        right, wrong, looked = self.examples.get(str(row[1]), Drawn())
        sentences = plural(looked, "sentence")
        return CasesOf(
            title=f"{self.terms.called(str(row[1]))}: {head} ",
            about=f"{head.paper} in papers, {row.arrow}, right in {fixed(100 * row.accuracy, 1)}\u00a0% of "
            f"{int(row.n):,}",
            missing=f"None among the {sentences} that were drawn.",
            none=f"These are all {self.terms.kinds} together; choose one to see sentences."
            if row[1] in self.together and len(self.rows) > 1
            else "None that is short enough for this page was drawn.",
            towards=row.direction in ("row", "dep->head"),
            links=[*right, *wrong],
            mentions=[],
        )

    def _notes(self) -> list[str]:
        terms, meta = self.terms, description(self.result)
        name = str(meta.get("corpus", {}).get("name") or "the corpus")
        right, details = self.method(f"{int(self.result['n'].values[0]):,} {terms.instances}", meta, name)
        clusters = meta["clusters"]
        return [
            right,
            f"Bars are accuracies on the very {terms.instances} that the head was chosen on, with 95 % intervals given "
            f"the choice; split is of heads chosen on other {clusters} than they are scored on, choice included.",
            *details,
            "The best of many heads is best by luck too: “split” is what the head that is best on "
            f"{CHOSEN_ON} of the {clusters} gets on the rest, over {DIVISIONS} divisions, with its interval, choice "
            "included, and how often that head was the one in the row. q is the share of false discoveries among the "
            f"{terms.kinds} up to this one, for the claim that such a head beats every {terms.baseline} on the same "
            f"{terms.instances}.",
            note(meta),
            f"{terms.kinds.capitalize()} of fewer than {int(meta['least'])} {terms.instances} are grey and have no "
            "best head.",
        ]


class Linked(BestHeads):
    """The best head of each label, a row each."""

    terms: ClassVar[Terms] = Terms(
        "label", "links", "the target", "simple rule", "baseline", "labels", "link", "links", "Links"
    )
    together: ClassVar[tuple[str, ...]] = (ALL,)
    pictured: ClassVar[str | None] = "links"

    def extra(self, kinds: Sequence[str]) -> tuple[Mapping[Any, Any], list[CellInfo | str], Any]:
        """The attention that targets get, and their rank."""
        return {}, ["mass", "rank"], None

    def method(self, n: str, meta: AnyMapping, corpus: str) -> tuple[str, list[str]]:
        """What is right, and what simple rules are."""
        return (
            "For each source of a link, the word or token that a head looks at most (row), or that looks at it most "
            f"(column), is its choice, and right where it is a target: over {n} in {int(meta['inputs']):,} inputs of "
            f"{corpus}.",
            [
                "Attention to several tokens is the sum over them, from several tokens the mean; a source does not "
                "choose itself, and nothing is renormalised. Several links with the same source and label mean that "
                "any of their targets is right.",
                "Simple rules look at no attention: the word or token at an offset, the nearest candidate, the nearest "
                "with the same string, and chance, the share of candidates that are targets; between two texts, places "
                "are counted in each. Mass is the mean attention that the targets get, rank the mean rank of the first "
                "of them among the candidates, of sources that have some.",
            ],
        )

    def remarks(self) -> list[str]:
        """Count the sources without candidates, in each direction in which others of their label have some."""
        result: Any = self.result
        labels = [label for label in result["label"].values if label != ALL or result.sizes["label"] == 1]
        some = result.sel(label=labels)
        missing = some["n"] - some["asked"].where(some["asked"] > 0, some["n"])
        return [
            f"{direction}: {int(count):,} of {int(some['n'].sum()):,} sources have no candidates: no head is right "
            "there, and mass, rank and average precision are over the others"
            for direction, count in zip(some["direction"].values, missing.sum("label").values, strict=True)
            if count
        ]
