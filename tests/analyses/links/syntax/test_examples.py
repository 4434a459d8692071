"""Sentences that show what the best head of each relation does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.analyses.links.examples import drawn
from headscope.analyses.links.syntax.statistics import table
from headscope.models import Model
from tests.helpers import linguistics_sample as sample
from tests.helpers.pages import payload, section
from tests.helpers.section_blocks import rows, shown
from tests.helpers.section_blocks import table as table_of

pytestmark = pytest.mark.slow


def relations(report: Any) -> list[dict[str, Any]]:
    return rows(section(report, "syntax"), "relations")


def said(report: Any) -> Any:
    return table_of(section(report, "syntax"), "relations")["cases"]["sentences"]


def test_the_table_is_that_of_the_measure(demo: Model, linguistics: Any) -> None:
    best = table(hs.syntax(demo, hs.corpora.builtin_trees()))
    found = {row["relation"]: row for row in relations(linguistics)}
    assert len(found) == len(best) - 1
    for own in best.itertuples():
        if own.relation == "root":
            continue
        row = found[own.relation]
        assert (row["n"], row["few"]) == (own.n, own.few)
        if not own.few:
            assert (row["layer"], row["head"], row["direction"]) == (own.layer, own.head, own.direction)
            assert row["accuracy"] == own.accuracy


def test_heads_are_right_and_wrong_in_the_sentences_that_say_so(demo: Model, linguistics: Any) -> None:
    trees = {" ".join(one.words or ()): one for one in hs.corpora.builtin_trees()}
    sentences = said(linguistics)
    checked = 0
    for row in relations(linguistics):
        for right in (True, False):
            for one in shown(row, right=right):
                tree = trees[" ".join(sentences[one["sentence"]]["words"])]
                names, heads = tree.relations or (), tree.heads or ()
                assert one["words"] == [i for i, name in enumerate(names) if name == row["relation"]]
                gold = [heads[word] for word in one["words"]]
                assert one["targets"] == [[head] for head in gold]
                assert one["right"] == [a == b for a, b in zip(one["predicted"], gold, strict=True)]
                checked += 1
    assert checked > 20


def test_choices_and_arcs_are_of_the_head_in_its_direction(demo: Model, linguistics: Any) -> None:
    """Each word's choice is recomputed from the whole map of the row's head, by rows or by columns."""
    sentences = said(linguistics)
    checked = 0
    for row in relations(linguistics):
        for one in row["cases"]["links"] if row["cases"] else ():
            sentence = sentences[one["sentence"]]
            own = sample.word_map(demo, sentence["words"], row)
            weights = own - np.diag(np.diag(own))
            choices = weights.argmax(1) if row["direction"] == "dep->head" else weights.argmax(0)
            assert one["predicted"] == choices[one["words"]].tolist(), (row["relation"], sentence)
            arcs = {(start, end): weight for start, end, weight in one["arcs"]}
            assert all(weight == pytest.approx(own[pair], abs=6e-4) for pair, weight in arcs.items())
            strong = set(map(tuple, np.argwhere(weights >= 0.041).tolist()))
            assert strong <= set(arcs)
            others = [*one["predicted"], *(target for (target,) in one["targets"])]
            relation = set(zip(2 * one["words"], others, strict=True))
            if row["direction"] == "head->dep":
                relation = {(end, start) for start, end in relation}
            assert relation <= set(arcs)
            assert not {pair for pair, weight in arcs.items() if weight < 0.039} - relation
            checked += 1
    assert checked > 20


def test_sentences_are_short_and_open_themselves(linguistics: Any) -> None:
    """The example of a sentence is that sentence; few come with the page, none twice."""
    sentences = said(linguistics)
    opened = [one["example"] for one in sentences if one["example"] is not None]
    assert len(set(opened)) == len(opened) > 10
    for one in sentences:
        assert 3 <= len(one["words"]) <= 16
        if one["example"] is not None:
            assert sample.text_of(linguistics["examples"][one["example"]]) == "".join(one["words"]).lower()
    for row in relations(linguistics):
        kinds = [shown(row, right=right) for right in (True, False)]
        assert max(map(len, kinds)) <= 3
        every = [one["sentence"] for kind in kinds for one in kind]
        assert len({*every}) == len(every)


def test_a_sample_of_sentences_is_uniform_and_of_each_relation() -> None:
    """Of 400 sentences each is drawn about as often as another, whatever the seed."""
    sentences = [(str(number), {"x"}) for number in range(400)]
    sentences.append(("rare", {"x", "y"}))
    counts = np.zeros(400)
    orders: set[tuple[str, ...]] = set()
    for seed in range(100):
        names = drawn(sentences, ["x", "y", "none"], seed)
        assert len(names) == len(set(names)) in (24, 25)
        assert "rare" in names
        counts[[int(name) for name in names if name != "rare"]] += 1
        orders.add(tuple(names))
    assert len(orders) == 100
    assert counts.sum() >= 2390
    thirds = counts.reshape(4, 100).sum(1) / counts.sum()
    assert thirds == pytest.approx([0.25] * 4, abs=0.04)
    again = drawn(sentences, ["x", "y", "none"], 3)
    assert again == drawn(sentences, ["y", "x"], 3)


def test_without_examples_the_sentences_are_there_all_the_same(demo: Model) -> None:
    texts = hs.corpora.texts(["The cat sat."])
    made = payload(hs.report(demo, texts, sections=["syntax"], examples=0, limit=80))
    assert made["examples"] == []
    sentences = said(made)
    assert sentences
    assert {one["example"] for one in sentences} == {None}
