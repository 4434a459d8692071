"""An analysis of one's own, outside of the package: docs/architecture.md has its three files."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import pages
from tests.helpers.docs_blocks import blocks

ROOT = Path(__file__).resolve().parents[2]
FILES = ("quiet_heads/__init__.py", "quiet_heads/run.py", "quiet_heads/section.py")


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """What the page shows, as an installed distribution."""
    page = ROOT / "docs" / "architecture.md"
    shown = [
        block for block in blocks(page, ROOT) if block.kind == "python" and "quiet" in "".join(block.lines)
    ]
    for name, block in zip(FILES, shown, strict=True):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("\n".join(block.lines) + "\n", encoding="utf-8")
    about = tmp_path / "quiet_heads-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: quiet-heads\nVersion: 1\n", encoding="utf-8"
    )
    entry = re.search(
        r"\[project\.entry-points\.\"headscope\.analyses\"\]\n(\w+ = )\"(\w+)\"", page.read_text()
    )
    assert entry
    (about / "entry_points.txt").write_text(f"[headscope.analyses]\n{entry[1]}{entry[2]}\n", encoding="utf-8")
    return tmp_path


SCRIPT = """
import shlex, sys
from headscope import cli

for line in sys.argv[1:]:
    sys.argv = ["headscope", *shlex.split(line)]
    try:
        cli.main()
    except SystemExit as ended:
        assert not ended.code, line
    print("end of a command", flush=True)
"""


def run(plugin: Path, *lines: str) -> list[str]:
    """What some command lines print, one after the other in one process."""
    path = os.pathsep.join([str(plugin), str(ROOT / "src")])
    environment = {**os.environ, "PYTHONPATH": path}
    call = [sys.executable, "-c", SCRIPT, *lines]
    ended = subprocess.run(call, env=environment, cwd=plugin, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.split("end of a command\n")


@pytest.mark.slow
def test_a_plug_in_has_a_command_a_table_and_a_section(plugin: Path) -> None:
    quiet = "quiet --limit 4 --most 3"
    report = "report --sections quiet --limit 4 --examples 0 -o page.html"
    commands, options, found, text, *_ = run(
        plugin, "--help-all", "quiet --help", f"{quiet} --json", quiet, report
    )
    assert re.search(r"\n  quiet +Which heads look least at punctuation\?", commands)
    assert re.search(r"--most <int> +So many heads are listed\.", options)
    rows = json.loads(found)["rows"]
    assert [*rows[0]] == ["layer", "head", "paper", "quiet"]
    assert [row["quiet"] for row in rows] == sorted(row["quiet"] for row in rows)
    first = f"L{rows[0]['layer']}H{rows[0]['head']}"
    assert text.startswith(f"{first} looks least at punctuation.\n")
    assert len(text.splitlines()) == 1 + 1 + 3
    payload = pages.payload((plugin / "page.html").read_text(encoding="utf-8"))
    assert pages.section(payload, "quiet")["blocks"][0]["values"]["head"][0] == rows[0]["head"]
