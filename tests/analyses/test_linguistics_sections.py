"""What the sections of syntax, coreference and probes send to the page."""

from __future__ import annotations

from typing import Any

import linguistics_sample as sample
import numpy as np
import pytest
import xarray as xr

from headscope.analyses.coref.section import Coref
from headscope.analyses.coref.statistics import CANDIDATES, RULES, Mentions
from headscope.analyses.coref.statistics import dataset as coref_dataset
from headscope.analyses.probes.section import Probes
from headscope.analyses.syntax.section import Drawn, Syntax, TreeSentence
from headscope.analyses.syntax.statistics import Words, table
from headscope.analyses.syntax.statistics import dataset as syntax_dataset
from headscope.views.blobs import Blobs
from headscope.views.page import script_json


def syntax_found(least: int = 10) -> xr.Dataset:
    """20 sentences "det nsubj root": L1H0 is right on det by its rows, L0H1 on nsubj by its columns in 3 of 4."""
    words = Words([0, 1], 2, (-1, 1))
    for number in range(20):
        right = np.zeros((2, 2, 2, 3), np.bool_)
        right[0, 1, 0, 0] = True
        right[1, 0, 1, 1] = number % 4 > 0
        baselines = np.array([[False, False, False], [number % 2 == 0, False, False]])
        words.add(["det", "nsubj" if number else "csubj", "root"], right, baselines)
    return syntax_dataset(words, replicates=50, least=least)


def row(info: Any, name: str) -> Any:
    return next(one for one in info["rows"] if one["relation"] == name)


def test_relations_stand_beside_their_baseline_and_the_printed_figure() -> None:
    info = Syntax(syntax_found(), command="headscope syntax x.conllu").info(Blobs())
    det = row(info, "det")
    assert (det["n"], det["layer"], det["head"], det["direction"], det["accuracy"]) == (
        20,
        1,
        0,
        "dep->head",
        1,
    )
    assert (det["offset"], det["baseline"]) == (1, 0.5)
    assert det["printed"] == {"label": "det", "head": "8-11", "value": 0.943, "offset": 1, "baseline": 0.517}
    nsubj = row(info, "nsubj")
    assert (nsubj["layer"], nsubj["head"], nsubj["direction"], nsubj["n"]) == (0, 1, "head->dep", 19)
    assert nsubj["low"] <= nsubj["accuracy"] == 15 / 19 <= nsubj["high"]
    assert info["command"] == "headscope syntax x.conllu"
    assert "60 words in 20 sentences" in info["about"]
    assert script_json(info)  # no NaN


def test_few_instances_are_never_crowned_and_roots_have_no_row() -> None:
    info = Syntax(syntax_found(), examples={"csubj": Drawn()}).info(Blobs())
    few = row(info, "csubj")
    assert few["few"]
    assert [few[key] for key in ("layer", "head", "direction", "accuracy", "q", "split")] == [None] * 6
    assert few["n"] == 1
    assert [one["relation"] for one in info["rows"]] == [
        "all",
        "all but punct, root",
        "det",
        "nsubj",
        "csubj",
    ]
    assert any("fewer than 10 instances" in note for note in info["notes"])


def test_labels_of_the_paper_are_mapped_or_said_to_have_no_counterpart() -> None:
    info = Syntax(syntax_found()).info(Blobs())
    assert {one["label"] for one in info["others"]} == {"prep", "pobj"}
    text = " ".join(info["notes"])
    for pair in (
        "dobj as obj",
        "nn as compound",
        "poss as nmod:poss",
        "auxpass as aux:pass",
        "prt as compound:prt",
    ):
        assert pair in text
    assert "det as" not in text
    assert "Wall Street Journal" in text


def test_each_relation_stands_beside_its_own_printed_figure() -> None:
    """Table 1 of the paper, by UD's names of its relations."""
    paper = {
        "all": ("All", "7-6", 0.345),
        "compound": ("nn", "4-10", 0.704),
        "obj": ("dobj", "8-10", 0.868),
        "nmod:poss": ("poss", "7-6", 0.805),
        "aux:pass": ("auxpass", "4-10", 0.825),
        "compound:prt": ("prt", "6-7", 0.991),
        "mark": ("mark", "8-2", 0.507),
        "ccomp": ("ccomp", "8-1", 0.488),
        "conj": None,
    }
    words = Words([0], 1, (-1, 1))
    for _ in range(2):
        count = len(paper) - 1
        words.add(list(paper)[1:], np.ones((2, 1, 1, count), np.bool_), np.zeros((2, count), np.bool_))
    info = Syntax(syntax_dataset(words, replicates=5, least=1)).info(Blobs())
    for relation, expected in paper.items():
        printed = row(info, relation)["printed"]
        if expected is None:
            assert printed is None
        else:
            assert (printed["label"], printed["head"]) == expected[:2]
            assert printed["value"] == pytest.approx(expected[2])


