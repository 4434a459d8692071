"""Heads by how well they align words with speech."""

from headscope.analyses.record import Analysis

ANALYSIS = Analysis(
    name="align",
    order=55,
    function="run:align",
    command="align",
    axis="aligned",
    table="statistics:table",
)
