"""The section of cards: what is known of each head, and real examples of what it does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

import numpy as np

from headscope.analyses.artefacts.section import marked
from headscope.analyses.artefacts.statistics import TO_ARTEFACT
from headscope.analyses.cards import run
from headscope.analyses.cards.run import ExampleCard, ShownExample
from headscope.analyses.example_maps import look
from headscope.analyses.roles.section import SHORT, known_roles
from headscope.analyses.roles.statistics import ROLES, leading, roles_of, units_of
from headscope.analyses.study import Study
from headscope.core.heads import Head
from headscope.corpora import Example
from headscope.errors import InputError
from headscope.views import blocks
from headscope.views.blobs import Blobs
from headscope.views.blocks import BlocksSection, CardExample, CardInfo, CardsBlock
from headscope.views.explorer import Input
from headscope.views.payload import Pin
from headscope.views.reasons import because, definition, nearest_rows
from headscope.views.section import Section


@dataclass(frozen=True)
class Cards(Section):
    """A card a head.

    Attributes:
        cards: in the order of the heads.
        inputs: how many inputs the examples are chosen from.
        examples: how many are in the page.
        command: what gives the page.
        shown: what the page shows of the examples.
        noun: what the inputs are.
    """

    cards: Sequence[ExampleCard]
    inputs: int
    examples: int
    command: str | None = None
    shown: Sequence[Input] = ()
    noun: str = "short inputs"

    def info(self, blobs: Blobs) -> BlocksSection:
        """The cards; the examples travel with the page."""
        notes = [
            "Inputs are ordered by the measure that a card names. A sample from the strongest tenth to the weakest "
            "stands beside the strongest, since what a head does on all data rarely is what its best examples suggest.",
            f"Scores are of that input alone; {self.inputs:,} {self.noun} were scored, and this page holds "
            f"{self.examples}.",
            *together(self.shown),
        ]
        return blocks.section(
            "cards",
            "Head by head, with examples",
            "Real inputs from the corpus: where a head does most of what it does, and all the way down. "
            "Choose one to see the head on it.",
            [self.block()],
            notes,
            self.command,
        )

    def block(self, *, alone: bool = False) -> CardsBlock:
        """The cards; `alone`: only that of the open head is shown."""
        return CardsBlock(
            kind="cards",
            cards=[
                CardInfo(
                    layer=card.head.layer,
                    head=card.head.head,
                    roles=list(card.roles),
                    measure=card.measure,
                    units=card.units,
                    least=card.least,
                    strongest=self._examples(card, card.strongest),
                    sample=self._examples(card, card.sample),
                )
                for card in self.cards
            ],
            inputs=self.inputs,
            alone=alone,
        )

    def named(self) -> Iterator[tuple[Head, int]]:
        """The examples of the cards, the strongest of each first."""
        for turn in zip_longest(*((*card.strongest, *card.sample) for card in self.cards)):
            for card, example in zip(self.cards, turn, strict=True):
                if example is not None:
                    yield card.head, example.example

    def _examples(self, card: ExampleCard, examples: Sequence[ShownExample]) -> list[CardExample]:
        """Examples of a card, each with what is to be seen of the head there: the row that is nearest to its score."""
        return [
            CardExample(
                example=example.example,
                score=round(example.score, 4),
                rank=example.rank,
                decile=example.decile,
                reason=because(
                    f"{card.measure.replace('_', ' ')}",
                    f"{example.score:.2f}" + ("" if card.units == "share" else f" {card.units}"),
                    "on this input",
                    example=example.example,
                    pin=self._pin(card, example),
                ),
            )
            for example in examples
        ]

    def _pin(self, card: ExampleCard, example: ShownExample) -> Pin | None:
        if not self.shown:
            return None
        shown = self.shown[example.example]
        layer, measure = list(shown.first.index).index(card.head.layer), definition(card.measure)
        rows = measure and nearest_rows(
            measure, shown.first, layer, [card.head.head], np.array([example.score])
        )
        return None if rows is None else Pin(side="from", place=int(rows.query[0]))


MAPS = 24_000_000
"""Up to how many weights the maps of a page's pictures or sounds have together."""

