"""Where a long text looks back, sentence by sentence."""

from headscope.analyses.record import Analysis

ANALYSIS = Analysis(
    name="sentences",
    order=131,
    function="run:sentences",
    command="sentences",
    axis="kurtosis",
    table="statistics:table",
    figure="figure:figure",
)
