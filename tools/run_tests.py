"""Run all tests, or the parts that are named, each to its end, and say how it ended.

    python tools/run_tests.py                    all but `deep`
    python tools/run_tests.py lint types unit    these
    python tools/run_tests.py --busy 4           beside four processes that do nothing but compute

What needs no model (lint, types, front end, documentation) runs beside the rest. What each part printed lies in
build/tests/PART.log, the time of every test in build/tests/PART.xml. A test that is skipped for want of something that
`make` installs has failed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "build" / "tests"
PYTHON = sys.executable
BIN = Path(PYTHON).parent
PYTEST = [PYTHON, "-m", "pytest", "-n", "auto", "--dist", "worksteal", "-o", "junit_duration_report=total"]

PARTS: dict[str, list[list[str]]] = {
    "lint": [
        [str(BIN / "ruff"), "check", "."],
        [str(BIN / "ruff"), "format", "--check", "."],
        [PYTHON, "tools/names.py"],
        [PYTHON, "tools/npm.py", "run", "lint"],
    ],
    "types": [[str(BIN / "pyright"), "--pythonpath", PYTHON]],
    "frontend": [
        [PYTHON, "tools/npm.py", "run", "check"],
        [
            PYTHON,
            "tools/npm.py",
            "test",
            "--",
            "--reporter=default",
            "--reporter=junit",
            f"--outputFile={OUT}/frontend.xml",
        ],
    ],
    "docs": [[str(BIN / "mkdocs"), "build", "--quiet", "--strict"]],
    "unit": [[*PYTEST, "-m", "not slow and not deep", "--ignore", "tests/browser"]],
    "slow": [[*PYTEST, "-m", "slow and not deep", "--ignore", "tests/browser"]],
    "tests": [[*PYTEST, "-m", "not deep"]],
    "browser": [[*PYTEST, "-m", "not deep", "tests/browser"]],
    "deep": [[*PYTEST, "-m", "deep", "tests"]],
}
BESIDE = ("lint", "types", "frontend", "docs")
"""The parts that run one after the other while the others do."""

WHOLE = (*BESIDE, "tests")
"""What `make test` runs. `tests` is `unit`, `slow` and `browser` at once: they are collected once and share what they
build."""

MAY_MISS = re.compile(
    r"shared beside the repository|Firefox|WebKit|torchao|bitsandbytes|does not start|its layers look at different axes"
    r"|/dev/full|file system that takes names of any bytes|programs of a shell|limits"
    r"|transformer_lens|nnsight|vit_pytorch|timm"
)
"""What `make` does not install: reasons for which a test may be skipped."""


MALLOC = {"MALLOC_MMAP_THRESHOLD_": str(32 << 20), "MALLOC_TRIM_THRESHOLD_": str(256 << 20)}
"""Memory of glibc that is given back is kept for the next tensor: a sixth of what models take here is asking for it."""


@dataclass
class Part:
    """How a part ended."""

    name: str
    seconds: float = 0.0
    passed: int = 0
    failed: list[str] = field(default_factory=list[str])
    skipped: Counter[str] = field(default_factory=Counter[str])


def run(name: str) -> Part:
    part, begun = Part(name), time.monotonic()
    log, report = OUT / f"{name}.log", OUT / f"{name}.xml"
    report.unlink(missing_ok=True)
    environment = {**os.environ, **MALLOC, "NO_MKDOCS_2_WARNING": "1"}
    with log.open("w", encoding="utf-8") as lines:
        for command in PARTS[name]:
            words = [*command, f"--junitxml={report}"] if "pytest" in command else command
            process = subprocess.Popen(
                words,
                cwd=ROOT,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            )
            assert process.stdout
            for line in process.stdout:
                lines.write(line)
                if name not in BESIDE:
                    print(line, end="", flush=True)
            if process.wait():
                part.failed.append(
                    f"{' '.join(command[:4])} ended with status {process.returncode}: {log.relative_to(ROOT)}"
                )
    if report.exists():
        count(part, report)
    part.seconds = time.monotonic() - begun
    print(f"{name}: {'failed' if part.failed else 'passed'} in {part.seconds:.0f} s", flush=True)
    if part.failed and name in BESIDE:
        print(log.read_text(encoding="utf-8")[-8_000:], flush=True)
    return part


def count(part: Part, report: Path) -> None:
    """Read the tests of a part from its report. Named tests that failed stand for the command's status."""
    failed: list[str] = []
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        faults = [child for child in case if child.tag in ("failure", "error")]
        skip = case.find("skipped")
        if faults:
            said = (faults[0].get("message") or "").strip().splitlines()
            failed.append(f"{name}: {said[0][:200] if said else faults[0].tag}")
        elif skip is not None:
            reason = re.sub(r"\s+", " ", skip.get("message") or "no reason")
            if skip.get("type") == "pytest.xfail" or MAY_MISS.search(reason):
                part.skipped[reason] += 1
            else:
                failed.append(f"{name}: skipped, though `make` installs what it needs: {reason}")
        else:
            part.passed += 1
    part.failed = failed or part.failed


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument(
        "--busy", type=int, default=0, metavar="N", help="processes that compute beside the tests"
    )
    options = parser.parse_args()
    if unknown := [name for name in options.parts if name not in PARTS]:
        parser.error(f"{unknown[0]} is no part: one of {', '.join(PARTS)}")
    chosen = options.parts or WHOLE
    OUT.mkdir(parents=True, exist_ok=True)
    os.environ["TESTS_BUILT"] = tempfile.mkdtemp(prefix="built-", dir=OUT)  # pages that several parts look at
    begun = time.monotonic()
    busy = [subprocess.Popen([PYTHON, "-c", "while True: pass"]) for _ in range(options.busy)]
    try:
        with ThreadPoolExecutor(2) as lanes:
            beside = lanes.submit(lambda: [run(name) for name in chosen if name in BESIDE])
            models = lanes.submit(lambda: [run(name) for name in chosen if name not in BESIDE])
            parts = [*beside.result(), *models.result()]
    finally:
        for process in busy:
            process.kill()
        shutil.rmtree(os.environ["TESTS_BUILT"])
    print(f"\n{'part':10} {'passed':>7} {'failed':>7} {'skipped':>8} {'seconds':>8}")
    for part in parts:
        print(
            f"{part.name:10} {part.passed:7} {len(part.failed):7} {part.skipped.total():8} {part.seconds:8.0f}"
        )
    print(f"{'all':10} {'':24} {time.monotonic() - begun:8.0f}")
    for reason, times in sum((part.skipped for part in parts), Counter[str]()).most_common():
        print(f"skipped {times:4} times: {reason}")
    for part in parts:
        for failure in part.failed:
            print(f"FAILED in {part.name}: {failure}")
    passed, skipped = (sum(part.passed for part in parts), sum(part.skipped.total() for part in parts))
    failures = sum(len(part.failed) for part in parts)
    print(f"{passed} passed, {failures} failed, {skipped} skipped")
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
