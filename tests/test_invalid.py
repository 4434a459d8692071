"""Every file of tests/invalid is refused with one line: the name of the file says its error, golden/invalid.txt the words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import pytest

from headscope import corpora
from headscope.corpora import Corpus
from headscope.errors import CorpusError, InputError
from tests.helpers import golden
from tests.helpers.small_tokenizers import Reader, demo

FOLDER = Path(__file__).parent / "invalid" / "corpora"


def read(path: Path) -> Iterable[object]:
    """All examples of a corpus file, with tokens."""
    makers: dict[str, Callable[..., Corpus]] = {
        ".txt": partial(corpora.text, pack=None, strict=True),
        ".jsonl": partial(corpora.jsonl, strict=True),
        ".conllu": partial(corpora.conllu, strict=True),
    }
    return list(makers[path.suffix](path).encoded(Reader(demo(), 512)))


def test_files_are_refused() -> None:
    """Each ends in the line below its name in golden/invalid.txt."""
    asked: set[str] = set()

    def refused(name: str) -> str:
        asked.add(name)
        with pytest.raises(InputError) as error:
            read(FOLDER / name)
        said = str(error.value).removeprefix(str(FOLDER / name))
        line = re.match(r":(\d+):", said)
        if isinstance(error.value, CorpusError):  # else the fault is of no one line
            assert error.value.line == (int(line[1]) if line else None)
        return said

    golden.check("invalid.txt", "# ", refused)
    assert asked == {path.name for path in FOLDER.iterdir()}
