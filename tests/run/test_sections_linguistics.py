"""Sections of the report on real trees: figures, and sentences that show what they say."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.errors import CorpusError
from headscope.measures.syntax import table
from headscope.models import Model


def payload(page: str) -> Any:
    found = re.search(
        r'<script type="application/json" id="headscope-payload">(.*?)</script>', page, re.DOTALL
    )
    assert found is not None
    return json.loads(found[1])


@pytest.fixture(scope="module")
def found(demo: Model) -> Any:
    trees = hs.corpora.builtin_trees()
    texts = hs.corpora.texts(["The cat sat on the mat."])
    page = hs.report(demo, texts, treebank=trees, coref=trees, sections=["syntax", "coref"], examples=2)
    return payload(page)


def section(found: Any, kind: str) -> Any:
    return next(one for one in found["sections"] if one["kind"] == kind)


def test_the_table_is_that_of_the_measure(demo: Model, found: Any) -> None:
    best = table(hs.syntax(demo, hs.corpora.builtin_trees()))
    rows = {row["relation"]: row for row in section(found, "syntax")["rows"]}
    assert len(rows) == len(best) - 1
    for own in best.itertuples():
        if own.relation == "root":
            continue
        row = rows[own.relation]
        assert (row["n"], row["few"]) == (own.n, own.few)
        if not own.few:
            assert (row["layer"], row["head"], row["direction"]) == (own.layer, own.head, own.direction)
            assert row["accuracy"] == own.accuracy


def test_heads_are_right_and_wrong_in_the_sentences_that_say_so(demo: Model, found: Any) -> None:
    info = section(found, "syntax")
    checked = 0
    for row in info["rows"]:
        for kind in ("right", "wrong"):
            for shown in row[kind]:
                sentence = info["sentences"][shown["sentence"]]
                assert shown["words"] == [
                    i for i, name in enumerate(sentence["relations"]) if name == row["relation"]
                ]
                assert all(shown["right"]) == (kind == "right")
                gold = [sentence["heads"][word] for word in shown["words"]]
                assert shown["right"] == [
                    one == other for one, other in zip(shown["predicted"], gold, strict=True)
                ]
                checked += 1
    assert checked > 20
    row = next(row for row in info["rows"] if row["relation"] == "obj")
    shown = row["wrong"][0]
    example = found["examples"][info["sentences"][shown["sentence"]]["example"]]
    pieces = example["inputs"][0]["parts"][0]["query"]["pieces"]
    words = info["sentences"][shown["sentence"]]["words"]
    assert "".join(pieces[1:-1]).replace("##", "") == "".join(words).lower()
    maps = hs.capture(demo, demo.from_words(words))[hs.Head(row["layer"], row["head"])]
    word_ids = demo.from_words(words).word_ids
    assert word_ids is not None
    for start, end, weight in shown["arcs"]:
        expected = maps[np.ix_(word_ids == start, word_ids == end)].sum(1).mean()
        assert weight == pytest.approx(expected, abs=6e-4)


def test_mentions_show_what_the_head_chose(found: Any) -> None:
    info = section(found, "coref")
    heads = [row for row in info["rows"] if row["system"] == "best_head"]
    assert [row["candidates"] for row in heads] == ["preceding_mentions", "other_mentions", "any_word"]
    for row in heads:
        assert {shown["right"] for shown in row["shown"]} == {True, False}
        for shown in row["shown"]:
            spans = info["windows"][shown["window"]]["mentions"]
            earlier = {spans[place][2] for place in shown["antecedents"]}
            assert earlier
            assert (shown["predicted"] in earlier) == shown["right"]
            assert max(earlier) < spans[shown["mention"]][2]
            if row["candidates"] == "preceding_mentions":
                assert shown["predicted"] in {head for *_, head in spans}


def test_probes_say_that_the_built_in_corpus_is_too_small(demo: Model) -> None:
    page = hs.report(demo, hs.corpora.texts(["The cat sat."]), sections=["probes"], examples=0, limit=24)
    info = section(payload(page), "probes")
    assert info["small"].startswith("Too small to conclude from")
    assert [row["probe"] for row in info["rows"]] == ["right-branching", "attention"]
    assert payload(page)["examples"] == []


def test_without_examples_the_sentences_are_there_all_the_same(demo: Model) -> None:
    texts = hs.corpora.texts(["The cat sat."])
    made = payload(hs.report(demo, texts, sections=["syntax"], examples=0, limit=80))
    info = section(made, "syntax")
    assert made["examples"] == []
    assert info["sentences"]
    assert {one["example"] for one in info["sentences"]} == {None}


def test_a_broken_treebank_ends_the_report_before_it_begins(demo: Model, tmp_path: Path) -> None:
    path = tmp_path / "broken.conllu"
    path.write_text("1\ta\ta\tNOUN\t_\t_\t2\tdet\t_\t_\n2\tb\tb\tNOUN\t_\t_\t1\tobj\t_\t_\n\n", "utf-8")
    with pytest.raises(CorpusError, match=r"broken\.conllu:"):
        hs.report(demo, treebank=hs.corpora.conllu(path))
