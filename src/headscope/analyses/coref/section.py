"""The section on coreference: table 2 of Clark et al. 2019, and mentions with what a head chose for them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

import xarray as xr

from headscope.analyses.coref.statistics import TYPES, best_head, table
from headscope.analyses.printed import TABLE_2, orientation
from headscope.measures.dataset import description
from headscope.views.blobs import Blobs
from headscope.views.page import plain_text
from headscope.views.payload import Part, PrintedRow, SectionInfo
from headscope.views.section import Section, number
from headscope.views.sentences import head_name, percent, text


class CorefCell(TypedDict):
    """An accuracy and its interval, where there is one."""

    accuracy: float
    low: float | None
    high: float | None


class CorefWindow(TypedDict):
    """A text with mentions, [first word, word after its last, head word] each; its place among the examples.

    `spaces` tells whether white space follows each word, where the corpus does.
    """

    words: list[str]
    mentions: list[list[int]]
    example: int | None
    spaces: list[bool] | None


class CorefShown(TypedDict):
    """A mention, the word that a head chooses for it, and the mentions that would be right, by their places."""

    window: int
    mention: int
    predicted: int
    weight: float
    antecedents: list[int]
    right: bool


class CorefRow(TypedDict):
    """A system: a rule, or the best head for a definition of candidates. `cells` are by type, None where none is."""

    system: str
    candidates: str
    layer: int | None
    head: int | None
    cells: list[CorefCell | None]
    split: CorefCell | None
    shown: list[CorefShown]


class CorefSection(SectionInfo):
    """Table 2: systems by types of mentions. `counts` are mentions of each type."""

    kind: Literal["coref"]
    types: list[str]
    counts: list[int]
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

    def findings(self) -> list[list[Part]]:
        """A sentence for the summary."""
        return [_finding(self.result)]

    def info(self, blobs: Blobs) -> CorefSection:
        """The rows and the texts; nothing travels beside them."""
        counts = {str(kind): int(n) for kind, n in zip(TYPES, self.result["n"].values, strict=True) if n}
        rows: Any = table(self.result)
        return CorefSection(
            kind="coref",
            title="Coreference, head by head",
            about=self._about(),
            types=list(counts),
            counts=list(counts.values()),
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
            shown=[] if head is None else list(self.examples.get(candidates, ())),
        )

    def _about(self) -> str:
        meta = description(self.result)
        name = meta.get("corpus", {}).get("name") or "the corpus"
        n = int(self.result["n"].values[0])
        window = meta.get("options", {}).get("window")
        return (
            "Of a mention that refers to something mentioned before, the word that its head word looks at "
            f"most is taken for the antecedent. Accuracies with 95 % intervals over {n:,} mentions in "
            f"{int(meta['windows']):,} windows of whole sentences of at most {window} tokens of "
            f"{plain_text(str(name))} (Clark et al. 2019, §4.3, table 2). Choose the row of a head to see "
            "what it chose."
        )

    def _notes(self) -> list[str]:
        meta = description(self.result)
        return [
            "The paper does not say among what a head chooses, and it matters: the best head stands here "
            "once for each definition. "
            + "; ".join(f"{name.replace('_', ' ')}: {text}" for name, text in ABOUT.items())
            + ".",
            "Rules choose among the mentions before: nearest, the closest; head match, the closest with the "
            "same head word (none: wrong); “head match, else nearest”, that, else the closest; sieve, same "
            "string, else same head word, else agreement in number, gender and person, else any.",
            "Types are by the part of speech of the mention's head word. The best head is chosen on all "
            "mentions; “split” is its accuracy where it was chosen on some documents and scored on others. "
            f"Intervals are of a bootstrap over documents ({int(meta['replicates']):,} replicates, seed "
            f"{int(meta['seed'])}).",
            *([_TEXTS.format(self.tokens)] if self.windows else []),
            orientation(" on CoNLL-2012", "model, corpus and annotation"),
        ]


def _cell(accuracy: Any, low: Any, high: Any) -> CorefCell | None:
    if not math.isfinite(accuracy):
        return None
    known = math.isfinite(low) and math.isfinite(high)
    return CorefCell(
        accuracy=float(accuracy), low=number(low) if known else None, high=number(high) if known else None
    )


def _finding(result: Any) -> list[Part]:
    """The head that chooses antecedents best among the mentions before, and the best rule."""
    head = best_head(result, "preceding_mentions")
    accuracies = result.sel(candidates="preceding_mentions")
    share, apart = float(accuracies["split"]), " (chosen and scored on different documents)"
    if not math.isfinite(share):
        share, apart = float(accuracies["accuracy"].sel(layer=head.layer, head=head.head, type="all")), ""
    rules = result["rules"].sel(type="all")
    rule = str(rules["rule"].values[rules.values.argmax()])
    return [
        text(f"Of {int(result['n'].values[0]):,} mentions, "),
        head_name(head),
        text(
            f" finds the antecedent of {percent(share)} among the mentions before{apart}; the best rule, "
            f"{rule.replace('_', ' ')}, of {percent(float(rules.max()))}."
        ),
    ]
