"""The command line as a user types it."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest

from headscope import cli


class Said(NamedTuple):
    """What a command printed."""

    out: str
    err: str

    @property
    def rows(self) -> Any:
        """The rows of what `--json` prints."""
        return json.loads(self.out)["rows"]


class Typed:
    """``typed("measure", "a.txt", code=2).err``: a command line ends with this exit code; what it printed."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: object
    ) -> None:
        self._patch, self._capsys, self._words = monkeypatch, capsys, words

    def __call__(self, *words: object, code: int = 0) -> Said:
        line = list(map(str, (*self._words, *words)))
        self._patch.setattr("sys.argv", ["headscope", *line])
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = Said(*self._capsys.readouterr())
        assert int(ended.value.code or 0) == code, (line, said.err)
        return said

    def refuses(self, why: str, *words: object) -> None:
        """A command line that cannot be done is refused with this among its words."""
        assert why in self(*words, code=2).err

    def of(self, *words: object) -> Typed:
        """Commands that begin so."""
        return Typed(self._patch, self._capsys, *self._words, *words)
