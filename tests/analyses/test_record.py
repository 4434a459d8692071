"""The records of the analyses: what they name is there."""

from __future__ import annotations

import inspect

import pytest

from headscope.analyses import analyses
from headscope.analyses.record import Analysis, entries
from headscope.console.commands import Made


@pytest.mark.slow
@pytest.mark.parametrize("analysis", analyses().values(), ids=lambda analysis: analysis.name)
def test_what_a_record_names_is_there(analysis: Analysis) -> None:
    paths = [
        getattr(analysis, field)
        for field in ("function", "estimate", "section", "table", "every", "figure", "view", "merge")
    ]
    paths += [entry.make for entry in analysis.sections]
    if analysis.command:
        made = Made(analysis)
        paths += [*made.functions, made.estimates]
    for path in filter(None, paths):
        assert callable(analysis.load(path)), path


def test_an_estimate_takes_the_options_of_its_function() -> None:
    """So that a command can hand both the same; the rest goes through ``**options``."""
    for analysis in analyses().values():
        if analysis.estimate:
            options = inspect.signature(analysis.load(analysis.estimate)).parameters
            function = inspect.signature(analysis.load(analysis.function)).parameters
            assert {name for name in options if name != "options"} <= function.keys(), analysis.name


def test_every_section_has_a_name_and_a_place_of_its_own() -> None:
    sections = [entry for _, entry in entries(analyses())]
    assert (
        len({entry.name for entry in sections}) == len({entry.order for entry in sections}) == len(sections)
    )
    known = {entry.name for entry in sections} | {"*"}
    assert all({*entry.accompanies} <= known for entry in sections)
