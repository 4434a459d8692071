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
    columns=(
        "side writer layer head paper term share content position looks_at | side writer layer head paper share se "
        "ci_low ci_high chance p q share_untrained? contrast_left? left_se? attention_left? attention_se?"
    ),
    merge="corpus:shares.merge",
)
