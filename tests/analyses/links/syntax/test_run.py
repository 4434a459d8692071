"""Syntax of a model's heads, against the counts of the code that Clark et al. released."""

from __future__ import annotations

import json
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headscope as hs
from headscope import corpora
from headscope.analyses.links.syntax.run import syntax
from headscope.analyses.links.syntax.statistics import UAS, UUAS, right, spanning_tree, table
from headscope.errors import HeadscopeWarning
from headscope.runs.forward import word_maps

DIRECTIONS = {"dep->head": "dep->head", "head<-dep": "head->dep"}


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["first", "mean"])
def test_the_released_code(demo: Any, shared: Path, rows: str) -> None:
    """Equal in counts: every head, direction and relation, and every baseline."""
    reference = json.loads((shared / "reference" / f"syntax_{rows}.json").read_text())
    treebank = corpora.conllu(shared / "data" / "ud_ewt" / "en_ewt-ud-test.conllu")
    given = {} if rows == "first" else {"rows": rows}
    found = syntax(demo, treebank, preset="clark2019", limit=150, **given)  # type: ignore[arg-type]
    compared = 0
    for theirs, ours in DIRECTIONS.items():
        for relation, accuracies in reference["scores"][theirs].items():
            one = found.sel(relation=relation, direction=ours)
            n = int(one["n"])
            assert n == reference["reln_counts"].get(relation, sum(reference["reln_counts"].values()))
            counts = np.rint(np.array(accuracies) * n)
            np.testing.assert_array_equal(np.rint(one["accuracy"].values * n), counts, err_msg=relation)
            compared += counts.size
    assert compared == 2 * 72 * len(reference["scores"]["dep->head"]) > 4000
    for offset, by_relation in reference["baseline"].items():
        for relation, accuracy in by_relation.items():
            assert found["baseline"].sel(relation=relation, offset=int(offset)).item() == pytest.approx(
                accuracy
            )


@pytest.mark.slow
def test_word_maps_equal_those_of_one_input(demo: Any, shared: Path) -> None:
    treebank = corpora.conllu(shared / "data" / "ud_ewt" / "en_ewt-ud-test.conllu")
    batch = [example for example, _ in zip(treebank.encoded(demo), range(6), strict=False)]
    for rows in ("mean", "first"):
        seen: dict[int, Any] = {}
        word_maps(demo, batch, lambda layer, maps, seen=seen: seen.update({layer: maps}), rows=rows)  # type: ignore[arg-type]
        for place, example in enumerate(batch):
            maps = hs.capture(demo, example.tokens).words(rows=rows)
            inside = np.flatnonzero(maps.query.word_ids >= 0)
            for layer, own in enumerate(maps.layers):
                np.testing.assert_allclose(
                    seen[layer][place, :, : len(inside), : len(inside)],
                    own[:, inside][:, :, inside],
                    atol=1e-5,
                )
                assert not seen[layer][place, :, len(inside) :].any()


@pytest.mark.slow
def test_trees(demo: Any, shared: Path) -> None:
    """Rows of their own beside the relations, equal to trees made one by one."""
    pytest.importorskip("ufal.chu_liu_edmonds")
    treebank = corpora.conllu(shared / "data" / "ud_ewt" / "en_ewt-ud-test.conllu")
    found = syntax(demo, treebank, limit=12, trees=True, least=20)
    right = dict.fromkeys((UAS, UUAS), 0)
    edges = 0
    for example, _ in zip(treebank.encoded(demo), range(12), strict=False):
        maps = hs.capture(demo, example.tokens).words()
        inside = np.flatnonzero(maps.query.word_ids >= 0)
        heads = np.array(example.heads)
        tree = spanning_tree(maps.layers[2][8][np.ix_(inside, inside)], int(np.argmin(heads)))
        for word, head in enumerate(tree):
            edges += head >= 0
            right[UAS] += head >= 0 and heads[word] == head
            right[UUAS] += head >= 0 and (heads[word] == head or heads[head] == word)
    for name, count in right.items():
        one = found.sel(relation=name, direction="dep->head", layer=2, head=8)
        assert int(one["n"]) == edges
        assert float(one["accuracy"]) * edges == pytest.approx(count)
    assert np.isfinite(found["baseline"].sel(relation=UUAS, offset=[-1, 1])).all()
    assert "tree UAS" in list(table(found)["relation"])


@pytest.mark.slow
def test_trees_of_single_words(demo: Any, shared: Path) -> None:
    """A sentence of one word has no edge: among others it adds none, and alone there are no rows of trees."""
    pytest.importorskip("ufal.chu_liu_edmonds")
    treebank = corpora.conllu(shared / "data" / "ud_ewt" / "en_ewt-ud-test.conllu")
    sentences = list(islice(treebank.encoded(demo), 300))
    single = [one for one in sentences if len(one.words or ()) == 1][:2]
    short = [one for one in sentences if len(one.words or ()) == 4][:3]
    assert len(single) == 2
    alone, both = (syntax(demo, given, trees=True).sel(relation=UAS) for given in (short, [*single, *short]))
    assert int(both["n"]) == int(alone["n"]) == 9
    np.testing.assert_array_equal(both["accuracy"], alone["accuracy"])
    with pytest.warns(HeadscopeWarning, match="trees: no sentence has two words, so no tree has an edge"):
        assert UAS not in syntax(demo, single, trees=True)["relation"]


def is_tree(heads: tuple[int, ...], root: int) -> bool:
    for word in range(len(heads)):
        seen = {word}
        while word != root:
            word = heads[word]
            if word in seen:
                return False
            seen.add(word)
    return True


def test_by_hand() -> None:
    """Each word's best would be a cycle of 1 and 2; the tree breaks it where that costs least."""
    pytest.importorskip("ufal.chu_liu_edmonds")
    weights = np.array([[0, 0, 0], [0.3, 0, 0.6], [0.1, 0.9, 0.0]])
    assert spanning_tree(weights, 0).tolist() == [-1, 0, 1]  # 0.3 + 0.9 against 0.6 + 0.1


@settings(max_examples=60, deadline=None)
@given(size=st.integers(1, 5), seed=st.integers(0, 10_000), data=st.data())
def test_no_tree_weighs_more(size: int, seed: int, data: st.DataObject) -> None:
    pytest.importorskip("ufal.chu_liu_edmonds")
    weights = np.random.default_rng(seed).random((size, size))
    root = data.draw(st.integers(0, size - 1))
    choices = [
        [-1] if word == root else [other for other in range(size) if other != word] for word in range(size)
    ]
    trees = [heads for heads in product(*choices) if is_tree(heads, root)]

    def weight(heads: tuple[int, ...]) -> float:
        return sum(weights[word, head] for word, head in enumerate(heads) if head >= 0)

    found = tuple(spanning_tree(weights, root).tolist())
    assert found in trees
    assert weight(found) == pytest.approx(max(map(weight, trees)))


def test_right_by_hand() -> None:
    """Gold: 1 is the root, 0 and 2 hang on it. Predicted: 0 the root, 1 on 0, 2 on 1."""
    directed, undirected = right(np.array([-1, 0, 1]), np.array([1, -1, 1]))
    assert directed.tolist() == [False, False, True]
    assert undirected.tolist() == [False, True, True]
