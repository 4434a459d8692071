"""What each head adds to the logit of a token."""

from headscope.analyses.record import Analysis

ANALYSIS = Analysis(
    name="attribute",
    order=125,
    function="run:attribute",
    command="attribute",
    axis="source",
    table="statistics:table",
)
