"""Two groups of inputs through a model."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import headscope as hs
from headscope.analyses.compare.groups.run import values
from headscope.errors import InputError
from headscope.models import Model
from headscope.runs.options import RunOptions
from tests.helpers.compared_models import drawn, examples, pairs, perturbed


@pytest.mark.slow
def test_values_are_those_of_each_input_alone(demo: Model) -> None:
    found = values(
        demo,
        examples(demo),
        ["previous", "a_to_b", "same_word_other", "sink", "entropy"],
        RunOptions(batch_size=3),
    )
    assert found.values.dtype == np.float32
    assert [one.name for one in found.measures] == ["previous", "a_to_b", "same_word_other", "entropy"]
    assert list(found.absent) == ["sink"]
    assert "no row for the mean share of a token's attention" in found.absent["sink"]
    assert found.labels == list("abababbababa" * 3)
    assert [one.source for one in found.inputs[:2]] == ["x:1", "x:2"]
    for place in (0, 7):
        one = hs.measure(demo, [examples(demo)[place]], measures=["previous", "a_to_b", "entropy"])
        for number, name in ((0, "previous"), (1, "a_to_b"), (3, "entropy")):
            np.testing.assert_allclose(found.values[place, number], one[name], atol=2e-6)
    said = [set(b.lower().strip(".").split()) for _, b in pairs()[:6]]
    lacks = [not {"the", "cat", "on", "sat", "mat"} & words for words in said]  # of *The cat sat on the mat.*
    assert np.isnan(found.values[:6, 2]).all((1, 2)).tolist() == lacks


@pytest.mark.slow
def test_one_head_edited_in_group_b_is_found_and_only_it(demo: Model) -> None:
    """The model of group B has one head of the last layer that looks elsewhere; labels alone say nothing."""
    names = ["surface", "patterns"]
    own, other = (
        values(demo, examples(demo), names),
        values(perturbed(demo, 5, 4, -1.0), examples(demo), names),
    )
    second = np.array([label == "b" for label in own.labels])
    from headscope.analyses.compare.groups import statistics as two_groups

    edited = np.where(second[:, None, None, None], other.values, own.values)
    found = two_groups.compare(edited, second, own.documents, own.measures, own.layers)
    rows = two_groups.differing(found)
    assert set(zip(rows["layer"], rows["head"], strict=True)) == {(5, 4)}, rows
    assert len(rows) >= 3


@pytest.mark.slow
def test_groups_end_to_end(demo: Model, tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    lines = [f"{place % 2}\t{a}\t{b if place % 2 else a}" for place, (a, b) in enumerate(pairs())]
    path.write_text("Quality\t#1 String\t#2 String\n" + "\n".join(lines), encoding="utf-8")
    found = hs.compare.groups(demo, hs.corpora.pairs(path), measures=["a_to_b", "b_to_a", "same_word_other"])
    meta = json.loads(found.figures.attrs["meta"])
    assert [one["label"] for one in meta["groups"]] == ["0", "1"]
    assert [one["inputs"] for one in meta["groups"]] == [18, 18]
    assert meta["permutations"] >= 20_000
    top = found.differing().iloc[0]
    assert top["group_a"] > top["group_b"]  # heads look from a sentence to its copy
    view = found.view()
    least = found.table["p"].min()
    best = found.table[found.table["p"] == least]
    best = best.loc[best["effect"].abs().idxmax()]
    assert (view.state["layer"], view.state["heads"]) == (best["layer"], [best["head"]])
    assert len(view.inputs) == 2
    first, second = (one.parts["self"].query.pieces for one in view.inputs)
    assert first[1:4] == first[len(first) // 2 + 1 :][:3]  # of group 0: the sentence twice
    assert second[1:4] != second[len(second) // 2 + 1 :][:3]
    again = hs.compare.groups(demo, hs.corpora.pairs(path), measures=["a_to_b", "b_to_a", "same_word_other"])
    assert again.table.equals(found.table)
    with pytest.raises(
        InputError, match="view: expected a measure and head that were compared, found entropy"
    ):
        found.view("entropy")
    titles = found.figures["title"].values.tolist()
    drawn(found.figure(), tmp_path, titles)
    assert titles[1] not in drawn(found.figure(["a_to_b"]), tmp_path, titles[:1])


def test_only_the_groups_asked_for_are_read(demo: Model) -> None:
    found = hs.compare.groups(demo, examples(demo, "abcz" * 9), groups=["c", "a"], measures=["entropy"])
    assert found.inputs.labels == ["a", "c"] * 9
    assert found.second.tolist() == [True, False] * 9


def test_of_several_labels_the_one_that_is_compared_counts(demo: Model, tmp_path: Path) -> None:
    """The same figures as of a file that has each input under the one label alone, without those of both."""
    labels: list[object] = [["a", "c"], "b", ["b", "c"], "a", ["a", "b"], ["c", "d"]] * 5
    plain = ["a", "b", "b", "a", None, None] * 5
    results = []
    for name, given in (("several.jsonl", labels), ("plain.jsonl", plain)):
        rows = [
            {"text": f"{text} {number}.", "label": label}
            for number, (label, (text, _)) in enumerate(zip(given, pairs() * 5, strict=False))
        ]
        (tmp_path / name).write_text("\n".join(json.dumps(row) for row in rows if row["label"] is not None))
        corpus = hs.corpora.jsonl(tmp_path / name)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = hs.compare.groups(demo, corpus, groups=["a", "b"], measures=["entropy"])
        results.append((found, corpus, [str(one.message) for one in told]))
    (found, corpus, said), (expected, _, _) = results
    assert found.inputs.labels == expected.inputs.labels == ["a", "b", "b", "a"] * 5
    assert found.table.equals(expected.table)
    assert corpus.left_out == 5
    assert "expected the label a or b, found both" in str(corpus.broken[0])
    assert (
        "groups: 10 inputs with several labels; each is in the group of the one of a and b that it has"
        in said
    )


def test_where_all_have_both_labels_there_are_no_groups(demo: Model, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(json.dumps({"text": f"A cat {n}.", "label": ["a", "b"]}) for n in range(6)))
    for corpus in (hs.corpora.jsonl(path), hs.corpora.pairs(path)):
        with pytest.raises(
            InputError, match="groups: expected inputs labelled a or b, found that all are both"
        ):
            hs.compare.groups(demo, corpus, measures=["entropy"])
