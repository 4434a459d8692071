"""The section on links, in the form of table 1 of Clark et al. 2019, and what it shares with that on relations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, cast

import xarray as xr

from headscope.analyses.clusters import CHOSEN_ON, note, untested
from headscope.analyses.links.statistics import ALL, table
from headscope.analyses.study import LEVEL
from headscope.core.heads import Head
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
from headscope.views.page import plain_text
from headscope.views.payload import Part, Reason
from headscope.views.reasons import CORPUS, because
from headscope.views.section import Section, number
from headscope.views.sentences import NAMED, comma, head_name, text


class Drawn(NamedTuple):
    """Inputs in which a label's best head is right on all its links, and others; drawn from so many."""

    right: Sequence[LinkShown] = ()
    wrong: Sequence[LinkShown] = ()
    looked: int = 0


@dataclass(frozen=True)
class Linked(Section):
    """The best head of each label, a row each.

    Attributes:
        result: from `headscope.links`.
        sentences: those that `examples` name by their indices.
        examples: for each label.
        command: what gives the same table.
    """

    result: xr.Dataset
    sentences: Sequence[LinkSentence] = ()
    examples: Mapping[str, Drawn] = field(default_factory=dict[str, Drawn])
    command: str | None = None
    pictured: ClassVar[str | None] = "links"

    def headline(self) -> str:
        """How many labels a head knows."""
        return headline(table(self.result), _TERMS, (ALL,))

    def findings(self) -> list[list[Part]]:
        """A sentence for the summary."""
        rows: Any = table(self.result)
        labels = [row for row in rows.itertuples() if row.label != ALL or len(rows) == 1]
        return [finding(labels, description(self.result), _TERMS, self._reason)]

    def named(self) -> Iterator[tuple[Head, int]]:
        """The best head of each label, on its inputs."""
        rows: Any = table(self.result)
        for row in rows.itertuples():
            shown = self.examples.get(row.label, Drawn())
            for link in (*shown.right, *shown.wrong):
                if (example := self.sentences[link["sentence"]]["example"]) is not None:
                    yield Head(int(row.layer), int(row.head)), example

    def info(self, blobs: Blobs) -> BlocksSection:
        """The best head of each label, and inputs that show it."""
        rows: Any = table(self.result)
        rules = [
            None
            if number(accuracy) is None
            else f"at {rule.replace('-', '−')}"
            if rule.startswith(("+", "-"))
            else rule
            for rule, accuracy in zip(rows["baseline"], rows["baseline_accuracy"], strict=True)
        ]
        together = [name == ALL and len(rows) > 1 for name in rows["label"]]
        none = [
            "These are all labels together; choose one to see sentences."
            if all_of_them
            else NONE_DRAWN.format("input")
            for all_of_them in together
        ]
        return BlocksSection(
            kind="blocks",
            name="links",
            title="Links, head by head",
            about=self._about(),
            blocks=[
                best_table(
                    "links",
                    rows.assign(rule=rules, none=none, meaning=None),
                    _TERMS,
                    [self._reason(row) for row in rows.itertuples()],
                    self.examples,
                    self.sentences,
                    columns=list(rows.columns),
                    more=("mass", "rank"),
                )
            ],
            notes=self._notes(),
            command=self.command,
        )

    def _reason(self, row: Any) -> Reason:
        return of_kind(row, _TERMS, self.examples, self.sentences)

    def _about(self) -> str:
        return (
            "Each row is a label with the head that is right about its links most often. The dashed line is the best "
            "simple rule. Choose a row to see where its head is right and where it is wrong."
        )

    def _notes(self) -> list[str]:
        meta = description(self.result)
        n = int(self.result["n"].values[0])
        name = meta.get("corpus", {}).get("name") or "the corpus"
        return [
            "For each source of a link, the word or token that a head looks at most (row), or that looks at it most "
            f"(column), is its choice, and right where it is a target: over {n:,} links in {int(meta['inputs']):,} "
            f"inputs of {plain_text(str(name))}.",
            "Bars are accuracies on the very links that the head was chosen on, with 95 % intervals given the choice; "
            f"split is of heads chosen on other {meta['clusters']} than they are scored on, choice included.",
            "Attention to several tokens is the sum over them, from several tokens the mean; a source does not choose "
            "itself, and nothing is renormalised. Several links with the same source and label mean that any of their "
            "targets is right.",
            "Simple rules look at no attention: the word or token at an offset, the nearest candidate, the nearest "
            "with the same string, and chance, the share of candidates that are targets; between two texts, places are "
            "counted in each. Mass is the mean attention that the targets get, rank the mean rank of the first of them "
            "among the candidates, of sources that have some.",
            split_note(str(meta["clusters"]), "labels", "simple rule", "links"),
            note(meta),
            f"Labels of fewer than {int(meta['least'])} links are grey and have no best head.",
        ]


