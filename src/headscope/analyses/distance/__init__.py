"""Which heads do the same."""

from headscope.analyses.record import ANY, Analysis, Entry

ANALYSIS = Analysis(
    name="distance",
    order=15,
    function="run:distance",
    command="distance",
    axis="head_b",
    table="statistics:table",
    figure="figure:figure",
    merge="run:merge",
    prints="command:distances",
    sections=(
        Entry(
            "clusters",
            "the map of heads by their distances (figure 6)",
            82,
            "section:section",
            cost=2.0,
            doing="distances between all heads",
            decoder=25,
            of=ANY,
        ),
    ),
)
