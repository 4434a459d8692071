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
from headscope.views.section import rounded
from tests.helpers import linguistics_sample as sample
from tests.helpers import section_blocks
from tests.helpers.section_blocks import rows

NAMES = ("preceding mentions", "other mentions", "any word")


def best(info: Any) -> dict[str, Any]:
    return {one["candidates"]: one for one in rows(info, "systems") if one["head"] is not None}


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
    found = section_blocks.table(info, "systems")
    labels = [cell["label"] for cell in found["cells"] if "(" in cell.get("label", "")]
    assert labels == ["all (24)", "pronoun (18)", "nominal (6)"]
    systems = rows(info, "systems")
    assert [one["head"] is None for one in systems] == [True] * len(RULES) + [False] * 3
    heads = best(info)
    assert [(heads[name]["layer"], heads[name]["head"]) for name in NAMES] == [(5, 0), (5, 0), (3, 1)]
    types = ("all", "pronoun", "nominal")
    assert [heads["any word"][name] for name in types] == [0.75, 1, 0]
    assert [systems[0][name] for name in types] == [0.25, rounded(1 / 3), 0]
    assert heads["any word"]["cases"]["mentions"][0]["antecedents"] == [0]
    assert heads["other mentions"]["cases"]["mentions"] == []
    assert found["cases"]["texts"][0]["mentions"] == [[0, 1, 0], [2, 3, 2]]
    others = found["others"]
    place = others["system"].index("head 5-4")
    assert [others[name][place] for name in types] == [0.65, 0.64, 0.58]
    assert script_json(info)


def test_mentions_travel_as_they_are() -> None:
    info: Any = sample.coref().info(Blobs())
    heads = best(info)
    assert [(heads[name]["layer"], heads[name]["head"]) for name in NAMES] == [(1, 0), (1, 0), (2, 3)]
    wrong = {"window": 0, "mention": 3, "predicted": 0, "weight": 0.125, "antecedents": [0], "right": False}
    wrong = {**wrong, "pin": {"side": "from", "place": 3}}
    assert heads["preceding mentions"]["cases"]["mentions"][1] == wrong
    assert heads["other mentions"]["cases"]["mentions"] == []
    found = sample.coref().result.sel(candidates="any_word")
    for name in ("split", "split_low", "split_high"):
        assert heads["any word"][name] == rounded(found[name])
    texts = section_blocks.table(info, "systems")["cases"]["texts"]
    assert [one["spaces"] for one in texts] == [[False, True, True, False, False, True, True, True], None]


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
        "Of 24 mentions, L1H1 finds the antecedent of 75% among head words of the mentions before it; the best rule, head match, of 50%. "
        "Choice included, neither is known to find more (−24 to +54 points)."
    ]


def test_one_document_leaves_nothing_to_score_a_choice_on() -> None:
    assert sample.said(Coref(coref_found(1))) == [
        "Of 4 mentions, L1H1 finds the antecedent of 75% among head words of the mentions before it; the best rule, head match, of 50%."
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
    before = best(info)["preceding mentions"]
    assert before["difference_high"] < 0
    assert before["how"] == "L0H3 was the choice 200 times of 200"
    rule, p = before["beside"].split(" is the best rule; p = ")
    assert rule == "nearest"
    assert float(p.replace("−", "-")) < 0.01


def test_no_known_difference_is_said_not_to_be_known() -> None:
    (line,) = sample.said(Coref(drawn(20, 0.5, 0.4)))
    assert "Choice included, neither is known to find more (" in line
    (few,) = sample.said(Coref(drawn(4, 0.5, 0.5)))
    assert few.endswith("%.")  # too few documents for a test
