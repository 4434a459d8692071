"""Texts, words and pieces as tokens; parts that fit; padding."""

from __future__ import annotations

import itertools
import json
import re
import unicodedata
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers
from torch import nn
from transformers import AutoTokenizer, PreTrainedTokenizerFast, tokenization_utils_base

from headscope.core import words
from headscope.core.bytelevel import LETTERS, merged, readable, vocabulary_piece
from headscope.core.demo import demo_folder
from headscope.core.tokens import Tokens, is_space
from headscope.errors import InputError, ModelError
from headscope.models import Model
from headscope.models.encode import (
    collate,
    count,
    encode,
    encode_all,
    from_ids,
    from_pieces,
    from_words,
    split,
)
from tests.helpers.small_tokenizers import byte_level, demo, listed, roberta, slow, stories, unigram

LETTER = {byte: letter for letter, byte in LETTERS.items()}
SPACES = str.maketrans("▁Ġ", "  ")
HARD = "a\x00b </script> 👩‍🚀 שלום עולם 日本語 “quoted” " + "x" * 60 + " İ ﬁ"


def spans(tokens: Tokens) -> list[str]:
    """The pieces of each word, one string a word."""
    keys = zip(tokens.sequence_ids.tolist(), tokens.word_ids.tolist(), tokens.pieces, strict=True)
    inside = [(key, piece) for *key, piece in keys if key[1] >= 0]
    return [
        "".join(piece for _, piece in run) for _, run in itertools.groupby(inside, key=lambda one: one[0])
    ]


def named(tokens: Tokens, name: str) -> list[str]:
    return [tokens.pieces[place] for place in np.flatnonzero(tokens.mask(name))]


