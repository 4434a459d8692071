"""Syntax, coreference and probes with figures that are known, for the 3 layers of 4 heads of `report_sample`."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

import headscope as hs
from headscope.analyses.links.coref.section import Coref
from headscope.analyses.links.coref.statistics import CANDIDATES, RULES
from headscope.analyses.links.coref.statistics import dataset as coref_dataset
from headscope.analyses.links.section import Drawn
from headscope.analyses.links.sums import LinkSums
from headscope.analyses.links.syntax.section import Syntax
from headscope.analyses.links.syntax.statistics import DIRECTIONS
from headscope.analyses.links.syntax.statistics import dataset as syntax_dataset
from headscope.analyses.probes.section import Probes
from headscope.core.link import Link, Span
from headscope.corpora import Corpus
from headscope.models import Model
from headscope.views.blocks import LinkSentence, LinkShown, MentionShown, MentionText
from headscope.views.payload import Pin

SENTENCES = 40


def looked(
    sentence: int, word: int, target: int, predicted: int, right: bool, arcs: list[list[float]]
) -> LinkShown:
    pins = [Pin(side="from", place=word + 1)]
    targets = [[target]]
    return LinkShown(
        sentence=sentence,
        words=[word],
        pins=pins,
        targets=targets,
        predicted=[predicted],
        right=[right],
        arcs=arcs,
    )


def choice(
    window: int, mention: int, predicted: int, weight: float, antecedent: int, right: bool
) -> MentionShown:
    return MentionShown(
        window=window,
        mention=mention,
        predicted=predicted,
        weight=weight,
        antecedents=[antecedent],
        right=right,
        pin=Pin(side="from", place=3),
    )


def syntax() -> Syntax:
    """*det* by the rows of L1H2, always; *nsubj* by the columns of L0H1, in 30 of 40; *csubj* too rare, always right.

    The word after is right for half of *det*, the word before for a quarter of *nsubj*. The heads of layer 2 are right
    on *nsubj* by chance, nearly as often as L0H1: so its accuracy is less where it is chosen on other sentences.
    """
    words = LinkSums(DIRECTIONS, [0, 1, 2], 4, (-1, 1))
    chance = np.random.default_rng(2).random((SENTENCES + 1, 4)) < 0.62
    for number in range(SENTENCES + 1):
        right = np.zeros((2, 3, 4, 3), np.bool_)
        right[0, 1, 2, 0] = True
        right[1, 0, 1, 1] = number % 4 > 0
        right[1, 2, :, 1] = chance[number]
        right[1, 2, 3, 2] = number == SENTENCES
        baselines = np.array([[False, number % 4 == 0, False], [number % 2 == 0, False, False]])
        words.add(["det", "nsubj", "csubj" if number == SENTENCES else "root"], right, baselines)
    found = syntax_dataset(words, least=20)
    trees = [
        LinkSentence(words=["the", "old", "cat"], spans=[], second=None, example=1),
        LinkSentence(words=["a", "dog", "ran"], spans=[], second=None, example=0),
    ]
    shown = {
        "det": Drawn(
            right=[looked(1, 0, 1, 1, True, [[0, 1, 0.5], [1, 0, 0.9], [1, 2, 0.3]])],
            wrong=[looked(0, 0, 2, 1, False, [[0, 2, 0.1], [0, 1, 0.4], [2, 0, 0.2]])],
            looked=7,
        ),
        "nsubj": Drawn(right=[looked(1, 1, 2, 2, True, [[2, 1, 0.6], [1, 2, 0.7]])], wrong=[], looked=5),
    }
    return Syntax(found, trees, shown, "headscope syntax trees.conllu")


def coref() -> Coref:
    """L1H0 right among mentions, always; L2H3 among all words in 3 of 4; rules right on one mention of four each."""
    mentions = LinkSums(CANDIDATES, [0, 1, 2], 4, RULES)
    right = np.zeros((len(CANDIDATES), 3, 4, 4), np.bool_)
    right[:2, 1, 0] = True
    right[2, 2, 3, :3] = True
    for document in range(12):
        mentions.add(["pronoun"] * 3 + ["nominal"], right, np.eye(len(RULES), 4, dtype=np.bool_), document)
    window = MentionText(
        words=["Ann", "'s", "cat", "(", "she", ")", "saw", "it"],
        mentions=[[0, 3, 2], [0, 2, 0], [4, 5, 4], [7, 8, 7]],
        example=1,
        spaces=[False, True, True, False, False, True, True, True],
    )
    plain = MentionText(words=["Bob", ",", "he"], mentions=[[0, 1, 0], [2, 3, 2]], example=0, spaces=None)
    shown = {
        "preceding_mentions": [choice(0, 2, 0, 0.25, 1, True), choice(0, 3, 0, 0.125, 0, False)],
        "any_word": [choice(1, 1, 1, 0.5, 0, False)],
    }
    return Coref(coref_dataset(mentions), [window, plain], shown, 48, "headscope coref x.conllu")


def probes(train: int = 100) -> Probes:
    """Two probes and figures for all that is shown."""
    values = {
        "uas": [0.3, 0.6],
        "uas_low": [0.25, 0.5],
        "uas_high": [0.35, 0.75],
        "uuas": [0.4, 0.65],
        "spearman": [np.nan, 0.5],
        "control": [np.nan, 0.45],
        "selectivity": [np.nan, -0.15],
        "parameters": [0, 1440],
        "n": [500, 500],
        "vectors": ["", "GloVe"],
    }
    pairs = {"": 0.3, "_low": 0.2, "_high": 0.4, "_p": 0.001}
    more = np.array([[np.nan, -1.0], [1.0, np.nan]])
    found = xr.Dataset(
        {name: (("probe",), each) for name, each in values.items()}
        | {f"uas_difference{end}": (("probe", "other"), each * more) for end, each in pairs.items()},
        {"probe": ["right-branching", "attention"], "other": ["right-branching", "attention"]},
        {
            "meta": json.dumps(
                {
                    "clusters": "sentences",
                    "clusters_count": 30,
                    "corpus": {"name": "trees", "train": train, "dev": 30},
                }
            )
        },
    )
    return Probes(found, "headscope probe a.conllu b.conllu")


def word_map(demo: Any, words: list[str], row: Any) -> Any:
    """The map over words of a row's head, from the maps of the whole input."""
    tokens = demo.from_words(words)
    assert tokens.word_ids is not None
    whole = hs.capture(demo, tokens)[hs.Head(row["layer"], row["head"])]
    inside = [tokens.word_ids == word for word in range(len(words))]
    return np.array([[whole[np.ix_(one, other)].sum(1).mean() for other in inside] for one in inside])


