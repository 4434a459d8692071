"""The section of cards: what is known of each head, and real examples of what it does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from headscope.heads import Head
from headscope.views.blobs import Blobs
from headscope.views.payload import CardExample, CardInfo, CardsSection


class Shown(NamedTuple):
    """An example of the page, by its place, with a head's score on it.

    Attributes:
        example: its place.
        score: of the head on this very input.
        rank: from 1, the strongest of all inputs; None where it is not among the first.
        decile: from 1 to 10, the strongest tenth.
    """

    example: int
    score: float
    rank: int | None
    decile: int


@dataclass(frozen=True)
class Card:
    """One head.

    Attributes:
        head: which.
        roles: what it does.
        measure: by whose value its examples are ordered.
        units: of the score.
        least: whether the smallest values come first (entropy).
        strongest: examples among the strongest, strongest first.
        sample: an example of each decile that the page has one of, strongest first.
    """

    head: Head
    roles: Sequence[str]
    measure: str
    units: str
    least: bool
    strongest: Sequence[Shown]
    sample: Sequence[Shown]


@dataclass(frozen=True)
class Cards:
    """A card a head.

    Attributes:
        cards: in the order of the heads.
        inputs: how many inputs the examples are chosen from.
        examples: how many are in the page.
        command: what gives the page.
    """

    cards: Sequence[Card]
    inputs: int
    examples: int
    command: str | None = None

    def info(self, blobs: Blobs) -> CardsSection:
        """The cards; the examples travel with the page."""
        about = (
            "Real inputs from the corpus, for each head ordered by the measure that its card names: the strongest, "
            "and a sample from the strongest tenth to the weakest, since what a head does on all data rarely is what "
            f"its best examples suggest. Scores are of that input alone; {self.inputs:,} short inputs were scored, and "
            f"this page holds {self.examples}. Choose one to see the head on it."
        )
        return CardsSection(
            kind="cards",
            title="Head by head, with examples",
            about=about,
            cards=[
                CardInfo(
                    layer=card.head.layer,
                    head=card.head.head,
                    roles=list(card.roles),
                    measure=card.measure,
                    units=card.units,
                    least=card.least,
                    strongest=[_shown(one) for one in card.strongest],
                    sample=[_shown(one) for one in card.sample],
                )
                for card in self.cards
            ],
            inputs=self.inputs,
            command=self.command,
        )


def _shown(one: Shown) -> CardExample:
    return CardExample(example=one.example, score=round(one.score, 4), rank=one.rank, decile=one.decile)
