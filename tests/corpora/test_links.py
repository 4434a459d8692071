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
from headscope.errors import CorpusError, HeadscopeWarning, InputError
from tests.helpers.small_tokenizers import Reader, demo

TEXT = "x = 1; print(x)"


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


KEYS = "from, to, box, mask, label, from_text, to_text, candidates, possible"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"text": "a"}, "'links': expected a list of objects, found none"),
        ({"text": "a", "links": {}}, "'links': expected a list of objects, found an object"),
        ({"links": []}, "expected one of the keys 'text', 'words', 'tokens', 'messages', 'prompt_token_ids', found 'links'"),
        ({"words": ["a"], "pair": "b", "links": []}, "expected 'pair' only beside 'text', found it beside 'words'"),
        ([5], "links[0]: expected an object, found a number"),
        ([{"from": 1}], "links[0]: expected a key 'to', found 'from'"),
        ([{}], "links[0]: expected a key 'from', found none"),
        ([{"from": 1, "to": 2, "form_text": "b"}], f"links[0]: expected the keys {KEYS}, found 'form_text'"),
        ([{"from": 1, "to": 15}], "links[0]: expected characters of text a up to 15, found 15 to 16"),
        ([{"from": 1, "to": 2}, {"from": [4, 20], "to": 2}], "links[1]: expected characters of text a up to 15, found 4 to 20"),
        ([{"from": -1, "to": 2}], "links[0]: 'from': expected a start from 0 and an end after it, found -1"),
        ([{"from": 1, "to": [3, 3]}], "links[0]: 'to': expected a start from 0 and an end after it, found [3, 3]"),
        ([{"from": 1, "to": None}], "links[0]: 'to': expected an index or [start, end], found null"),
        ([{"from": True, "to": 1}], "links[0]: 'from': expected an index or [start, end], found true or false"),
        ([{"from": 1.0, "to": 1}], "links[0]: 'from': expected an index or [start, end], found 1.0"),
        ([{"from": 1, "to": "2"}], "links[0]: 'to': expected an index or [start, end], found '2'"),
        ([{"from": 1, "to": [1, 2, 3]}], "links[0]: 'to': expected an index or [start, end], found [1, 2, 3]"),
        ([{"from": 1, "to": list(range(99))}], "links[0]: 'to': expected an index or [start, end], found a list"),
        ([{"from": 1, "to": 2, "from_text": "c"}], "links[0]: 'from_text': expected 'a' or 'b', found 'c'"),
        ([{"from": 1, "to": 2, "from_text": "b"}], "links[0]: expected characters of text a, since there is no other, found 1 to 2 of text b"),
        ([{"from": 1, "to": 2, "label": 3}], "links[0]: 'label': expected a string, found a number"),
        ([{"from": 1, "to": 2, "label": " "}], "links[0]: 'label': expected some text, found ' '"),
        ([{"from": 1, "to": 2, "possible": 1}], "links[0]: 'possible': expected true or false, found 1"),
        ([{"from": 1, "to": 2, "candidates": 2}], "links[0]: 'candidates': expected a list of spans, found 2"),
        ([{"from": 1, "to": 2, "candidates": [2, "x"]}], "links[0]: 'candidates'[1]: expected an index or [start, end], found 'x'"),
        ([{"from": 1, "to": 2, "candidates": [2, [9, 16]]}], "links[0]: expected characters of text a up to 15, found 9 to 16"),
        ([{"from": 1, "to": [2, 4], "candidates": [2, 3]}], "links[0]: expected targets among the candidates, found the target 2 to 4"),
        ([{"from": 1, "to": 2, "possible": True, "candidates": []}], "links[0]: expected targets among the candidates, found the target 2 to 3"),
        ({"words": ["a"], "links": [{"from": 0, "to": 1}]}, "links[0]: expected words of text a up to 1, found 1 to 2"),
        (
            {"words": ["a", "b"], "pair_words": ["c"], "links": [{"from": 1, "to": 1, "to_text": "b"}]},
            "links[0]: expected words of text b up to 1, found 1 to 2",
        ),
        ({"tokens": ["a"], "links": [{"from": 0, "to": 1}]}, "links[0]: expected tokens of text a up to 1, found 1 to 2"),
        (
            {"tokens": ["a"], "links": [{"from": 0, "to": 0, "to_text": "b"}]},
            "links[0]: expected tokens of text a, since there is no other, found 0 to 1 of text b",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_line(row: Any, said: str, tmp_path: Path) -> None:
    good = {"text": TEXT, "links": []}
    bad = row if isinstance(row, dict) else {"text": TEXT, "links": row}
    path = lines(tmp_path / "a.jsonl", good, bad, good)
    with pytest.raises(CorpusError) as error:
        list(corpora.links(path, strict=True))
    assert str(error.value) == f"{path}:2: {said}"
    corpus = corpora.links(path)
    with pytest.warns(HeadscopeWarning) as told:
        assert len(list(corpus)) == 2
    assert str(told[0].message) == f"left out 1 input of a.jsonl:\n  {path}:2: {said}"


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


@pytest.mark.parametrize(
    ("items", "links", "options", "said"),
    [
        ([], [], {}, "items: expected at least one, found an empty list"),
        (["a"], [], {}, "links: expected 1 lists, one an item, found 0"),
        (["a", "b"], [[], [(0, 1)]], {}, "items[1]: links[0]: expected characters of text a up to 1, found 1 to 2"),
        ([["a", "b"]], [[(0, 2)]], {}, "items[0]: links[0]: expected words of text a up to 2, found 2 to 3"),
        ([["a", "b"]], [[(0, "x")]], {}, "items[0]: links[0]: expected a number, (start, end), (start, end, text) or a region, found 'x'"),
        ([["a", "b"]], [[(0, (0, 1, "b"))]], {}, "items[0]: links[0]: expected words of text a, since there is no other, found 0 to 1 of text b"),
        (["ab"], [[Link(Span(2, 3), (), unit="characters")]], {}, "items[0]: links[0]: expected characters of text a up to 2, found 2 to 3"),
        (["ab"], [[Link(Span(0, 1), (Span(1, 2),), candidates=(), unit="tokens")]], {}, "items[0]: links[0]: expected targets among the candidates, found the target 1 to 2"),
        (["  "], [[]], {}, "items[0]: expected some text, found '  '"),
        ([["a", ""]], [[]], {}, "items[0][1]: expected some text, found ''"),
        ([("a", ["b"])], [[]], {}, "items[0][1]: expected a string, found a list"),
        (["a"], [[]], {"documents": ["x", "y"]}, "documents: expected 1 name, one a text, found 2 names"),
        (["a"], [[]], {"unit": "pieces"}, "unit: expected tokens, words, characters or cells, found 'pieces'"),
        (["a"], [np.eye(2)], {}, "items[0]: links: expected a boolean matrix [query key], found float64 (2, 2)"),
    ],
)  # fmt: skip
def test_wrong_links_in_python_are_refused(items: Any, links: Any, options: Any, said: str) -> None:
    with pytest.raises(InputError) as error:
        corpora.linked(items, links, **options)
    assert str(error.value) == said


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


@pytest.mark.parametrize(
    ("a", "b", "links", "said"),
    [
        ("x y", "k l", "2-0", "c.align:2: '2-0': expected a word of A from 0 to 1, found 2"),
        ("x y", "k", "1-0 0p1", "c.align:2: '0p1': expected a word of B from 0 to 0, found 1"),
        ("x y", "k", "0:0", "c.align:2: expected links such as 0-0, 1?2 or 1p2, found '0:0'"),
        ("x y", "k", "0-0-S", "c.align:2: expected links such as 0-0, 1?2 or 1p2, found '0-0-S'"),
        ("x y", "k", "²-0", "c.align:2: expected links such as 0-0, 1?2 or 1p2, found '²-0'"),
        (" \t", "k", "", "a.de:2: expected words, found a blank line"),
        ("x", "", "0-0", "b.en:2: expected words, found a blank line"),
        ("x \xa0 y", "k", "2-0", "a.de:2: words[1]: expected some text, found '\\xa0'"),
    ],
)
def test_a_broken_sentence_is_left_out(a: str, b: str, links: str, said: str, tmp_path: Path) -> None:
    paths = aligned(tmp_path, f"x\n{a}\nx\n", f"k\n{b}\nk\n", f"0-0\n{links}\n0-0\n")
    with pytest.raises(CorpusError) as error:
        list(corpora.alignments(*paths, strict=True))
    assert str(error.value) == f"{tmp_path}/{said}"
    corpus = corpora.alignments(*paths)
    with pytest.warns(HeadscopeWarning) as told:
        assert [example.document for example in corpus] == [0, 2]
    assert str(told[0].message) == f"left out 1 input of 3 files:\n  {tmp_path}/{said}"


def test_from_1_the_word_0_is_none(tmp_path: Path) -> None:
    paths = aligned(tmp_path, "x y\n", "k\n", "0-1\n")
    with pytest.raises(CorpusError, match=r"c.align:1: '0-1': expected a word of A from 1 to 2, found 0"):
        list(corpora.alignments(*paths, base=1))


@pytest.mark.parametrize(
    ("b", "links", "said"),
    [
        ("k\n" * 2, "0-0\n" * 3, "b.en: expected 3 lines as in {0}, found 2"),
        ("k\n" * 3, "0-0\n" * 4, "c.align: expected 3 lines as in {0}, found 4"),
    ],
)
def test_files_of_different_lengths_are_refused_before_the_first_sentence(
    b: str, links: str, said: str, tmp_path: Path
) -> None:
    paths = aligned(tmp_path, "x\n" * 3, b, links)
    corpus = corpora.alignments(*paths)
    with pytest.raises(CorpusError) as error:
        next(iter(corpus))
    assert str(error.value) == f"{tmp_path}/{said.format(paths[0])}"


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
