"""The section on coreference: table 2 of Clark et al. 2019, and mentions with what a head chose for them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypedDict

import xarray as xr

from headscope.analyses.clusters import CHOSEN_ON, note
from headscope.analyses.links.coref.statistics import CANDIDATES, RULES, TYPES, best_head, table
from headscope.analyses.published import TABLE_2, orientation
from headscope.analyses.study import LEVEL
from headscope.core.heads import Head
from headscope.measures.dataset import description
from headscope.statistics.resample import DIVISIONS
from headscope.views.blobs import Blobs
from headscope.views.digits import percent
from headscope.views.page import plain_text
from headscope.views.payload import Part, Pin, PrintedRow, Reason, SectionInfo
from headscope.views.reasons import CORPUS, because
from headscope.views.section import Section, number
from headscope.views.sentences import head_name, text


class CorefCell(TypedDict):
    """An accuracy and its interval, where there is one."""

    accuracy: float
    low: float | None
    high: float | None


class CorefGain(TypedDict):
    """A difference in accuracy to the best rule (`rule` over all mentions), its interval and two-sided p.

    None with too few documents.
    """

    rule: str
    value: float
    low: float | None
    high: float | None
    p: float | None


class CorefWindow(TypedDict):
    """A text with mentions, [first word, word after its last, head word] each; its place among the examples.

    `spaces` tells whether white space follows each word, where the corpus does.
    """

    words: list[str]
    mentions: list[list[int]]
    example: int | None
    spaces: list[bool] | None


class CorefShown(TypedDict):
    """A mention, the word that a head chooses for it, and the mentions that would be right, by their places.

    `pin` is the token at which the mention's head word begins.
    """

    window: int
    mention: int
    predicted: int
    weight: float
    antecedents: list[int]
    right: bool
    pin: Pin


class CorefRow(TypedDict):
    """A system: a rule, or the best head for a definition of candidates. `cells` are by type, None where none is.

    Of a best head, `split` includes the choice, and that head was the choice `times` of `choices`; `gain` is what
    choosing gives over the best rule, with its interval and two-sided p.
    """

    system: str
    candidates: str
    layer: int | None
    head: int | None
    cells: list[CorefCell | None]
    split: CorefCell | None
    times: int | None
    choices: int | None
    gain: CorefGain | None
    shown: list[CorefShown]
    reason: Reason | None


class CorefSection(SectionInfo):
    """Table 2: systems by types of mentions. `counts` are mentions of each type, `effective` the documents of these."""

    kind: Literal["coref"]
    types: list[str]
    counts: list[int]
    effective: list[float]
    clusters: str
    rows: list[CorefRow]
    windows: list[CorefWindow]
    printed: list[PrintedRow]
    notes: list[str]
    command: str | None


ABOUT = {
    "preceding_mentions": "head words of the mentions before it",
    "other_mentions": "head words of all other mentions",
    "any_word": "all other words",
}

_TEXTS = (
    "The texts shown are runs of whole sentences of at most {} tokens, drawn with seed 0; what a head chose is what "
    "it chose there."
)


@dataclass(frozen=True)
class Coref(Section):
    """Rules and best heads, a row each.

    Attributes:
        result: from `headscope.coreference`.
        windows: the texts that `examples` name by their indices.
        examples: mentions for the best head of each definition of candidates.
        tokens: the most tokens of a text that is shown.
        command: what gives the same table.
    """

    result: xr.Dataset
    windows: Sequence[CorefWindow] = ()
    examples: Mapping[str, Sequence[CorefShown]] = field(default_factory=dict[str, Sequence[CorefShown]])
    tokens: int = 0
    command: str | None = None
    pictured: ClassVar[str | None] = "coref"

    def findings(self) -> list[list[Part]]:
        """A sentence for the summary."""
        return [_finding(self.result, self._reason("preceding_mentions"))]

    def named(self) -> Iterator[tuple[Head, int]]:
        """The best heads, on the texts of their mentions."""
        for kind in CANDIDATES:
            for each in self.examples.get(kind, ()):
                if (example := self.windows[each["window"]]["example"]) is not None:
                    yield best_head(self.result, kind), example

    def marks(self) -> dict[str, list[Head]]:
        """The head that finds most antecedents."""
        return {"best at antecedents": [best_head(self.result, "preceding_mentions")]}

    def info(self, blobs: Blobs) -> CorefSection:
        """The rows and the texts; nothing travels beside them."""
        counts = {str(kind): int(n) for kind, n in zip(TYPES, self.result["n"].values, strict=True) if n}
        effective = [
            float(each) for each, n in zip(self.result["effective"], self.result["n"], strict=True) if n
        ]
        rows: Any = table(self.result)
        return CorefSection(
            kind="coref",
            title="Coreference, head by head",
            about=self._about(),
            types=list(counts),
            counts=list(counts.values()),
            effective=effective,
            clusters=str(description(self.result)["clusters"]),
            rows=[
                self._row(system, candidates, group)
                for (system, candidates), group in rows.groupby(["system", "candidates"], sort=False)
            ],
            windows=[{**each, "words": [*map(plain_text, each["words"])]} for each in self.windows],
            printed=[
                PrintedRow(label=label, values=[None if value is None else value / 100 for value in values])
                for label, values in TABLE_2.items()
            ],
            notes=self._notes(),
            command=self.command,
        )

    def _row(self, system: str, candidates: str, group: Any) -> CorefRow:
        head = best_head(self.result, candidates) if system == "best_head" else None
        result = self.result.sel(candidates=candidates)
        return CorefRow(
            system=system,
            candidates=candidates,
            layer=head and head.layer,
            head=head and head.head,
            cells=[_cell(*figures) for figures in group[["accuracy", "ci_low", "ci_high"]].to_numpy(float)],
            split=head and _cell(result["split"], result["split_low"], result["split_high"]),
            times=head and int(result["times"]),
            choices=head and int(result["choices"]),
            gain=head and _gain(result),
            shown=[] if head is None else list(self.examples.get(candidates, ())),
            reason=head and self._reason(candidates),
        )

    def _reason(self, candidates: str) -> Reason:
        """The best head for a definition of candidates, on the first mention that is shown."""
        kind: Any = candidates
        result: Any = self.result
        head, found = best_head(result, kind), result.sel(candidates=candidates)
        accuracy = float(found["accuracy"].sel(layer=head.layer, head=head.head, type="all"))
        n = int(self.result["n"].values[0])
        shown = [
            (example, each["pin"])
            for each in self.examples.get(candidates, ())
            if (example := self.windows[each["window"]]["example"]) is not None
        ]
        example, pin = shown[0] if shown else (None, None)
        return because(
            f"among {candidates.replace('_', ' ')}: finds the antecedent of",
            percent(accuracy),
            f"of {n:,} mentions, {CORPUS}",
            example=example,
            pin=pin,
            label=label_of(candidates),
        )

    def _about(self) -> str:
        return (
            "Of a mention that refers to something mentioned before, the word that a head looks at most is taken for "
            "what it refers to. Choose the row of a head to see what it chose."
        )

    def _notes(self) -> list[str]:
        meta = description(self.result)
        name = meta.get("corpus", {}).get("name") or "the corpus"
        n = int(self.result["n"].values[0])
        window = meta.get("options", {}).get("window")
        return [
            "It is the head word of the mention that looks. Accuracies with 95 % intervals, given the choice, over "
            f"{n:,} mentions in {int(meta['windows']):,} windows of whole sentences of at most {window} tokens of "
            f"{plain_text(str(name))} (Clark et al. 2019, §4.3, table 2).",
            "The paper does not say among what a head chooses, and it matters: the best head stands here "
            "once for each definition. "
            + "; ".join(f"{name.replace('_', ' ')}: {text}" for name, text in ABOUT.items())
            + ".",
            "Rules choose among the mentions before: nearest, the closest; head match, the closest with the "
            "same head word (none: wrong); “head match, else nearest”, that, else the closest; sieve, same "
            "string, else same head word, else agreement in number, gender and person, else any.",
            "Types are by the part of speech of the mention's head word. The best head is chosen on all "
            f"mentions; “split” is what the head that is best on {CHOSEN_ON} of the documents gets on the rest, over "
            f"{DIVISIONS} divisions, with its interval, choice included, and how often it was the head in the row. "
            "“Beside the best rule” is that less the best rule on the same mentions.",
            note(meta),
            *([_TEXTS.format(self.tokens)] if self.windows else []),
            orientation(" on CoNLL-2012", "model, corpus and annotation"),
        ]


def label_of(candidates: str) -> str:
    """What a link to an antecedent is called where a head chooses among these."""
    return f"antecedent ({candidates.replace('_', ' ')})"


def _cell(accuracy: Any, low: Any, high: Any) -> CorefCell | None:
    if not math.isfinite(accuracy):
        return None
    known = math.isfinite(low) and math.isfinite(high)
    return CorefCell(
        accuracy=float(accuracy), low=number(low) if known else None, high=number(high) if known else None
    )


def _gain(result: Any) -> CorefGain | None:
    value = number(result["difference"])
    if value is None:
        return None
    low, high, p = (number(result[name]) for name in ("difference_low", "difference_high", "p"))
    return CorefGain(rule=RULES[int(result["best_rule"])], value=value, low=low, high=high, p=p)


def _finding(result: Any, reason: Reason) -> list[Part]:
    """The head that chooses antecedents best among the mentions before, and the best rule."""
    head = best_head(result, "preceding_mentions")
    found = result.sel(candidates="preceding_mentions")
    own = float(found["accuracy"].sel(layer=head.layer, head=head.head, type="all"))
    rules = result["rules"].sel(type="all")
    rule = str(rules["rule"].values[rules.values.argmax()])
    split, times, choices = percent(float(found["split"])), int(found["times"]), int(found["choices"])
    chosen = ""
    if choices and (split != percent(own) or times < choices):
        chosen = (
            f" (the head that is best on {CHOSEN_ON} of the documents, {head} in {times} of {choices} choices, of "
            f"{split} on the rest)"
        )
    return [
        text(f"Of {int(result['n'].values[0]):,} mentions, "),
        head_name(head, reason),
        text(
            f" finds the antecedent of {percent(own)} among the mentions before{chosen}; the best rule, "
            f"{rule.replace('_', ' ')}, of {percent(float(rules.max()))}.{_compared(_gain(found))}"
        ),
    ]


def _compared(gain: CorefGain | None) -> str:
    """Whether the head or the rule is known to find more."""
    if gain is None or gain["p"] is None or gain["low"] is None or gain["high"] is None:
        return ""
    low, high = 100 * gain["low"], 100 * gain["high"]
    if gain["p"] >= LEVEL or low <= 0 <= high:
        return f" Choice included, neither is known to find more ({low:+.0f} to {high:+.0f} points)."
    more, least, most = ("head", low, high) if gain["value"] > 0 else ("rule", -high, -low)
    size = abs(100 * gain["value"])
    return f" Choice included, the {more} finds {size:.0f} points more ({least:.0f} to {most:.0f})."