NEURON_BYTES = 400_000
"""Up to how many bytes queries and keys of all heads come with the examples; later ones have those of named heads."""

_SILENT = ("rare_word", "retrieval", "copy_suppression")  # need a corpus that was read twice, needles, logits


def cards(study: Study) -> Cards | None:
    """Choose the page's examples, and a card a head; None where the page has no examples and no cards."""
    return study.once("cards", lambda: _cards(study))


def section(study: Study) -> list[Section]:
    """Head by head, with examples."""
    made = cards(study)
    return [made] if made else []


def _cards(study: Study) -> Cards | None:
    asked, kind = study.examples, study.corpus.kind
    if not asked and "cards" not in study.sections:
        return None
    table = known_roles(study)
    if isinstance(asked, int):
        count, inputs = asked, study.short()
    else:
        count, inputs = len(asked), (_given(study, one) for one in asked)
    measures = {role.name: role.measure for role in ROLES}
    scored = {
        head: run.CardOrder(SHORT.get(measures[role], measures[role]), units_of(role))
        for head, role in leading(table).items()
        if measures[role] not in _SILENT
    }
    if any(by.measure == TO_ARTEFACT for by in scored.values()):
        inputs = marked(study, inputs)
    chosen = run.choose_examples(
        study.model, inputs, scored, roles_of(table), count=count, every=not isinstance(asked, int)
    )
    room = None if kind == "text" else MAPS // max(1, len(chosen.examples))
    shown = _within([look(study.model, example, room) for example in marked(study, chosen.examples)])
    study.inputs += shown
    command = study.typed and study.typed.section("cards")
    noun = "short inputs" if kind == "text" else study.corpus.noun
    return Cards(chosen.cards, chosen.inputs, len(study.inputs), command, shown, noun)


def together(shown: Sequence[Input]) -> list[str]:
    """What stands together in the maps of a page of pictures or sounds, in sentences."""
    notes: list[str] = []
    if (side := max((example.side for example in shown), default=1)) > 1:
        notes.append(
            f"So that the page stays small, as queries {side} × {side} patches stand together, each such block the "
            "mean of its patches; as keys each patch is there. Figures are of single patches."
        )
    widths = {example.first.meta["together"] for example in shown if "together" in example.first.meta}
    if widths:
        what = "frames" if shown[0].first.key.sound is not None else "patches a side"
        notes.append(
            f"So that the page stays small, up to {max(widths)} {what} stand together in the maps of examples: to them "
            "attention is the sum, from them the mean. Figures are of single ones."
        )
    return notes


def _given(study: Study, one: str | tuple[str, str]) -> Example:
    """An example that was asked for: a text, a pair, or where the corpus is of pictures or sounds the path of one."""
    model, kind = study.model, study.corpus.kind
    if kind == "text":
        return Example(tokens=model.encode(one) if isinstance(one, str) else model.encode(*one))
    if not isinstance(one, str):
        raise InputError(f"examples: expected paths of {kind}, found a pair of texts")
    if kind == "images":
        return Example(image=Path(one), tokens=model.see(Path(one)), source=one)
    return Example(audio=Path(one), tokens=model.hear(Path(one)), source=one)


def _within(examples: Sequence[Input]) -> list[Input]:
    """The examples, with queries and keys of all heads as long as `NEURON_BYTES` lasts (a neuron travels as a byte)."""
    room = NEURON_BYTES
    kept: list[Input] = []
    for example in examples:
        room -= sum(array.size for neurons in example.neurons.values() for array in (*neurons.q, *neurons.k))
        kept.append(example if room >= 0 else replace(example, opened=()))
    return kept
