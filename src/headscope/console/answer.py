"""What a command answers with ``--json``: one object on standard output, whatever it does."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from headscope.core.kinds import json_value
from headscope.core.saving import Listener
from headscope.core.types import AnyDict, AnyPath

FILES = "files"
"""The name of the format of what only wrote files, or printed text."""


def format_of(name: str) -> str:
    """The format of what a command answers: ``headscope.compare_models/1``."""
    return f"headscope.{name.replace(' ', '_')}/1"


class Answer(Listener):
    """One object, printed when the command has ended: what it gave, the files it wrote, its remarks.

    Attributes:
        remarks: lines that went to stderr.
    """

    def __init__(self) -> None:
        self.remarks: list[str] = []
        self._stream, self._printed = sys.stdout, StringIO()
        self._files: list[Path] = []
        self._name, self._content = FILES, AnyDict()
        self._done = False

    @contextmanager
    def collecting(self) -> Generator[None]:
        """Within it a command runs, and what it prints is a part of the answer."""
        self._stream.write("")  # refuses where it is closed
        with self.on(), redirect_stdout(self._printed):
            yield

    def writes(self, path: AnyPath) -> None:
        """List a file."""
        self._files.append(Path(path))

    def give(self, name: str, **content: Any) -> None:
        """Answer in the format of this name."""
        self._name, self._content = name, content

    def end(self) -> None:
        """Print what was given; a command that goes on may do so before its end."""
        text = {"text": self._printed.getvalue().splitlines()} if self._name == FILES else {}
        written = [path for path in dict.fromkeys(self._files) if path.is_file()]
        files = [{"path": path, "bytes": path.stat().st_size} for path in written]
        self._print(self._name, **self._content, **text, files=files, remarks=self.remarks)

    def fail(self, message: str, kind: str, code: int) -> None:
        """Answer that the command failed."""
        self._print("error", error=message, kind=kind, exit=code)

    def _print(self, name: str, **content: Any) -> None:
        if not self._done:
            answer = json_value({"format": format_of(name), **content})
            print(json.dumps(answer, ensure_ascii=False, allow_nan=False), file=self._stream, flush=True)
        self._done = True
