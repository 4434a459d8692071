"""Views show words and texts as they were written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headscope as hs
from headscope.attention.generate import written_texts
from headscope.core.tokens import Tokens
from headscope.core.words import words
from headscope.models.encode import encode
from headscope.views.explorer import explorer_payload
from headscope.views.inputs import Input, in_words, runs
from headscope.views.view import View
from tests.helpers.small_models import save_gpt2
from tests.helpers.small_tokenizers import Reader, byte_level, demo, roberta, stories, unigram

SENTENCE = 'You\'re late, ☃ Café "Date."'
KINDS = {"wordpiece": demo, "bytes": byte_level, "roberta": roberta, "unigram": unigram}

letters = st.sampled_from("aBz ’'.,\n\t«é🐧👩‍💻☃中文日本кошкаعربहिन्दीßİ")
texts = st.text(letters | st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=24)


def maps_of(tokens: Tokens) -> hs.AttentionMaps:
    size = len(tokens)
    return hs.AttentionMaps([np.full((1, size, size), 1 / size, np.float32)], tokens, tokens)


def joined(tokens: Tokens) -> str:
    return "".join(text for text, _ in runs(tokens))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@given(text=texts, changed=st.sets(st.integers(0, 30)))
def test_the_runs_of_any_text_are_the_text(kind: str, text: str, changed: set[int]) -> None:
    try:
        tokens = encode(KINDS[kind](), text)
    except hs.errors.InputError:  # nothing that the tokenizer has a piece for
        return
    assert "".join(part for part, _ in runs(tokens, changed)) == text.strip()


@given(text=texts)
def test_the_words_of_any_text_are_the_text_without_spaces(text: str) -> None:
    tokens = words(encode(byte_level(), text))
    assert "".join(tokens.texts or ()) == text


def test_a_sentencepiece_tokenizer_gives_the_text_back(shared: Path) -> None:
    assert joined(encode(stories(shared), SENTENCE)) == SENTENCE


def test_two_texts_stand_apart_and_keep_their_own_spaces() -> None:
    assert joined(encode(demo(), "It's B.", "(yes)")) == "It's B. (yes)"


def test_a_label_is_one_line() -> None:
    assert in_words(encode(demo(), "One\n\n two.")) == "One two."


def test_the_page_shows_the_text_the_words_and_what_is_unknown() -> None:
    payload, _ = explorer_payload([Input({"self": maps_of(encode(demo(), SENTENCE))})])
    (one,) = payload["inputs"]
    axis = one["parts"][0]["query"]
    assert [run["text"] for run in one.get("text", [])] == [SENTENCE]
    assert axis["words"]["texts"] == [
        *("[CLS]", "You", "'", "re", "late", ",", "☃", "Café", '"', "Date", ".", '"', "[SEP]")
    ]
    assert axis["pieces"][6:8] == ["[UNK]☃", "cafe"]
    assert SENTENCE in payload["title"]


def test_stills_name_what_is_unknown() -> None:
    one = Input({"self": maps_of(encode(demo(), "a ☃ B"))})
    pieces, whole = (
        View([one], {"scale": "head", "unit": unit}).picture("svg").decode() for unit in ("pieces", "words")
    )
    assert "[UNK]☃" in pieces
    assert ">B<" in whole
    assert "[UNK]" not in whole


def test_saved_maps_keep_the_text(tmp_path: Path) -> None:
    maps = maps_of(encode(demo(), SENTENCE))
    maps.save(tmp_path / "maps.safetensors")
    assert hs.open_maps(tmp_path / "maps.safetensors").query.texts == maps.query.texts


def test_tokens_that_are_taken_keep_their_texts() -> None:
    assert encode(demo(), "One two").take([0, 2]).texts == ("", " two")


def test_words_of_a_treebank_stand_as_the_file_says(tmp_path: Path) -> None:
    rows = [("It", "_"), ("ended", "SpaceAfter=No"), (".", "_"), ("Yes", "SpaceAfter=No"), ("!", "_")]
    path = tmp_path / "one.conllu"
    path.write_text(
        "".join(
            f"{number}\t{form}\t_\tX\t_\t_\t{number - 1}\t{'dep' if number > 1 else 'root'}\t_\t{misc}\n"
            for number, (form, misc) in enumerate(rows, 1)
        )
        + "\n"
    )
    for tokenizer in (demo(), byte_level(), unigram()):
        (example,) = hs.corpora.conllu(path).encoded(Reader(tokenizer))
        assert example.tokens is not None
        assert joined(example.tokens) == "It ended. Yes!"


@given(text=texts, cut=st.integers(0, 20))
def test_what_is_written_is_decoded_as_the_whole_is(text: str, cut: int) -> None:
    tokenizer = byte_level()
    ids = tokenizer(text)["input_ids"]
    whole = tokenizer.decode(ids, clean_up_tokenization_spaces=False)
    assert "".join(written_texts(tokenizer, ids, 0)) == whole
    assert whole.endswith("".join(written_texts(tokenizer, ids, min(cut, len(ids)))).lstrip("\ufffd"))


def test_a_prompt_and_what_follows_it_read_as_a_text(tmp_path: Path) -> None:
    save_gpt2(tmp_path)
    maps = hs.generate(hs.load(str(tmp_path)), "It's late.", max_new_tokens=6)
    assert len(maps.query.texts or ()) == len(maps.query)
    assert joined(maps.query).startswith("It's late.")
