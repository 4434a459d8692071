"""How the options of commands say what the texts of a corpus are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headscope.console.options import ReadingOptions
from headscope.errors import InputError

ROWS = [("A cat.", "x"), ("A dog.", "x"), ("A bird.", "y")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("texts")
    (folder / "a.txt").write_text("A cat.\n\nA dog.\nA bird.\n")
    (folder / "a.jsonl").write_text("".join(json.dumps({"body": a, "page": b}) + "\n" for a, b in ROWS))
    for name, sep in (("a.csv", ","), ("a.tsv", "\t")):
        (folder / name).write_text("".join(f"{a}{sep}{b}\n" for a, b in [("body", "page"), *ROWS]))
    return folder


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("a.txt", {}, [0, 1, 1]),
        ("a.txt", {"documents": "line"}, [0, 1, 2]),
        ("a.txt", {"documents": "file"}, [0, 0, 0]),
        *((f"a.{end}", {"text_field": "body"}, [0, 1, 2]) for end in ("jsonl", "csv", "tsv")),
        *(
            (f"a.{end}", {"text_field": "body", "documents": "field:page"}, [0, 0, 1])
            for end in ("jsonl", "csv", "tsv")
        ),
    ],
)
def test_documents(folder: Path, name: str, options: dict[str, Any], expected: list[int]) -> None:
    corpus = ReadingOptions(**options).of([folder / name])
    assert [(line.text, line.document) for line in corpus] == [
        (text, document) for (text, _), document in zip(ROWS, expected, strict=True)
    ]
    assert corpus.documents


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("a.txt", {"documents": "page"}, "--documents: expected blank or line or file of text, found 'page'"),
        (
            "a.txt",
            {"documents": "field:page"},
            "--documents: expected blank or line or file of text, found 'field:page'",
        ),
        ("a.csv", {"documents": "page"}, "--documents: expected field:page of csv, found 'page'"),
        ("a.csv", {"documents": "field:"}, "--documents: expected field:NAME of csv, found 'field:'"),
        ("a.txt", {"text_field": "body"}, "--text-field: expected .jsonl, .csv or .tsv, found plain text"),
        (
            None,
            {"documents": "line"},
            "--documents: expected text or fields, found the built-in corpus, with its own documents",
        ),
        (
            "a.conllu",
            {"documents": "line"},
            "--documents: expected text or fields, found CoNLL-U, with its own documents",
        ),
    ],
)
def test_what_a_format_does_not_have_is_refused(
    folder: Path, name: str | None, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError) as raised:
        ReadingOptions(**options).of([folder / name] if name else None)
    assert str(raised.value) == message
