"""What the sections of measures say in the summary."""

from __future__ import annotations

import linguistics_sample as sample

from headscope.analyses.measure.section import every_head


def test_the_list_of_every_head_says_nothing() -> None:
    assert sample.said(every_head()) == []
