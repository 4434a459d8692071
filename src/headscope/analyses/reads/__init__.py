"""Who wrote what a head reads."""

from headscope.analyses.record import Analysis

ANALYSIS = Analysis(
    name="reads",
    order=127,
    function="run:reads",
    command="reads",
    help="Why does a head look there? An exact sum over who wrote what it reads. Not what it brings: attribute.",
    heading="Why",
    positions={"TEXT": "What the model reads.", "HEAD": "Such as L5H1."},
    axis="side",
    section="statistics:findings",
    table="statistics:table",
    merge="corpus:shares.merge",
)
