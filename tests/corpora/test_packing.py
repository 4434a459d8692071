"""Packing: nothing lost, nothing too long, documents apart, order kept."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope import corpora
from headscope.corpora import Corpus, Example
from headscope.errors import InputError
from tests.helpers.small_tokenizers import Reader, byte_level, demo, roberta, slow, stories, unigram

WORDS = ["the", "cat", "voussoirs", "didn't", "“Lily”", "日本語", "😀", "a-b", ",", ".", "unbelievable"]
LINES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)
DOCUMENTS = st.lists(st.lists(LINES, min_size=1, max_size=8), min_size=1, max_size=4)


def corpus(documents: Sequence[Sequence[str]], pack: int | None) -> Corpus:
    examples = [
        Example(text=line, document=number, source=f"x.txt:{number}")
        for number, lines in enumerate(documents)
        for line in lines
    ]
    return Corpus("x", lambda: iter(examples), pack=pack)


def joined(found: Sequence[Example], document: int) -> str:
    parts = [part for one in found if one.document == document for part in (one.text, one.pair) if part]
    return "".join("".join(parts).split())


KINDS: dict[str, Any] = {
    "demo": lambda: Reader(demo(), 512),
    "roberta": lambda: Reader(roberta(), 512),
    "unigram": lambda: Reader(unigram(), 512),
    "byte_level": lambda: Reader(byte_level(), 512, causal=True),
}


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(DOCUMENTS, st.integers(12, 40))
@pytest.mark.slow
def test_nothing_is_lost_or_too_long(kind: str, documents: list[list[str]], pack: int) -> None:
    model = KINDS[kind]()
    given_ = corpus(documents, pack)
    found = list(given_.encoded(model))
    assert max(len(one.tokens or ()) for one in found) <= pack
    numbers = [one.document for one in found]
    assert numbers == sorted(numbers)
    assert set(numbers) == set(range(len(documents)))
    for number, lines in enumerate(documents):
        assert joined(found, number) == "".join("".join(lines).split())
    assert given_.counts.examples == len(found)
    assert given_.counts.documents == len(documents)
    assert given_.counts.tokens == sum(len(one.tokens or ()) for one in found)
    assert given_.counts.cuts >= sum(
        model.count([line])[0] > pack - model.encode(line).mask("special").sum()
        for lines in documents
        for line in lines
    )


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(DOCUMENTS, st.integers(12, 40))
def test_bert_keeps_every_piece(documents: list[list[str]], pack: int) -> None:
    """BERT's pieces do not depend on what stands around a word, so packing keeps them all, in order."""
    model = Reader(demo(), 512)
    found = list(corpus(documents, pack).encoded(model))
    for number, lines in enumerate(documents):
        kept = [
            piece
            for one in found
            if one.document == number and one.tokens
            for piece, special in zip(one.tokens.pieces, one.tokens.mask("special"), strict=True)
            if not special
        ]
        assert kept == [piece for line in lines for piece in model.encode(line).pieces[1:-1]]


def test_lines_are_parted_nearest_to_the_middle() -> None:
    cases = {
        ("a", "a a a", "a a"): ("a a a a", "a a"),
        ("a a a a", "a a a", "a"): ("a a a a", "a a a a"),
        ("a", "a", "a a a a"): ("a a", "a a a a"),
        ("a", "a"): ("a", "a"),
        ("a a a", "a", "a a a"): ("a a a", "a a a a"),  # both borders are as near: the first
        ("a a",): ("a a", None),
    }
    for lines, expected in cases.items():
        found = list(corpus([lines], 20).encoded(Reader(demo(), 512)))
        assert [(one.text, one.pair) for one in found] == [expected]


def test_what_fits_is_packed() -> None:
    """Two lines of 5 and 4 pieces need 12 tokens as a pair; one line of 10 pieces needs 12 alone."""
    for pack, sizes in ((12, [12, 12]), (11, [7, 6, 11, 3])):
        found = list(corpus([["a a a a a", "a a a a"], ["a " * 10]], pack).encoded(Reader(demo(), 512)))
        assert [len(one.tokens or ()) for one in found] == sizes


def test_shape_of_a_packed_input() -> None:
    (one,) = corpus([["The cat.", "A dog."]], 16).encoded(Reader(demo(), 512))
    assert one.tokens.pieces == ("[CLS]", "the", "cat", ".", "[SEP]", "a", "dog", ".", "[SEP]")
    assert one.tokens.type_ids.tolist() == [0] * 5 + [1] * 4
    (one,) = corpus([["The cat.", "A dog."]], 40).encoded(Reader(roberta(), 512))
    assert one.tokens.mask("sep").sum() == 3
    (one,) = corpus([["The cat.", "A dog."]], 40).encoded(Reader(unigram(), 512))
    assert one.tokens.mask("eos").sum() == 2
    (one,) = corpus([["The cat."]], 16).encoded(Reader(demo(), 512))
    assert one.tokens.pieces == ("[CLS]", "the", "cat", ".", "[SEP]")


