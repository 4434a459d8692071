"""Mentions, their antecedents and the rules, on texts small enough for paper."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headscope import corpora
from headscope.analyses.links.coref.headword import mention_head
from headscope.analyses.links.coref.run import coreference
from headscope.analyses.links.coref.statistics import (
    CANDIDATES,
    RULES,
    Mentioned,
    annotated,
    by_rules,
    dataset,
    every_head,
    items,
    table,
)
from headscope.analyses.links.sums import LinkSums
from headscope.corpora import Example, Mention


def test_the_head_of_a_mention() -> None:
    """*the dog that barks*: the word whose head is outside; a comma at the start does not count."""
    words, heads, tags = (
        ["the", "dog", "that", "barks", "runs"],
        [1, 4, 3, 1, -1],
        ["DET", "NOUN", "PRON", "VERB", "VERB"],
    )
    assert mention_head(0, 4, words, heads, tags) == 1
    assert mention_head(2, 3, words, heads, tags) == 2
    assert mention_head(0, 2, [",", "dog", "ran"], [2, 2, -1], ["PUNCT", "NOUN", "VERB"]) == 1


@pytest.mark.parametrize(
    ("text", "tags", "head"),
    [
        ("the dog that barks", "DET NOUN PRON VERB", "dog"),
        ("the president of France", "DET NOUN ADP PROPN", "president"),
        ("John 's old house", "PROPN PART ADJ NOUN", "house"),
        ("a state - managed bank", "DET NOUN PUNCT VERB NOUN", "state"),
        ("Ann , who left", "PROPN PUNCT PRON VERB", "Ann"),
        ("the three", "DET NUM", "three"),
        ("her", "PRON", "her"),
        ('" .', "PUNCT PUNCT", '"'),
        ("Chicago 's", "PROPN PART", "Chicago"),
        ("all of them", "DET ADP PRON", "them"),
    ],
)
def test_the_head_of_a_mention_without_a_parse(text: str, tags: str, head: str) -> None:
    words = text.split()
    assert words[mention_head(0, len(words), words, None, tags.split())] == head
    by_words = {"a state - managed bank": "bank", "all of them": "all"}.get(text, head)
    assert words[mention_head(0, len(words), words, None, None)] == by_words


def say(
    head: int, word: str, cluster: str, kind: str = "nominal", text: str = "", **features: str
) -> Mentioned:
    return Mentioned(head, text or word, word, cluster, kind, features)


# "Ann met a dog. The old dog liked her. It slept."
ANN = say(0, "ann", "1", "proper", Number="Sing", Gender="Fem", Person="3")
DOG = say(3, "dog", "2", text="a dog", Number="Sing", Person="3")
OLD = say(7, "dog", "2", text="the old dog", Number="Sing", Person="3")
HER = say(9, "her", "1", "pronoun", Number="Sing", Gender="Fem", Person="3")
IT = say(11, "it", "2", "pronoun", Number="Sing", Gender="Neut", Person="3")
WE = say(13, "we", "3", "pronoun", Number="Plur", Person="1")
TEXT = [ANN, DOG, OLD, HER, IT, WE]


def test_items_and_rules_by_hand() -> None:
    found = items(TEXT)
    expected = [("dog", [3]), ("her", [0]), ("it", [3, 7])]
    assert [(item.mention.word, sorted(item.right)) for item in found] == expected
    old, her, it = map(by_rules, found)
    assert old == {"nearest": 3, "head_match": 3, "head_match_else_nearest": 3, "sieve": 3}
    assert her == {"nearest": 7, "head_match": None, "head_match_else_nearest": 7, "sieve": 7}
    wanted = {"nearest": 9, "head_match": None, "head_match_else_nearest": 9, "sieve": 7}
    assert it == wanted  # her is feminine


def test_a_full_string_beats_a_nearer_head_word() -> None:
    one, two = say(0, "dog", "1", text="a dog"), say(3, "dog", "2", text="the dog")
    (item,) = items([one, two, say(6, "dog", "1", text="a dog")])
    assert by_rules(item)["sieve"] == 0
    assert by_rules(item)["head_match"] == 3


def test_types_and_persons() -> None:
    words, heads, tags = ["Ann", "likes", "her", "dog"], [1, -1, 3, 1], ["PROPN", "VERB", "PRON", "NOUN"]
    features = [{"Number": "Sing"}, {}, {"Gender": "Fem"}, {}]
    spans = [Mention(0, 1, "1"), Mention(2, 4, "2"), Mention(2, 3, "1")]
    given = Example(words=words, heads=heads, tags=tags, features=features, mentions=spans)
    found, _ = annotated(given)
    expected = [("ann", "proper", "ann"), ("dog", "nominal", "her dog"), ("her", "pronoun", "her")]
    assert [(each.word, each.type, each.text) for each in found] == expected
    assert found[0].features == {"Number": "Sing", "Person": "3"}
    assert found[2].features == {"Gender": "Fem"}
    bare, _ = annotated(replace(given, heads=None, tags=None, features=None))
    wanted = [("ann", "other"), ("dog", "other"), ("her", "pronoun")]
    assert [(each.word, each.type) for each in bare] == wanted
    assert bare[2].features == {"Number": "Sing", "Person": "3", "Gender": "Fem"}


def test_figures_by_hand() -> None:
    mentions = LinkSums(CANDIDATES, [0, 2], 2, RULES)
    right = np.zeros((3, 2, 2, 2), bool)
    right[CANDIDATES.index("any_word"), 1, 0] = [True, False]
    right[CANDIDATES.index("preceding_mentions"), 1, 1] = True
    rules = np.array([[True, True], [False, False], [True, False], [True, True]])
    for document in range(6):
        mentions.add(["pronoun", "proper"], right, rules, document)
    mentions.add([], np.zeros((3, 2, 2, 0), bool), np.zeros((4, 0), bool), 6)
    found = dataset(mentions)
    rows = table(found).set_index(["system", "candidates", "type"])
    assert rows.loc[("nearest", "preceding_mentions", "all"), ["accuracy", "n"]].tolist() == [1.0, 12]
    assert rows.loc[("head_match_else_nearest", "preceding_mentions", "all"), "accuracy"] == 0.5
    best = rows.loc[("best_head", "preceding_mentions", "pronoun")]
    assert (best["layer"], best["head"], best["paper"], best["accuracy"]) == (2, 1, "3-2", 1.0)
    assert rows.loc[("best_head", "any_word", "proper"), "accuracy"] == 0.0
    assert "nominal" not in rows.index.get_level_values("type")
    assert len(every_head(found)) == 3 * 4 * 3
    assert found["split"].sel(candidates="any_word") == pytest.approx(0.5)


@pytest.mark.slow
def test_the_reference(demo: Any, shared: Path) -> None:
    """Equal in counts: every rule, and every head under each definition of candidates."""
    reference = json.loads((shared / "reference" / "coref.json").read_text())
    documents = corpora.conllu(sorted((shared / "data" / "ontogum").glob("*.conllu")))
    found = coreference(demo, documents)
    assert {kind: int(found["n"].sel(type=kind)) for kind in reference["counts"]} == reference["counts"]
    assert set(reference["baselines"]) == set(RULES)
    for rule, by_type in reference["baselines"].items():
        for kind, accuracy in by_type.items():
            assert found["rules"].sel(rule=rule, type=kind).item() == pytest.approx(accuracy, abs=1e-12)
    assert set(reference["heads"]) == set(CANDIDATES)
    for name, given in reference["heads"].items():
        for kind, accuracy in given["accuracy"].items():
            n = reference["counts"][kind]
            ours = found["accuracy"].sel(candidates=name, type=kind).values
            np.testing.assert_array_equal(np.rint(ours * n), np.rint(np.array(accuracy) * n))
        assert int(found["best"].sel(candidates=name)) == given["best_layer0"] * 12 + given["best_head0"]
