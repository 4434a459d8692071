"""What a file holds that is read as texts, told from how it begins."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, get_args

from headscope.corpora.arrays import is_json
from headscope.corpora.files import Files
from headscope.corpora.formats import RECORDS, described, format_of, known_format, read_as
from headscope.corpora.jsonlines import TEXTS
from headscope.corpora.sources import begins_as_table, suffix_of
from headscope.errors import CorpusError

Held = Literal["text", "jsonl", "csv", "tsv", "conllu", "conll2012", "parquet", "arrow"]

BEGIN = re.compile(r"#\s*begin document\b(.*)")
"""A line with which a document of CoNLL-2012 begins."""

AS_TEXT = "; --format text (format='text') reads its marks as well"
"""How what has marks is read as a text all the same."""

_ROW = re.compile(r"[0-9]+([-.][0-9]+)?(\t[^\t]*){9}")
_ARRAY = re.compile(r'\[\s*([\[{"\]]|$)')
_NAMED: Mapping[str, Held] = {
    f".{kind}": kind for kind in get_args(Held) if kind not in ("text", "conll2012")
}
_TABLES: Mapping[str, Held] = {"\t": "tsv", ",": "csv"}
_TABLE = ("a table", "table", "measure, compare groups")
SAID: Mapping[Held, tuple[str, str, str]] = {
    "text": ("plain text", "text", "measure, sentences"),
    "jsonl": ("records of JSON", "jsonl", "measure"),
    **dict.fromkeys(_TABLES.values(), _TABLE),
    "conllu": ("a treebank", "conllu", "syntax, coref, links, measure"),
    "conll2012": ("coreference in columns", "conll2012", "coref, links"),
    "parquet": ("a table of Parquet", "dataset", _TABLE[2]),
    "arrow": ("a table of Arrow", "dataset", _TABLE[2]),
}
"""What files are called, what of `headscope.corpora` reads them, and which commands."""


def holds(path: str | Path, files: Files | None = None, advice: str = AS_TEXT) -> Held:
    """What a file holds, told from how it begins: JSON (``jsonl``), a treebank, a table of texts, or else a text.

    `files` has it among its files, where there is one. Raises `CorpusError` for a file that is missing or no text, and,
    with `advice`, for one of `headscope.corpora.formats`.
    """
    path = str(path)
    if (kind := begins_as_table(path)) is not None:
        return kind
    files = files or Files(path)
    form = files.forms[path]
    if suffix_of(path) == ".json" or (_ARRAY.match(form.head.lstrip()) and files.is_array(path)):
        return "jsonl"
    if form.begins == "{" and is_json(next(line.text for line in files.lines(path) if line.text.strip())):
        return "jsonl"
    if (known := format_of(form)) is not None:
        raise CorpusError(path, None, f"expected text, found {described(known, form)}{advice}")
    lines = form.lines
    if any(map(BEGIN.match, lines)):
        return "conll2012"
    for parted, kind in _TABLES.items():
        if lines and _names_texts(lines[0], parted):
            return kind
    row = next((line for line in lines if not line.startswith("#")), "")
    return "conllu" if _ROW.fullmatch(row) else "text"


def kind_of(path: str | Path) -> Held:
    """What a file of texts holds: told from a known format or its name, or else from how it begins (`holds`)."""
    known = known_format(path)
    if known is not None and (known in RECORDS or read_as(known, "texts")):
        return "jsonl"
    return _NAMED.get(suffix_of(path)) or holds(path)


def expect_text(path: str, files: Files) -> None:
    """Raise `CorpusError` where one of some files is no text, or one with marks."""
    if (kind := holds(path, files)) != "text":
        what, reader, _ = SAID[kind]
        raise CorpusError(path, None, f"expected a text, found {what}; hs.corpora.{reader} reads it{AS_TEXT}")


def _names_texts(line: str, parted: str) -> bool:
    """Whether a line names columns of texts that are known, and others."""
    names = {name.strip(' "') for name in line.split(parted)}
    return len(names) > 1 and any(names.issuperset(known) for known in TEXTS)


def text_of(path: str | Path) -> Files:
    """A file that has to be a text. Raises `CorpusError` for one that holds something else."""
    if (kind := holds(path, advice="")) != "text":
        raise CorpusError(path, None, f"expected a text, found {SAID[kind][0]}")
    return Files(path)
