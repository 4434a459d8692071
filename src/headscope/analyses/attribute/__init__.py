"""What each head adds to the logit of a token."""

from headscope.analyses.record import Analysis

ANALYSIS = Analysis(
    name="attribute",
    order=125,
    function="run:attribute",
    command="attribute",
    help="Which heads give a token its logit, and from where? Direct logit attribution, the final norm frozen.",
    heading="Why",
    positions={"TEXT": "What the model reads."},
    axis="source",
    section="run:findings",
    table="run:table",
)
