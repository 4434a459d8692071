"""Negation scope."""

from headscope.analyses.record import Analysis

ANALYSIS = Analysis(
    name="negation",
    order=50,
    function="run:negation",
    command="negation",
    estimate="run:estimate",
    axis="block",
    table="statistics:table",
    merge="run:merge",
    prints="command:printed",
)
