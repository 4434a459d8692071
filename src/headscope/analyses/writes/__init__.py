"""What each head writes, and why it looks there."""

from headscope.analyses.record import Analysis, Entry

ANALYSIS = Analysis(
    name="writes",
    order=130,
    function="run:writes",
    command="writes",
    help="What does a head write when it looks at a token? From weights alone, not on your text: attribute.",
    heading="Why",
    named={"tokens": "token"},
    metavars={"head": "L.H"},
    axis="promoted",
    section="run:Writes",
    table="statistics:table",
    sections=(Entry("writes", "what heads write, from weights and on an example", 34, "run:section"),),
)
"""`headscope writes`: what heads do by their weights alone."""
