"""Who wrote what a head reads."""

from headscope.analyses.record import Analysis, Command, Position

ANALYSIS = Analysis(
    name="reads",
    order=127,
    function="run:reads",
    command=Command(
        "reads",
        "Why does a head look there? Its score as a sum over who wrote what it reads, exactly.",
        section="Why",
        positions=(
            Position("TEXT", "What the model reads.", required=True),
            Position("HEAD", "Such as L5H1.", required=True),
        ),
    ),
    axis="side",
    section="statistics:findings",
    table="statistics:table",
    merge="run:merge",
)
