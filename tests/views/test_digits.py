"""Sections and pages write the same number alike: both read the same list, digit by digit (`frontend/test/numbers.json`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headscope.views import digits

WRITTEN: dict[str, list[Any]] = json.loads(
    (Path(__file__).parents[2] / "frontend/test/numbers.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize(
    "name", [name for name in WRITTEN if name != "number"]
)  # beside bars: the page's alone
def test_numbers_are_written_as_the_page_writes_them(name: str) -> None:
    written = getattr(digits, name)
    found = [[given, written(*given)] for given, _ in WRITTEN[name]]
    assert found == WRITTEN[name]


def test_what_is_no_number_is_a_dash() -> None:
    assert (
        digits.fixed(float("nan"), 2) == digits.significant(float("inf")) == digits.brief(float("nan")) == "–"
    )
