"""What tries calls and command lines tells faults from results and sentences, and finds none among a few."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fuzz
import pytest

from headscope.errors import InputError
from tests.helpers.patience import PATIENCE

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
ROOT = Path(__file__).resolve().parents[2]


def fails(error: BaseException) -> Callable[[], object]:
    def run() -> object:
        raise error

    return run


@pytest.mark.parametrize(
    ("run", "refused", "how"),
    [
        (lambda: None, False, "done"),
        (lambda: None, True, "read"),
        (fails(InputError("one line")), True, "told"),
        (fails(InputError("one\nand another")), False, "raised"),
        (fails(ValueError("x")), False, "raised"),
        (fails(KeyboardInterrupt()), False, "raised"),
        (fails(SystemExit(2)), False, "told"),
        (fails(SystemExit("text")), False, "raised"),
        (lambda: (os.write(1, fuzz.UNFORESEEN.encode()), sys.exit(1)), False, "raised"),
        pytest.param(lambda: time.sleep(60), False, "hang", marks=pytest.mark.slow),
        (lambda: os.kill(os.getpid(), 9), False, "signal 9"),
    ],
)
def test_how_a_case_ends(
    run: Callable[[], Any], refused: bool, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuzz, "SECONDS", 1 if how == "hang" else int(PATIENCE))
    assert fuzz.tried(fuzz.Case("a case", run, refused), tmp_path).how == how


@pytest.mark.slow
def test_a_case_that_takes_much_memory(tmp_path: Path) -> None:
    """In a process of its own: what a fork of a large one takes is lost in what that gave back before."""
    code = (
        "import pathlib, sys, fuzz; fuzz.BYTES = 200_000_000;"
        "case = fuzz.Case('a case', lambda: bytearray(b'x') * 800_000_000, False);"
        "print(fuzz.tried(case, pathlib.Path(sys.argv[1])).how)"
    )
    paths = os.pathsep.join(map(str, (ROOT / "src", ROOT / "tools", ROOT)))
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == ["memory"], done.stderr


@pytest.mark.slow
def test_a_few_cases_have_no_fault() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "fuzz.py", "calls", "commands", "--number", "6", "--seed", "7"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    assert len(re.findall(r"^seed 7: .*(?:told|done)", done.stdout, re.MULTILINE)) == 2, done.stderr
    assert done.returncode == 0, done.stdout
