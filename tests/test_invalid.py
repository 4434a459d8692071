"""Every file of tests/invalid is refused with one line: the name of the file says its error, this table the words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import pytest

from headscope import corpora
from headscope.corpora import Corpus
from headscope.errors import CorpusError, InputError
from tests.helpers.small_tokenizers import Reader, demo

FOLDER = Path(__file__).parent / "invalid"

CORPORA = {
    "text_empty_file.txt": ": expected text, found an empty file",
    "text_blank_lines_only.txt": ": expected text, found blank lines only",
    "text_not_utf8.txt": ":2: expected UTF-8 text, found the byte 0xe9 (byte 18 of the line, 28 of the file)",
    "text_utf16.txt": ": expected text of UTF-16, found bytes that are none (truncated data)",
    "jsonl_empty_file.jsonl": ": expected text, found an empty file",
    "jsonl_blank_lines_only.jsonl": ": expected JSON objects, found blank lines only",
    "jsonl_not_utf8.jsonl": ":2: expected UTF-8 text, found the byte 0xff (byte 11 of the line, 28 of the file)",
    "jsonl_broken_json.jsonl": ":2: expected a JSON object, found broken JSON at column 21 (Expecting ',' delimiter)",
    "jsonl_cut_line.jsonl": ":2: expected a JSON object, found broken JSON at column 10 (Unterminated string starting at)",
    "jsonl_number_too_long.jsonl": ":1: expected a JSON object, found JSON that cannot be read (a number of too many digits)",
    "jsonl_nested_too_deeply.jsonl": ":1: expected a JSON object, found JSON that cannot be read (nested too deeply)",
    "jsonl_not_an_object.jsonl": ":2: expected a JSON object, found a list",
    "jsonl_no_key.jsonl": ":1: expected one of the keys 'text', 'words', 'tokens', 'messages', 'prompt_token_ids', found 'heading', 'id'",
    "jsonl_empty_object.jsonl": ":1: expected one of the keys 'text', 'words', 'tokens', 'messages', 'prompt_token_ids', found none",
    "jsonl_two_keys.jsonl": ":2: expected one of the keys 'text', 'words', 'tokens', 'messages', 'prompt_token_ids', found 'text' and 'tokens'",
    "jsonl_pair_without_text.jsonl": ":1: expected 'pair' only beside 'text', found it beside 'words'",
    "jsonl_pair_words_without_words.jsonl": ":1: expected 'pair_words' only beside 'words', found it beside 'text'",
    "jsonl_text_is_a_number.jsonl": ":1: 'text': expected a string, found a number",
    "jsonl_text_is_empty.jsonl": ":1: 'text': expected some text, found ' '",
    "jsonl_text_is_null.jsonl": ":1: 'text': expected a string, found null",
    "jsonl_text_has_half_a_surrogate_pair.jsonl": ":1: 'text': expected Unicode text, found half a surrogate pair at character 2",
    "jsonl_words_is_a_string.jsonl": ":1: 'words': expected a list of strings, found a string",
    "jsonl_words_is_empty.jsonl": ":1: 'words': expected a list of strings, found an empty list",
    "jsonl_word_is_a_number.jsonl": ":1: 'words'[1]: expected a string, found a number",
    "jsonl_token_is_empty.jsonl": ":1: 'tokens'[1]: expected some text, found ''",
    "jsonl_tags_too_few.jsonl": ":1: 'tags': expected 2, one a word, found 1",
    "jsonl_tags_without_words.jsonl": ":1: expected 'tags' only beside 'words', found it beside 'text'",
    "jsonl_tag_is_a_number.jsonl": ":1: 'tags'[1]: expected a string, found a number",
    "encoded_tag_is_a_class.jsonl": ":2: tags[1]: expected another name than that of a class of tokens, found 'SEP'",
    "jsonl_label_is_an_object.jsonl": ":1: 'label': expected a string, a number, true or false, or a list of these, found "
    "an object",
    "jsonl_document_is_true.jsonl": ":1: 'document': expected a string or a number, found true or false",
    "jsonl_document_comes_back.jsonl": ":3: 'document': expected the lines of 'x' together, found it again",
    "conllu_comments_only.conllu": ":1: sentence s-1: expected words, found comments only",
    "conllu_missing_tab.conllu": ":6: sentence s-1: expected 10 columns parted by tabs, found 9",
    "conllu_word_id_is_no_number.conllu": ":6: sentence s-1: expected CoNLL-U, found a line that cannot be read ('x1' is not a valid ID.)",
    "conllu_id_is_missing.conllu": ":7: sentence s-1: expected the word id 2, found 3",
    "conllu_head_is_no_number.conllu": ":6: sentence s-1: expected a number as head, found 'two'",
    "conllu_head_is_missing.conllu": ":6: sentence s-1: expected a head, found _",
    "conllu_head_out_of_range.conllu": ":6: sentence s-1: expected a head from 0 to 2, found 7",
    "conllu_head_is_itself.conllu": ":6: sentence s-1: expected another word as head, found the word itself (1)",
    "conllu_relation_is_missing.conllu": ":6: sentence s-1: expected a relation, found _",
    "conllu_no_root.conllu": ":6: sentence s-1: expected one root, found none",
    "conllu_two_roots.conllu": ":7: sentence s-1: expected one root, found 2: words 1, 2; a tree has one, from which it is read",
    "conllu_cycle.conllu": ":6: sentence s-1: expected a tree, found a cycle: 1 → 2 → 3 → 1",
    "conllu_entity_never_begins.conllu": ":7: sentence s-1: word 2: Entity: expected an open bracket of 'e1', found its end in 'e1)'",
    "conllu_entity_never_ends.conllu": ":6: sentence s-1: word 1: Entity: expected the end of 'e1' in the same sentence, found none",
    "conllu_entity_is_no_bracket.conllu": ":6: sentence s-1: word 1: Entity: expected brackets such as (e1 or e1), found 'e1'",
    "encoded_sentence_too_long.conllu": ":6: sentence s-1: expected at most 512 tokens in a sentence, found 602",
    "encoded_unknown_piece.jsonl": ":2: pieces[1]: expected a piece of the tokenizer's vocabulary, found 'qwertyuiop'; name words 'words'",
    "encoded_pair_too_long.jsonl": ":1: expected at most 512 tokens for a pair of texts, found 603",
    "encoded_tokens_too_long.jsonl": ":1: expected at most 512 tokens for tokens taken as they are, found 600",
    "encoded_word_too_long.jsonl": ":1: words: expected at most 510 pieces in a word, found 600 in '....................'…",
    "encoded_pair_without_tokens.jsonl": ":1: pair: expected at least one token, found none in '\\u200b'",
}


def read(path: Path) -> Iterable[object]:
    """All examples of a corpus file, with tokens."""
    makers: dict[str, Callable[..., Corpus]] = {
        ".txt": partial(corpora.text, pack=None, strict=True),
        ".jsonl": partial(corpora.jsonl, strict=True),
        ".conllu": partial(corpora.conllu, strict=True),
    }
    return list(makers[path.suffix](path).encoded(Reader(demo(), 512)))


def test_every_file_has_its_words() -> None:
    assert {path.name for path in (FOLDER / "corpora").iterdir()} == set(CORPORA)


@pytest.mark.parametrize("name", CORPORA)
def test_corpus_is_refused(name: str) -> None:
    path = FOLDER / "corpora" / name
    with pytest.raises(InputError) as error:
        read(path)
    assert str(error.value) == f"{path}{CORPORA[name]}"
    assert "\n" not in str(error.value)
    line = re.match(r":(\d+):", CORPORA[name])
    if isinstance(error.value, CorpusError):  # else the fault is of no one line
        assert error.value.line == (int(line[1]) if line else None)


def test_a_missing_file_and_a_directory(tmp_path: Path) -> None:
    for make in (corpora.text, corpora.jsonl):
        with pytest.raises(CorpusError) as error:
            make(tmp_path / "none.txt")
        assert str(error.value) == f"{tmp_path}/none.txt: expected a file, found nothing there"
        with pytest.raises(CorpusError) as error:
            make(tmp_path)
        assert re.fullmatch(
            rf"{tmp_path}: expected files that end in [a-z., ]+, found no files that are not hidden",
            str(error.value),
        )