@pytest.fixture(params=["demo", "stories", "byte_level", "untrimmed", "roberta", "unigram", "slow"])
def tokenizer(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    match request.param:
        case "stories":
            return stories(request.getfixturevalue("shared"))
        case "slow":
            return slow(tmp_path)
        case "untrimmed":
            return byte_level(trim=False)
        case name:
            return {"demo": demo, "byte_level": byte_level, "roberta": roberta, "unigram": unigram}[name]()


def same(one: Tokens, other: Tokens) -> bool:
    fields = ("ids", "type_ids", "offsets", "special_mask", "word_ids", "sequence_ids")
    return (
        tuple(one.pieces) == tuple(other.pieces)
        and list(one.classes) == list(other.classes)
        and all(np.array_equal(one.classes[name], other.classes[name]) for name in one.classes)
        and all(np.array_equal(getattr(one, name), getattr(other, name)) for name in fields)
    )


# What the tokenizer says


@pytest.mark.slow
def test_pair_of_bert() -> None:
    tokens = encode(demo(), "Don't stop.", "The  voussoirs")
    assert " ".join(tokens.pieces) == "[CLS] don ' t stop . [SEP] the vo ##uss ##oir ##s [SEP]"
    assert demo().convert_ids_to_tokens(tokens.ids.tolist()) == list(tokens.pieces)
    assert tokens.type_ids.tolist() == [0] * 7 + [1] * 6
    assert tokens.sequence_ids.tolist() == [-1, 0, 0, 0, 0, 0, -1, 1, 1, 1, 1, 1, -1]
    assert tokens.word_ids.tolist() == [-1, 0, 1, 2, 3, 4, -1, 0, 1, 1, 1, 1, -1]
    assert tokens.offsets[[4, 7, 8]].tolist() == [[6, 10], [0, 3], [5, 7]]
    assert np.flatnonzero(tokens.mask("special")).tolist() == [0, 6, 12]
    assert np.flatnonzero(tokens.mask("sep")).tolist() == [6, 12]
    assert named(tokens, "cls") == ["[CLS]"]
    assert named(tokens, "punctuation") == ["'", "."]
    assert set(tokens.classes) == {"sep", "cls", "punctuation"}


def test_ids_are_the_tokenizers_own(tokenizer: Any) -> None:
    for texts in (("The cat sat, late.",), ("The cat sat.", "“Why?” she asked…"), (HARD,)):
        tokens = encode(tokenizer, *texts)
        assert tokens.ids.tolist() == tokenizer(*texts)["input_ids"]
        raw = tokenizer.convert_ids_to_tokens(tokens.ids.tolist())
        assert [vocabulary_piece(piece) if "Ġ" in "".join(raw) else piece for piece in tokens.pieces] == raw


def test_without_special_tokens(tokenizer: Any) -> None:
    tokens = encode(tokenizer, "The cat sat.", "Why?", special=False)
    assert not tokens.mask("special").any()
    assert len(tokens) == sum(count(tokenizer, ["The cat sat.", "Why?"]))


def test_classes_are_those_the_tokenizer_has(shared: Path) -> None:
    expected = {
        "sep cls punctuation": demo(),
        "sep cls  punctuation": roberta(),
        "bos eos punctuation": stories(shared),
        "bos punctuation": byte_level(),
        "eos punctuation": unigram(),
    }
    for names, made in expected.items():
        assert list(encode(made, "The cat sat.").classes) == names.split()
    tokens = encode(roberta(), "The cat.", "It sat.")
    assert named(tokens, "sep") == ["</s>", "</s>", "</s>"]
    assert named(tokens, "cls") == ["<s>"]
    assert encode(stories(shared), "The cat.").mask("bos").tolist()[:2] == [True, False]
    assert not encode(stories(shared), "The cat.").mask("eos").any()


def test_control_tokens_in_the_text_are_special() -> None:
    tokens = encode(demo(), "left [SEP] right [MASK]")
    assert np.flatnonzero(tokens.mask("special")).tolist() == [0, 2, 4, 5]
    assert np.flatnonzero(tokens.mask("sep")).tolist() == [2, 5]
    assert tokens.word_ids.tolist() == [-1, 0, -1, 1, -1, -1]


def test_unknown_tokens_are_not_special() -> None:
    tokens = encode(demo(), "🫥 x")
    assert tokens.pieces == ("[CLS]", "[UNK]", "x", "[SEP]")
    assert tokens.mask("special").tolist() == [True, False, False, True]
    assert encode(unigram(), "The 日本 cat").pieces.count("<unk>") == 1


def test_punctuation_is_judged_by_the_text(tokenizer: Any) -> None:
    text = "“Why?” $5 — (so): a.b…"
    tokens = encode(tokenizer, text)
    marked = named(tokens, "punctuation")
    if tokens.offsets is None:
        assert marked == ["“", "?", "”", "—", "(", ")", ":", ".", "…"]
        return
    seen = {
        place
        for start, end in tokens.offsets[tokens.mask("punctuation")].tolist()
        for place in range(start, end)
    }
    assert {place for place in seen if not text[place].isspace()} == {
        place for place, character in enumerate(text) if unicodedata.category(character)[0] == "P"
    }


def test_newlines_are_not_punctuation(shared: Path) -> None:
    assert named(encode(stories(shared), "a\n\nb."), "punctuation") == ["."]
    assert named(encode(byte_level(), "a\n\nb."), "punctuation") == ["."]


# Words


def test_words_of_bert_are_its_pre_tokenizers(shared: Path) -> None:
    with (shared / "data" / "text" / "wikitext2-valid.txt").open(encoding="utf-8") as file:
        for line in itertools.islice((line for line in file if line.strip()), 300):
            tokens = encode(demo(), line)
            given = demo()(line).encodings[0].word_ids
            assert tokens.word_ids.tolist() == [-1 if word is None else word for word in given]


def test_pieces_of_one_character_are_of_one_word(shared: Path) -> None:
    assert spans(encode(stories(shared), "a “日 b")) == ["▁a", "▁“", "<0xE6><0x97><0xA5>", "▁b"]
    for trim in (True, False):
        assert spans(encode(byte_level(trim=trim), "it 😀 is…?")) == [
            *("it", "Ġ<0xF0><0x9F><0x98><0x80>", "Ġis", "<0xE2><0x80><0xA6>", "?")
        ]


SCRIPTS = {
    "Der müde Hund. “Привет”": "Der müde Hund . “ Привет ”",
    "cafe\u0301, e\u0301le\u0300ve": "cafe\u0301 , e\u0301le\u0300ve",
    "नमस्ते दुनिया": "नमस्ते दुनिया",
    "السَّلامُ عليكم": "السَّلامُ عليكم",
    "שָׁלוֹם עולם": "שָׁלוֹם עולם",
    "می\u200cخواهم بروم": "می\u200cخواهم بروم",
    "今天很好。": "今 天 很 好 。",
    "東京のテスト": "東 京 のテスト",
    "ภาษาไทย": "ภาษาไทย",
    "👩‍💻 ❤️ok": "👩‍💻 ❤️ ok",
}
"""Texts and their words."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["byte_level", "untrimmed", "roberta", "stories"])
@pytest.mark.parametrize("text", SCRIPTS)
def test_words_of_all_scripts(kind: str, text: str, shared: Path) -> None:
    """A combining mark or a joiner begins no word; a Chinese character is one; pieces are those of the text."""
    made = {"roberta": roberta, "byte_level": byte_level, "untrimmed": lambda: byte_level(trim=False)}
    tokenizer = stories(shared) if kind == "stories" else made[kind]()
    tokens = encode(tokenizer, text, special=False)
    if kind == "stories" and "❤" in text:  # which knows no words within a text: only white space parts them
        assert "".join(words.words(tokens).pieces) == text.replace(" ", "")
        return
    assert list(words.words(tokens).pieces) == SCRIPTS[text].split()
    assert merged("".join(tokens.pieces)).translate(SPACES).strip() == text
    for same in (tokens.pieces, tokenizer.convert_ids_to_tokens(tokens.ids.tolist())):
        assert np.array_equal(from_pieces(tokenizer, same).ids, tokens.ids)


@given(st.lists(st.binary(min_size=1, max_size=6), min_size=1, max_size=6))
def test_bytes_and_characters_are_told_from_each_other(parts: list[bytes]) -> None:
    alphabet = {0x20: "Ġ", 0x0A: "Ċ", 0x41: "A"}
    for own in (*parts, b"".join(parts)):
        raw = "".join(LETTER[byte] for byte in own)
        assert vocabulary_piece(readable(raw)) == raw
    assert {LETTER[byte] for byte in alphabet} == set(alphabet.values())
    assert readable("Ċ") == "\n"
    assert readable("ĠÄł") == "ĠG\u0307", "the letter with a dot is no space"


def test_ids_that_are_no_text_have_readable_pieces() -> None:
    tokens = from_ids(byte_level(), byte_level().convert_tokens_to_ids(["Ã", "¼", "Ã", "a", "<|endoftext|>"]))
    assert tokens.pieces == ("<0xC3>", "<0xBC>", "<0xC3>", "a", "<|endoftext|>")
    assert words.joined(tokens.pieces[:4]) == "ü<0xC3>a"


SPACED = "The cat (the  cat) is “is”,  “the”   cat\nis . "


def test_a_piece_that_stands_for_spaces_is_of_the_word_that_follows(tokenizer: Any) -> None:
    """``▁ (`` is a bracket, and ``▁ ▁ c at`` is a cat, whatever the tokenizer makes of several spaces."""
    tokens = encode(tokenizer, SPACED)
    assert tokens.word_ids is not None
    read = words.words(tokens)
    spoken = [
        piece
        for piece in read.pieces
        if not is_space(piece) and piece not in ("[CLS]", "[SEP]", "<s>", "</s>")
    ]
    assert {"“", "”"} < set(spoken)
    bare = [piece.removeprefix("<unk>") for piece in spoken if piece not in ("“", "”")]
    assert " ".join(bare).lower() == "the cat ( the cat ) is is , the cat is ."
    marked = [piece for piece, mark in zip(read.pieces, read.mask("punctuation"), strict=True) if mark]
    assert len(marked) == 8, "the word of ▁ and a sign is a sign"


@pytest.mark.parametrize("kind", ["stories", "byte_level", "unigram"])
def test_only_a_last_space_stands_alone(kind: str, shared: Path) -> None:
    made = {"stories": lambda: stories(shared), "byte_level": byte_level, "unigram": unigram}[kind]()
    tokens = encode(made, "a  ( b ) ")
    read = words.words(tokens)
    lone = [is_space(piece) for piece in read.pieces if piece not in ("<s>", "</s>")]
    assert lone == [False] * 4 + [True]


def test_marks_alone_tell_the_same_words() -> None:
    pieces = ["▁The", "▁", "c", "at", "▁", "▁", "c", "at", ".", "▁", "▁The", "</s>"]
    tokens = from_pieces(unigram(), pieces)
    assert tokens.word_ids.tolist() == [0, 1, 1, 1, 2, 2, 2, 2, 3, 4, 4, -1]


def test_contractions_are_the_tokenizers_choice() -> None:
    assert spans(encode(demo(), "didn't")) == ["didn", "'", "t"]
    assert spans(encode(byte_level(), "didn't")) == ["didn", "'t"]


@pytest.mark.slow
@given(st.text(alphabet=st.characters(codec="utf-8"), min_size=1, max_size=40))
def test_words_run_on_in_order(text: str) -> None:
    for tokenizer in (demo(), byte_level(), unigram()):
        try:
            tokens = encode(tokenizer, text)
        except InputError:  # a text without any piece
            assert count(tokenizer, [text]) == [0]
            continue
        words = tokens.word_ids[~tokens.mask("special")]
        assert len(words) == 0 or words[0] == 0
        assert set(np.diff(words).tolist()) <= {0, 1}
        assert (tokens.word_ids[tokens.mask("special")] == -1).all()


# Words given


def test_given_words_are_indexed(tokenizer: Any) -> None:
    words = ["Don't", "go", ",", "“", "Lily", "”", "10 000", "..."]
    tokens = from_words(tokenizer, words, ["The", "cat"])
    assert tokens.sequence_ids is not None
    for number, given_words in enumerate((words, ["The", "cat"])):
        here = tokens.word_ids[(tokens.sequence_ids == number) & ~tokens.mask("special")]
        assert sorted(set(here.tolist())) == list(range(len(given_words)))
        assert (np.diff(here) >= 0).all()


@pytest.mark.parametrize("kind", ["stories", "byte_level", "untrimmed", "roberta"])
def test_pieces_of_given_words_are_their_bytes(kind: str, request: pytest.FixtureRequest) -> None:
    """Words with spaces in them, combining characters, joiners and several bytes a character: no piece goes astray."""
    words = [
        "New York", "e\u0301te\u0301", "10 000", "q\u0307", "日本 語", "👩‍👩‍👧", "a\u00a0b", "don't", "ﬁn",
        ".",
    ]  # fmt: skip
    made: dict[str, Any] = {
        "byte_level": byte_level,
        "untrimmed": lambda: byte_level(trim=False),
        "roberta": roberta,
    }
    own = stories(request.getfixturevalue("shared")) if kind == "stories" else made[kind]()
    tokens = from_words(own, words)
    assert tokens.word_ids is not None
    for number, word in enumerate(words):
        pieces = [tokens.pieces[place] for place in np.flatnonzero(tokens.word_ids == number)]
        parts = [
            bytes.fromhex(part[3:5]) if part.startswith("<0x") else part.translate(SPACES).encode()
            for part in re.split("(<0x[0-9A-F]{2}>)", "".join(pieces))
        ]
        assert b"".join(parts).decode().removeprefix(" ") == word


def test_given_words_are_read_as_running_text() -> None:
    assert (
        from_words(byte_level(), ["The", "cat", "sat"]).pieces == encode(byte_level(), "The cat sat").pieces
    )
    assert "Ġcat" in from_words(byte_level(), ["The", "cat", "sat"]).pieces


def test_given_words_of_a_treebank_have_the_pieces_of_each_word(shared: Path) -> None:
    """For BERT, reading words in running text gives what reading them one by one gives."""
    for sentence in json.loads((shared / "reference" / "sentences.json").read_text(encoding="utf-8")):
        words = sentence["words"] if isinstance(sentence, dict) else sentence
        tokens = from_words(demo(), words)
        encoding = demo()(words, is_split_into_words=True).encodings[0]
        assert list(tokens.pieces) == encoding.tokens
        assert tokens.word_ids.tolist() == [-1 if word is None else word for word in encoding.word_ids]


@pytest.mark.slow
def test_slow_and_fast_agree(tmp_path: Path) -> None:
    for texts in (("Don't stop, “Lily”!", "A voussoir: 日本."), ("The cat",)):
        one, other = encode(slow(tmp_path), *texts), encode(demo(), *texts)
        assert one.pieces == other.pieces
        for name in ("ids", "special_mask", "word_ids", "sequence_ids"):
            assert getattr(one, name).tolist() == getattr(other, name).tolist(), name
        assert {name: mask.tolist() for name, mask in one.classes.items()} == {
            name: mask.tolist() for name, mask in other.classes.items()
        }
        assert one.offsets is None
        words = [text.split() for text in texts]
        one, other = from_words(slow(tmp_path), *words), from_words(demo(), *words)
        assert one.pieces == other.pieces
        assert one.word_ids.tolist() == other.word_ids.tolist()


# Pieces given


def test_reference_segments_keep_their_ids(shared: Path) -> None:
    segments = json.loads((shared / "reference" / "segments.json").read_text(encoding="utf-8"))
    for segment in segments:
        tokens = from_pieces(demo(), segment["tokens"])
        assert tokens.ids.tolist() == demo().convert_tokens_to_ids(segment["tokens"])
        assert list(tokens.pieces) == segment["tokens"]
        middle = segment["tokens"].index("[SEP]")
        assert tokens.type_ids.tolist() == [0] * (middle + 1) + [1] * (len(tokens) - middle - 1)


def test_pieces_give_back_what_a_text_gave(tokenizer: Any) -> None:
    tokens = encode(tokenizer, "The cat didn't sit on the mat, late.", "It was tired.")
    again = from_pieces(tokenizer, tokens.pieces)
    names = ["ids", "special_mask"]
    if "sep" in tokens.classes:  # the tokenizer tells the two texts apart
        names += ["sequence_ids", "type_ids"]
    if tokens.pieces[0] == "[CLS]":
        names += ["word_ids"]
    for name in names:
        assert np.array_equal(getattr(again, name), getattr(tokens, name)), name
    assert {name: mask.tolist() for name, mask in again.classes.items()} == {
        name: mask.tolist() for name, mask in tokens.classes.items()
    }


def test_words_of_given_pieces_are_told_by_marks_and_punctuation() -> None:
    assert spans(from_pieces(demo(), ["[CLS]", "vo", "##uss", "cat", "-", "cat", "[SEP]", "cat"])) == [
        *("vo##uss", "cat", "-", "cat", "cat")
    ]
    assert spans(from_pieces(byte_level(), ["The", "Ġmat", "e", ",", "o", "Ġ", ".", "a", "ĠâĢľ", "a"])) == [
        *("The", "Ġmate", ",", "o", "Ġ.", "a", "Ġ“", "a")
    ]


def test_the_unknown_piece_is_a_piece() -> None:
    assert from_pieces(demo(), ["[CLS]", "[UNK]", "[SEP]"]).mask("special").tolist() == [True, False, True]


# Hard texts


def test_nothing_is_cut_or_padded_and_no_one_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[object] = []
    monkeypatch.setattr(tokenization_utils_base.logger, "warning", lambda *args: said.append(args))
    tokenizer = AutoTokenizer.from_pretrained(demo_folder())
    tokenizer.backend_tokenizer.enable_truncation(8)
    tokenizer.backend_tokenizer.enable_padding(length=2000)
    with warnings.catch_warnings(action="error"):
        assert len(encode(tokenizer, "cat " * 1000)) == 1002
        assert count(tokenizer, ["cat " * 1000, "cat"]) == [1000, 1]
    assert not said


# Parts that fit


WORDS = ["The", "cat's", "un</script>believable", "\x00", "日本語", "…", " ", "", "\ud800"]
INPUTS = st.lists(
    st.one_of(
        st.tuples(st.one_of(st.text(max_size=12), st.just(HARD))),
        st.tuples(st.text(max_size=8), st.text(max_size=8)),
        st.tuples(st.lists(st.sampled_from(WORDS), max_size=5)),
        st.tuples(st.lists(st.sampled_from(WORDS), max_size=3), st.lists(st.sampled_from(WORDS), max_size=3)),
    ),
    max_size=6,
)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [demo, byte_level, roberta])
@given(inputs=INPUTS)
def test_inputs_read_together_are_those_read_alone(kind: Any, inputs: list[Any]) -> None:
    tokenizer = kind()
    together = encode_all(tokenizer, inputs)
    assert len(together) == len(inputs)
    for one, given_ in zip(together, inputs, strict=True):
        try:
            alone = (encode if isinstance(given_[0], str) else from_words)(tokenizer, *given_)
        except InputError:
            assert one is None
        else:
            assert one is not None
            assert same(one, alone)


@given(st.text(alphabet="ab .,\n日“é😀", min_size=1, max_size=120), st.integers(6, 20))
def test_parts_fit_and_lose_nothing(text: str, size: int) -> None:
    for tokenizer in (demo(), byte_level()):
        parts = split(tokenizer, text, size)
        assert max(count(tokenizer, parts)) <= size
        assert "".join(parts).replace(" ", "") == text.replace(" ", "")
        if count(tokenizer, [text])[0] <= size:
            assert parts == [text]


def test_parts_are_cut_at_white_space_else_between_pieces(tmp_path: Path) -> None:
    text = "one two three four five six seven"
    assert split(demo(), text, 3) == ["one two three", "four five six", "seven"]
    assert split(slow(tmp_path), text, 3) == ["one two three", "four five six", "seven"]
    assert split(demo(), "one two six voussoirs voussoirs", 5) == ["one two six", "voussoirs", "voussoirs"]
    assert split(demo(), "one voussoirs", 3) == ["one vouss", "oirs"]
    assert split(demo(), "日本語" * 3, 4) == ["日本語日", "本語日本", "語"]
    assert split(slow(tmp_path), "日本語" * 3, 4) == ["日本語日", "本語日本", "語"]
    assert split(demo(), "a " + "日本語" * 2, 4) == ["a 日本語", "日本語"]


def test_one_character_may_not_fit() -> None:
    message = "text: character 1 ('😀') alone has more than 3 pieces"
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        split(byte_level(), "a😀", 3)


# Padding


def test_padding() -> None:
    arrays = collate(
        [encode(demo(), "cat"), encode(demo(), "cat", "cat", special=False), encode(demo(), "a cat")], 7
    )
    assert arrays["input_ids"][0].tolist() == [101, 4937, 102, 7]
    assert arrays["attention_mask"].sum(1).tolist() == [3, 2, 4]
    assert (arrays["input_ids"][arrays["attention_mask"] == 0] == 7).all()
    assert arrays["token_type_ids"].shape == arrays["input_ids"].shape == (3, 4)


def test_padding_keeps_types_only_where_all_have_them() -> None:
    both = [encode(demo(), "cat", "dog"), encode(byte_level(), "cat")]
    assert set(collate(both, 0)) == {"input_ids", "attention_mask"}
    assert collate(both[:1], 0)["token_type_ids"].tolist() == [[0, 0, 0, 1, 1]]


def test_padding_of_nothing() -> None:
    with pytest.raises(InputError, match=r"^batch: expected at least one input, found none$"):
        collate([], 0)
    with pytest.raises(InputError, match=r"^batch\[0\]: expected tokens with ids, found pieces only$"):
        collate([Tokens(["a"])], 0)


@pytest.mark.parametrize("kind", [models.WordPiece, models.WordLevel])
def test_a_tokenizer_without_a_piece_for_the_unknown(kind: Any) -> None:
    made = Tokenizer(kind({"the": 0, "cat": 1}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made)
    assert encode(tokenizer, "the cat").pieces == ("the", "cat")
    with pytest.raises(
        InputError,
        match=r"^text: expected what the tokenizer has pieces for, .* found 'the dog' \(Exception: Word",
    ):
        encode(tokenizer, "the dog")


@pytest.mark.parametrize("known", [("C", "N", "O"), ("C", "N", "O", " ")], ids=["unknown", "known"])
def test_words_are_refused_where_a_space_is_a_piece(known: tuple[str, ...]) -> None:
    """As in tokenizers of molecules, whose texts have no spaces."""
    tokenizer = listed(known, letters=True)
    piece = " " if " " in known else r"\[UNK\]"
    told = rf"^words: .* found one that makes a space a piece of its own \('{piece}' in 'C N O'\); give text or tokens"
    with pytest.raises(InputError, match=told):
        from_words(tokenizer, ["C", "N", "O"])
    with pytest.raises(InputError, match=told):
        from_words(tokenizer, ["C"], ["C", "N", "O"])
    assert from_words(tokenizer, ["CNO"]).pieces == ("[CLS]", "C", "N", "O", "[SEP]")
    assert encode(tokenizer, "CNO").pieces == ("[CLS]", "C", "N", "O", "[SEP]")


def test_words_are_joined_where_the_vocabulary_marks_spaces(shared: Path) -> None:
    """A space before what has no piece with a space is a piece of that word."""
    assert "▁" in from_words(stories(shared), ["one", "7", "é"]).pieces
    assert from_words(listed(("C", "N")), ["C", "N"]).word_ids is not None


@pytest.mark.slow
@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("content", ["\x01", "\u00ad", "\u0301", "\ufeff"])
def test_an_added_token_of_which_nothing_is_left_is_refused(content: str, special: bool) -> None:
    """It would be found between any two letters: "the cat" falls apart, or is read until memory is full."""
    for normalized in (True, False):
        tokenizer: Any = AutoTokenizer.from_pretrained(demo_folder())
        tokenizer.add_tokens([AddedToken(content, normalized=normalized, special=special)])
        if normalized:
            with pytest.raises(
                ModelError, match=re.escape(f"found {content!r} (id {len(tokenizer) - 1}), which")
            ):
                Model(nn.Linear(1, 1), tokenizer)
        else:
            expected = ("[CLS]", "the", "cat", "[SEP]")
            assert Model(nn.Linear(1, 1), tokenizer).encode("the cat").pieces == expected
