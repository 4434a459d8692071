"""What is released holds what it should, and works where nothing else of the repository is."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest
import release

import headscope

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_a_release_installs_in_an_empty_environment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert release.main([str(tmp_path)]) == 0, capsys.readouterr().err
    sdist, wheel = (Path(line) for line in capsys.readouterr().out.splitlines())
    assert sdist.name == f"headscope-{headscope.__version__}.tar.gz"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(f"headscope-{headscope.__version__}.dist-info/METADATA").decode()
    assert "License-Expression: Apache-2.0" in metadata
    tests = [*names, "headscope/corpora/test_batches.py", "tests/conftest.py", "frontend/src/data.ts"]
    tests.remove("headscope/py.typed")
    assert list(release.wheel_problems(tests, headscope.__version__)) == [
        "missing: headscope/py.typed",
        "does not belong: frontend/src/data.ts",
        "does not belong: headscope/corpora/test_batches.py",
        "does not belong: tests/conftest.py",
        "a test: headscope/corpora/test_batches.py",
        "a test: tests/conftest.py",
    ]


def test_the_version_is_the_same_everywhere() -> None:
    version = re.escape(headscope.__version__)
    assert re.search(rf"^version: {version}$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    assert re.search(rf"version = {{{version}}}", (ROOT / "docs" / "cite.md").read_text("utf-8"))
    assert re.search(
        rf"^## \[(Unreleased|{version})\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
    )
