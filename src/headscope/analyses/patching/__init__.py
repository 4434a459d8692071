"""Which heads made an answer: their outputs patched between two prompts."""

from headscope.analyses.record import Analysis

ANALYSIS = Analysis(
    name="patching",
    order=127,
    function="run:patching",
    command="patch",
    axis="patching",
    table="statistics:table",
    figure="figure:figure",
)
