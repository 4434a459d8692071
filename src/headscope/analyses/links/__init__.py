"""Which head connects what belongs together."""

from headscope.analyses.record import Analysis, Entry

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
    sections=(
        Entry(
            "links",
            "the best heads of links of any kind (--links)",
            45,
            "examples:section",
            needs="links",
            reads="links",
            options=("--links",),
        ),
    ),
)
