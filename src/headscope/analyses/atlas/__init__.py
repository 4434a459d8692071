"""Every head a point by what it does, and its queries and keys on a plane."""

from headscope.analyses.record import ANY, Analysis, Entry

ANALYSIS = Analysis(
    name="atlas",
    order=27,
    function="section:planes",
    sections=(
        Entry(
            "atlas",
            "the atlas: heads by any two figures, with examples and with queries and keys on a plane",
            58,
            "section:section",
            cost=2.0,
            doing="the atlas of heads",
            decoder=36,
            of=ANY,
        ),
    ),
)