def test_figures_of_a_row_are_those_of_the_table() -> None:
    made = sample.syntax()
    fields = {
        **{name: name for name in ("n", "few", "layer", "head", "direction", "accuracy", "p", "q")},
        "low": "ci_low",
        "high": "ci_high",
        "split": "split_accuracy",
        "split_low": "split_low",
        "split_high": "split_high",
        "offset": "baseline_offset",
        "baseline": "baseline_accuracy",
    }
    rows: Any = table(made.result)
    info = made.info(Blobs())
    for relation in ("all", "det", "nsubj"):
        own = rows[rows["relation"] == relation].iloc[0]
        assert {name: row(info, relation)[name] for name in fields} == {
            name: own[column] for name, column in fields.items()
        }
    nsubj = row(info, "nsubj")
    assert len({nsubj[name] for name in ("accuracy", "low", "high", "split", "split_low", "split_high")}) == 6


def test_sentences_travel_without_what_garbles_a_page() -> None:
    sentence = TreeSentence(
        words=["a\u202e", "b", "c"], heads=[1, -1, 1], relations=["det", "root", "obj"], example=7
    )
    shown = sample.looked(0, 0, 2, False, [[0, 2, 0.123]])
    info = Syntax(syntax_found(), [sentence], {"det": Drawn([], [shown], 9)}).info(Blobs())
    assert sentence["words"][0] == "a\u202e"
    assert info["sentences"] == [
        {
            "words": ["a\ufffd", "b", "c"],
            "heads": [1, -1, 1],
            "relations": ["det", "root", "obj"],
            "example": 7,
        }
    ]
    det = row(info, "det")
    assert det["wrong"][0]["arcs"] == [[0, 2, 0.123]]
    assert (det["right"], det["looked"]) == ([], 9)


def test_coreference_has_rules_best_heads_and_only_types_that_there_are() -> None:
    mentions = Mentions([3, 5], 2)
    right = np.zeros((len(CANDIDATES), 2, 2, 4), np.bool_)
    right[:2, 1, 0] = True  # L5H0 among mentions
    right[2, 0, 1, :3] = True  # L3H1 among all words
    for document in range(6):
        mentions.add(["pronoun"] * 3 + ["nominal"], right, np.eye(len(RULES), 4, dtype=np.bool_), document)
    info = Coref(
        coref_dataset(mentions, replicates=50),
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


def test_probes_stand_beside_what_is_printed() -> None:
    numbers: dict[str, Any] = {
        "vectors": "input embeddings of m",
        "uas": 0.6,
        "uas_low": 0.5,
        "uas_high": 0.7,
        "uuas": 0.65,
        "spearman": np.nan,
    }
    numbers |= {"control": 0.4, "selectivity": 0.2, "parameters": 144, "n": 500}
    found = xr.Dataset(
        {name: (("probe",), [value]) for name, value in numbers.items()}, {"probe": ["attention"]}
    )
    info = Probes(found, "trees", 100, 30, "Too small.").info(Blobs())
    (own,) = info["rows"]
    assert (own["uas"], own["selectivity"], own["spearman"], own["printed"]) == (0.6, 0.2, None, 0.61)
    assert "attention" not in {one["label"] for one in info["printed"]}
    assert len(info["printed"]) == 5
    assert info["small"] == "Too small."
    assert "100 sentences of trees, scored on 500 words of 30 others" in info["about"]
    assert "The words' vectors are input embeddings of m." in info["notes"]


def test_sentences_and_mentions_travel_as_they_are() -> None:
    info: Any = sample.syntax().info(Blobs())
    assert [(one["words"], one["heads"], one["example"]) for one in info["sentences"]] == [
        (["the", "old", "cat"], [2, 2, -1], 1),
        (["a", "dog", "ran"], [1, 2, -1], 0),
    ]
    assert row(info, "det")["wrong"] == [
        {
            "sentence": 0,
            "words": [0],
            "predicted": [1],
            "right": [False],
            "arcs": [[0, 2, 0.1], [0, 1, 0.4], [2, 0, 0.2]],
        }
    ]
    info = sample.coref().info(Blobs())
    heads = {one["candidates"]: one for one in info["rows"] if one["system"] == "best_head"}
    assert [(heads[name]["layer"], heads[name]["head"]) for name in CANDIDATES] == [(1, 0), (1, 0), (2, 3)]
    wrong = {"window": 0, "mention": 3, "predicted": 0, "weight": 0.125, "antecedents": [0], "right": False}
    assert heads["preceding_mentions"]["shown"][1] == wrong
    assert heads["other_mentions"]["shown"] == []
    found = sample.coref().result.sel(candidates="any_word")
    split = {
        "accuracy": found["split"].item(),
        "low": found["split_low"].item(),
        "high": found["split_high"].item(),
    }
    assert heads["any_word"]["split"] == split
    assert [one["spaces"] for one in info["windows"]] == [
        [False, True, True, False, False, True, True, True],
        None,
    ]


def test_probes_travel_as_they_are() -> None:
    info: Any = sample.probes().info(Blobs())
    first, second = info["rows"]
    nothing = dict.fromkeys(("spearman", "control", "selectivity"))
    assert first == {
        "probe": "right-branching",
        "uas": 0.3,
        "low": 0.25,
        "high": 0.35,
        "uuas": 0.4,
        **nothing,
        "parameters": 0,
        "printed": 0.26,
    }
    assert second == {
        "probe": "attention",
        "uas": 0.6,
        "low": 0.5,
        "high": 0.75,
        "uuas": 0.65,
        "spearman": 0.5,
        "control": 0.45,
        "selectivity": -0.15,
        "parameters": 1440,
        "printed": 0.61,
    }
