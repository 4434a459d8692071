"""Heads together."""

from headscope.analyses.record import Analysis

ANALYSIS = Analysis(
    name="combine",
    order=27,
    function="run:combine_heads",
    axis="system",
    section="section:section",
    table="statistics:table",
)
