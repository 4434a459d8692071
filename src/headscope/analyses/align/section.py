"""The section on words and sound: which heads of the decoder look at a word where it is heard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.align.heads import alignment_heads
from headscope.analyses.align.statistics import table
from headscope.analyses.study import Study
from headscope.core.counts import plural
from headscope.core.heads import Head
from headscope.corpora import builtin_sounds
from headscope.measures.dataset import description
from headscope.views import blocks
from headscope.views.blobs import Blobs
from headscope.views.blocks import Block, BlocksSection, CellInfo, LookInfo
from headscope.views.digits import percent, share
from headscope.views.explorer import Input
from headscope.views.payload import Part
from headscope.views.section import Section
from headscope.views.sentences import sentence

SHOWN = 20
"""How many heads have a row: the best ones."""

CROSS = "cross"


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

    def info(self, blobs: Blobs) -> BlocksSection:
        """Heads of the decoder, best first. They open on the first example of the page that has words."""
        rows: Any = table(self.result)
        about = description(self.result)
        chosen = int(rows["chosen"].sum())
        count = len(rows)
        more = f"The best {SHOWN} of {count} heads. " if count > SHOWN else ""
        ends = ("ci_low", "ci_high")
        return blocks.section(
            "align",
            "Words and their sound",
            "Heads of the decoder that look at a word where it is heard, when it is written. Choose a row to see "
            "the head.",
            [
                blocks.paragraph(
                    f"{more}A random frame would find {share(float(self.result['chance']))} of the words."
                ),
                blocks.table(
                    "heads",
                    rows.head(SHOWN),
                    ("layer", "head", "paper", "accuracy", *ends, "monotonic", "error", "chosen"),
                    [
                        *("head", "paper", blocks.bar("accuracy", *ends), blocks.figure("accuracy", *ends)),
                        *("monotonic", "error", CellInfo(of="chosen", tone="dim")),
                    ],
                    of="align",
                    title="Heads of the decoder that find words",
                    look=None if self.example is None else LookInfo(example=self.example, part=CROSS),
                ),
            ],
            [
                f"Of {plural(about['words'], 'word')}. A head is right about a word where the frame that its tokens "
                "attend to most is one in which it is heard; intervals are 95 %, by document.",
                f"{plural(chosen, 'head')} together give{'s' * (chosen == 1)} times that are off by "
                f"{about['error']:.3f} s, fewer or more do worse; they were chosen on these very words.",
                "These are heads of the decoder, which has figures in no other section.",
            ],
            self.command,
        )

    def headline(self) -> str:
        """The best head's accuracy."""
        rows: Any = table(self.result)
        best = rows.iloc[0]
        known = best["ci_low"] > float(self.result["chance"])
        head = Head(int(best["layer"]), int(best["head"]))
        return f"{head} hears {percent(best['accuracy'])} of words where they are" if known else ""

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
                f"Of the decoder {head} looks at {percent(best['accuracy'])} of {plural(int(best['n']), 'word')} where "
                f"they are heard (a random frame: {percent(chance)})."
            )
        ]


def printed(result: Any) -> tuple[Section | Sequence[Block], Sequence[str]]:
    """The times of words, or the heads that align best; and which were used, or chosen."""
    if isinstance(result, pd.DataFrame):
        used = f"heads: {_named(result.attrs['heads'])} ({result.attrs['chosen_by']})"
        return blocks.rows_of(result, of="align", most=len(result)), [used]
    about = description(result)
    used = _named(about["heads"])
    remarks = [f"chosen: {used} ({about['chosen_by']}), off by {about['error']:.3f} s together"]
    if "before" in about:
        before = _named(about["before"]) if about["before"] else "none"
        where = f"{about['model']['name']}: alignment_heads of the generation config"
        remarks.append(f"{where}: {used}; before: {before}")
    return Align(result), remarks


def _named(heads: list[list[int]]) -> str:
    return ", ".join(str(Head(layer, head)) for layer, head in heads)


def section(study: Study) -> list[Section]:
    """Heads that align, where sounds come with their words and the model writes what it hears."""
    spoken = [example for example in study.corpus.examples() if example.words and example.times]
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
