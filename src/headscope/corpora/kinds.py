"""What a file holds whose name does not say it."""

from __future__ import annotations

import os
import re
from itertools import islice
from pathlib import Path
from typing import Literal

from headscope.corpora.arrays import MOST, is_json
from headscope.corpora.conll2012 import BEGIN
from headscope.corpora.files import Files
from headscope.corpora.jsonlines import TEXTS
from headscope.corpora.marks import HEAD, table
from headscope.corpora.sources import form_of, readable, suffix_of
from headscope.errors import CorpusError

Held = Literal["text", "jsonl", "csv", "tsv", "conllu", "conll2012", "parquet", "arrow"]

_ROW = re.compile(r"[0-9]+([-.][0-9]+)?(\t[^\t]*){9}")
_ARRAY = re.compile(r"\s*(\[\s*([\[{\"\]]|$)|$)")
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
    if suffix_of(path) == ".json" or (form_of(path).begins == b"[" and _is_array(path)):
        return "jsonl"
    begin = list(islice((line for line in files if line.text.strip()), _LOOKED))
    header = begin[0].text if begin else ""
    if header.lstrip()[:1] == "{" and is_json(header):
        return "jsonl"
    for mark, name in _PAGES.items():
        if header.lstrip().lower().startswith(mark):
            raise CorpusError(
                path, None, f"expected text, found a page of {name}; --format text reads its marks as well"
            )
    if any(BEGIN.match(line.text) for line in begin):
        return "conll2012"
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


def _is_array(path: str) -> bool:
    """Whether a file that begins with a bracket is an array of JSON: of texts, objects or arrays."""
    size, parts = 0, list[str]()
    for line in Files(path, longest=MOST):
        if not parts and not _ARRAY.match(line.text):
            return False
        size += len(line.text)
        if size > MOST:
            return True  # who reads it says that it is too large
        if line.text.strip():
            parts.append(line.text)
    return is_json("\n".join(parts))