def test_causal_models_get_windows(shared: Path) -> None:
    found = list(
        corpus([["The cat.", "A dog.", "It sat. " * 3]], 24).encoded(
            Reader(stories(shared), 512, causal=True)
        )
    )
    expected = [("The cat. A dog.", None), ("It sat. It sat. It sat. ", None)]
    assert [(one.text, one.pair) for one in found] == expected
    for one in found:
        assert one.tokens.pieces[0] == "<s>"
        assert one.tokens.mask("special").sum() == 1
    (one,) = corpus([["The cat.", "A dog."]], 40).encoded(Reader(byte_level(), None, causal=True))
    assert not one.tokens.mask("special").any()


def test_causal_models_with_a_separator_get_windows_too() -> None:
    (one,) = corpus([["The cat.", "A dog."]], 8).encoded(Reader(demo(), 512, causal=True))
    assert (one.text, one.pair) == ("The cat. A dog.", None)


def test_joining_may_add_pieces() -> None:
    """Where lines have more pieces together than apart, the last goes to the next input, and none is lost."""

    class Slim(Reader):
        def count(self, texts: Sequence[str]) -> list[int]:
            return [
                size if " | " in text else size - 2
                for size, text in zip(super().count(texts), texts, strict=True)
            ]

    lines = ["a | a a a", "a a a a a a", "a a a a a a", "a a a a a a"]
    found = list(corpus([lines], 20).encoded(Slim(demo(), 512, causal=True)))
    assert joined(found, 0) == "".join("".join(lines).split())


def test_a_long_line_is_cut_and_counted(tmp_path: Path) -> None:
    for model in (Reader(demo(), 512), Reader(slow(tmp_path), 512)):
        given_ = corpus([["a b", "cat " * 25 + "end", "c d"]], 12)
        found = list(given_.encoded(model))
        assert [(one.text, one.pair) for one in found] == [
            ("a b", None),
            (("cat " * 10).strip(), None),
            (("cat " * 10).strip(), None),
            ("cat cat cat cat cat end", "c d"),
        ]
        assert given_.counts.cuts == 2
        assert [one.source for one in found] == ["x.txt:0"] * 4


def test_a_line_is_an_input_without_packing() -> None:
    given_ = corpus([["The cat.", "A dog."], ["It."]], None)
    expected = [("The cat.", 0), ("A dog.", 0), ("It.", 1)]
    assert [(one.text, one.document) for one in given_.encoded(Reader(demo(), 512))] == expected
    assert given_.counts == corpora.Counts(documents=2, examples=3, tokens=14, words=8, split_words=0)


def test_packs_hold_at_most_what_the_model_takes() -> None:
    message = "pack: expected at most the 16 tokens that the model takes, found 32"
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        corpus([["a"]], 32).encoded(Reader(demo(), 16))
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        corpus([["a"]], 32).encoded(Reader(demo(), 512), max_length=16)


PIECES = {
    "demo": (["[CLS]", "the", "cat", "[SEP]", "cat", "[SEP]"], r"\[CLS\] first and \[SEP\] last"),
    "roberta": (["<s>", "The", "Ġcat", "</s>"], "<s> first and </s> last"),
    "unigram": (["▁The", "▁cat", "</s>"], "</s> last"),
    "byte_level": (["The", "Ġcat", "Ġ", "sat"], "marks of spaces"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_tokens_are_pieces_by_the_vocabulary_and_the_layout(kind: str) -> None:
    """A file for named entities has words under `tokens`: most are pieces as well, and were measured bare."""
    model = KINDS[kind]()
    pieces, layout = PIECES[kind]
    pieces = [piece for piece in pieces if piece in model.tokenizer.get_vocab()]
    words = [["the", "cat", "at"], ["The", "cat", "qwertyuiop"], ["at", "it", "he", "no"]]
    lines = [Example(pieces=each, source=f"x:{number}") for number, each in enumerate([pieces, *words], 1)]
    own = Corpus("x", lambda: iter(lines))
    (kept,) = own.encoded(model)
    assert kept.tokens is not None
    assert kept.pieces == pieces
    said = [re.sub(r"^x:\d: ", "", str(error)) for error in own.broken]
    assert len(said) == len(words)
    for message in said:
        assert re.match(rf"tokens: expected {layout}|pieces\[\d\]: expected a piece of the", message)
        assert message.endswith("; name words 'words'")


def test_pieces_of_one_word_need_no_marks_of_spaces() -> None:
    model = KINDS["byte_level"]()
    own = [list(model.encode(text).pieces) for text in ("cat", "knot", ".", "unbelievably", "中文字也行吗")]
    lines = [Example(pieces=each, source="x:1") for each in own]
    own.pop(3)  # as long as words that nothing parts
    assert [one.pieces for one in Corpus("x", lambda: iter(lines)).encoded(model)] == own
