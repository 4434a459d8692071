"""Two groups of inputs through a model."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import headscope as hs
from headscope.analyses.compare.groups import statistics
from headscope.analyses.compare.groups.run import values
from headscope.analyses.reproduce import Typed
from headscope.core.heads import Head
from headscope.errors import InputError
from headscope.models import Model
from headscope.runs.options import RunOptions
from headscope.statistics.bootstrap import bootstrap
from tests.helpers import section_blocks
from tests.helpers.compared_models import PAIRS, drawn, examples, pairs, perturbed
from tests.helpers.pages import payload, said, section


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


@pytest.mark.slow
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


TEXTS = hs.corpora.texts([a for a, _ in PAIRS])


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fifth of the draws."""
    monkeypatch.setattr(
        statistics, "bootstrap", lambda *given, draws, **more: bootstrap(*given, draws=draws // 5, **more)
    )


def write(path: Path, labels: list[int], copied: bool) -> Path:
    """Pairs with a label; where `copied`, text B of those labelled 0 is text A again."""
    lines = [
        f"{label}\t{a}\t{a if copied and not label else b}"
        for label, (a, b) in zip(labels, pairs(), strict=True)
    ]
    path.write_text("same\ttext_a\ttext_b\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_what_differs_is_what_the_command_finds(demo: Model, tmp_path: Path) -> None:
    path = write(tmp_path / "pairs.tsv", [place % 2 for place in range(36)], copied=True)
    corpus = hs.corpora.pairs(path, label="same")
    page = hs.report(
        demo,
        TEXTS,
        pairs=corpus,
        sections=["groups"],
        examples=1,
        typed=Typed(options={"-m": "some/model"}, sections={"--pairs": ["pairs.tsv"], "--label": ["same"]}),
    )
    found = payload(page)
    info = section(found, "groups")
    expected = hs.compare.groups(demo, corpus)
    rows = expected.differing()
    listed = section_blocks.rows(info, "groups")
    assert len(listed) == min(300, len(rows)) > 10
    for own in ("layer", "head", "measure", "group_a", "group_b", "effect", "p", "q"):
        assert [row[own] for row in listed] == rows[own].head(300).tolist()
    assert section_blocks.said(info)[0].lower() == f"{expected.sentence()}.".lower()
    assert "A is 18 inputs labelled 0" in info["about"]
    assert "B is 18 inputs labelled 1" in info["about"]
    assert info["command"] == "headscope compare groups pairs.tsv -m some/model --label same"
    (line,) = [line for line in said(found) if line.startswith("Between texts labelled 0 and 1, ")]
    top = rows.iloc[0]
    assert f"most L{top['layer']}H{top['head']} in “" in line
    assert f"{len(rows.drop_duplicates(['layer', 'head']))} heads differ (q ≤ 0.05)" in line

    row = listed[0]
    first, second = found["examples"][row["reason"]["example"]]["inputs"]
    assert [first["label"], second["label"]] == ["A · 0", "B · 1"]
    reason = row["reason"]
    assert (reason["says"], reason["over"]) == (f"{row['title']}, A − B", "between the groups")
    row = next(
        row for row in listed if row["measure"] == "previous" and row["reason"].get("example") is not None
    )
    head = Head(row["layer"], row["head"])
    maps = hs.capture(demo, expected.typical("previous", head)[0])
    back = np.abs(np.diagonal(maps.layers[head.layer][head.head], -1) - row["group_a"])
    wanted = {"side": "from", "place": 1 + int(np.where(maps.query.special_mask[1:], np.inf, back).argmin())}
    assert row["reason"]["pin"] == wanted


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_where_nothing_differs_that_is_what_is_said(demo: Model, tmp_path: Path) -> None:
    labels = [int(label) for label in "100110011001" * 3]
    corpus = hs.corpora.pairs(write(tmp_path / "pairs.tsv", labels, copied=False), label="same")
    expected = hs.compare.groups(demo, corpus)
    assert not len(expected.differing())  # so the rest of the test says something
    found = payload(hs.report(demo, TEXTS, pairs=corpus, sections=["groups"], examples=0))
    info = section(found, "groups")
    told, listed = section_blocks.said(info)
    assert told.startswith("No head differs between the groups at q ≤ 0.05")
    assert listed == "The 8 smallest q, none of them at most 0.05:"
    nearest = section_blocks.rows(info, "groups")
    assert len(nearest) == 8
    assert min(row["q"] for row in nearest) == expected.table["q"].min() > 0.05
    assert {row["reason"].get("example") for row in nearest} == {None}
    (line,) = [line for line in said(found) if line.startswith("Between texts")]
    assert re.fullmatch(
        r"Between texts labelled 0 and 1, no head is known to differ: the smallest q is [\d.]+\.", line
    )
