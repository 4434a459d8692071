"""Tables of labelled texts: the formats that are known, one's own columns, and what is refused."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headscope import corpora

MRPC = (
    "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n"
    '1\t702876\t702977\tAmrozi accused his brother, whom he called "the witness.\tHe said so.\r\n'
    "0\t2108705\t2108831\tYucaipa owned it.\tYucaipa sold it.\r\n"
)


def rows(path: Path, **options: Any) -> list[tuple[str | None, str | None, object, int]]:
    return [(one.text, one.pair, one.label, one.document) for one in corpora.pairs(path, **options)]


def write(path: Path, content: str) -> Path:
    path.write_text(content, encoding="utf-8", newline="")
    return path


@pytest.mark.parametrize("name", ["msr_paraphrase_train.txt", "train.tsv"])
def test_the_paraphrase_corpus_is_read_without_quoting(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, MRPC)
    assert rows(path) == [
        ('Amrozi accused his brother, whom he called "the witness.', "He said so.", "1", 0),
        ("Yucaipa owned it.", "Yucaipa sold it.", "0", 1),
    ]
    assert [one.source for one in corpora.pairs(path)] == [f"{path}:2", f"{path}:3"]


def test_own_columns_and_documents(tmp_path: Path) -> None:
    path = write(tmp_path / "own.csv", 'kind,one,two,page\nx,"a, ""b""\nc",d,p\ny,e,f,q\nx,g,h,p\n')
    options = {"label": "kind", "text_a": "one", "document": "page"}
    assert rows(path, **options) == [('a, "b"\nc', None, "x", 0), ("e", None, "y", 1), ("g", None, "x", 0)]
    assert [one.source for one in corpora.pairs(path, **options)] == [f"{path}:{n}" for n in (2, 4, 5)]
    lines = [{"text": "a", "pair": "b", "label": 0, "document": 5}, {"text": "c", "pair": "d", "label": True}]
    lines[1]["document"] = 5
    path = write(tmp_path / "own.jsonl", "\n".join(map(json.dumps, lines)))
    assert rows(path) == [("a", "b", "0", 0), ("c", "d", "true", 0)]


@given(
    st.lists(
        st.tuples(*[st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1)] * 2), min_size=1
    )
)
def test_csv_is_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, texts: list[tuple[str, str]]
) -> None:
    path = tmp_path_factory.mktemp("csv") / "own.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([("text", "pair", "label"), *((f".{a}", f".{b}", "x") for a, b in texts)])
    assert [(one[0], one[1]) for one in rows(path)] == [(f".{a}", f".{b}") for a, b in texts]


def test_a_triplet_is_two_inputs_and_a_score_is_a_label(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "query,right,wrong\nQ,R,W\nP,S,V\n")
    assert rows(path) == [
        ("Q", "R", "right", 0), ("Q", "W", "wrong", 0), ("P", "S", "right", 1), ("P", "V", "wrong", 1)
    ]  # fmt: skip
    lines = write(tmp_path / "a.jsonl", json.dumps({"query": "Q", "positive": "R", "negative": "W"}))
    assert rows(lines)[1] == ("Q", "W", "wrong", 0)
    assert rows(path, text_a="query", label="wrong") == [("Q", None, "W", 0), ("P", None, "V", 1)]
    scored = write(tmp_path / "b.tsv", "sentence1\tsentence2\tscore\nA\tB\t4.2\n")
    assert rows(scored) == [("A", "B", "4.2", 0)]
