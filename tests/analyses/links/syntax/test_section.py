"""What the section on dependency relations sends to the page, and what the summary says of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr

from headscope.analyses.links.section import Drawn
from headscope.analyses.links.sums import LinkSums
from headscope.analyses.links.syntax.section import Syntax
from headscope.analyses.links.syntax.statistics import DIRECTIONS, table
from headscope.analyses.links.syntax.statistics import dataset as syntax_dataset
from headscope.core.heads import Head
from headscope.views.blobs import Blobs
from headscope.views.blocks import LinkSentence
from headscope.views.digits import percent
from headscope.views.page import script_json
from tests.helpers import linguistics_sample as sample
from tests.helpers import section_blocks
from tests.helpers.section_blocks import rows


def syntax_found(least: int = 10) -> xr.Dataset:
    """20 sentences "det nsubj root": L1H0 is right on det by its rows, L0H1 on nsubj by its columns in 3 of 4."""
    words = LinkSums(DIRECTIONS, [0, 1], 2, (-1, 1))
    for number in range(20):
        right = np.zeros((2, 2, 2, 3), np.bool_)
        right[0, 1, 0, 0] = True
        right[1, 0, 1, 1] = number % 4 > 0
        baselines = np.array([[False, False, False], [number % 2 == 0, False, False]])
        words.add(["det", "nsubj" if number else "csubj", "root"], right, baselines)
    return syntax_dataset(words, least=least)


def row(info: Any, name: str) -> Any:
    return next(one for one in rows(info, "relations") if one["relation"] == name)


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
    assert (det["baseline_offset"], det["baseline_accuracy"]) == (1, 0.5)
    assert det["printed"] == pytest.approx(0.943)
    assert (det["source"], det["heading"]) == ("det 8-11", "det: head 8-11, best offset .517 at +1")
    nsubj = row(info, "nsubj")
    assert (nsubj["layer"], nsubj["head"], nsubj["direction"], nsubj["n"]) == (0, 1, "head->dep", 19)
    assert nsubj["ci_low"] <= nsubj["accuracy"] == 15 / 19 <= nsubj["ci_high"]
    assert info["command"] == "headscope syntax x.conllu"
    assert any("60 words in 20 sentences" in note for note in info["notes"])
    assert script_json(info)  # no NaN


def test_few_instances_are_never_crowned_and_roots_have_no_row() -> None:
    info = Syntax(syntax_found(), examples={"csubj": Drawn()}).info(Blobs())
    few = row(info, "csubj")
    assert few["few"]
    assert [few[key] for key in ("layer", "head", "direction", "accuracy", "q", "split_accuracy")] == [
        None
    ] * 6
    assert few["n"] == 1
    assert [one["relation"] for one in rows(info, "relations")] == [
        "all",
        "all but punct, root",
        "det",
        "nsubj",
        "csubj",
    ]
    assert any("fewer than 10 words" in note for note in info["notes"])


def test_labels_of_the_paper_are_mapped_or_said_to_have_no_counterpart() -> None:
    info = Syntax(syntax_found()).info(Blobs())
    assert {*section_blocks.table(info, "relations")["others"]["relation"]} == {"prep", "pobj"}
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
    words = LinkSums(DIRECTIONS, [0], 1, (-1, 1))
    for _ in range(2):
        count = len(paper) - 1
        words.add(list(paper)[1:], np.ones((2, 1, 1, count), np.bool_), np.zeros((2, count), np.bool_))
    info = Syntax(syntax_dataset(words, least=1)).info(Blobs())
    for relation, expected in paper.items():
        own = row(info, relation)
        if expected is None:
            assert own["printed"] is own["source"] is None
        else:
            label, head, value = expected
            assert own["source"] == f"{label} {head}"
            assert own["printed"] == pytest.approx(value)


def test_figures_of_a_row_are_those_of_the_table() -> None:
    made = sample.syntax()
    expected: Any = table(made.result)
    info = made.info(Blobs())
    for relation in ("all", "det", "nsubj"):
        own = expected[expected["relation"] == relation].iloc[0].drop("paper").to_dict()
        assert {name: row(info, relation)[name] for name in own} == own
    nsubj = row(info, "nsubj")
    figures = ("accuracy", "ci_low", "ci_high", "split_accuracy", "split_low", "split_high")
    assert len({nsubj[name] for name in figures}) == 6


def test_sentences_travel() -> None:
    sentence = LinkSentence(words=["a", "b", "c"], spans=[], second=None, example=7)
    shown = sample.looked(0, 0, 1, 2, False, [[0, 2, 0.123]])
    info = Syntax(syntax_found(), [sentence], {"det": Drawn([], [shown], 9)}).info(Blobs())
    assert section_blocks.table(info, "relations")["cases"]["sentences"] == [
        {"words": ["a", "b", "c"], "spans": [], "second": None, "example": 7}
    ]
    det = row(info, "det")
    (wrong,) = section_blocks.shown(det, right=False)
    assert wrong["arcs"] == [[0, 2, 0.123]]
    assert not section_blocks.shown(det, right=True)
    assert det["cases"]["missing"] == "None among the 9 sentences that were drawn."


def test_sentences_travel_as_they_are() -> None:
    info: Any = sample.syntax().info(Blobs())
    sentences = section_blocks.table(info, "relations")["cases"]["sentences"]
    assert [(one["words"], one["example"]) for one in sentences] == [
        (["the", "old", "cat"], 1),
        (["a", "dog", "ran"], 0),
    ]
    assert section_blocks.shown(row(info, "det"), right=False) == [
        {
            "sentence": 0,
            "words": [0],
            "pins": [{"side": "from", "place": 1}],
            "targets": [[2]],
            "predicted": [1],
            "right": [False],
            "arcs": [[0, 2, 0.1], [0, 1, 0.4], [2, 0, 0.2]],
        }
    ]


def known_relations(right: dict[str, float], least: int = 10) -> xr.Dataset:
    """40 sentences of the relations named and a root: one head is right in these shares, an offset in a half."""
    words = LinkSums(DIRECTIONS, [3, 7], 2, (-1, 1))
    for number in range(40):
        found = np.zeros((2, 2, 2, len(right) + 1), np.bool_)
        baselines = np.zeros((2, len(right) + 1), np.bool_)
        for place, share in enumerate(right.values()):
            found[0, 1, 0, place] = number % 10 < round(10 * share)
            baselines[1, place] = number % 2 == 0
        words.add([*right, "root"], found, baselines)
    return syntax_dataset(words, least=least)


def test_relations_that_a_head_knows_are_named_by_their_gain() -> None:
    found = known_relations({"amod": 0.9, "det": 1.0, "obj": 0.2})
    assert sample.said(Syntax(found)) == [
        "Of 3 dependency relations with enough words, 2 have a head that finds the other word better than the best "
        "offset: det (determiner → noun) L7H0 (100%, by offset +1 50%), amod (adjective → noun) L7H0 (90%, by offset +1 50%)."
    ]
    line = Syntax(found).findings()[0]
    assert [(part["layer"], part["head"]) for part in line if part["head"] is not None] == [(7, 0), (7, 0)]


def test_more_relations_than_are_named_are_counted() -> None:
    found = known_relations({f"r{number}": 1.0 for number in range(7)})
    assert sample.said(Syntax(found))[0].endswith("r4 L7H0 (100%, by offset +1 50%) and 2 more.")


def test_no_relation_is_known_or_none_has_enough_words() -> None:
    assert sample.said(Syntax(known_relations({"det": 0.3}))) == [
        "Of 1 dependency relation with enough words, none is known to have a head that finds the other word better "
        "than the best offset."
    ]
    assert sample.said(Syntax(known_relations({"det": 1.0}, least=1000))) == [
        "No dependency relation has enough words here to name its best head."
    ]


def test_a_figure_of_a_choice_says_whose_it_is() -> None:
    """The best head is the choice in a few of 200, and what the choices get is not what it gets."""
    draw = np.random.default_rng(3)
    words = LinkSums(DIRECTIONS, [0, 1], 20, (-1, 1))
    for number in range(60):
        words.add(["det"] * 4, draw.random((2, 2, 20, 4)) < 0.6, np.zeros((2, 4), np.bool_), number // 5)
    words.clusters.kinds = {"documents"}
    found = syntax_dataset(words)
    row: Any = table(found).set_index("relation").loc["det"]
    assert row["times"] < 150
    (line,) = sample.said(Syntax(found))
    assert line.endswith(
        f"det (determiner → noun) {Head(row['layer'], row['head'])} ({percent(row['accuracy'])}, by offset −1 0%; "
        f"{percent(row['split_accuracy'])} where the best head is chosen on other documents, "
        f"{Head(row['layer'], row['head'])} in {row['times']} of 200 choices)."
    )
    assert percent(row["accuracy"]) != percent(row["split_accuracy"])


def test_what_cannot_be_tested_is_said_to_be_so() -> None:
    words = LinkSums(DIRECTIONS, [0], 1, (-1, 1))
    for number in range(40):
        words.add(["det"], np.ones((2, 1, 1, 1), np.bool_), np.zeros((2, 1), np.bool_), number // 10)
    words.clusters.kinds = {"documents"}
    found = Syntax(syntax_dataset(words, least=10))
    assert sample.said(found) == [
        "No dependency relation can be tested here: an interval needs 5 documents that count in effect."
    ]
    info = found.info(Blobs())
    assert (row(info, "det")["ci_low"], row(info, "det")["q"], row(info, "det")["effective"]) == (
        None,
        None,
        4,
    )
    assert any("over 4 documents" in note for note in info["notes"])
    assert script_json(info)
