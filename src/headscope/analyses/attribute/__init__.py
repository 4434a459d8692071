"""What each head adds to the logit of a token."""

from headscope.analyses.record import Analysis

ANALYSIS = Analysis(
    name="attribute",
    order=125,
    function="run:attribute",
    command="attribute",
    help="Which heads write a token's logit, and from where? A sum, not what is lost without a head: patch.",
    heading="Why",
    positions={"TEXT": "What the model reads."},
    axis="source",
    section="run:findings",
    table="run:table",
    columns="part layer head paper contribution source token from_source",
)
