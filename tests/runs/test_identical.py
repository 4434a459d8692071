"""Documents that are the same are counted, however they are read, and taken once on demand."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope import corpora
from headscope.core.link import Link, Span
from headscope.corpora import Example
from headscope.errors import CorpusError, HeadscopeWarning
from headscope.measures.dataset import description
from headscope.runs import identical
from headscope.runs.identical import SeenDocuments
from tests.helpers.typed import Typed

NAMES = ("cat", "dog", "bird", "man", "girl", "boy", "king", "queen")
PARAGRAPHS = [f"The {name} sat.\nIt slept, said the {name}." for name in NAMES]
SAME = "2 of 10 documents are the same as one before: errors and tests take each for further evidence"


@pytest.fixture
def twice(tmp_path: Path) -> corpora.Corpus:
    """Ten documents, of which two are the same as one before."""
    path = tmp_path / "twice.txt"
    path.write_text("\n\n".join([*PARAGRAPHS[:3], PARAGRAPHS[0], *PARAGRAPHS[3:], PARAGRAPHS[2]]) + "\n")
    return corpora.text(path)


def linked(texts: list[str]) -> corpora.Corpus:
    return corpora.linked(
        [text.split() for text in texts], [[(1, 0)]] * len(texts), documents=list(range(len(texts)))
    )


RUNS = {
    "measure": lambda model, corpus: hs.measure(model, corpus, measures=["previous"]),
    "distance": hs.distance,
    "positions of a contribution": hs.contribution.importance,
    "roles": hs.roles,
}


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.slow
def test_every_run_says_how_many_documents_are_the_same(demo: Any, twice: corpora.Corpus, name: str) -> None:
    with pytest.warns(HeadscopeWarning, match=SAME) as told:
        RUNS[name](demo, twice)
    assert len([each for each in told if "the same as one before" in str(each.message)]) == 1
    with warnings.catch_warnings(action="error", category=HeadscopeWarning):
        RUNS[name](demo, corpora.distinct(twice))


def test_links_say_it_too(demo: Any) -> None:
    texts = ["The cat sat.", "A dog barked.", "The cat sat."]
    with pytest.warns(HeadscopeWarning, match="1 of 3 documents is the same as one before"):
        found = hs.links(demo, linked(texts), least=1)
    assert description(found)["corpus"]["identical"] == 1
    once = hs.links(demo, corpora.distinct(linked(texts)), least=1)
    assert (once["n"].item(), found["n"].item()) == (2, 3)
    with pytest.warns(HeadscopeWarning, match="1 of 3 documents is the same as one before"):
        hs.combine_heads(demo, linked(texts), least=20)


@pytest.mark.slow
def test_shards_that_are_merged_know_of_each_other(demo: Any, twice: corpora.Corpus, tmp_path: Path) -> None:
    parts = [tmp_path / f"{number}.nc" for number in (1, 2)]
    with warnings.catch_warnings(action="ignore", category=HeadscopeWarning):
        for number, part in enumerate(parts, 1):
            hs.measure(demo, twice, measures=["previous"], shard=f"{number}/2", part=part)
    with pytest.warns(HeadscopeWarning, match=SAME):
        found = hs.merge(parts)
    assert description(found)["corpus"]["identical"] == 2


def examples(documents: list[list[str]]) -> list[Example]:
    return [
        Example(text=text, document=number) for number, document in enumerate(documents) for text in document
    ]


def counted(given: list[Example]) -> SeenDocuments:
    found = SeenDocuments()
    for example in given:
        found.add(example)
    return found


def test_documents_are_the_same_however_blocks_cut_them() -> None:
    draw = np.random.default_rng(0)
    documents = [[f"{word}" for word in draw.integers(0, 2, draw.integers(1, 4))] for _ in range(60)]
    given = examples(documents)
    expected = 60 - len({tuple(each) for each in documents})
    whole = counted(given)
    assert whole.identical() == (expected, 60, True)
    for seed in range(20):
        cuts = np.sort(np.random.default_rng(seed).choice(np.arange(len(given) + 1), 5))
        parts = [given[start:end] for start, end in zip([0, *cuts], [*cuts, len(given)], strict=True)]
        found, last = SeenDocuments(), None
        for part in parts:
            joined = bool(part) and last == part[0].document
            found = SeenDocuments.from_json(found.then(counted(part), joined=joined).to_json())
            last = part[-1].document if part else last
        assert found == whole


def test_many_documents_are_told_from_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identical, "KEPT", 500)
    found = counted(examples([[str(number % 3_000)] for number in range(4_000)]))
    same, of, exact = found.identical()
    assert (of, exact) == (4_000, False)
    assert same == pytest.approx(1_000, rel=0.2)
    assert len(found.times) <= 1_000


def test_an_annotation_tells_documents_apart() -> None:
    link = Link(Span(0, 1), (Span(1, 2),), place="a:1")
    one = Example(words=["a", "b"], links=[link])
    moved = replace(one, document=1, source="elsewhere", links=[replace(link, place="a:9")])
    other = replace(one, document=2, links=[Link(Span(1, 2), (Span(0, 1),))])
    assert counted([one, moved, other]).identical() == (1, 3, True)


def test_what_is_left_out_stays_said(tmp_path: Path) -> None:
    path = tmp_path / "links.jsonl"
    line = '{"words": ["a", "b"], "links": [{"from": 1, "to": 0}], "document": "%s"}\n'
    path.write_text(
        line % "x" + line % "y" + '{"words": ["a"], "links": [{"from": 3, "to": 0}], "document": "z"}\n'
    )
    corpus = corpora.distinct(corpora.links(path))
    with pytest.warns(HeadscopeWarning, match="left out 1 input"):
        assert len(list(corpus)) == 1
    with pytest.raises(CorpusError):
        list(corpora.distinct(corpora.links(path, strict=True)))


@pytest.mark.slow
@pytest.mark.filterwarnings("default::headscope.errors.HeadscopeWarning")
def test_commands_say_it_and_take_them_once(
    demo_at_hand: None, twice: corpora.Corpus, tmp_path: Path, typed: Typed
) -> None:
    words = "measure", tmp_path / "twice.txt", "--measures", "previous"
    assert SAME in typed(*words).err
    assert "the same as one before" not in typed(*words, "--distinct").err
