"""The section of cards: what is known of each head, and real examples of what it does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Literal, TypedDict

import numpy as np

from headscope.analyses.cards import run
from headscope.analyses.cards.run import Card, Shown
from headscope.analyses.roles.section import SHORT, known_roles
from headscope.analyses.roles.statistics import ROLES, leading, roles_of, units_of
from headscope.analyses.study import Gallery, Study, look
from headscope.corpora import Example
from headscope.heads import Head
from headscope.maps import AttentionMaps
from headscope.models import Model
from headscope.tokens import Tokens
from headscope.views.blobs import Blobs
from headscope.views.explorer import Input
from headscope.views.payload import Pin, Reason, SectionInfo
from headscope.views.reasons import because, definition, telling_rows
from headscope.views.section import Section


class CardExample(TypedDict):
    """An example by its place among those of the page, with a head's score on it.

    `rank` counts from the strongest of all inputs (None: not among the first); `decile` is from 1 to 10, the strongest.
    """

    example: int
    score: float
    rank: int | None
    decile: int
    reason: Reason


class CardInfo(TypedDict):
    """One head: its roles, and real examples by the named measure: the strongest, and one of each decile."""

    layer: int
    head: int
    roles: list[str]
    measure: str
    units: str
    least: bool
    strongest: list[CardExample]
    sample: list[CardExample]


class CardsSection(SectionInfo):
    """A card a head. `inputs` is how many inputs the examples are chosen from."""

    kind: Literal["cards"]
    cards: list[CardInfo]
    inputs: int
    notes: list[str]
    command: str | None


@dataclass(frozen=True)
class Cards(Section):
    """A card a head.

    Attributes:
        cards: in the order of the heads.
        inputs: how many inputs the examples are chosen from.
        examples: how many are in the page.
        command: what gives the page.
        shown: the maps of the examples.
    """

    cards: Sequence[Card]
    inputs: int
    examples: int
    command: str | None = None
    shown: Sequence[AttentionMaps] = ()

    def info(self, blobs: Blobs) -> CardsSection:
        """The cards; the examples travel with the page."""
        notes = [
            "Inputs are ordered by the measure that a card names. A sample from the strongest tenth to the weakest "
            "stands beside the strongest, since what a head does on all data rarely is what its best examples suggest.",
            f"Scores are of that input alone; {self.inputs:,} short inputs were scored, and this page holds "
            f"{self.examples}.",
        ]
        return CardsSection(
            kind="cards",
            title="Head by head, with examples",
            about="Real inputs from the corpus: where a head does most of what it does, and all the way down. "
            "Choose one to see the head on it.",
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
            notes=notes,
            command=self.command,
        )

    def named(self) -> Iterator[tuple[Head, int]]:
        """The examples of the cards, the strongest of each first."""
        for turn in zip_longest(*((*card.strongest, *card.sample) for card in self.cards)):
            for card, each in zip(self.cards, turn, strict=True):
                if each is not None:
                    yield card.head, each.example

    def _examples(self, card: Card, examples: Sequence[Shown]) -> list[CardExample]:
        """Examples of a card, each with what is to be seen of the head there: the row that is nearest to its score."""
        return [
            CardExample(
                example=each.example,
                score=round(each.score, 4),
                rank=each.rank,
                decile=each.decile,
                reason=because(
                    f"{card.measure.replace('_', ' ')}",
                    f"{each.score:.2f}" + ("" if card.units == "share" else f" {card.units}"),
                    "on this input",
                    example=each.example,
                    pin=self._pin(card, each),
                ),
            )
            for each in examples
        ]

    def _pin(self, card: Card, each: Shown) -> Pin | None:
        if not self.shown:
            return None
        maps = self.shown[each.example]
        layer, measure = list(maps.index).index(card.head.layer), definition(card.measure)
        found = measure and telling_rows(measure, maps, layer, [card.head.head], np.array([each.score]))
        return None if found is None else Pin(side="from", place=int(found.query[0]))


NEURON_BYTES = 400_000
"""Up to how many bytes queries and keys of all heads come with the examples; later ones have those of named heads."""

_SILENT = ("rare_word", "retrieval", "copy_suppression")  # need a corpus that was read twice, needles, logits


def gallery(study: Study) -> Gallery:
    """The page's examples, chosen from the corpus where that was not done yet."""
    with suppress(Exception):  # said in the section of cards
        cards(study)
    return study.gallery


def cards(study: Study) -> Cards | None:
    """Choose the page's examples, and a card a head; None where the page has no examples and no cards."""
    return study.once("cards", lambda: _cards(study))


def section(study: Study) -> list[Section]:
    """Head by head, with examples."""
    made = cards(study)
    return [made] if made else []


def _cards(study: Study) -> Cards | None:
    asked = study.examples
    if not asked and "cards" not in study.sections:
        return None
    table = known_roles(study)
    if isinstance(asked, int):
        count, inputs = asked, study.short()
    else:
        count, inputs = len(asked), (Example(tokens=_tokens(study.model, text)) for text in asked)
    measures = {role.name: role.measure for role in ROLES}
    scored = {
        head: run.Scored(SHORT.get(measures[role], measures[role]), units_of(role))
        for head, role in leading(table).items()
        if measures[role] not in _SILENT
    }
    chosen = run.choose_examples(
        study.model, inputs, scored, roles_of(table), count=count, every=not isinstance(asked, int)
    )
    inputs_shown = _within([look(study.model, tokens) for tokens in chosen.tokens])
    study.inputs += inputs_shown
    command = study.typed and study.typed.section("cards")
    return Cards(chosen.cards, chosen.inputs, len(study.inputs), command, [one.first for one in inputs_shown])


def _tokens(model: Model, text: str | tuple[str, str]) -> Tokens:
    return model.encode(text) if isinstance(text, str) else model.encode(*text)


def _within(examples: Sequence[Input]) -> list[Input]:
    """The examples, with queries and keys of all heads as long as `NEURON_BYTES` lasts (a neuron travels as a byte)."""
    room = NEURON_BYTES
    kept: list[Input] = []
    for example in examples:
        room -= sum(array.size for each in example.neurons.values() for array in (*each.q, *each.k))
        kept.append(example if room >= 0 else replace(example, opened=()))
    return kept
