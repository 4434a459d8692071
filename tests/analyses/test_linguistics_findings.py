"""What the summary says of syntax, coreference and probes, each way that figures can go."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from headscope.analyses.coref.section import Coref
from headscope.analyses.coref.statistics import CANDIDATES, RULES, Mentions
from headscope.analyses.coref.statistics import dataset as coref_dataset
from headscope.analyses.measure.section import every_head
from headscope.analyses.probes.section import Probes
from headscope.analyses.syntax.section import Syntax
from headscope.analyses.syntax.statistics import Words
from headscope.analyses.syntax.statistics import dataset as syntax_dataset


def said(*sections: Any) -> list[str]:
    return ["".join(part["text"] for part in line) for one in sections for line in one.findings()]


def syntax_found(right: dict[str, float], least: int = 10) -> xr.Dataset:
    """40 sentences of the relations named and a root: one head is right in these shares, an offset in a half."""
    words = Words([3, 7], 2, (-1, 1))
    for number in range(40):
        found = np.zeros((2, 2, 2, len(right) + 1), np.bool_)
        baselines = np.zeros((2, len(right) + 1), np.bool_)
        for place, share in enumerate(right.values()):
            found[0, 1, 0, place] = number % 10 < round(10 * share)
            baselines[1, place] = number % 2 == 0
        words.add([*right, "root"], found, baselines)
    return syntax_dataset(words, replicates=200, least=least)


def test_relations_that_a_head_knows_are_named_by_their_gain() -> None:
    found = syntax_found({"amod": 0.9, "det": 1.0, "obj": 0.2})
    assert said(Syntax(found)) == [
        "Of 3 dependency relations with enough words, 2 have a head that finds the other word better than the best "
        "offset: det L7H0 (100%, by offset 50%), amod L7H0 (90%, 50%)."
    ]
    line = Syntax(found).findings()[0]
    assert [(part["layer"], part["head"]) for part in line if part["head"] is not None] == [(7, 0), (7, 0)]


def test_more_relations_than_are_named_are_counted() -> None:
    found = syntax_found({f"r{number}": 1.0 for number in range(7)})
    assert said(Syntax(found))[0].endswith("r4 L7H0 (100%, 50%) and 2 more.")


def test_no_relation_is_known_or_none_has_enough_words() -> None:
    assert said(Syntax(syntax_found({"det": 0.3}))) == [
        "Of 1 dependency relation with enough words, none has a head that finds the other word better than the best "
        "offset."
    ]
    assert said(Syntax(syntax_found({"det": 1.0}, least=1000))) == [
        "No dependency relation has enough words here to name its best head."
    ]


def coref_found(documents: int) -> xr.Dataset:
    """Four mentions a document: L1H1 is right on three of them, the second rule on two."""
    mentions = Mentions([0, 1], 2)
    for number in range(documents):
        right = np.zeros((len(CANDIDATES), 2, 2, 4), np.bool_)
        right[0, 1, 1, :3] = True
        rules = np.zeros((len(RULES), 4), np.bool_)
        rules[1, :2] = True
        mentions.add(["pronoun"] * 4, right, rules, number)
    return coref_dataset(mentions, replicates=50)


def test_the_best_head_stands_beside_the_best_rule() -> None:
    assert said(Coref(coref_found(6))) == [
        "Of 24 mentions, L1H1 finds the antecedent of 75% among the mentions before (chosen and scored on different "
        "documents); the best rule, head match, of 50%."
    ]


def test_one_document_leaves_nothing_to_score_a_choice_on() -> None:
    assert said(Coref(coref_found(1))) == [
        "Of 4 mentions, L1H1 finds the antecedent of 75% among the mentions before; the best rule, head match, of 50%."
    ]


def probes_found(**uas: float) -> xr.Dataset:
    return xr.Dataset(
        {"uas": ("probe", list(uas.values())), "n": ("probe", [50] * len(uas))},
        coords={"probe": [name.replace("_", "-") for name in uas]},
    )


def test_a_probe_stands_beside_taking_the_next_word() -> None:
    found = probes_found(right_branching=0.346, attention=0.574)
    begin = "From the attention of all heads together a probe finds the head of 57% of the words, "
    assert said(Probes(found, "x", 3, 2)) == [begin + "taking the next word finds 35%."]
    small = "taking the next word finds 35%, on too few sentences to conclude from."
    assert said(Probes(found, "x", 3, 2, small="few")) == [begin + small]
    assert said(Probes(probes_found(attention=0.5), "x", 3, 2)) == []


def test_other_sections_say_nothing_here() -> None:
    assert said(every_head()) == []
