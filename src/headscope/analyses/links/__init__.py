"""Which head connects what belongs together."""

from headscope.analyses.record import Analysis

ANALYSIS = Analysis(
    name="links",
    order=28,
    function="run:links",
    command="links",
    estimate="run:estimate",
    axis="label",
    table="statistics:table",
    merge="run:merge",
    prints="command:printed",
)
