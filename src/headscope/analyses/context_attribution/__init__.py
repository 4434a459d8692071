"""Where answers come from, over a data set of prompts."""

from headscope.analyses.record import Analysis

ANALYSIS = Analysis(
    name="context_attribution",
    order=126,
    function="run:context_attribution",
    estimate="run:estimate",
    axis="attributed",
    table="statistics:table",
    merge="run:merge",
)