NONE_DRAWN = "No {} that is short enough for this page was drawn."


def best_table(
    name: str,
    rows: Any,
    terms: Terms,
    reasons: Sequence[Reason],
    drawn: Mapping[str, Drawn],
    sentences: Sequence[LinkSentence],
    *,
    columns: Sequence[str],
    more: Sequence[CellInfo | str] = (),
    others: Mapping[str, Sequence[Any]] | None = None,
) -> TableBlock:
    """The best head of each kind of link against its baseline, and sentences where it is right and where it is wrong.

    Args:
        name: what the table is saved as.
        rows: of best heads, with `columns`, those of `more`, and three texts: ``rule``, how the best baseline is
            called, ``none``, what is said of a row without sentences, and ``meaning``, what its label means.
        terms: what things are called.
        reasons: why the head of each row is named.
        drawn: `Drawn`s by the names of kinds.
        sentences: those that these name.
        columns: those that are saved; the first names the kinds.
        more: what stands behind q.
        others: rows below.
    """
    kind = columns[0]
    best = f"the best {terms.baseline}"
    chosen: list[str | None] = []
    for row in rows.itertuples():
        head = "" if row.few else str(Head(int(row.layer), int(row.head)))
        gain, low, high = row.difference, row.difference_low, row.difference_high
        how = f"{head} was the choice {row.times} times of {row.choices}; beside {best}: {share(gain)}"
        chosen.append(None if number(row.split_accuracy) is None else f"{how}, 95\u00a0% {span(low, high)}")
    arrows = [str(direction).replace("->", "→") for direction in rows["direction"]]
    few = rows["few"].to_numpy(bool)
    rows = rows.assign(arrow=arrows, chosen=chosen)
    cases = [
        None
        if row.few
        else _cases(
            row, terms.called(plain_text(str(getattr(row, kind)))), drawn.get(str(getattr(row, kind)))
        )
        for row in rows.itertuples()
    ]
    shown = [place for place, one in enumerate(cases) if one and one["links"]]
    ends = ("ci_low", "ci_high")
    return blocks.table(
        name,
        rows,
        columns,
        [
            *(CellInfo(of=kind, aside="meaning"), "n", CellInfo(of="head", under="arrow")),
            *(blocks.bar("accuracy", *ends, "baseline_accuracy"), blocks.figure("accuracy", *ends)),
            CellInfo(of="split_accuracy", low="split_low", high="split_high", title="chosen"),
            CellInfo(of="baseline_accuracy", under="rule"),
            *(CellInfo(of="q", title="p"), *more),
        ],
        of=terms.of,
        title=f"{terms.kinds.capitalize()} and their best heads",
        reasons=[None if faint else reason for faint, reason in zip(few, reasons, strict=True)],
        faint="few",
        others=others,
        off=f"No counterpart among these {terms.kinds}",
        cases=CasesInfo(
            link=f"the {terms.kinds[:-1]}" if kind == "relation" else "the link",
            sentences=[{**item, "words": [*map(plain_text, item["words"])]} for item in sentences],
            texts=[],
            rows=cases,
            first=max(shown, key=lambda place: rows["accuracy"].iloc[place], default=None),
        ),
    )


def _cases(row: Any, kind: str, drawn: Drawn | None) -> CasesOf:
    head = Head(int(row.layer), int(row.head))
    right, wrong, looked = drawn or Drawn()
    sentences = f"{looked:,} sentence{'' if looked == 1 else 's'}"
    return CasesOf(
        title=f"{kind}: {head} ",
        about=f"{head.paper} in papers, {row.arrow}, right in {fixed(100 * row.accuracy, 1)}\u00a0% of {int(row.n):,}",
        missing=f"None among the {sentences} that were drawn.",
        none=row.none,
        towards=row.direction in ("row", "dep->head"),
        links=[*right, *wrong],
        mentions=[],
    )


def of_kind(row: Any, terms: Terms, drawn: Mapping[str, Any], sentences: Sequence[Any]) -> Reason:
    """A head is named as the best one for a kind of link.

    Args:
        row: of a table of best heads.
        terms: what things are called.
        drawn: `Drawn`s by the names of kinds; all kinds together are seen in any of them.
        sentences: those that these name.
    """
    name = terms.called(plain_text(str(cast("tuple[Any, ...]", row)[1])))
    arrow = str(row.direction).replace("->", "→")
    named = drawn.get(str(cast("tuple[Any, ...]", row)[1]))
    kinds: list[Any] = [named] if named else list(drawn.values())
    shown: Iterator[Any] = (one for kind in kinds for one in (*kind.right, *kind.wrong))
    places: Iterator[Any] = ((sentences[one["sentence"]]["example"], one) for one in shown)
    example, seen = next((place for place in places if place[0] is not None), (None, None))
    return because(
        f"{name}, {arrow}: finds {terms.target} of",
        percent(float(row.accuracy)),
        f"of {int(row.n):,} {terms.instances}, {CORPUS}",
        example=example,
        pin=seen and seen["pins"][0],
        label=name if named else None,
        here=f"{sum(seen['right'])} of {len(seen['right'])}" if seen and named else None,
    )


