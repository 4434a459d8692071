"""The section on coreference: table 2 of Clark et al. 2019, and mentions with what a head chose for them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.clusters import CHOSEN_ON, note
from headscope.analyses.links.coref.statistics import CANDIDATES, RULES, TYPES, best_head, table
from headscope.analyses.published import TABLE_2, orientation
from headscope.analyses.study import LEVEL
from headscope.core.heads import Head
from headscope.core.types import AnyDict
from headscope.measures.dataset import description
from headscope.statistics.resample import DIVISIONS
from headscope.views import blocks
from headscope.views.blobs import Blobs
from headscope.views.blocks import (
    BlocksSection,
    CasesInfo,
    CasesOf,
    CellInfo,
    MentionShown,
    MentionText,
    TableBlock,
)
from headscope.views.digits import percent, probability, signed
from headscope.views.payload import Part, Reason
from headscope.views.reasons import CORPUS, because
from headscope.views.section import Section
from headscope.views.sentences import head_name, text

TYPES_PRINTED = ("all", "pronoun", "proper", "nominal")
"""The columns of the printed table."""

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
    windows: Sequence[MentionText] = ()
    examples: Mapping[str, Sequence[MentionShown]] = field(default_factory=dict[str, Sequence[MentionShown]])
    tokens: int = 0
    command: str | None = None
    pictured: ClassVar[str | None] = "coref"

    @property
    def first(self) -> Any:
        """Among what heads choose, in the sentences."""
        return self.result["candidates"].values[0]

    def best(self, kind: Any) -> tuple[Head, float]:
        """The head that chooses best among these candidates, and its accuracy."""
        result: Any = self.result
        head = best_head(result, kind)
        figures = result["accuracy"].sel(candidates=kind, layer=head.layer, head=head.head, type="all")
        return head, float(figures)

    @property
    def rule(self) -> tuple[str, str]:
        """The best rule, and its accuracy in per cent."""
        result: Any = self.result
        rules = result["rules"].sel(type="all")
        return in_words(str(rules["rule"].values[rules.values.argmax()])), percent(float(rules.max()))

    def headline(self) -> str:
        """What the best head finds, and the best rule."""
        (head, accuracy), (rule, score) = self.best(self.first), self.rule
        return f"{head} finds {percent(accuracy)} of antecedents, {rule} {score}"

    def findings(self) -> list[list[Part]]:
        """The head that chooses antecedents best, and the best rule, for the summary."""
        kind, (rule, score) = self.first, self.rule
        head, accuracy = self.best(kind)
        figures = self.result.sel(candidates=kind)
        split, times, choices = (
            percent(float(figures["split"])),
            int(figures["times"]),
            int(figures["choices"]),
        )
        chosen = ""
        if choices and (split != percent(accuracy) or times < choices):
            chosen = (
                f" (the head that is best on {CHOSEN_ON} of the documents, {head} in {times} of {choices} choices, of "
                f"{split} on the rest)"
            )
        return [
            [
                text(f"Of {int(self.result['n'].values[0]):,} mentions, "),
                head_name(head, self._reason(kind)),
                text(
                    f" finds the antecedent of {percent(accuracy)} among {ABOUT[kind]}{chosen}; the best rule, {rule}, "
                    f"of {score}.{_compared(figures)}"
                ),
            ]
        ]

    def named(self) -> Iterator[tuple[Head, int]]:
        """The best heads, on the texts of their mentions."""
        for kind in CANDIDATES:
            for mention in self.examples.get(kind, ()):
                if (example := self.windows[mention["window"]]["example"]) is not None:
                    yield best_head(self.result, kind), example

    def marks(self) -> dict[str, dict[Head, Reason]]:
        """The head that finds most antecedents."""
        return {"best at antecedents": {best_head(self.result, self.first): self._reason(self.first)}}

    def info(self, blobs: Blobs) -> BlocksSection:
        """Table 2: systems by types of mentions, and texts that show them. It is saved with a row a system and type."""
        rows: Any = table(self.result)
        return blocks.section(
            "coref",
            "Coreference, head by head",
            self._about(),
            [
                blocks.table("coreference", rows, list(rows.columns), [], of="coref", title="Coreference"),
                self._table(rows),
            ],
            self._notes(),
            self.command,
        )

    def _table(self, rows: Any) -> TableBlock:
        """A row a system, with a column a type."""
        counts = {str(kind): int(n) for kind, n in zip(TYPES, self.result["n"].values, strict=True) if n}
        wide: list[AnyDict] = []
        for (system, candidates), group in rows.groupby(["system", "candidates"], sort=False):
            figures: AnyDict = {
                kind + end: group[column].iloc[place]
                for place, kind in enumerate(counts)
                for end, column in (("", "accuracy"), ("_low", "ci_low"), ("_high", "ci_high"))
            }
            wide.append(
                {
                    "system": in_words(system),
                    "of": candidates,
                    "candidates": in_words(candidates),
                    **figures,
                    **self._chosen(system, candidates),
                }
            )
        heads = [one["of"] if one["head"] is not None else None for one in wide]
        cases = [None if kind is None else self._cases(kind) for kind in heads]

        def accuracy(kind: str) -> CellInfo:
            label = f"{kind} ({counts[kind]:,})"
            return CellInfo(
                of=kind, low=f"{kind}_low", high=f"{kind}_high", digits=2, label=label, tone="strong"
            )

        first, *others = counts
        printed = {
            kind: [None if value is None else value / 100 for value in values]
            for kind, values in zip(TYPES_PRINTED, zip(*TABLE_2.values(), strict=True), strict=True)
        }
        return blocks.table(
            "systems",
            pd.DataFrame(wide),
            (),
            [
                CellInfo(of="head", name="system", aside="papers", label="system"),
                *(CellInfo(of="candidates", tone="dim"), accuracy(first)),
                CellInfo(of="split", low="split_low", high="split_high", digits=2, title="how"),
                CellInfo(
                    of="difference", low="difference_low", high="difference_high", digits=2, title="beside"
                ),
                *map(accuracy, others),
            ],
            of="coref",
            title="Systems and types of mentions",
            reasons=[None if kind is None else self._reason(kind) for kind in heads],
            others={
                "system": [*TABLE_2],
                "candidates": ["in the paper"] * len(TABLE_2),
                **{kind: values for kind, values in printed.items() if kind in counts},
            },
            off="",
            cases=CasesInfo(
                link="",
                sentences=[],
                texts=[*self.windows],
                rows=cases,
                first=next((place for place, one in enumerate(cases) if one and one["mentions"]), None),
            ),
        )

    def _chosen(self, system: str, candidates: str) -> AnyDict:
        """Say what choosing a best head gives over all mentions, and beside the best rule."""
        if system != "best_head":
            return {"layer": None, "head": None}
        head, result = best_head(self.result, candidates), self.result.sel(candidates=candidates)
        names = ("split", "split_low", "split_high", "difference", "difference_low", "difference_high")
        rule = in_words(RULES[int(result["best_rule"])])
        return {
            "layer": head.layer,
            "head": head.head,
            "papers": f"  {head.paper}, best head",
            **{name: float(result[name]) for name in names},
            "how": f"{head} was the choice {int(result['times'])} times of {int(result['choices'])}"
            if math.isfinite(result["split"])
            else None,
            "beside": f"{rule} is the best rule; p {probability(float(result['p']))}"
            if math.isfinite(result["difference"])
            else None,
        }

    def _cases(self, candidates: str) -> CasesOf:
        return CasesOf(
            title=f"{best_head(self.result, candidates)} ",
            about=f"chooses among {in_words(candidates)}",
            missing="None in the texts that were drawn.",
            none="",
            towards=True,
            links=[],
            mentions=list(self.examples.get(candidates, ())),
        )

    def _reason(self, candidates: str) -> Reason:
        """The best head for a definition of candidates, on the first mention that is shown."""
        n = int(self.result["n"].values[0])
        shown = [
            (example, mention["pin"], "right" if mention["right"] else "wrong")
            for mention in self.examples.get(candidates, ())
            if (example := self.windows[mention["window"]]["example"]) is not None
        ]
        example, pin, here = shown[0] if shown else (None, None, None)
        return because(
            f"among {candidates.replace('_', ' ')}: finds the antecedent of",
            percent(self.best(candidates)[1]),
            f"of {n:,} mentions, {CORPUS}",
            example=example,
            pin=pin,
            label=label_of(candidates),
            here=here,
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
            f"{name} (Clark et al. 2019, §4.3, table 2).",
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


def in_words(name: str) -> str:
    """A name of a rule or of what it chooses among, as a reader says it.

    >>> in_words("head_match_else_nearest")
    'head match, else nearest'
    """
    return name.replace("_else_", ", else ").replace("_", " ")


def _compared(figures: Any) -> str:
    """Whether the head or the rule is known to find more."""
    gain, low, high = (100 * float(figures[f"difference{end}"]) for end in ("", "_low", "_high"))
    p = float(figures["p"])
    if not np.isfinite([gain, low, high, p]).all():
        return ""
    if p >= LEVEL or low <= 0 <= high:
        return (
            f" Choice included, neither is known to find more ({signed(low, 0)} to {signed(high, 0)} points)."
        )
    more, least, most = ("head", low, high) if gain > 0 else ("rule", -high, -low)
    return f" Choice included, the {more} finds {abs(gain):.0f} points more ({least:.0f} to {most:.0f})."