def text_of(example: Any) -> str:
    """The words of an example of the page, as the demo model's pieces."""
    pieces = example["inputs"][0]["parts"][0]["query"]["pieces"]
    return "".join(pieces[1:-1]).replace("##", "")


def said(*sections: Any) -> list[str]:
    """The sentences of some sections for the summary."""
    return ["".join(part["text"] for part in line) for section in sections for line in section.findings()]


def pronouns() -> Corpus:
    """Pronouns with the animals that they stand for, and names that are linked with nothing a head finds."""
    names = [
        "cat", "dog", "old bird", "horse", "cow", "white mouse", "lion", "tiger", "sheep", "goat",
        "duck", "hen", "fox", "bear", "grey wolf",
    ]  # fmt: skip
    texts = [
        f"Yesterday the {name} slept because it was {how}." for name in names for how in ("ill", "very tired")
    ]
    found: list[list[Link]] = []
    for text, name in zip(texts, [name for name in names for _ in range(2)], strict=True):
        start = text.index(" it ") + 1
        animal = Span(14, 14 + len(name))
        found.append(
            [Link(Span(start, start + 2), (animal,), "pronoun"), Link(animal, (Span(0, 9),), "time")]
        )
    return hs.corpora.linked(texts, [[replace(link, unit="characters") for link in each] for each in found])


def of_builtin(demo: Model) -> str:
    """A report of the demo model on the built-in trees, and on pronouns."""
    texts = hs.corpora.texts(["The cat sat on the mat.", "A dog barked at the moon."])
    return hs.report(demo, texts, sections=["syntax", "coref", "links"], links=pronouns(), examples=2)
