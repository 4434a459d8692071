"""Sentences that are reviewed as a diff: a file of calls, below each the line that it says.

    GOLDEN=write .venv/bin/python -m pytest tests/test_cli_refusals.py     writes anew what differs

`[...]` in a line stands for what a library, a machine or a version says there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headscope.corpora import Corpus
from headscope.errors import HeadscopeError

FOLDER = Path(__file__).resolve().parents[1] / "golden"


def check(name: str, prompt: str, say: Callable[[str], str]) -> None:
    """Every call of a file says its line."""
    path = FOLDER / name
    calls = [call.partition("\n") for call in path.read_text(encoding="utf-8").split(prompt)[1:]]
    expected = {call: line.strip("\n") for call, _, line in calls}
    assert len(expected) == len(calls), "the same call twice"
    said: dict[str, str] = {}
    for call, line in expected.items():
        try:
            said[call] = say(call)
        except BaseException as fault:
            fault.add_note(prompt + call)
            raise
        if re.fullmatch(".*".join(map(re.escape, line.split("[...]"))), said[call]):
            said[call] = line
    if os.environ.get("GOLDEN") == "write":
        path.write_text(
            "".join(f"{prompt}{call}\n{line}\n\n" for call, line in said.items()), encoding="utf-8"
        )
    assert said == expected


def refusals(name: str, **names: Any) -> None:
    """Every call of a file, in Python, raises the error below it."""

    def done(call: str) -> None:
        found = eval(call, names)
        if isinstance(found, Corpus):  # is read when it is asked for
            list(found)

    def refused(call: str) -> str:
        with pytest.raises(HeadscopeError) as error:
            done(call)
        return f"{error.type.__name__}: {error.value}".replace("\0", r"\0")

    check(name, ">>> ", refused)
