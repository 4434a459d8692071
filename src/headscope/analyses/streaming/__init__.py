"""Which heads need the whole text, and which do with its start and the last tokens."""

from headscope.analyses.record import Analysis

ANALYSIS = Analysis(
    name="streaming",
    order=129,
    function="run:streaming",
    command="streaming",
    axis="key_head",
    table="statistics:table",
    figure="figure:figure",
)
