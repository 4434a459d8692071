"""Tables of texts without labels: which columns are read, what is one document, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headscope import corpora
from headscope.errors import CorpusError, InputError

NEWS = 'id,body,article\n1,"Rates rose, and\nfell.",a\n2,Banks gained.,a\n3,It rained.,b\n'


def write(path: Path, content: str) -> Path:
    path.write_text(content, encoding="utf-8", newline="")
    return path


def test_named_columns(tmp_path: Path) -> None:
    path = write(tmp_path / "news.csv", NEWS)
    corpus = corpora.table(path, text="body", document="article")
    assert [(row.text, row.document, row.document_known, row.source) for row in corpus] == [
        ("Rates rose, and\nfell.", 0, True, f"{path}:2"),
        ("Banks gained.", 0, True, f"{path}:4"),
        ("It rained.", 1, True, f"{path}:5"),
    ]
    assert corpus.documents == "rows of one 'article'"
    apart = corpora.table(path, text="body")
    assert [(row.document, row.document_known) for row in apart] == [(0, False), (1, False), (2, False)]


def test_each_file_names_its_columns(tmp_path: Path) -> None:
    one = write(tmp_path / "one.tsv", "text\tdocument\nA.\t1\n")
    two = write(tmp_path / "two.tsv", "document\tsentence1\tsentence2\n1\tB.\tC.\n")
    rows = corpora.table([one, two])
    assert [(row.text, row.pair, row.document) for row in rows] == [("A.", None, 0), ("B.", "C.", 1)]


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        (
            "a.csv",
            NEWS,
            {},
            r"a\.csv:2: expected columns of texts that are known \(or text=, --text-field\), found",
        ),
        (
            "a.csv",
            NEWS,
            {"text": "boy"},
            r"a\.csv:2: expected a column 'boy', found 'id', 'body', 'article'$",
        ),
        (
            "a.csv",
            NEWS,
            {"text": "body", "document": "page"},
            r":2: expected a column 'page', found 'id'",
        ),
        (
            "a.csv",
            "text,document\nA,x\nB,y\nC,x\n",
            {},
            r":4: 'document': expected the lines of 'x' together",
        ),
        ("a.csv", "text,document\nA,\n", {}, r":2: 'document': expected some text, found ''$"),
        ("a.tsv", "text\n", {}, r"a\.tsv: expected rows of texts, found none$"),
        ("a.xlsx", NEWS, {}, r"^table: expected files that are all \.csv or all \.tsv, found .*a\.xlsx$"),
        ("a.csv", NEWS, {"pair": "id"}, r"^pair: expected text beside it, found none$"),
    ],
)
def test_what_is_refused(
    tmp_path: Path, name: str, content: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises((CorpusError, InputError), match=message):
        list(corpora.table(write(tmp_path / name, content), strict=True, **options))
