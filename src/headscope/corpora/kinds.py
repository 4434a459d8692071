"""What a file holds whose name does not say it."""

from __future__ import annotations

import json
import os
import re
from itertools import islice
from pathlib import Path
from typing import Literal

from headscope.corpora.arrays import MOST
from headscope.corpora.conll2012 import BEGIN
from headscope.corpora.files import Files
from headscope.corpora.jsonlines import TEXTS
from headscope.corpora.line import Line
from headscope.corpora.marks import HEAD, table
from headscope.corpora.opening import readable, suffix_of
from headscope.errors import CorpusError

Held = Literal["text", "jsonl", "csv", "tsv", "conllu", "conll2012", "parquet", "arrow"]

_ROW = re.compile(r"[0-9]+([-.][0-9]+)?(\t[^\t]*){9}")
_PAGES = {"<!doctype html": "HTML", "<html": "HTML", "<?xml": "XML", "<svg": "XML"}
_SAID = {
    "jsonl": "records of JSON",
    "csv": "a table",
    "tsv": "a table",
    "conllu": "a treebank",
    "conll2012": "coreference in columns",
    "parquet": "a table of Parquet",
    "arrow": "a table of Arrow",
}
_LOOKED = 200  # lines


def holds(path: str | Path) -> Held:
    """What a file holds, told from how it begins: JSON (``jsonl``), a treebank, a table of texts, or else a text.

    Raises `CorpusError` for a file that is missing or no text, and for pages of HTML and XML.
    """
    path = str(path)
    if (kind := begins_as_table(path)) is not None:
        return kind
    files = Files(path)
    lines = (line for line in files if line.text.strip())
    begin = list(islice(lines, _LOOKED))
    if suffix_of(path) == ".json" or _is_json(path, begin):
        return "jsonl"
    first = begin[0].text.lstrip().lower() if begin else ""
    for mark, name in _PAGES.items():
        if first.startswith(mark):
            raise CorpusError(
                path, None, f"expected text, found a page of {name}; --format text reads its marks as well"
            )
    if any(BEGIN.match(line.text) for line in begin):
        return "conll2012"
    header = begin[0].text if begin else ""
    if _names_texts(header, "\t"):
        return "tsv"
    if _names_texts(header, ","):
        return "csv"
    row = next((line.text for line in begin if not line.text.startswith("#")), "")
    return "conllu" if _ROW.fullmatch(row) else "text"


def _names_texts(line: str, parted: str) -> bool:
    """Whether a line names columns of texts that are known, and others."""
    names = {name.strip(' "') for name in line.split(parted)}
    return len(names) > 1 and any(names.issuperset(known) for known in TEXTS)


def text_of(path: str | Path) -> Files:
    """A file that has to be a text. Raises `CorpusError` for one that holds something else."""
    if (kind := holds(path)) != "text":
        raise CorpusError(path, None, f"expected a text, found {_SAID[kind]}")
    return Files(path)


def begins_as_table(path: str) -> Literal["parquet", "arrow"] | None:
    """Which kind of a file of rows it is; None for none, and for a stream of Arrow."""
    if not os.path.isfile(path):
        return None
    with readable(path), open(path, "rb") as file:
        return table(file.read(HEAD))


def _is_json(path: str, begin: list[Line]) -> bool:
    """Whether the first line is an object of JSON, or the whole file an array."""
    first = begin[0].text.lstrip() if begin else ""
    if first[:1] == "{":
        return _reads(first)
    if first[:1] != "[" or not re.match(r"\[\s*([\[{\"\]]|$)", first):
        return False
    size, parts = 0, list[str]()
    for line in Files(path):
        size += len(line.text)
        if size > MOST:
            return True  # who reads it says that it is too large
        parts.append(line.text)
    return _reads("\n".join(parts))


def _reads(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
