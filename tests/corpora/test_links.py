"""Readers of links: what they read, and what they say of what they do not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headscope import corpora
from headscope.core.link import Link, Span, located
from headscope.corpora import Example
from headscope.errors import HeadscopeWarning
from tests.helpers.small_tokenizers import Reader, demo


def lines(path: Path, *rows: Any) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def test_links_count_characters_words_or_tokens(tmp_path: Path) -> None:
    """An index is one character, and each link finds the pieces that were meant."""
    path = lines(
        tmp_path / "a.jsonl",
        {"text": "Ann slept. She woke.", "links": [{"from": [11, 14], "to": [0, 3], "label": "antecedent"}]},
        {"text": "Ann", "pair": "She", "links": [{"from": [0, 3], "from_text": "b", "to": [0, 3]}]},
        {"words": ["Ann", "slept"], "links": [{"from": 1, "to": 0}], "document": "d"},
        {"words": ["Ann"], "pair_words": ["die", "Anna"], "links": [{"from": 0, "to": 1, "to_text": "b"}], "document": "d"},
        {"tokens": ["[CLS]", "she", "[SEP]"], "links": [{"from": 2, "to": [0, 2]}]},
        {"text": "Nothing here.", "links": []},
    )  # fmt: skip
    examples = list(corpora.links(path).encoded(Reader(demo(), 64)))
    assert [example.document for example in examples] == [0, 1, 2, 2, 3, 4]
    assert [example.document_known for example in examples] == [False, False, True, True, False, False]
    found: list[tuple[list[str], list[str]]] = []
    for example in examples[:-1]:
        (link,) = example.links or ()
        tokens = example.tokens
        ends: list[list[str]] = []
        for span in link.source, *link.targets:
            pair = example.pair is not None or example.pair_words is not None
            at, note = located(span, link.unit, tokens, sequence="ab".index(span.text) if pair else None)
            assert note == ""
            ends.append([tokens.pieces[place].lower() for place in at])
        found.append((ends[0], ends[1]))
    assert found == [
        (["she"], ["ann"]),
        (["she"], ["ann"]),
        (["slept"], ["ann"]),
        (["ann"], ["anna"]),
        (["[sep]"], ["[cls]", "she"]),
    ]
    assert examples[-1].links == []
    assert examples[4].pieces == ["[CLS]", "she", "[SEP]"]


def test_links_of_one_source_and_label_are_one(tmp_path: Path) -> None:
    rows = [
        {"from": 5, "to": 1, "label": "x", "candidates": [1, [2, 4]]},
        {"from": 5, "to": 2, "label": "y"},
        {"from": 5, "to": [2, 4], "label": "x", "candidates": [0, 1, [2, 4]], "possible": True},
        {"from": [5, 6], "to": 0, "label": "x", "possible": None},
        {"from": 5, "to": 0, "label": "x", "possible": True},
        {"from": 4, "to": 0, "label": "x", "possible": True},
    ]
    (example,) = corpora.links(lines(tmp_path / "a.jsonl", {"words": list("abcdef"), "links": rows}))
    one, other, third = example.links or ()
    assert one == Link(
        Span(5, 6),
        (Span(1, 2), Span(0, 1)),
        "x",
        candidates=(Span(1, 2), Span(2, 4), Span(0, 1)),
        possible=(Span(2, 4),),
        place="links[0]",
    )
    assert (other.label, other.candidates, other.place) == ("y", None, "links[1]")
    assert (third.targets, third.possible, third.place) == ((), (Span(0, 1),), "links[5]")


def test_another_key_names_documents_and_long_inputs_are_left_out(tmp_path: Path) -> None:
    long = {"text": "word " * 30, "links": [{"from": [0, 4], "to": [5, 9]}], "file": 1}
    path = lines(tmp_path / "a.jsonl", {"text": "a b", "links": [], "file": 1}, long, {**long, "text": "word word", "file": 2})  # fmt: skip
    corpus = corpora.links(path, document="file")
    assert [example.document for example in corpus.encoded(Reader(demo(), 16))] == [0, 1]
    assert list(map(str, corpus.broken)) == [
        f"{path}:2: expected at most 16 tokens in a text with links, found 32"
    ]


def test_texts_words_pairs_and_matrices_in_python() -> None:
    matrix = np.zeros((4, 4), bool)
    matrix[2, [0, 1]] = True
    given: list[Any] = [
        ("Ann slept", [((4, 9), (0, 3)), ((4, 9), 8)]),
        (("Ann", "She"), [((0, 3, "b"), (0, 3))]),
        (["Ann", "slept"], [(1, 0)]),
        ((["Ann"], ["die", "Anna"]), [(0, (1, 2, "b"))]),
        (["Ann", "slept"], matrix),
        ("Ann slept", [Link(Span(0, 2), (Span(1, 2),), unit="tokens")]),
        ("Ann slept", []),
    ]
    items, links = zip(*given, strict=True)
    corpus = corpora.linked(items, links)
    examples = list(corpus)
    first = (examples[0].links or [])[0]
    assert first == Link(Span(4, 9), (Span(0, 3), Span(8, 9)), "link", unit="characters", place="links[0]")
    units = [[link.unit for link in example.links or ()] for example in examples]
    assert units == [["characters"], ["characters"], ["words"], ["words"], ["tokens"], ["tokens"], []]
    assert (examples[3].words, examples[3].pair_words) == (["Ann"], ["die", "Anna"])
    assert [example.document for example in examples] == list(range(7))
    assert len(list(corpus.encoded(Reader(demo(), 16)))) == 7
    named = corpora.linked(["a b", "c"], [[], []], documents=["x", "x"])
    assert [example.document for example in named] == [0, 0]


def aligned(folder: Path, a: str, b: str, links: str) -> list[Path]:
    paths = [folder / name for name in ("a.de", "b.en", "c.align")]
    for path, text in zip(paths, (a, b, links), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


def of(example: Example, label: str) -> dict[int, tuple[list[int], list[int]]]:
    return {
        link.source.start: ([span.start for span in link.targets], [span.start for span in link.possible])
        for link in example.links or ()
        if link.label == label
    }


@pytest.mark.parametrize("base", [0, 1])
def test_alignments_link_both_ways(base: int, tmp_path: Path) -> None:
    def pair(a: int, kind: str, b: int) -> str:
        return f"{a + base}{kind}{b + base}"

    first = " ".join([pair(0, "-", 0), pair(1, "-", 2), pair(1, "-", 1), pair(2, "?", 1), pair(2, "p", 0)])
    paths = aligned(
        tmp_path, "x y z\nw\n", "k l m\nn\n", f"{first} {pair(0, '?', 0)} {pair(0, '-', 0)}\r\n\n"
    )
    one, two = corpora.alignments(*paths, base=base)
    assert (one.words, one.pair_words) == (["x", "y", "z"], ["k", "l", "m"])
    assert of(one, "b to a") == {0: ([0], [2]), 1: ([1], [2]), 2: ([1], [])}
    assert of(one, "a to b") == {0: ([0], []), 1: ([1, 2], []), 2: ([], [0, 1])}
    for link in one.links or ():
        source, target = link.label.split(" to ")
        assert {link.source.text} == {source}
        assert {span.text for span in (*link.targets, *link.possible)} == {target}
        assert (link.unit, link.place) == ("words", f"{paths[2]}:1")
    assert two.links == []
    expected = [(0, False, f"{paths[0]}:1"), (1, False, f"{paths[0]}:2")]
    assert [(each.document, each.document_known, each.source) for each in (one, two)] == expected


def test_what_was_read_of_three_files_is_counted_again_on_each_pass(tmp_path: Path) -> None:
    corpus = corpora.alignments(*aligned(tmp_path, "x\ny\n", "k\nl\n", "0-0\n\n"))
    for _ in range(2):
        assert len(list(corpus)) == 2
        assert corpus.bytes_read == corpus.size_hint() == 13


@pytest.mark.parametrize("kinds", ["-", "?", "p-"])
def test_alignments_that_count_from_1_and_fit_are_told(kinds: str, tmp_path: Path) -> None:
    links = "".join(f"{1 + n % 2}{kinds[n % len(kinds)]}2\n" for n in range(20))
    paths = aligned(tmp_path, "x y z\n" * 21, "k l m\n" * 21, links + "\n")
    said = r"c\.align: no word is called 0 in 20 lines with links: if .* base=1 \(--base 1\)"
    with pytest.warns(HeadscopeWarning, match=said):
        corpora.alignments(*paths)


@pytest.mark.parametrize(
    ("links", "number"), [("1-1 2-2\n1-1\n", "2 lines"), ("1?2\n\n", "1 line"), ("1-2\n" * 19, "19 lines")]
)
def test_alignments_of_few_lines_that_may_count_from_1_are_told_so(
    links: str, number: str, tmp_path: Path
) -> None:
    said = (
        rf"no word is called 0 in {number} with links, which are too few to tell: if .* base=1 \(--base 1\)"
    )
    with pytest.warns(HeadscopeWarning, match=said):
        corpora.alignments(*aligned(tmp_path, "x y z\n" * 2, "k l m\n" * 2, links))


@pytest.mark.parametrize(
    ("links", "base"),
    [
        ("1-2\n" * 20 + "2-0\n", 0),
        ("1-2\n" * 20 + "0p1\n", 0),
        ("1-2\n" * 20 + "10-20 00-1\n", 0),
        ("1-2\n" * 21, 1),
    ],
)
def test_other_alignments_are_not(
    links: str, base: Any, tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    corpora.alignments(*aligned(tmp_path, "x y z\n" * 21, "k l m\n" * 21, links), base=base)
    assert not recwarn.list
