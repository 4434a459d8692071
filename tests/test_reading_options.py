"""How the options of commands say what the texts of a corpus are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headscope.console.sources import ReadingOptions, linked

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


TREE = "1\tGo\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n"
LINKED = '{"words": ["a", "b"], "links": [{"from": 1, "to": 0}], "page": "x"}\n'


@pytest.fixture(scope="module")
def annotations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("links")
    for name, content in {
        "a.jsonl": LINKED * 2,
        "b.jsonl": LINKED,
        "data": LINKED,
        "a.conllu": TREE,
        "a.txt": "Go 0-root\n",
        "a_conll": "#begin document (d); part 000\nd 0 0 Go VB (TOP(VP*)) - - - - * -\n",
        "a.de": "das Haus\n",
        "a.en": "the house\n",
        "a.ALIGN": "1-2\n",
        "links": "0-1\n",
    }.items():
        (folder / name).write_text(content)
    return folder


@pytest.mark.parametrize(
    ("files", "options", "words", "links"),
    [
        (["a.jsonl", "b.jsonl"], {}, [["a", "b"]] * 3, 1),
        (["a.conllu"], {}, [["Go"]], None),
        (["a.txt"], {}, [["Go"]], None),
        (["a_conll"], {}, [["Go"]], None),
        (["data"], {"format": "jsonl"}, [["a", "b"]], 1),
        (["a.de", "a.en", "a.ALIGN"], {"base": 1}, [["das", "Haus"]], 2),
        (["a.de", "a.en", "links"], {"format": "pharaoh"}, [["das", "Haus"]], 2),
    ],
)
def test_links_are_read_by_their_names(
    annotations: Path, files: list[str], options: dict[str, Any], words: list[list[str]], links: int | None
) -> None:
    corpus = linked([annotations / name for name in files], **{"format": None, **options})
    examples = list(corpus)
    assert [example.words for example in examples] == words
    assert [example.links and len(example.links) for example in examples] == [links] * len(examples)


def test_the_field_of_documents_goes_to_the_reader(annotations: Path) -> None:
    corpus = linked([annotations / "a.jsonl"], None, document="page")
    assert [example.document for example in corpus] == [0, 0]


def test_without_a_file_links_are_of_the_built_in_trees() -> None:
    assert next(iter(linked(None, None))).heads is not None
