"""What no reader can read, of every format: one line says where it stands, what was found and what was expected."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headscope import corpora
from headscope.core.link import Link, Span
from headscope.corpora import Corpus
from tests.helpers import golden


def read(reader: Callable[..., Corpus], *files: str, **options: Any) -> Corpus:
    """What a reader makes of files: a name, what it holds, a name, …"""
    for name, content in zip(files[::2], files[1::2], strict=True):
        Path(name).write_text(content, encoding="utf-8")
    return reader(*files[::2], strict=True, **options)


def test_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of golden/broken.txt: each ends in the error below it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.wav").write_bytes(b"RIFF")
    pytest.importorskip("PIL.Image").new("RGB", (80, 60)).save("a.png")
    golden.refusals("broken.txt", read=read, corpora=corpora, np=np, Link=Link, Span=Span)
