"""The section on links, in the form of table 1 of Clark et al. 2019, and what it shares with that on relations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, TypedDict, cast

import xarray as xr

from headscope.analyses.clusters import CHOSEN_ON, note, untested
from headscope.analyses.links.statistics import ALL, table
from headscope.analyses.study import LEVEL
from headscope.core.heads import Head
from headscope.measures.dataset import description
from headscope.statistics.resample import DIVISIONS
from headscope.views.blobs import Blobs
from headscope.views.digits import percent
from headscope.views.page import plain_text
from headscope.views.payload import Part, Pin, Reason, SectionInfo
from headscope.views.reasons import CORPUS, because
from headscope.views.section import Section, number
from headscope.views.sentences import NAMED, comma, head_name, text


class LinkSentence(TypedDict):
    """An input by its words or tokens, and its place among the examples.

    `spans` are units of several words, [first, last] each; their numbers go on after those of the words. `second` is
    where text B begins.
    """

    words: list[str]
    spans: list[list[int]]
    second: int | None
    example: int | None


class LinkShown(TypedDict):
    """What a head does in an input.

    `words` are the sources, by the numbers of words and spans, `targets` what would be right for each, `predicted` the
    head's choices (-1: none), `right` whether they are targets. `arcs` are [word, word, weight]: attention from the
    first to the second. `pins` are the tokens at which the sources begin, on the side where the head is read.
    """

    sentence: int
    words: list[int]
    pins: list[Pin]
    targets: list[list[int]]
    predicted: list[int]
    right: list[bool]
    arcs: list[list[float]]


class BestRow(TypedDict):
    """The best head of a kind of link, None where there are too few instances for one.

    `low` and `high` are given the choice of the head; `split`, `split_low` and `split_high` include it. `times` that
    head was the choice, of `choices`. `gain` is what choosing gives over the best baseline. `effective`
    documents (or sentences) have such links; figures that need more of them are None. Sentences were drawn from
    `looked`. `reason` opens the head on the first of them.
    """

    n: int
    few: bool
    layer: int | None
    head: int | None
    direction: str | None
    accuracy: float | None
    low: float | None
    high: float | None
    split: float | None
    split_low: float | None
    split_high: float | None
    p: float | None
    q: float | None
    gain: float | None
    gain_low: float | None
    gain_high: float | None
    times: int | None
    choices: int | None
    effective: float
    baseline: float | None
    looked: int
    reason: Reason | None


class LinksRow(BestRow):
    """A label and its best head; `rule` is the best baseline's name.

    `right` and `wrong` are inputs in which the head is right on all links of the label, or wrong on one or more.
    """

    label: str
    rule: str | None
    mass: float | None
    rank: float | None
    average_precision: float | None
    right: list[LinkShown]
    wrong: list[LinkShown]


class LinksSection(SectionInfo):
    """The best head of each label, and inputs that show it. `clusters` are what intervals are over."""

    kind: Literal["links"]
    clusters: str
    rows: list[LinksRow]
    sentences: list[LinkSentence]
    notes: list[str]
    command: str | None


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
            for each in (*shown.right, *shown.wrong):
                if (example := self.sentences[each["sentence"]]["example"]) is not None:
                    yield Head(int(row.layer), int(row.head)), example

    def info(self, blobs: Blobs) -> LinksSection:
        """The rows and the inputs; nothing travels beside them."""
        rows: Any = table(self.result)
        return LinksSection(
            kind="links",
            title="Links, head by head",
            about=self._about(),
            clusters=str(description(self.result)["clusters"]),
            rows=[self._row(row) for row in rows.itertuples()],
            sentences=[{**each, "words": [*map(plain_text, each["words"])]} for each in self.sentences],
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

    def _row(self, row: Any) -> LinksRow:
        examples = self.examples.get(str(row.label), Drawn())
        return LinksRow(
            **best_row(row, examples.looked, self._reason(row)),
            label=plain_text(str(row.label)),
            rule=None if number(row.baseline_accuracy) is None else str(row.baseline),
            mass=number(row.mass),
            rank=number(row.rank),
            average_precision=number(row.average_precision),
            right=list(examples.right),
            wrong=list(examples.wrong),
        )


_FIGURES = {
    "accuracy": "accuracy",
    "low": "ci_low",
    "high": "ci_high",
    "baseline": "baseline_accuracy",
    "split": "split_accuracy",
    "split_low": "split_low",
    "split_high": "split_high",
    "p": "p",
    "q": "q",
    "gain": "difference",
    "gain_low": "difference_low",
    "gain_high": "difference_high",
}
"""Figures of a row, and their columns in the table."""


def of_kind(row: Any, terms: Terms, drawn: Mapping[str, Any], sentences: Sequence[Any]) -> Reason:
    """A head is named as the best one for a kind of link.

    Args:
        row: of a table of best heads.
        terms: what things are called.
        drawn: `Drawn`s by the names of kinds; all kinds together are seen in any of them.
        sentences: those that these name.
    """
    name = plain_text(str(cast("tuple[Any, ...]", row)[1]))
    arrow = str(row.direction).replace("->", "→")
    own = drawn.get(str(cast("tuple[Any, ...]", row)[1]))
    each: list[Any] = [own] if own else list(drawn.values())
    shown: Iterator[Any] = (one for kind in each for one in (*kind.right, *kind.wrong))
    places: Iterator[Any] = ((sentences[one["sentence"]]["example"], one["pins"][0]) for one in shown)
    example, pin = next((place for place in places if place[0] is not None), (None, None))
    return because(
        f"{name}, {arrow}: finds {terms.found} of",
        percent(float(row.accuracy)),
        f"of {int(row.n):,} {terms.instances}, {CORPUS}",
        example=example,
        pin=pin,
        label=name if own else None,
    )


def best_row(row: Any, looked: int, reason: Reason) -> BestRow:
    """The figures of a row of a table of best heads; `reason` is taken where there is a best head."""
    few = bool(row.few)
    figures: Any = {name: number(getattr(row, column)) for name, column in _FIGURES.items()}
    return BestRow(
        n=int(row.n),
        few=few,
        layer=None if few else int(row.layer),
        head=None if few else int(row.head),
        direction=None if few else str(row.direction),
        **figures,
        times=None if few else _whole(row.times),
        choices=None if few else _whole(row.choices),
        effective=float(row.effective),
        looked=looked,
        reason=None if few else reason,
    )


def _whole(value: Any) -> int | None:
    return None if number(value) is None else int(value)


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
    """What a finding calls things: a kind of link, its instances, what is found, and the baselines.

    `rule` is how the best baseline of a row is called, and `again` whether this is said of each row.
    """

    kind: str
    instances: str
    found: str
    baseline: str
    rule: Callable[[Any], str]
    again: bool


def _rule(row: Any) -> str:
    name = str(row.baseline)
    if name == "nearest":
        return "by nearest candidate "
    return "by chance " if name == "chance" else f"by {'offset ' * name.startswith(('+', '-'))}{name} "


_TERMS = Terms("label", "links", "the target", "simple rule", _rule, True)


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
    kind, instances, found, baseline, rule, again = terms
    enough = [row for row in rows if not row.few]
    tried = [row for row in enough if row.q == row.q]
    if not enough:
        return [text(f"No {kind} has enough {instances} here to name its best head.")]
    if not tried:
        return [text(f"No {kind} can be tested here: {untested(meta)}.")]
    tested = f"{len(tried)} {kind}{'' if len(tried) == 1 else 's'} with enough {instances}"
    better = f"a head that finds {found} better than the best {baseline}"
    clear = sorted((row for row in tried if row.q < LEVEL), key=lambda row: -row.difference)
    if not clear:
        return [text(f"Of {tested}, none is known to have {better}.")]
    parts = [text(f"Of {tested}, {len(clear)} {'have' if len(clear) > 1 else 'has'} {better}: ")]
    explained = False
    for position, row in enumerate(clear[:NAMED]):
        head = Head(int(row.layer), int(row.head))
        own, other, split = (
            percent(each) for each in (row.accuracy, row.baseline_accuracy, row.split_accuracy)
        )
        said = f"{rule(row) if again or position == 0 else ''}{other}"
        if split != own or row.times < row.choices:  # what choosing the head adds to its figure
            chosen = "" if explained else f" where the best head is chosen on other {meta['clusters']}"
            whose = (
                f"{row.times} of {row.choices}"
                if explained
                else f"{head} in {row.times} of {row.choices} choices"
            )
            said += f"; {split}{chosen}, {whose}"
            explained = True
        name = plain_text(str(cast("tuple[Any, ...]", row)[1]))
        parts += [*comma(position), text(f"{name} "), head_name(head, reason(row)), text(f" ({own}, {said})")]
    more = len(clear) - NAMED
    return [*parts, text(f" and {more} more." if more > 0 else ".")]
