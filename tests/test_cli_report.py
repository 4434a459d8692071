"""What `headscope report` prints below its sections gives the same again."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headscope.views.blobs import decode
from tests.helpers import pages, section_blocks
from tests.helpers.typed import Typed

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("demo_at_hand")]

LIMIT = 2
FEW = ("--examples", "2")
"""Inputs on the page: the sixteen of a plain report take longer than its figures."""
WRITES = ("-o", "--map", "--roles", "--figure")


def read(page: Path) -> tuple[Any, dict[str, str]]:
    """The payload of a page, and its arrays."""
    html = page.read_text(encoding="utf-8")
    return pages.payload(html), pages.arrays(html)


def test_every_printed_command_runs_and_gives_the_same_figures(
    typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    typed("report", "--limit", LIMIT, *FEW, "-o", "report.html")
    payload, blobs = read(tmp_path / "report.html")
    commands = {
        section_blocks.name_of(one): one["command"] for one in payload["sections"] if one.get("command")
    }
    without = {section_blocks.name_of(one) for one in payload["sections"]} - set(commands)
    assert without == {"summary", "absent", "methods"}
    every = {one["command"] for one in payload["sections"] if one.get("command")}
    kinds = {shlex.split(command)[1] for command in every}
    assert kinds == {"measure", "distance", "syntax", "coref", "report", "compare"}
    for command in every:
        words = shlex.split(command)
        assert words[0] == "headscope"
        assert words[words.index("--limit") + 1] == str(LIMIT)
        if words[1] == "report":
            words += [*FEW, "-o", "again.html"]
        said = typed(*words[1:]).out
        written = [tmp_path / words[place + 1] for place, word in enumerate(words) if word in WRITES]
        assert all(path.stat().st_size for path in written)
        assert said.strip() or written
        if words[1] == "report":
            again, _ = read(tmp_path / "again.html")
            name = words[words.index("--sections") + 1]
            mine, theirs = (
                [one for one in p["sections"] if section_blocks.name_of(one) == name]
                for p in (payload, again)
            )
            drop = ("command", "about", "cards", "inputs")  # places of examples are those of the page
            for one, other in zip(mine, theirs, strict=True):
                assert {k: v for k, v in one.items() if k not in drop} == {
                    k: v for k, v in other.items() if k not in drop
                }
    words = shlex.split(commands["heads"])
    rows = typed(*words[1:], "--json").rows
    names = [one["name"] for one in payload["measures"]]
    value = decode(payload["value"], blobs)
    seen = np.full(value.shape, np.nan)
    for row in rows:
        seen[names.index(row["measure"]), row["layer"], row["head"]] = row["value"]
    for place, name in enumerate(names):
        if name != "rare_word":  # of which `headscope roles` knows
            np.testing.assert_allclose(seen[place], value[place], atol=1e-8, err_msg=name)


TREE = "1\tCats\t_\tNOUN\t_\t_\t2\tnsubj\t_\t_\n2\tsleep\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n"


def test_a_section_that_fails_on_a_file_of_ones_own(
    typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page is written, the last line says what it lacks, and the code is 1; on the built-in sentences it is 0."""
    monkeypatch.chdir(tmp_path)
    Path("few.conllu").write_text(TREE * 3, encoding="utf-8")
    common = ["report", "--limit", "4", "--sections", "probes", "--examples", "0"]
    found = typed(*common, "-o", "own.html", "--treebank", "few.conllu", code=1)
    why = "few.conllu: expected at least 8 sentences for probes, found 3"
    assert found.err.splitlines()[-1] == f"headscope: own.html: written without the section probes ({why})"
    assert str(tmp_path / "own.html") in found.out
    assert [
        section_blocks.said(one)[0]
        for one in read(tmp_path / "own.html")[0]["sections"]
        if section_blocks.name_of(one) == "failed"
    ] == [why]
    typed(*common, "-o", "builtin.html")
    assert any(
        section_blocks.name_of(one) == "failed" for one in read(tmp_path / "builtin.html")[0]["sections"]
    )


def test_the_limit_of_the_text_does_not_cut_a_treebank(
    typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("trees.conllu").write_text(TREE * 30, encoding="utf-8")
    common = ["report", "--limit", "4", "--sections", "syntax", "--examples", "0", "-o", "a.html"]
    for more, sentences in (([], 30), (["--limit-sentences", "7"], 7)):
        typed(*common, "--treebank", "trees.conllu", *more)
        (section,) = (
            one for one in read(tmp_path / "a.html")[0]["sections"] if section_blocks.name_of(one) == "syntax"
        )
        counted = {row["relation"]: row["n"] for row in section_blocks.rows(section, "relations")}
        assert counted["nsubj"] == sentences
        limit = ["--limit", str(sentences)] if sentences != 30 else []
        words = shlex.split(section["command"])
        assert [word for word in words if word in ("--limit", str(sentences))] == limit
