"""Sections of the report on real trees: figures, and sentences that show what they say."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.analyses.probes import section as module
from headscope.analyses.probes.run import KINDS
from headscope.analyses.study import Gallery, Study
from headscope.analyses.syntax.examples import _draw, _shown
from headscope.analyses.syntax.section import Drawn
from headscope.analyses.syntax.statistics import table
from headscope.corpora import Example
from headscope.errors import CorpusError, InputError
from headscope.models import Model
from headscope.views.explorer import Input


def payload(page: str) -> Any:
    found = re.search(
        r'<script type="application/json" id="headscope-payload">(.*?)</script>', page, re.DOTALL
    )
    assert found is not None
    return json.loads(found[1])


@pytest.fixture(scope="module")
def found(demo: Model, build_once: Any) -> Any:
    trees = hs.corpora.builtin_trees()
    texts = hs.corpora.texts(["The cat sat on the mat."])
    options: dict[str, Any] = {"treebank": trees, "coref": trees, "sections": ["syntax", "coref"]}
    return payload(build_once("linguistics", lambda: hs.report(demo, texts, examples=2, **options)))


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


def word_map(demo: Model, words: list[str], row: Any) -> Any:
    """The map over words of a row's head, from the maps of the whole input."""
    tokens = demo.from_words(words)
    assert tokens.word_ids is not None
    whole = hs.capture(demo, tokens)[hs.Head(row["layer"], row["head"])]
    own = [tokens.word_ids == word for word in range(len(words))]
    return np.array([[whole[np.ix_(one, other)].sum(1).mean() for other in own] for one in own])


def text_of(example: Any) -> str:
    """The words of an example of the page, as the demo model's pieces."""
    pieces = example["inputs"][0]["parts"][0]["query"]["pieces"]
    return "".join(pieces[1:-1]).replace("##", "")


def test_choices_and_arcs_are_of_the_head_in_its_direction(demo: Model, found: Any) -> None:
    """Each word's choice is recomputed from the whole map of the row's head, by rows or by columns."""
    info = section(found, "syntax")
    checked = 0
    for row in info["rows"]:
        for shown in (*row["right"], *row["wrong"]):
            sentence = info["sentences"][shown["sentence"]]
            own = word_map(demo, sentence["words"], row)
            weights = own - np.diag(np.diag(own))
            choices = weights.argmax(1) if row["direction"] == "dep->head" else weights.argmax(0)
            assert shown["predicted"] == choices[shown["words"]].tolist(), (row["relation"], sentence)
            arcs = {(start, end): weight for start, end, weight in shown["arcs"]}
            assert all(weight == pytest.approx(own[pair], abs=6e-4) for pair, weight in arcs.items())
            strong = set(map(tuple, np.argwhere(weights >= 0.041).tolist()))
            assert strong <= set(arcs)
            others = [*shown["predicted"], *(sentence["heads"][word] for word in shown["words"])]
            relation = set(zip(2 * shown["words"], others, strict=True))
            if row["direction"] == "head->dep":
                relation = {(end, start) for start, end in relation}
            assert relation <= set(arcs)
            assert not {pair for pair, weight in arcs.items() if weight < 0.039} - relation
            checked += 1
    assert checked > 20


@pytest.mark.parametrize("direction", [0, 1])
def test_one_sentence_by_hand(direction: int) -> None:
    """*she saw the dog*: a head whose rows (or columns) find *saw* for *she* and *she* for *dog*."""
    example = Example(
        words=["she", "saw", "the", "dog"], heads=[1, -1, 3, 1], relations=["nsubj", "root", "det", "nsubj"]
    )
    maps = np.full((4, 4), 0.01)
    maps[0, 1], maps[0, 0], maps[3, 0], maps[3, 1], maps[2, 1] = 0.6, 0.9, 0.5, 0.03, 0.20046
    head = hs.Head(1, 2)
    own = maps if direction == 0 else maps.T
    places: dict[int, int] = {7: 0}
    shown = _shown("nsubj", direction, head, [example], [{head: own}], places)
    (looked,) = shown.wrong
    assert (shown.right, shown.looked, looked["sentence"], places) == ([], 1, 1, {7: 0, 0: 1})
    assert (looked["words"], looked["predicted"], looked["right"]) == ([0, 3], [1, 0], [True, False])
    arcs = {(0, 1): 0.6, (3, 0): 0.5, (3, 1): 0.03, (2, 1): 0.2}
    assert {
        (start, end) if direction == 0 else (end, start): weight for start, end, weight in looked["arcs"]
    } == arcs
    own[(3, 1) if direction == 0 else (1, 3)] = 0.7
    shown = _shown("nsubj", direction, head, [example], [{head: own}], {})
    assert [one["right"] for one in shown.right] == [[True, True]]
    assert not shown.wrong
    assert _shown("obj", direction, head, [example], [{head: own}], {}) == Drawn([], [], 0)


