"""Nothing is left behind, nothing is lost, and nothing is said of what is not there."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.cli.app import run
from headscope.core.saving import replacing
from headscope.errors import RunError
from headscope.runs.task import Task
from tests.helpers.typed import Typed

LIFE = """
import sys, time
from headscope.core.saving import replacing
with replacing(sys.argv[1]) as place:
    place.write_text("half")
    print("there", flush=True)
    time.sleep(60)
"""


def begun(path: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", LIFE, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "there\n"
    return process


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="kill -9, and locks")
def test_what_a_killed_run_left_goes_when_the_file_is_written_next(tmp_path: Path) -> None:
    path, other = tmp_path / "a [1].nc", tmp_path / ".a [1].notes.nc"
    other.write_text("mine")
    killed, alive = begun(path), begun(path)
    killed.kill()
    killed.wait()
    with replacing(path) as place:
        place.write_text("whole")
    names = {".a [1].notes.nc", "a [1].nc", f".a [1].{alive.pid}.nc"}
    assert {each.name for each in tmp_path.iterdir()} == names
    alive.terminate()
    alive.wait()
    with replacing(path) as place:
        place.write_text("whole")
    assert {each.name for each in tmp_path.iterdir()} == {".a [1].notes.nc", "a [1].nc"}


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_maps_are_saved_whole_or_not_at_all(
    tmp_path: Path, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "maps.safetensors"
    maps = hs.wrap(np.eye(3)[None, None], ["a", "b", "c"])
    maps.save(path)
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(f"headscope.core.saving.os.{call}", full)
    with pytest.raises(RunError, match=r"maps\.safetensors: cannot be written \(No space left on device\)$"):
        hs.wrap(np.eye(3)[None, None], ["d", "e", "f"]).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def command(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["headscope", *words])
    try:
        return run()
    except SystemExit as error:
        return int(error.code or 0)


@pytest.mark.parametrize("words", [["measure", "--json"], ["--version"]])
def test_what_cannot_be_printed_is_an_error(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdout", None)  # as Python has it where it is closed
    assert command(monkeypatch, *words) == 1
    assert capsys.readouterr().err == "headscope: standard output: cannot be written (it is closed)\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full")
@pytest.mark.parametrize("word", ["--version", "-h"])
def test_a_full_disk_behind_standard_output_is_an_error(
    word: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    full = open("/dev/full", "w")  # noqa: SIM115 (closing it fails)
    monkeypatch.setattr("sys.stdout", full)
    code, err = command(monkeypatch, word), capsys.readouterr().err
    with suppress(OSError):
        full.close()
    assert (code, err) == (1, "headscope: standard output: cannot be written (No space left on device)\n")


def test_remarks_do_not_get_among_tables(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr", None)
    assert command(monkeypatch, "measure", "nowhere.txt") == 2
    assert capsys.readouterr().out == ""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="SIGTERM")
def test_what_is_done_is_kept_where_a_scheduler_ends_it(
    typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, place, before = tmp_path / "a.txt", tmp_path / "run", signal.getsignal(signal.SIGTERM)
    text.write_text(
        "\n\n".join(f"Line {n} says that the cat number {n * 7} sat on the mat." for n in range(64))
    )
    monkeypatch.setattr("headscope.runs.batches.BLOCK", 4)
    blocks, block = 0, Task.block

    def ends(*given: Any) -> Any:
        nonlocal blocks
        blocks += 1
        if blocks == 4:
            os.kill(os.getpid(), signal.SIGTERM)
        return block(*given)

    monkeypatch.setattr(Task, "block", ends)
    words = ["measure", str(text), "--measures", "previous", "--documents", "line", "--pack", "0"]
    said = typed(*words, "--resume", place, "-o", tmp_path / "a.csv", code=143)
    assert said.err.endswith("headscope: stopped\n")
    assert len([*place.glob("span-*.safetensors")]) == 3
    assert {each.name for each in tmp_path.iterdir()} == {"a.txt", "run"}
    assert signal.getsignal(signal.SIGTERM) == before
