"""Reading holds little, however much a file holds of what is bad: lists of it are short, and streams are streamed."""

from __future__ import annotations

import gzip
import json
import lzma
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from headscope import corpora
from headscope.core.failures import KEPT
from headscope.corpora import Corpus, treebank
from headscope.corpora.corpus import HOPELESS
from headscope.errors import CorpusError, HeadscopeWarning
from tests.helpers.small_tokenizers import Reader, demo


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("1,", r"a.json.gz:1: expected a JSON object, found a number \(and so on: none of the first 1,000 inputs"),
        ("\n", "expected"),
    ],
)  # fmt: skip
@pytest.mark.slow
def test_a_small_file_that_unpacks_to_much_takes_little_memory(
    content: str, said: str, tmp_path: Path
) -> None:
    """One such file took 370 times what it holds."""
    path, many = tmp_path / "a.json.gz", 200_000
    path.write_bytes(gzip.compress(f"[{content * many}1]".encode()))
    tracemalloc.start()
    with pytest.raises(CorpusError, match=said):
        next(iter(corpora.jsonl(path)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 * many


def lines(count: int) -> Iterator[dict[str, Any]]:
    return ({"content": f"A {number}.", "id": number} for number in range(count))


def as_jsonl(path: Path, rows: Iterator[dict[str, Any]]) -> Corpus:
    path = path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return corpora.jsonl(path)


def as_array(path: Path, rows: Iterator[dict[str, Any]]) -> Corpus:
    path = path / "a.json"
    path.write_text(json.dumps(list(rows)))
    return corpora.jsonl(path)


def as_rows(_: Path, rows: Iterator[dict[str, Any]]) -> Corpus:
    return corpora.dataset([{**row, "text": None} for row in rows])


@pytest.mark.parametrize("read", [as_jsonl, as_array, as_rows])
def test_reading_stops_where_nothing_can_be_used_for_one_reason(
    read: Callable[[Path, Iterator[dict[str, Any]]], Corpus], tmp_path: Path
) -> None:
    with pytest.raises(CorpusError) as error:
        list(read(tmp_path, lines(HOPELESS + 5)))
    assert str(error.value).endswith(
        f"(and so on: none of the first {HOPELESS:,} inputs can be used, all for this reason)"
    )
    if read is not as_rows:
        assert "expected one of the keys 'text', 'words'" in str(error.value)
        assert "found 'content', 'id'" in str(error.value)
    with pytest.raises(CorpusError, match=f"and {HOPELESS - 2:,} more cannot be used either: none is left"):
        list(read(tmp_path, lines(HOPELESS - 1)))


def test_reading_goes_on_where_one_can_be_used_or_reasons_differ(tmp_path: Path) -> None:
    for first in ({"text": "A."}, {"text": 1}):
        corpus = as_jsonl(tmp_path, iter([first, *lines(HOPELESS), {"text": "B."}]))
        read = [example.text for example in corpus.examples()]
        assert read == ["A."] * ("A." in first.values()) + ["B."]
        assert corpus.left_out == HOPELESS + ("A." not in first.values())
        assert len(corpus.broken) == KEPT


@pytest.mark.slow
def test_what_is_too_long_never_stops(tmp_path: Path) -> None:
    """It is read well, and may be sorted by length."""
    path = tmp_path / "a.jsonl"
    rows = [{"text": "word " * 30, "pair": "a"}] * HOPELESS
    path.write_text("\n".join(map(json.dumps, [*rows, {"text": "b"}])))
    corpus = corpora.jsonl(path)
    assert len(list(corpus.encoded(Reader(demo(), 16)))) == 1
    assert corpus.left_out == HOPELESS


def test_the_messages_that_are_kept_are_the_first_and_the_rest_are_counted(tmp_path: Path) -> None:
    corpus = as_jsonl(tmp_path, iter([{"text": "A."}, *lines(HOPELESS)]))
    for _ in range(2):
        assert len(list(corpus.examples())) == 1
        assert [error.line for error in corpus.broken] == list(range(2, KEPT + 2))
        assert corpus.left_out == HOPELESS
    with pytest.warns(HeadscopeWarning, match=f"left out {HOPELESS:,} inputs") as told:
        corpus.tell()
    assert str(told[0].message).endswith(f"and {HOPELESS - 20:,} more")


def test_brackets_without_a_partner_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a_conll"
    row = "d 0 {} Go VB * - - - - * (1\n"
    sentence = "".join(row.format(number) for number in range(3)) + "\n"
    path.write_text("#begin document (d); part 000\n" + sentence * 50)
    with pytest.warns(HeadscopeWarning, match="left out the mentions of 150 brackets"):
        assert len(list(corpora.conll2012(path))) == 50


@pytest.mark.parametrize(
    ("name", "content", "read"),
    [
        ("a.conllu", "1\tGo\t_\tVERB\t_\t_\t0\troot\t_\t_\n", corpora.conllu),
        ("a.txt", "Go 0-root\n", corpora.word_heads),
        ("a_conll", "d 0 0 Go VB * - - - - * -\n", corpora.conll2012),
    ],
)
def test_lines_that_nothing_ends_are_not_held(
    name: str, content: str, read: Callable[[Path], Corpus], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(treebank, "MOST_LINES", 50)
    path = tmp_path / name
    path.write_text(content * 51)
    with pytest.raises(CorpusError, match=":1: expected a blank line after at most 50 lines, found none"):
        list(read(path))


def test_a_quote_that_never_ends_is_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headscope.corpora.tables._LINES", 30)
    path = tmp_path / "a.csv"
    path.write_text('text,label\n"a,1\n' + "b,1\n" * 200)
    corpus = corpora.table(path)
    assert [example.text for example in corpus.examples()] == ["b"] * 200
    (error,) = corpus.broken
    assert error.line == 2


def test_xz_of_a_dictionary_that_fills_the_memory_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.txt.xz"
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 29}]
    path.write_bytes(lzma.compress(b"The cat sat.\n", filters=filters))
    with pytest.raises(
        CorpusError, match=r"a.txt.xz: cannot be read: LZMAError: Memory usage limit exceeded"
    ):
        corpora.text(path)
    path.write_bytes(lzma.compress(b"One.\n", preset=9) + b"\0" * 8 + lzma.compress(b"Two.\n"))
    assert [example.text for example in corpora.text(path)] == ["One.", "Two."]
    path.write_bytes(lzma.compress(b"One.\n")[:-4])
    with pytest.raises(CorpusError, match="EOFError: Compressed file ended before the end"):
        list(corpora.text(path))


def test_a_column_that_unpacks_to_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headscope.corpora.datasets._LARGE", 1_000_000)
    path = tmp_path / "a.parquet"
    table = pa.table({"text": ["word " * 400_000, "A."], "id": [1, 2]})
    pyarrow.parquet.write_table(table, path, compression="zstd")
    with pytest.raises(
        CorpusError, match=r"the column 'text' of 2,000,\d+ bytes in [\d,]+, which would fill the memory"
    ):
        list(corpora.dataset(path))
    pyarrow.parquet.write_table(table, path, compression="none")
    assert len(list(corpora.dataset(path))) == 2
