"""Tables of texts without labels: which columns are read, what is one document, and what is refused."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from headscope import corpora
from headscope.errors import CorpusError, HeadscopeWarning
from tests.helpers.small_tokenizers import Reader, demo

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


def read(path: Path) -> tuple[list[str | None], list[str]]:
    """The texts of a table, and what is said of the rest."""
    corpus = corpora.table(path)
    texts = [row.text for row in corpus.examples()]
    return texts, [str(error).removeprefix(f"{path}:") for error in corpus.broken]


ROWS = [f"text {number}" for number in range(3000)]


@pytest.mark.parametrize("place", [0, 1500, 2999])
@pytest.mark.parametrize("bad", ['"a" b', '"a', 'a "b" c"d", "e'])
def test_one_bad_quote_costs_its_row(tmp_path: Path, place: int, bad: str) -> None:
    rows = [f'"{row}",{number}' for number, row in enumerate(ROWS)]
    rows.insert(place, f"{bad},1")
    texts, said = read(write(tmp_path / "a.csv", "\n".join(["text,label", *rows])))
    assert texts == ROWS
    (error,) = said
    assert error.startswith(f"{place + 2}: expected ")


def test_the_lines_of_a_broken_row_are_no_rows(tmp_path: Path) -> None:
    content = 'text,label\nA,1\n"one\nB,2\nend" x,3\nC,4\n'
    texts, said = read(write(tmp_path / "a.csv", content))
    assert texts == ["A", "C"]
    assert said == [
        "3: expected a row of a .csv file, found one that is broken up to line 5 (',' expected after '\"')"
    ]


def test_quotes_that_never_end_cost_a_row_each(tmp_path: Path) -> None:
    rows = ["text,label", *(f'"{row},1' if number % 2 else f"{row},1" for number, row in enumerate(ROWS))]
    texts, said = read(write(tmp_path / "a.csv", "\n".join(rows)))
    assert texts == ROWS[::2]
    assert len(said) == 100
    corpus = corpora.table(tmp_path / "a.csv")
    assert sum(1 for _ in corpus.examples()) == corpus.left_out == 1500


def test_a_cell_may_be_long_and_the_limit_of_others_stays(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    long = "word " * 40_000
    texts, said = read(write(tmp_path / "a.csv", f'text,label\n"{long}",1\n{long},1\nB,2\n'))
    assert (texts, said) == ([long, long, "B"], [])
    assert csv.field_size_limit() == before


GLUE = [
    (("sentence1", "sentence2"), "label"),
    (("sentence1", "sentence2"), "gold_label"),
    (("question1", "question2"), "is_duplicate"),
    (("question", "sentence"), "label"),
    (("question", "passage"), "label"),
    (("premise", "hypothesis"), "label"),
    (("#1 String", "#2 String"), "Quality"),
    (("text_a", "text_b"), "label"),
    (("text", "pair"), "label"),
    (("sentence",), "label"),
]


def as_file(folder: Path, kind: str, rows: list[dict[str, Any]]) -> Path:
    path = folder / f"rows.{kind}"
    if kind == "parquet":
        pyarrow.parquet.write_table(pa.Table.from_pylist(rows), path)
    elif kind == "arrow":
        table = pa.Table.from_pylist(rows)
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    elif kind == "jsonl":
        path.write_text("\n".join(map(json.dumps, rows)))
    else:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), delimiter="," if kind == "csv" else "\t")
            writer.writeheader()
            writer.writerows(rows)
    return path


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "label"), GLUE, ids=str)
@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet", "arrow"])
def test_glues_columns_are_known_in_every_kind_of_file(
    tmp_path: Path, kind: str, columns: tuple[str, ...], label: str
) -> None:
    rows: list[dict[str, Any]] = [
        {"idx": n, **{name: f"{name} {n}" for name in columns}, label: n % 2} for n in range(4)
    ]
    path = as_file(tmp_path, kind, rows)
    texts = [(row[columns[0]], row[columns[1]] if len(columns) == 2 else None) for row in rows]
    labelled = [(row.text, row.pair, row.label) for row in corpora.pairs(path)]
    assert labelled == [(*both, str(row[label])) for both, row in zip(texts, rows, strict=True)]
    plain: Any = {"csv": corpora.table, "tsv": corpora.table, "jsonl": corpora.jsonl}
    found = list(plain.get(kind, corpora.dataset)(path))
    assert [(row.text, row.pair) for row in found] == texts
    if kind not in ("csv", "tsv"):
        assert [row.label for row in found] == [row[label] for row in rows]


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
def test_what_annotators_did_not_agree_on_is_left_out_and_counted(tmp_path: Path, kind: str) -> None:
    labels = ["neutral", "-", "contradiction", "-"]
    rows = [{"gold_label": label, "sentence1": "A.", "sentence2": "B."} for label in labels]
    corpus = corpora.pairs(as_file(tmp_path, kind, rows))
    with pytest.warns(HeadscopeWarning, match="left out 2 inputs"):
        assert [row.label for row in corpus] == ["neutral", "contradiction"]
    assert "'gold_label': expected a label, found '-'" in corpus.broken[0].message
    if kind in ("jsonl", "parquet"):
        texts = (corpora.jsonl if kind == "jsonl" else corpora.dataset)(tmp_path / f"rows.{kind}")
    else:
        texts = corpora.table(tmp_path / f"rows.{kind}")
    for _ in range(2):
        assert len(list(texts.examples())) == 4
    with pytest.warns(HeadscopeWarning) as told:
        labels = [row.label for row in texts]
    assert labels == (
        ["neutral", None, "contradiction", None] if kind in ("jsonl", "parquet") else [None] * 4
    )
    (remark,) = told
    assert str(remark.message) == (
        f"rows.{kind}: the annotators of 2 of 4 inputs do not agree on a label ('-'): these are read without one"
    )
    assert len(list(texts.encoded(Reader(demo(), 64)))) == 4
    assert texts.counts.undecided == 2
    texts.tell()  # of what was told before not again


def test_a_plus_and_a_minus_are_labels_elsewhere(tmp_path: Path) -> None:
    path = as_file(tmp_path, "csv", [{"text": "A.", "label": "+"}, {"text": "B.", "label": "-"}])
    assert [row.label for row in corpora.pairs(path)] == ["+", "-"]


def test_a_class_label_of_minus_one_is_none(tmp_path: Path) -> None:
    features = {"label": {"names": ["yes", "no"], "_type": "ClassLabel"}, "score": {"_type": "Value"}}
    table = pa.Table.from_pylist(
        [{"premise": "A.", "hypothesis": "B.", "label": label, "score": -1} for label in (0, -1, 1)]
    ).replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    path = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(table, path)
    assert [row.label for row in corpora.dataset(path)] == [0, None, 1]
    corpus = corpora.pairs(path)
    assert [row.label for row in corpus.examples()] == ["0", "1"]
    assert len(corpus.broken) == 1


LABELLED: list[tuple[Any, Any]] = [
    (True, "true"),
    (False, "false"),
    (["a", "b"], ("a", "b")),
    (["a"], "a"),
    ([], None),
    ([1, 2], (1, 2)),
    ([None, True], "true"),
]


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "links"])
def test_labels_may_be_true_or_several(kind: str, tmp_path: Path) -> None:
    for label, expected in LABELLED:
        rows = [{"text": "A.", "label": label}]
        if kind == "links":
            (row,) = corpora.links(as_file(tmp_path, "jsonl", [{**rows[0], "links": []}]))
        else:
            path = as_file(tmp_path, kind, rows)
            (row,) = (corpora.jsonl if kind == "jsonl" else corpora.dataset)(path)
        assert (row.label, type(row.label)) == (expected, type(expected))
        assert row.labels == (
            ()
            if expected is None
            else tuple(map(str, expected if isinstance(expected, tuple) else [expected]))
        )


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_pairs_may_have_several_labels(kind: str, tmp_path: Path) -> None:
    for label, expected in LABELLED:
        path = as_file(tmp_path, kind, [{"text": "A.", "label": label}])
        if None in (label if isinstance(label, list) else []) or label == []:
            with pytest.raises(
                CorpusError, match=r"'label': expected a string or a number, found (none|\[\])"
            ):
                list(corpora.pairs(path))
        else:
            (row,) = corpora.pairs(path)
            assert row.label == (tuple(map(str, expected)) if isinstance(expected, tuple) else expected)
