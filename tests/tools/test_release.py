"""What is released holds what it should, and works where nothing else of the repository is."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from pathlib import Path

import colab
import pytest
import release
import yaml

import headscope
from hatch_build import for_index

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_a_release_reports_from_empty_environments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert release.main([str(tmp_path)]) == 0, capsys.readouterr().err
    sdist, wheel = (Path(line) for line in capsys.readouterr().out.splitlines())
    assert sdist.name == f"headscope-{headscope.__version__}.tar.gz"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(f"headscope-{headscope.__version__}.dist-info/METADATA").decode()
    assert "License-Expression: Apache-2.0 AND MIT AND OFL-1.1" in metadata
    assert 'pip install "headscope[all,demo]"' in metadata.partition("\n\n")[2]
    assert "](docs/" not in metadata
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


def test_an_index_shows_the_links_of_the_readme_where_the_repository_is_known() -> None:
    text = "![A\npicture](a.png), [a\npage](b.md#c), [a place](#d), [a site](https://a.example/)"
    assert for_index(text, "https://b.example/o/r", "v1") == (
        "![A\npicture](https://b.example/o/r/raw/v1/a.png), [a\npage](https://b.example/o/r/blob/v1/b.md#c), "
        "[a place](#d), [a site](https://a.example/)"
    )
    assert for_index(text, "", "v1") == ", a\npage, [a place](#d), [a site](https://a.example/)"


def test_the_workflow_publishes_what_was_tried_without_a_secret() -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    assert {name: job.get("permissions") for name, job in jobs.items()} == {
        "build": {"contents": "read"},
        "try": None,
        "publish": {"id-token": "write"},
    }
    assert jobs["publish"]["needs"] == ["build", "try"]
    assert "secrets." not in text
    actions = re.findall(r"uses: (.*)", text)
    assert actions
    assert [action for action in actions if not re.search(r"@[0-9a-f]{40} # v[\d.]+$", action)] == []


def test_a_badge_opens_each_notebook_in_colab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    examples = shutil.copytree(colab.EXAMPLES, tmp_path / "examples")
    monkeypatch.setattr(colab, "EXAMPLES", examples)
    for repository in ("https://github.com/a/b.c.git", "https://github.com/d/e/"):
        assert colab.main([repository]) == 0
    for path in examples.glob("*.ipynb"):
        first, *cells = json.loads(path.read_text("utf-8"))["cells"]
        badge, _, title, *_ = first["source"]
        assert f"(https://colab.research.google.com/github/d/e/blob/main/examples/{path.name})" in badge
        assert title.startswith("# ")
        assert cells == json.loads((ROOT / "examples" / path.name).read_text("utf-8"))["cells"][1:]
    assert colab.main(["a/b"]) == 2


def test_the_version_is_the_same_everywhere() -> None:
    version = re.escape(headscope.__version__)
    assert re.search(rf"^version: {version}$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    assert re.search(rf"version = {{{version}}}", (ROOT / "docs" / "cite.md").read_text("utf-8"))
    first, *others = re.findall(r"^## (.*)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert re.fullmatch(rf"\[Unreleased\]|\[{version}\] - [\d-]{{10}}", first)
    assert [each for each in others if not re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", each)] == []
