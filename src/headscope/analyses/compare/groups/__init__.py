"""Two groups of inputs."""

from headscope.analyses.record import Analysis, Entry

ANALYSIS = Analysis(
    name="compare_groups",
    order=90,
    function="run:groups",
    command="compare groups",
    estimate="run:estimate",
    axis="effect",
    table="statistics:table",
    figure="figure:figure",
    sections=(
        Entry(
            "groups",
            "two groups of labelled texts, where there are some (--pairs)",
            80,
            "examples:section",
            needs="pairs",
            reads="pairs",
            options=("--pairs", "--label"),
        ),
    ),
)
