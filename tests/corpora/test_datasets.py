"""Rows of data sets, in memory, streamed, and in files of Parquet and Arrow."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest

from headscope import corpora
from headscope.errors import CorpusError, InputError
from tests.helpers.small_tokenizers import Reader, demo

ROWS: list[dict[str, Any]] = [
    {"text": f"Row {number} of a table.", "page": f"p{number // 3}", "other": b"x", "label": number % 2}
    for number in range(2500)
]


class Streamed:
    """As an `IterableDataset`: rows one after another, of the columns that are wanted."""

    def __init__(self, rows: Sequence[dict[str, Any]], column_names: list[str] | None) -> None:
        self.column_names = column_names
        self._rows = rows

    def select_columns(self, names: list[str]) -> Streamed:
        return Streamed([{name: row[name] for name in names} for row in self._rows], names)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._rows)


def written(folder: Path) -> dict[str, Path]:
    table = pa.Table.from_pylist(ROWS)
    paths = {name: folder / name for name in ("a.parquet", "stream.arrow", "file.arrow")}
    pyarrow.parquet.write_table(table, paths["a.parquet"], row_group_size=700)
    with pa.OSFile(str(paths["stream.arrow"]), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=600)
    with pa.OSFile(str(paths["file.arrow"]), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=1300)
    return paths


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["list", "streamed", "unnamed", "a.parquet", "stream.arrow", "file.arrow"])
def test_rows_are_the_same_wherever_they_come_from(kind: str, tmp_path: Path) -> None:
    given: Any = {
        "list": ROWS,
        "streamed": Streamed(ROWS, list(ROWS[0])),
        "unnamed": Streamed(ROWS, None),
        **written(tmp_path),
    }[kind]
    corpus = corpora.dataset(given, document="page")
    for _ in range(2):
        found = list(corpus)
        assert [(one.text, one.document, one.label) for one in found] == [
            (row["text"], number // 3, row["label"]) for number, row in enumerate(ROWS)
        ]
    place = "rows[1234]" if isinstance(given, list | Streamed) else f"{given}:1235"
    assert found[1234].source == place
    if isinstance(given, Path):
        assert corpus.name == kind
        assert corpus.bytes_read == corpus.size_hint() == given.stat().st_size


def test_a_column_of_another_name_and_packing() -> None:
    rows = [{"body": "The cat sat.", "doc": place // 4} for place in range(8)]
    corpus = corpora.dataset(rows, text="body", document="doc", pack=32)
    inputs = list(corpus.encoded(Reader(demo(), 64)))
    assert [one.document for one in inputs] == [0, 1]
    assert inputs[0].text == "The cat sat. The cat sat."
    assert inputs[0].pair == "The cat sat. The cat sat."


def test_rows_that_cannot_be_used_are_left_out_and_named(tmp_path: Path) -> None:
    rows: list[Any] = [{"text": "a"}, {"text": None}, {"text": " "}, {"text": "b", "pair": None}]
    corpus = corpora.dataset([*rows, "c"])
    assert [one.text for one in corpus.examples()] == ["a", "b"]
    assert list(map(str, corpus.broken)) == [
        "rows[1]: expected one of the keys 'text', 'words', 'tokens', 'messages', 'prompt_token_ids', found none",
        "rows[2]: 'text': expected some text, found ' '",
        "rows[4]: expected a dict, found a string",
    ]
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pa.Table.from_pylist(rows), path)
    corpus = corpora.dataset(path)
    assert [one.text for one in corpus.examples()] == ["a", "b"]
    assert [error.line for error in corpus.broken] == [2, 3]
    with pytest.raises(CorpusError, match=r"a.parquet:2: expected one of the keys"):
        list(corpora.dataset(path, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.parquet", "stream.arrow", "file.arrow"])
def test_a_file_of_broken_bytes_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    path = written(tmp_path)[name]
    whole, draw = path.read_bytes(), random.Random(3)
    for _ in range(60):
        broken = bytearray(whole)
        for _ in range(draw.choice([1, 5, 40])):
            broken[draw.randrange(len(broken))] = draw.randrange(256)
        path.write_bytes(broken[: draw.choice([len(broken), draw.randrange(len(broken))])])
        said = ""
        try:
            for _ in corpora.dataset(path, document="page").examples():
                pass
        except InputError as error:
            said = str(error)
        assert "\n" not in said
        assert not said or str(path) in said


@pytest.mark.parametrize("ends", ["parquet", "arrow"])
def test_a_small_file_that_says_one_long_text_often(ends: str, tmp_path: Path) -> None:
    """2 kB hold a text of 200 kB, 5,000 times: no more of them are unpacked at once than are asked for."""
    texts: Any = pa.DictionaryArray.from_arrays(pa.array([0] * 5_000, pa.int32()), ["word " * 40_000])
    table, path = pa.table({"text": texts}), tmp_path / f"a.{ends}"
    if ends == "parquet":
        pa.parquet.write_table(table, path, compression="zstd")
    else:
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)
    tracemalloc.start()
    try:
        assert len(next(iter(corpora.dataset(path).examples())).text or "") == 200_000
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