def test_sentences_are_short_and_open_themselves(found: Any) -> None:
    """The example of a sentence is that sentence; few come with the page, none twice."""
    info = section(found, "syntax")
    opened = [one["example"] for one in info["sentences"] if one["example"] is not None]
    assert len(set(opened)) == len(opened) > 10
    for one in info["sentences"]:
        assert 3 <= len(one["words"]) <= 16
        if one["example"] is not None:
            assert text_of(found["examples"][one["example"]]) == "".join(one["words"]).lower()
    for row in info["rows"]:
        assert row["looked"] >= len(row["right"] + row["wrong"])
        assert max(len(row["right"]), len(row["wrong"])) <= 3
        assert len({shown["sentence"] for shown in (*row["right"], *row["wrong"])}) == len(
            row["right"] + row["wrong"]
        )


def test_mentions_show_what_the_head_chose(demo: Model, found: Any) -> None:
    """Recomputed from the whole map of the row's head, among the candidates that the row names."""
    info = section(found, "coref")
    heads = [row for row in info["rows"] if row["system"] == "best_head"]
    assert [row["candidates"] for row in heads] == ["preceding_mentions", "other_mentions", "any_word"]
    for row in heads:
        assert [shown["right"] for shown in row["shown"]] == [True] * 3 + [False] * 3
        assert len({shown["window"] for shown in row["shown"][:3]}) == 3
        for shown in row["shown"]:
            window = info["windows"][shown["window"]]
            spans = window["mentions"]
            start, end, word = spans[shown["mention"]]
            assert start <= word < end
            weights = word_map(demo, window["words"], row)[word]
            others = {head for *_, head in spans} - {word}
            among = {
                "preceding_mentions": sorted(head for head in others if head < word),
                "other_mentions": sorted(others),
                "any_word": [place for place in range(len(weights)) if place != word],
            }[row["candidates"]]
            assert shown["predicted"] == among[int(weights[among].argmax())]
            assert shown["weight"] == pytest.approx(weights[shown["predicted"]], abs=6e-5)
            earlier = {spans[place][2] for place in shown["antecedents"]}
            assert earlier
            assert (shown["predicted"] in earlier) == shown["right"]
            assert max(earlier) < word


def test_mentions_that_would_be_right_are_those_of_the_cluster(found: Any) -> None:
    """By the annotation of the corpus, read again: texts are whole sentences of one document, spaced as written."""
    info = section(found, "coref")
    sentences = list(hs.corpora.builtin_trees())
    checked = 0
    for place, window in enumerate(info["windows"]):
        own = next(
            sentences[start:end]
            for start in range(len(sentences))
            for end in range(start + 1, len(sentences) + 1)
            if [word for one in sentences[start:end] for word in one.words or ()] == window["words"]
        )
        assert len({one.document for one in own}) == 1
        assert window["spaces"] == [space for one in own for space in one.spaces or ()]
        assert text_of(found["examples"][window["example"]]) == "".join(window["words"]).lower()
        clusters: list[str] = []
        spans: list[tuple[int, int]] = []
        offset = 0
        for one in own:
            clusters += [mention.cluster for mention in one.mentions or ()]
            spans += [(mention.start + offset, mention.end + offset) for mention in one.mentions or ()]
            offset += len(one.words or ())
        assert [(start, end) for start, end, _ in window["mentions"]] == spans
        for row in info["rows"]:
            for shown in row["shown"]:
                if shown["window"] == place:
                    head = window["mentions"][shown["mention"]][2]
                    assert shown["antecedents"] == [
                        number
                        for number, cluster in enumerate(clusters)
                        if cluster == clusters[shown["mention"]] and window["mentions"][number][2] < head
                    ]
                    checked += 1
    assert checked == 18


