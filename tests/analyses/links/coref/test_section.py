"""What the section on coreference sends to the page, and what the summary says of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from headscope.analyses.links.coref.section import Coref
from headscope.analyses.links.coref.statistics import CANDIDATES, RULES
from headscope.analyses.links.coref.statistics import dataset as coref_dataset
from headscope.analyses.links.sums import LinkSums
from headscope.views.blobs import Blobs
from headscope.views.page import script_json
from tests.helpers import linguistics_sample as sample


def test_coreference_has_rules_best_heads_and_only_types_that_there_are() -> None:
    mentions = LinkSums(CANDIDATES, [3, 5], 2, RULES)
    right = np.zeros((len(CANDIDATES), 2, 2, 4), np.bool_)
    right[:2, 1, 0] = True  # L5H0 among mentions
    right[2, 0, 1, :3] = True  # L3H1 among all words
    for document in range(6):
        mentions.add(["pronoun"] * 3 + ["nominal"], right, np.eye(len(RULES), 4, dtype=np.bool_), document)
    info = Coref(
        coref_dataset(mentions),
        [{"words": ["Ann", "saw", "it"], "mentions": [[0, 1, 0], [2, 3, 2]], "example": 4, "spaces": None}],
        {"any_word": [sample.choice(0, 1, 2, 0.25, 0, False)]},
        48,
    ).info(Blobs())
    assert (info["types"], info["counts"]) == (["all", "pronoun", "nominal"], [24, 18, 6])
    assert [one["system"] for one in info["rows"]] == [*RULES, "best_head", "best_head", "best_head"]
    heads = {one["candidates"]: one for one in info["rows"][4:]}
    assert [(heads[name]["layer"], heads[name]["head"]) for name in CANDIDATES] == [(5, 0), (5, 0), (3, 1)]
    assert [cell and cell["accuracy"] for cell in heads["any_word"]["cells"]] == [0.75, 1, 0]
    assert [cell and cell["accuracy"] for cell in info["rows"][0]["cells"]] == [0.25, 1 / 3, 0]
    assert heads["any_word"]["shown"][0]["antecedents"] == [0]
    assert heads["other_mentions"]["shown"] == []
    assert info["windows"][0]["mentions"] == [[0, 1, 0], [2, 3, 2]]
    assert {one["label"]: one["values"] for one in info["printed"]}["head 5-4"] == [0.65, 0.64, 0.73, 0.58]
    assert script_json(info)


def test_mentions_travel_as_they_are() -> None:
    info: Any = sample.coref().info(Blobs())
    heads = {one["candidates"]: one for one in info["rows"] if one["system"] == "best_head"}
    assert [(heads[name]["layer"], heads[name]["head"]) for name in CANDIDATES] == [(1, 0), (1, 0), (2, 3)]
    wrong = {"window": 0, "mention": 3, "predicted": 0, "weight": 0.125, "antecedents": [0], "right": False}
    wrong = {**wrong, "pin": {"side": "from", "place": 3}}
    assert heads["preceding_mentions"]["shown"][1] == wrong
    assert heads["other_mentions"]["shown"] == []
    found = sample.coref().result.sel(candidates="any_word")
    split = {
        "accuracy": found["split"].item(),
        "low": found["split_low"].item(),
        "high": found["split_high"].item(),
    }
    assert heads["any_word"]["split"] == split
    expected = [[False, True, True, False, False, True, True, True], None]
    assert [one["spaces"] for one in info["windows"]] == expected


def coref_found(documents: int) -> xr.Dataset:
    """Four mentions a document: L1H1 is right on three of them, the second rule on two."""
    mentions = LinkSums(CANDIDATES, [0, 1], 2, RULES)
    for number in range(documents):
        right = np.zeros((len(CANDIDATES), 2, 2, 4), np.bool_)
        right[0, 1, 1, :3] = True
        rules = np.zeros((len(RULES), 4), np.bool_)
        rules[1, :2] = True
        mentions.add(["pronoun"] * 4, right, rules, number)
    return coref_dataset(mentions)


def test_the_best_head_stands_beside_the_best_rule() -> None:
    assert sample.said(Coref(coref_found(6))) == [
        "Of 24 mentions, L1H1 finds the antecedent of 75% among the mentions before; the best rule, head match, of 50%. "
        "Choice included, neither is known to find more (-29 to +67 points)."
    ]


def test_one_document_leaves_nothing_to_score_a_choice_on() -> None:
    assert sample.said(Coref(coref_found(1))) == [
        "Of 4 mentions, L1H1 finds the antecedent of 75% among the mentions before; the best rule, head match, of 50%."
    ]


def drawn(documents: int, head: float, rule: float) -> xr.Dataset:
    """One head of 20 and one rule are right in these shares, the others less."""
    draw = np.random.default_rng(1)
    mentions = LinkSums(CANDIDATES, [0], 20, RULES)
    chances = np.full((len(CANDIDATES), 1, 20, 1), 0.2)
    chances[:, 0, 3] = head
    for number in range(documents):
        right = draw.random((len(CANDIDATES), 1, 20, 8)) < chances
        rules = draw.random((len(RULES), 8)) < np.array([rule, 0.1, 0.1, 0.1])[:, None]
        mentions.add(["pronoun"] * 8, right, rules, number)
    return coref_dataset(mentions)


def test_a_rule_that_finds_more_is_said_to() -> None:
    (line,) = sample.said(Coref(drawn(40, 0.4, 0.6)))
    assert "choices" not in line  # it was always the choice, and got the same on the rest
    assert "Choice included, the rule finds" in line
    info = Coref(drawn(40, 0.4, 0.6)).info(Blobs())
    (before, *_) = (row for row in info["rows"] if row["system"] == "best_head")
    assert before["gain"] is not None
    assert before["gain"]["high"] < 0
    assert before["gain"]["p"] < 0.01
    assert (before["times"], before["choices"]) == (200, 200)


def test_no_known_difference_is_said_not_to_be_known() -> None:
    (line,) = sample.said(Coref(drawn(20, 0.5, 0.4)))
    assert "Choice included, neither is known to find more (" in line
    (few,) = sample.said(Coref(drawn(4, 0.5, 0.5)))
    assert few.endswith("%.")  # too few documents for a test
