"""docs/statistics.md names every interval and p that an analysis can print, and the simulation of each."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "statistics.md").read_text(encoding="utf-8")
KIT = {
    *("share_interval", "interval", "interval_of", "differs", "above", "p_value", "nearer", "sf"),
    *("bootstrap", "permute", "false_discovery"),
}
"""What makes an interval or a p."""


def printed(package: Path) -> tuple[set[str], set[str]]:
    """The names of lower ends, p and q in an analysis, and what of `KIT` it calls."""
    names: set[str] = set()
    called: set[str] = set()
    for file in package.glob("*.py"):
        if file.stem in ("section", "command"):
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                names |= {node.value} if re.fullmatch(r"(\w+_low|\w+_q|\w+_p|p|q)", node.value) else set()
            if isinstance(node, ast.Call):
                function = node.func
                name = getattr(function, "attr", None) or getattr(function, "id", "")
                called |= {name} & KIT
    return names, called


def rows() -> dict[str, list[str]]:
    """The list of the page: the cells of each analysis."""
    part = PAGE.split("## All that has an interval or a p")[1].split("\n## ")[0]
    lines = [line.strip("| ").split(" | ") for line in part.splitlines() if line.startswith("| `")]
    return {re.findall(r"`(\w+)`", cells[0])[0]: cells for cells in lines}


def test_every_interval_and_p_is_listed() -> None:
    listed, missing = rows(), list[str]()
    for package in sorted((ROOT / "src" / "headscope" / "analyses").iterdir()):
        if package.name == "lab":  # its p is the probability of a token
            continue
        names, called = printed(package) if package.is_dir() else (set[str](), set[str]())
        if (names or called) and package.name not in listed:
            missing.append(package.name)
        told = set(re.findall(r"`(\w+)`", listed[package.name][1])) if package.name in listed else names
        missing += [f"{package.name}: {name}" for name in sorted(names - told)]
    assert missing == []


def test_every_interval_and_p_is_simulated() -> None:
    log = (ROOT / "benchmarks" / "calibration.md").read_text(encoding="utf-8")
    marks = set(re.findall(r"<!-- (\w+): python benchmarks/calibration.py --part \1 -->\n\|", log))
    used = {part for cells in rows().values() for part in re.findall(r"`(\w+)`", cells[-1])}
    assert used <= marks
    text = "".join(
        (ROOT / "benchmarks" / name).read_text() for name in ("calibration.py", "calibration_few.py")
    )
    assert all(f'"{part}": (' in text for part in marks)


def test_the_page_says_what_the_log_says() -> None:
    summary = ROOT / "benchmarks" / "calibration_summary.py"
    subprocess.run([sys.executable, str(summary), "--check"], check=True)
