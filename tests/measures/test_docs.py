"""docs/measures.md says what the definitions say."""

from __future__ import annotations

import re
from pathlib import Path

import measures_table as tool
import numpy as np
import pytest

from headscope.analyses.roles.statistics import ROLES
from headscope.measures.choose import GROUPS

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_the_page_is_up_to_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tool.main(["--check"]) == 0, "run python tools/measures_table.py"
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    for name in ("PAGE", "LOG"):
        monkeypatch.setattr(tool, name, tmp_path / f"{name}.md")
    assert tool.main(["--check"]) == 1
    assert "PAGE.md is out of date" in capsys.readouterr().err
    assert tool.main([]) == 0
    assert tool.main(["--check"]) == 0
    assert tool.main(["--wrong"]) == 2


def test_every_measure_and_role_is_there_and_examples_add_up() -> None:
    page, log = tool.generate().values()
    for group in GROUPS.values():
        for name, measure in group.items():
            line = page.split(f"\n| `{name}` | ")[1].split("\n")[0]
            assert re.split(r"[.,;]", measure.description)[0].split(" that goes to ")[-1] in line
            assert f" | {measure.source or 'own'} | " in line
            assert f"\n| `{name}` | " in log
    for role in ROLES:
        told = f"| {role.name} | `{role.measure}` |" in page
        assert told != role.name.endswith(", off the sink")
    sums = re.findall(r"\| \(([\d. +]+)\) / (\d+) [=≈] ([\d.]+) ", log)
    assert len(sums) > 20
    for terms, count, value in sums:
        numbers = [float(term) for term in terms.split(" + ")]
        assert len(numbers) == int(count)
        assert np.mean(numbers) == pytest.approx(float(value), abs=2e-3)
