"""What a run needs at its end is told before the model runs."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from headscope.analyses import analyses
from headscope.console.options import LoadOptions
from headscope.core.saving import check_place
from headscope.errors import InputError, RunError
from tests.helpers.typed import Typed

WRITES = {
    "measure -o": ("measure", "-o", "a.csv"),
    "measure --figure": ("measure", "--figure", "a.pdf"),
    "measure --meta": ("measure", "--meta", "a.json"),
    "distance --map": ("distance", "--map", "a.svg"),
    "syntax -o": ("syntax", "-o", "a.tex"),
    "coref -o": ("coref", "-o", "a.nc"),
    "roles -o": ("roles", "-o", "a.parquet"),
    "negation -o": ("negation", "n.jsonl", "-o", "a.csv"),
    "probe -o": ("probe", "t.conllu", "t.conllu", "-o", "a.csv"),
    "groups --view": ("compare", "groups", "p.tsv", "--view", "a.html"),
    "groups --figure": ("compare", "groups", "p.tsv", "--figure", "a.png"),
    "models --roles": ("compare", "models", "demo", "--untrained", "0", "--roles", "a.csv"),
    "inputs -o": ("compare", "inputs", "A cat.", "A dog.", "-o", "a.pdf"),
    "view -o": ("view", "A cat.", "-o", "a.png"),
    "report -o": ("report", "-o", "a.html"),
}
"""Commands that write each kind of file, by what is written last."""


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("n.jsonl").write_text('{"words": ["No", "cat"], "cue": [0], "scope": [1]}\n', encoding="utf-8")
    Path("t.conllu").write_text("1\tGo\t_\tVERB\t_\t_\t0\troot\t_\t_\n", encoding="utf-8")
    Path("p.tsv").write_text("text\tlabel\na\t1\nb\t2\n", encoding="utf-8")


def refused(typed: Typed, monkeypatch: pytest.MonkeyPatch, *words: str, code: int = 2) -> str:
    """The sentence of a command that never loads its model."""
    monkeypatch.setattr(LoadOptions, "of", lambda *_, **__: pytest.fail("the model was loaded"))
    said = typed(*words, code=code).err
    assert said.count("\n") == 1
    return said.removeprefix("headscope: ").strip()


@pytest.mark.parametrize("name", WRITES)
def test_what_cannot_be_written(name: str, typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    """No room on the disk, and a folder that is not to be written to."""
    path, can = WRITES[name][-1], os.access
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(total=10**12, free=10_000))
        said = refused(typed, monkeypatch, *WRITES[name], code=1)
    assert said == f"{path}: expected 2 MB of room on the disk, found 0.0 MB"
    monkeypatch.setattr(os, "access", lambda path, mode, **_: mode != os.W_OK and can(path, mode))
    assert refused(typed, monkeypatch, *WRITES[name]) == f"{path}: cannot be written (Permission denied)"


@pytest.mark.parametrize(
    "name", [name for name, words in WRITES.items() if words[-1][-3:] in ("svg", "pdf", "png")]
)
def test_nothing_to_draw_with(name: str, typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "py_mini_racer", None)
    assert (
        refused(typed, monkeypatch, *WRITES[name])
        == "py_mini_racer is not installed: pip install 'headscope[figures]'"
    )


def test_a_name_that_has_no_room_for_what_is_written_beside_it(tmp_path: Path) -> None:
    """The name itself is just short enough for the system."""
    longest = os.pathconf(tmp_path, "PC_NAME_MAX") if hasattr(os, "pathconf") else 255
    place = tmp_path / f"{'x' * (longest - 4)}.csv"
    place.touch()
    with pytest.raises(InputError, match=os.strerror(errno.ENAMETOOLONG)):
        check_place(place)


def test_where_room_cannot_be_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: object) -> Any:
        raise OSError

    for usage in (fails, lambda _: SimpleNamespace(total=0, free=0)):
        monkeypatch.setattr(shutil, "disk_usage", usage)
        check_place(tmp_path / "a.csv")
    check_place("/dev/null")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(total=10**9, free=10**7))
    check_place(tmp_path / "a.csv")
    with pytest.raises(RunError, match=r"a\.csv: expected 20 MB of room on the disk, found 10\.0 MB"):
        check_place(tmp_path / "a.csv", 2e7)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, a device without room")
def test_a_report_on_a_full_disk_leaves_the_old_one(
    demo: Any, typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("report.html").write_text("the old page", encoding="utf-8")
    Path(f".report.{os.getpid()}.html").symlink_to("/dev/full")
    monkeypatch.setattr("headscope.reports.run.report", lambda *_, **__: "x" * 100_000)
    found = typed("report", code=1)
    assert found.err == "headscope: report.html: cannot be written (No space left on device)\n"
    assert Path("report.html").read_text(encoding="utf-8") == "the old page"


@pytest.mark.slow
def test_a_table_and_a_figure_in_one_run(demo: Any, typed: Typed) -> None:
    words = ["measure", "--limit", "2", "--measures", "previous", "-o", "a.csv", "--figure", "a.pdf"]
    said = typed(*words)
    assert len(pd.read_csv("a.csv")) == 72
    assert Path("a.pdf").read_bytes().startswith(b"%PDF")
    assert "a.csv: 72 rows" in said.err
    assert "a.pdf: a figure\n" in said.err
    assert said.out == ""


def test_a_figure_of_a_shard(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (
        refused(typed, monkeypatch, "measure", "--shard", "1/2", "-o", "p.nc", "--figure", "a.pdf")
        == "--figure: expected no --shard with it, found both"
    )


def test_what_merge_writes_is_what_the_command_writes(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    """A figure of measures, since a shard has none; not of others, and not what there is no room for."""
    monkeypatch.setattr("headscope.analyses.merge.merge", lambda _: pytest.fail("the parts were read"))
    monkeypatch.setattr("headscope.analyses.merge.analysis_of", lambda _: analyses()["measure"])
    assert (
        refused(typed, monkeypatch, "merge", "p.nc", "-o", "none/a.svg")
        == "none/a.svg: cannot be written (no such folder)"
    )
    monkeypatch.setattr("headscope.analyses.merge.analysis_of", lambda _: analyses()["syntax"])
    assert (
        refused(typed, monkeypatch, "merge", "p.nc", "-o", "a.svg")
        == "a.svg: expected a name that ends in .parquet, .csv, .json, .tex, .nc, found .svg"
    )
