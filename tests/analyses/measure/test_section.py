"""What the sections of measures say in the summary."""

from __future__ import annotations

from headscope.analyses.measure.section import every_head
from tests.helpers import linguistics_sample as sample


def test_the_list_of_every_head_says_nothing() -> None:
    assert sample.said(every_head()) == []