def test_no_more_maps_than_there_is_room_for(demo: Model) -> None:
    inputs: list[Any] = []
    gallery = Gallery(inputs, lambda tokens: Input({"self": hs.capture(demo, tokens)}))
    example = next(hs.corpora.builtin_trees().encoded(demo))
    size = 72 * len(example.tokens or ()) ** 2
    gallery.room(2 * size)
    assert [gallery.add(example) for _ in range(3)] == [0, 1, None]
    gallery.room(size)
    assert gallery.add(example) == 2
    assert Gallery(inputs, None).add(example) is None


def test_a_sample_of_sentences_is_uniform_and_of_each_relation() -> None:
    """Of 400 sentences each is drawn about as often as another, whatever the seed; long and short ones never."""
    sentences = [
        Example(
            words=["a"] * size,
            heads=[-1] + [0] * (size - 1),
            relations=["root"] + ["x"] * (size - 1),
            name=str(n),
        )
        for n, size in enumerate([5] * 400 + [2, 17] * 20)
    ]
    rare = Example(words=["a"] * 4, heads=[-1, 0, 0, 0], relations=["root", "x", "y", "y"], name="rare")
    counts = np.zeros(400)
    orders: set[tuple[str, ...]] = set()
    for seed in range(100):
        drawn = _draw(iter([*sentences, rare]), ["x", "y", "none"], seed)
        names = [one.name for one in drawn]
        assert len(names) == len(set(names)) in (24, 25)
        assert "rare" in names
        counts[[int(name) for name in names if name != "rare"]] += 1
        orders.add(tuple(names))
    assert len(orders) == 100
    assert counts.sum() >= 2390
    thirds = counts.reshape(4, 100).sum(1) / counts.sum()
    assert thirds == pytest.approx([0.25] * 4, abs=0.04)
    again = _draw(iter([*sentences, rare]), ["x", "y", "none"], 3)
    assert [one.name for one in again] == [one.name for one in _draw(iter([*sentences, rare]), ["y", "x"], 3)]


def _probes(model: Model, treebank: Any, **options: Any) -> Any:
    study = Study(model, treebank, ["probes"], 0, treebank=treebank, **options)
    return module.section(study)[0]


def test_probes_are_scored_on_documents_that_they_did_not_see(
    demo: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every fourth document; every fourth sentence where there are few documents. The first 400 sentences."""
    seen: list[tuple[set[int], set[int]]] = []
    real = module.probe

    def probe(model: Model, train: list[Example], dev: list[Example], **options: Any) -> Any:
        seen.append(({one.document for one in train}, {one.document for one in dev}))
        assert set(options["kinds"]) == {*KINDS} - {"structural"}
        assert len(train) + len(dev) <= 400
        return real(model, train, dev, **{**options, "kinds": ["right-branching"]})

    monkeypatch.setattr(module, "probe", probe)
    trees = hs.corpora.builtin_trees()
    made = _probes(demo, trees)
    documents = {one.document for one in trees}
    train, dev = seen[0]
    assert train | dev == documents
    assert dev == {number for number in documents if number % 4 == 3}
    assert not train & dev
    assert (made.train + made.dev, made.corpus) == (130, "built-in treebank")
    assert (
        made.small
        == f"Too small to conclude from: trained on {made.train} sentences and scored on {made.dev}."
    )
    made = _probes(demo, trees, limit=20)
    assert (made.train, made.dev) == (15, 5)
    with pytest.raises(InputError, match="expected at least 8 sentences for probes, found 7"):
        _probes(demo, trees, limit=7)


@pytest.mark.slow
def test_probes_say_that_the_built_in_corpus_is_too_small(demo: Model) -> None:
    page = hs.report(demo, hs.corpora.texts(["The cat sat."]), sections=["probes"], examples=0, limit=24)
    info = section(payload(page), "probes")
    assert info["small"].startswith("Too small to conclude from")
    assert [row["probe"] for row in info["rows"]] == [
        *(
            "right-branching",
            "distance+words",
            "attention+words, re-initialised",
            "attention",
            "attention+words",
        ),
    ]
    assert [row["label"] for row in info["printed"]] == ["structural probe (undirected, not comparable)"]
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
