"""What `headscope report` prints below its sections gives the same again."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headscope.cli import main
from headscope.views.blobs import decode

LIMIT = 4
WRITES = ("-o", "--map", "--roles", "--figure")


def run(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0, words


def read(page: Path) -> tuple[Any, dict[str, str]]:
    """The payload of a page, and its arrays."""
    html = page.read_text(encoding="utf-8")
    found = re.search(
        r'<script type="application/json" id="headscope-payload">(.*?)</script>', html, re.DOTALL
    )
    assert found is not None
    blobs = re.findall(
        r'<script type="text/plain" id="headscope-data-([^"]+)">(.*?)</script>', html, re.DOTALL
    )
    return json.loads(found[1]), dict(blobs)


@pytest.mark.slow
def test_every_printed_command_runs_and_gives_the_same_figures(
    demo: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run(["headscope", "report", "--limit", str(LIMIT), "-o", "report.html"], monkeypatch)
    payload, blobs = read(tmp_path / "report.html")
    commands = {one["kind"]: one["command"] for one in payload["sections"] if one.get("command")}
    without = {one["kind"] for one in payload["sections"]} - set(commands)
    assert without == {"summary", "absent", "methods"}
    every = {one["command"] for one in payload["sections"] if one.get("command")}
    kinds = {shlex.split(command)[1] for command in every}
    assert kinds == {"measure", "distance", "syntax", "coref", "report", "compare"}
    for command in every:
        words = shlex.split(command)
        assert words[0] == "headscope"
        assert words[words.index("--limit") + 1] == str(LIMIT)
        if words[1] == "report":
            words += ["-o", "again.html"]
        capsys.readouterr()
        run(words, monkeypatch)
        said = capsys.readouterr().out
        written = [tmp_path / words[place + 1] for place, word in enumerate(words) if word in WRITES]
        assert all(path.stat().st_size for path in written)
        assert said.strip() or written
        if words[1] == "report":
            again, _ = read(tmp_path / "again.html")
            name = words[words.index("--sections") + 1]
            mine, theirs = ([one for one in p["sections"] if one["kind"] == name] for p in (payload, again))
            drop = ("command", "about", "cards", "inputs")  # places of examples are those of the page
            for one, other in zip(mine, theirs, strict=True):
                assert {k: v for k, v in one.items() if k not in drop} == {
                    k: v for k, v in other.items() if k not in drop
                }
    words = shlex.split(commands["heads"])
    run([*words, "--json"], monkeypatch)
    rows = json.loads(capsys.readouterr().out)
    names = [one["name"] for one in payload["measures"]]
    value = decode(payload["value"], blobs)
    seen = np.full(value.shape, np.nan)
    for row in rows:
        seen[names.index(row["measure"]), row["layer"], row["head"]] = row["value"]
    for place, name in enumerate(names):
        if name != "rare_word":  # of which `headscope roles` knows
            np.testing.assert_allclose(seen[place], value[place], atol=1e-8, err_msg=name)
