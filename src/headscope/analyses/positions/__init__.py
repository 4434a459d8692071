"""Where attention goes: by distance from the token that looks, and by position in the input."""

from headscope.analyses.record import Analysis, Entry

ANALYSIS = Analysis(
    name="positions",
    order=132,
    function="section:positions",
    sections=(
        Entry(
            "positions",
            "where attention goes by distance and position",
            59,
            "section:section",
            cost=1.2,
            doing="attention by distance and position",
            decoder=37,
            unless="of distances in tokens",
        ),
    ),
)
