"""The section on coreference: table 2 of Clark et al. 2019, and mentions with what a head chose for them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

import numpy as np
import xarray as xr

from headscope.analyses.printed import TABLE_2
from headscope.heads import Head
from headscope.views.blobs import Blobs
from headscope.views.page import plain_text
from headscope.views.payload import Part, PrintedRow, SectionInfo
from headscope.views.section import Section
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


@dataclass(frozen=True)
class Window:
    """A text with mentions: first word, word after the last, and head word of each.

    Attributes:
        words: of the text.
        mentions: of the text.
        example: its place among the page's examples; None where it is not among them.
        spaces: whether white space follows each word; None where the corpus does not say.
    """

    words: Sequence[str]
    mentions: Sequence[tuple[int, int, int]]
    example: int | None = None
    spaces: Sequence[bool] | None = None


@dataclass(frozen=True)
class Chosen:
    """What a head chose for a mention: a word and its weight; `antecedents` are the mentions that would be
    right."""

    window: int
    mention: int
    predicted: int
    weight: float
    antecedents: Sequence[int]
    right: bool


@dataclass(frozen=True)
class Coref(Section):
    """Rules and best heads, a row each.

    Attributes:
        found: from `headscope.coreference`.
        windows: the texts that are shown.
        shown: mentions for the best head of each definition of candidates.
        tokens: the most tokens of a text that is shown.
        command: what gives the same table.
    """

    found: xr.Dataset
    windows: Sequence[Window] = ()
    shown: Mapping[str, Sequence[Chosen]] = field(default_factory=dict[str, Sequence[Chosen]])
    tokens: int = 0
    command: str | None = None

    def findings(self) -> list[list[Part]]:
        """A sentence for the summary."""
        return [_finding(self.found)]

    def info(self, blobs: Blobs) -> CorefSection:
        """The rows and the texts; nothing travels beside them."""
        counts = [int(n) for n in self.found["n"].values]
        places = [place for place, n in enumerate(counts) if n]
        return CorefSection(
            kind="coref",
            title="Coreference, head by head",
            about=self._about(),
            types=[str(self.found["type"].values[place]) for place in places],
            counts=[counts[place] for place in places],
            rows=[*self._rules(places), *self._heads(places)],
            windows=[
                CorefWindow(
                    words=[plain_text(word) for word in one.words],
                    mentions=[list(span) for span in one.mentions],
                    example=one.example,
                    spaces=None if one.spaces is None else list(one.spaces),
                )
                for one in self.windows
            ],
            printed=[
                PrintedRow(label=label, values=[None if one is None else one / 100 for one in values])
                for label, values in TABLE_2.items()
            ],
            notes=self._notes(),
            command=self.command,
        )

    def _about(self) -> str:
        meta: dict[str, Any] = json.loads(self.found.attrs["meta"])
        name = meta.get("corpus", {}).get("name") or "the corpus"
        n = int(self.found["n"].values[0])
        window = meta.get("options", {}).get("window")
        return (
            "Of a mention that refers to something mentioned before, the word that its head word looks at "
            f"most is taken for the antecedent. Accuracies with 95 % intervals over {n:,} mentions in "
            f"{int(meta['windows']):,} windows of whole sentences of at most {window} tokens of "
            f"{plain_text(str(name))} (Clark et al. 2019, §4.3, table 2). Choose the row of a head to see "
            "what it chose."
        )

    def _notes(self) -> list[str]:
        meta: dict[str, Any] = json.loads(self.found.attrs["meta"])
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
            *(
                [
                    f"The texts shown are runs of whole sentences of at most {self.tokens} tokens, drawn "
                    "with seed 0; what a head chose is what it chose there."
                ]
                if self.windows
                else []
            ),
            "“In the paper” is what Clark et al. 2019 give for bert-base-uncased on CoNLL-2012: model, corpus "
            "and annotation differ, so it is for orientation only.",
        ]

    def _rules(self, places: Sequence[int]) -> list[CorefRow]:
        return [
            CorefRow(
                system=str(rule),
                candidates="preceding_mentions",
                layer=None,
                head=None,
                cells=_cells(self.found.sel(rule=rule), "rules", places),
                split=None,
                shown=[],
            )
            for rule in self.found["rule"].values
        ]

    def _heads(self, places: Sequence[int]) -> list[CorefRow]:
        rows: list[CorefRow] = []
        for name in map(str, self.found["candidates"].values):
            one = self.found.sel(candidates=name)
            layer, head = divmod(int(one["best"]), self.found.sizes["head"])
            split = [float(one[key]) for key in ("split", "split_low", "split_high")]
            own = one.isel(layer=layer, head=head)
            rows.append(
                CorefRow(
                    system="best_head",
                    candidates=name,
                    layer=int(self.found["layer"].values[layer]),
                    head=int(self.found["head"].values[head]),
                    cells=_cells(own, "accuracy", places),
                    split=_cell(*split),
                    shown=[
                        CorefShown(
                            window=each.window,
                            mention=each.mention,
                            predicted=each.predicted,
                            weight=round(each.weight, 4),
                            antecedents=list(each.antecedents),
                            right=each.right,
                        )
                        for each in self.shown.get(name, ())
                    ],
                )
            )
        return rows


def _cells(one: xr.Dataset, name: str, places: Sequence[int]) -> list[CorefCell | None]:
    values = [one[f"{name}{end}"].values for end in ("", "_low", "_high")]
    return [_cell(*(float(each[place]) for each in values)) for place in places]


def _cell(accuracy: float, low: float, high: float) -> CorefCell | None:
    if not math.isfinite(accuracy):
        return None
    known = math.isfinite(low) and math.isfinite(high)
    return CorefCell(accuracy=accuracy, low=low if known else None, high=high if known else None)


def _finding(found: xr.Dataset) -> list[Part]:
    """The head that chooses antecedents best among the mentions before, and the best rule."""
    one = found.sel(candidates="preceding_mentions")
    layer, head = divmod(int(one["best"]), found.sizes["head"])
    scored = float(one["split"])
    apart = " (chosen and scored on different documents)" if np.isfinite(scored) else ""
    share = scored if np.isfinite(scored) else float(one["accuracy"].isel(layer=layer, head=head, type=0))
    rules = found["rules"].values[:, 0]
    rule = str(found["rule"].values[rules.argmax()])
    name = head_name(Head(int(found["layer"].values[layer]), int(found["head"].values[head])))
    return [
        text(f"Of {int(found['n'].values[0]):,} mentions, "),
        name,
        text(
            f" finds the antecedent of {percent(share)} among the mentions before{apart}; the best rule, "
            f"{rule.replace('_', ' ')}, of {percent(float(rules.max()))}."
        ),
    ]
