"""Lines that are read together give what each gives alone, and joined lines what their text gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import headscope as hs
from headscope.core.tokens import FIELDS, Tokens
from headscope.corpora import Corpus, Example
from headscope.models.bulk import bulk
from headscope.models.encode import encode, split
from tests.helpers.small_tokenizers import Reader, byte_level, demo, listed, roberta, slow, unigram

KINDS: dict[str, Any] = {
    "demo": demo,
    "byte_level": byte_level,
    "byte_level, untrimmed": lambda: byte_level(trim=False),
    "roberta": roberta,
    "unigram": unigram,
    "words": lambda: listed(("the", "cat", "a-b")),
}
WORDS = [
    "the", "cat", "didn't", "voussoirs", "“Lily”", "日本語", "😀", "a-b", ",", ".", "'s", "1894", "<", "é",
    "[SEP]", "…", "⒈",
]  # fmt: skip
LINE = st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join)


def same(found: Tokens, expected: Tokens) -> None:
    """All that is known of both, offsets and texts aside."""
    assert found.pieces == expected.pieces
    for name, dtype in FIELDS.items():
        one, other = getattr(found, name), getattr(expected, name)
        if name != "offsets":
            assert (one is None) == (other is None), name
            if one is not None:
                assert one.dtype == dtype
                np.testing.assert_array_equal(one, other, err_msg=name)
    assert list(found.classes) == list(expected.classes)
    for name, mask in expected.classes.items():
        np.testing.assert_array_equal(found.classes[name], mask, err_msg=name)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, deadline=None)
@given(st.lists(LINE, min_size=1, max_size=4), st.lists(LINE, max_size=3))
def test_joined_lines_are_what_their_text_is(kind: str, first: list[str], second: list[str]) -> None:
    tokenizer = KINDS[kind]()
    reader = bulk(tokenizer)
    if reader is None:
        return
    read = reader.lines([*first, *second])
    for text, line in zip([*first, *second], read, strict=True):
        if line is not None:
            same(reader.inputs([[[line]]])[0], encode(tokenizer, text))
            assert line.alone == len(encode(tokenizer, text, special=False))
    if any(line is None for line in read):
        return
    lines = [line for line in read if line is not None]
    halves = [each for each in (lines[: len(first)], lines[len(first) :]) if each]
    texts = [" ".join(each) for each in (first, second) if each]
    together = reader.inputs([halves, halves[:1], halves])
    for found, own in zip(together, (texts, texts[:1], texts), strict=True):
        same(found, encode(tokenizer, *own))


@pytest.mark.parametrize("kind", ["demo", "byte_level", "roberta", "unigram"])
def test_most_lines_are_read_together(kind: str) -> None:
    reader = bulk(KINDS[kind]())
    lines = ["the cat sat on the mat", "she asked it to", "nobody was there"]
    assert all(line is not None for line in reader.lines(lines))


def test_what_needs_its_text_is_left_to_it() -> None:
    reader = bulk(demo())
    assert reader.join == "apart"
    for text in ("", " a", "a ", "a [SEP] b", "⒈ a", "a\u00a0b", "😀"):
        assert reader.lines([text]) == [None], text
    spaced = bulk(byte_level())
    assert spaced.join == "spaced"
    assert spaced.lines(["“a”"]) == [None]  # half a character a piece


@settings(max_examples=60, deadline=None)
@given(LINE, st.integers(3, 12))
@pytest.mark.parametrize("kind", ["demo", "byte_level", "unigram"])
def test_a_long_line_is_cut_where_its_text_is(kind: str, text: str, size: int) -> None:
    tokenizer = KINDS[kind]()
    reader = bulk(tokenizer)
    (line,) = reader.lines([text])
    if line is None or line.alone <= size:
        return
    found = reader.split(text, line, size)
    if found is not None:
        assert [part for part, _ in found] == split(tokenizer, text, size)
        for part, own in found:
            same(reader.inputs([[[own]]])[0], encode(tokenizer, part))


@pytest.mark.parametrize("kind", ["demo", "roberta", "byte_level", "unigram"])
@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.lists(LINE, min_size=1, max_size=6), min_size=1, max_size=3), st.none() | st.integers(12, 40)
)
def test_a_corpus_read_bare_is_the_corpus(kind: str, documents: list[list[str]], pack: int | None) -> None:
    examples = [
        Example(text=line, document=number, source=f"x:{number}")
        for number, lines in enumerate(documents)
        for line in lines
    ]
    model = Reader(KINDS[kind](), 512)
    whole, bare = (Corpus("x", lambda: iter(examples), pack=pack) for _ in range(2))
    expected, found = list(whole.encoded(model)), list(bare.encoded(model, bare=True))
    assert len(found) == len(expected)
    assert vars(bare.counts) == vars(whole.counts)
    for one, other in zip(found, expected, strict=True):
        wanted = (other.text, other.pair, other.document, other.source)
        assert (one.text, one.pair, one.document, one.source) == wanted
        assert one.tokens is not None
        assert other.tokens is not None
        same(one.tokens, other.tokens)


@pytest.mark.parametrize("run", [hs.measure, hs.distance], ids=["measure", "distance"])
def test_figures_of_a_corpus_read_bare(
    demo: hs.models.Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Any
) -> None:
    """Runs read without the texts of tokens, and say what they say with them."""
    path = tmp_path / "text.txt"
    path.write_text(
        "\n".join(example.text or "" for example in hs.corpora.builtin(pack=None)), encoding="utf-8"
    )
    corpus = hs.corpora.text(path, pack=64, documents="line")
    read: list[bool] = []
    encoded = Corpus.encoded

    def noted(self: Corpus, *args: Any, bare: bool = False, **more: Any) -> Any:
        read.append(bare)
        return encoded(self, *args, **more)

    found = run(demo, corpus, limit=12)
    monkeypatch.setattr(Corpus, "encoded", noted)  # with their texts, whatever is asked for
    expected = run(demo, corpus, limit=12)
    assert read
    assert all(read)
    xr.testing.assert_identical(found.drop_attrs(), expected.drop_attrs())


def test_measures_of_ones_own_are_given_the_texts(demo: hs.models.Model, tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("The cat sat.\nIt was tired.\n", encoding="utf-8")
    given: list[Any] = []

    @hs.pair_measure("told", "Mass on whatever.")
    def told(tokens: Any, queries: Any) -> Any:
        given.append(tokens.texts)
        return np.ones((len(queries), len(tokens)), bool)

    corpus = hs.corpora.text(path, pack=64, documents="line")
    hs.measure(demo, corpus, measures=["previous", told])
    assert given
    assert all(texts is not None for texts in given)


def test_a_slow_tokenizer_reads_one_at_a_time(tmp_path: Any) -> None:
    assert bulk(slow(tmp_path)) is None
    assert bulk(None) is None