def split_note(clusters: str, kinds: str, rule: str, instances: str) -> str:
    """What the columns split and q are."""
    return (
        "The best of many heads is best by luck too: “split” is what the head that is best on "
        f"{CHOSEN_ON} of the {clusters} gets on the rest, over {DIVISIONS} divisions, with its interval, "
        "choice included, and how often that head was the one in the row. q is the share of false "
        f"discoveries among the {kinds} up to this one, for the claim that such a head beats every "
        f"{rule} on the same {instances}."
    )


class Terms(NamedTuple):
    """What things are called: a kind of link, its instances, what a head finds of it, and the baselines.

    In a finding `rule` is how the best baseline of a row is called, and `always` whether this is said of each row; a
    table is of `kinds`, and its columns are those `of` the analysis. `called` is how a reader is told a kind.
    """

    kind: str
    instances: str
    target: str
    baseline: str
    rule: Callable[[Any], str]
    always: bool
    kinds: str
    of: str
    called: Callable[[str], str] = str


def _rule(row: Any) -> str:
    name = str(row.baseline)
    if name == "nearest":
        return "by nearest candidate "
    return "by chance " if name == "chance" else f"by {'offset ' * name.startswith(('+', '-'))}{name} "


_TERMS = Terms("label", "links", "the target", "simple rule", _rule, True, "labels", "links")


def headline(rows: Any, terms: Terms, together: Sequence[str]) -> str:
    """Of how many kinds a head is known to beat each baseline; empty where that is not tested. `together`: no kinds."""
    kinds = rows[~rows.iloc[:, 0].isin(together) & ~rows["few"].astype(bool) & rows["q"].notna()]
    known = int((kinds["q"] < LEVEL).sum())
    return (
        f"A head beats the {terms.baseline} in {known} of {blocks.count(len(kinds), terms.kinds[:-1])}"
        if len(kinds)
        else ""
    )


def finding(
    rows: Sequence[Any], meta: Mapping[str, Any], terms: Terms, reason: Callable[[Any], Reason]
) -> list[Part]:
    """The kinds whose best head is known to be better than each baseline, chosen and scored apart.

    Args:
        rows: of a table of best heads, named by their first column.
        meta: what made it.
        terms: what things are called.
        reason: why the head of a row is named.
    """
    kind, instances, target, baseline, rule, always, *_, called = terms
    enough = [row for row in rows if not row.few]
    tried = [row for row in enough if row.q == row.q]
    if not enough:
        return [text(f"No {kind} has enough {instances} here to name its best head.")]
    if not tried:
        return [text(f"No {kind} can be tested here: {untested(meta)}.")]
    tested = f"{len(tried)} {kind}{'' if len(tried) == 1 else 's'} with enough {instances}"
    better = f"a head that finds {target} better than the best {baseline}"
    clear = sorted((row for row in tried if row.q < LEVEL), key=lambda row: -row.difference)
    if not clear:
        return [text(f"Of {tested}, none is known to have {better}.")]
    parts = [text(f"Of {tested}, {len(clear)} {'have' if len(clear) > 1 else 'has'} {better}: ")]
    explained = False
    for position, row in enumerate(clear[:NAMED]):
        head = Head(int(row.layer), int(row.head))
        accuracy, other, split = (
            percent(figure) for figure in (row.accuracy, row.baseline_accuracy, row.split_accuracy)
        )
        comparison = f"{rule(row) if always or position == 0 else ''}{other}"
        if split != accuracy or row.times < row.choices:  # what choosing the head adds to its figure
            chosen = "" if explained else f" where the best head is chosen on other {meta['clusters']}"
            whose = (
                f"{row.times} of {row.choices}"
                if explained
                else f"{head} in {row.times} of {row.choices} choices"
            )
            comparison += f"; {split}{chosen}, {whose}"
            explained = True
        name = called(plain_text(str(cast("tuple[Any, ...]", row)[1])))
        parts += [
            *comma(position),
            text(f"{name} "),
            head_name(head, reason(row)),
            text(f" ({accuracy}, {comparison})"),
        ]
    more = len(clear) - NAMED
    return [*parts, text(f" and {more} more." if more > 0 else ".")]
