"""What cannot be used of a corpus is left out and listed, by every reader; a strict corpus refuses it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headscope import corpora
from headscope.corpora import Corpus
from headscope.corpora import files as text_files
from headscope.errors import CorpusError, HeadscopeWarning
from tests.helpers.small_tokenizers import Reader, demo

LONG = "word " * 30
GOOD_TREE = "1\tsleep\t_\tVERB\t_\t_\t0\troot\t_\t_\n"
LONG_TREE = "".join(
    f"{n}\tword\t_\tNOUN\t_\t_\t{n - 1}\t{'dep' if n > 1 else 'root'}\t_\t_\n" for n in range(1, 31)
)
BEGIN, CONLL = "#begin document (d); part 000\n", "d 0 0 Go VB (TOP(VP*)) - - - - * -\n"

CASES: dict[str, tuple[Callable[..., Corpus], str, int, list[str]]] = {
    "long.jsonl": (
        corpora.jsonl,
        "\n".join(map(json.dumps, [{"text": "a"}, {"text": LONG, "pair": "a"}, {"text": "b"}])),
        2,
        [":2: expected at most 16 tokens for a pair of texts, found 34"],
    ),
    "broken.jsonl": (
        corpora.jsonl,
        '{"text": "a"}\n{"text": \n[1]\n{"text": "b"}\n',
        2,
        [
            ":2: expected a JSON object, found broken JSON at column 10 (Expecting value)",
            ":3: expected a JSON object, found a list",
        ],
    ),
    "nothing.jsonl": (
        corpora.jsonl,
        json.dumps({"text": "\u200b", "pair": "a"}) + '\n{"text": "b"}',
        1,
        [":1: text: expected at least one token, found none in '\\u200b'"],
    ),
    "rows.tsv": (
        corpora.pairs,
        f"text\tpair\tlabel\na\tb\t1\na\t1\n{LONG}\ta\t1\nc\td\t\ne\tf\t2\n",
        2,
        [
            ":3: expected 3 columns, found 2",
            ":5: 'label': expected a string or a number, found ''",
            ":4: expected at most 16 tokens for a pair of texts, found 34",
        ],
    ),
    "rows.jsonl": (
        corpora.pairs,
        '{\n{"text": "a", "label": 1}\n{"text": "b"}\n{"text": "c", "label": 2}',
        2,
        [
            ":1: expected a JSON object, found broken JSON at column 2 (Expecting property name enclosed in double quotes)",
            ":3: 'label': expected a string or a number, found none",
        ],
    ),
    "trees.conllu": (
        corpora.conllu,
        f"{GOOD_TREE}\n{GOOD_TREE.replace('root', '_')}\n# sent_id = s-3\n{LONG_TREE}\n{GOOD_TREE}",
        2,
        [
            ":3: expected a relation, found _",
            ":6: sentence s-3: expected at most 16 tokens in a sentence, found 32",
        ],
    ),
    "d_conll": (
        corpora.conll2012,
        f"{BEGIN}{CONLL}\n{CONLL.replace('*))', '*)')}\n{CONLL}",
        2,
        [":4: sentence d/0/1: word 1: expected the end of the phrase 'TOP', found none"],
    ),
    "heads.txt": (
        corpora.word_heads,
        "Go 0-root\n\nGo 3-root\n",
        1,
        [":3: expected a head from 0 to 1, found 3"],
    ),
    "scopes.jsonl": (
        corpora.negations,
        "\n".join(
            json.dumps({"words": words, "cue": [0], "scope": scope})
            for words, scope in ((["no", "cat"], [1]), (["no"], [7]), (LONG.split(), [1]))
        ),
        1,
        [
            ":2: 'scope': expected places from 0 to 0, found 7",
            ":3: expected at most 16 tokens in a sentence, found 32",
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_every_reader_leaves_out_and_lists(name: str, tmp_path: Path) -> None:
    read, content, left, expected = CASES[name]
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    corpus = read(path)
    model = Reader(demo(), 16)
    assert len(list(corpus.encoded(model))) == left
    found = [str(error) for error in corpus.broken]
    assert found == [f"{path}{line}" for line in expected]
    assert len(list(corpus.encoded(model))) == left
    assert len(corpus.broken) == len(expected)  # of the last pass
    with pytest.warns(HeadscopeWarning) as told:
        corpus.tell()
    number = f"{len(expected)} input{'s' * (len(expected) > 1)}"
    assert str(told[0].message) == "\n  ".join([f"left out {number} of {name}:", *found])
    with pytest.raises(CorpusError) as error:
        list(read(path, strict=True).encoded(model))
    assert str(error.value) == found[0]


def test_what_is_left_out_keeps_nothing_alive(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a"}\n{\n', encoding="utf-8")
    corpus = corpora.jsonl(path)
    list(corpus.encoded(Reader(demo(), 16)))
    (error,) = corpus.broken
    assert error.__traceback__ is None
    assert error.__context__ is None


def test_many_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    path.write_text('{"text": "a"}\n' + "{\n" * 30, encoding="utf-8")
    with pytest.warns(HeadscopeWarning) as told:
        list(corpora.jsonl(path))
    lines = str(told[0].message).splitlines()
    assert lines[0] == "left out 30 inputs of many.jsonl:"
    assert len(lines) == 22
    assert lines[-1] == "  and 10 more"


def test_nothing_left_is_the_first_error(tmp_path: Path) -> None:
    """Read well, and too long for the model each."""
    corpus = corpora.texts([(LONG, "a"), (LONG, "b")])
    expected = "texts[0]: expected at most 16 tokens for a pair of texts, found 34 (and 1 more cannot be used either: none is left)"
    with pytest.raises(CorpusError) as error:
        list(corpus.encoded(Reader(demo(), 16)))
    assert str(error.value) == expected


def test_what_is_not_utf_8_in_the_last_of_many_files_is_told_before_the_first_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [tmp_path / f"{number}.txt" for number in range(3)]
    for path in paths:
        path.write_text("a cat\n" * 5, encoding="utf-8")
    paths[2].write_bytes(b"a cat\ncaf\xe9\n")
    expected = f"{paths[2]}:2: expected UTF-8 text, found the byte 0xe9 (byte 4 of the line, 10 of the file)"
    for seen in (0, 11):
        read: list[Any] = []
        with pytest.raises(CorpusError) as error:
            read.extend(corpora.text(paths, pack=None))
        assert str(error.value) == expected
        assert len(read) == seen
        monkeypatch.setattr(text_files, "CHECKED", 0)  # as of files too large to be looked through
