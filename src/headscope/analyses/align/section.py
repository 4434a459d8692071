"""The section on words and sound: which heads of the decoder look at a word where it is heard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypedDict

import xarray as xr

from headscope.analyses.align.heads import alignment_heads
from headscope.analyses.align.statistics import table
from headscope.analyses.study import Study
from headscope.core.heads import Head
from headscope.corpora import builtin_sounds
from headscope.measures.dataset import description
from headscope.views.blobs import Blobs
from headscope.views.digits import percent
from headscope.views.explorer import Input
from headscope.views.payload import Part, SectionInfo
from headscope.views.section import Section, rounded
from headscope.views.sentences import sentence

SHOWN = 20
"""So many heads have a row, the best ones."""

CROSS = "cross"


class AlignRow(TypedDict):
    """A head of the decoder's cross attention.

    `accuracy`, between `low` and `high`, is the share of words at whose sound it looks most, `monotonic` that of words
    whose sound it finds no earlier than the last word's, and `error` how far the times that it gives alone are off, in
    seconds. `chosen`: it is in the set that aligns best.
    """

    layer: int
    head: int
    accuracy: float
    low: float | None
    high: float | None
    monotonic: float | None
    error: float | None
    chosen: bool


class AlignSection(SectionInfo):
    """Heads of the decoder, best first, of `heads`. They open on `example`, the first of the page that has words."""

    kind: Literal["align"]
    rows: list[AlignRow]
    heads: int
    words: int
    chance: float
    part: str
    example: int | None
    notes: list[str]
    command: str | None


@dataclass(frozen=True)
class Align(Section):
    """Heads by how well they align words with sound.

    Attributes:
        result: from `headscope.alignment_heads`.
        example: of the page, with the decoder's maps.
        command: what gives the same figures.
    """

    result: xr.Dataset
    example: int | None = None
    command: str | None = None

    def info(self, blobs: Blobs) -> AlignSection:
        """The rows; nothing travels beside them."""
        rows: Any = table(self.result)
        about = description(self.result)
        chosen = int(rows["chosen"].sum())
        return AlignSection(
            kind="align",
            title="Words and their sound",
            about="Heads of the decoder that look at a word where it is heard, when it is written. Choose a row to see "
            "the head.",
            rows=[
                AlignRow(
                    layer=int(row.layer),
                    head=int(row.head),
                    accuracy=rounded(row.accuracy) or 0.0,
                    low=rounded(row.ci_low),
                    high=rounded(row.ci_high),
                    monotonic=rounded(row.monotonic),
                    error=rounded(row.error),
                    chosen=bool(row.chosen),
                )
                for row in rows.head(SHOWN).itertuples()
            ],
            heads=len(rows),
            words=int(about["words"]),
            chance=float(self.result["chance"]),
            part=CROSS,
            example=self.example,
            notes=[
                f"Of {about['words']:,} words. A head is right about a word where the frame that the word's tokens "
                "attend to most is one in which it is heard; intervals are 95 %, by document.",
                f"{chosen} {'heads' if chosen != 1 else 'head'} together give times that are off by "
                f"{about['error']:.3f} s, fewer or more do worse; they were chosen on these very words.",
                "These are heads of the decoder, which has figures in no other section.",
            ],
            command=self.command,
        )

    def findings(self) -> list[list[Part]]:
        """The best head, where it is right about more words than a random frame would be."""
        rows: Any = table(self.result)
        best, chance = rows.iloc[0], float(self.result["chance"])
        if not best["ci_low"] > chance:
            return [
                sentence(
                    "No head of the decoder is known to find the sound of words better than a random frame would."
                )
            ]
        head = Head(int(best["layer"]), int(best["head"]))
        return [
            sentence(
                f"Of the decoder {head} looks at {percent(best['accuracy'])} of {int(best['n']):,} words where they "
                f"are heard (a random frame: {percent(chance)})."
            )
        ]


def section(study: Study) -> list[Section]:
    """Heads that align, where sounds come with their words and the model writes what it hears."""
    spoken = [each for each in study.corpus.examples() if each.words and each.times]
    why = None
    if not study.model.encoder_decoder or study.model.tokenizer is None:
        why = f"{study.model.name} writes no words"
    elif study.corpus.name == builtin_sounds().name:
        why = "the built-in sounds are no speech"
    elif not spoken:
        why = "no sound comes with its words and their times"
    if why is not None:
        study.absent["align"] = why
        return []
    result = alignment_heads(study.model, spoken, limit=study.limit)
    shown = study.gallery.inputs
    there = [place for place, one in enumerate(shown) if isinstance(one, Input) and CROSS in one.parts]
    return [Align(result, there[0] if there else None, study.typed and study.typed.section("align"))]
