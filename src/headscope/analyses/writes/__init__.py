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
    columns=(
        "layer head paper copying copying_chance copying_p copying_q positive positive_chance itself itself_low "
        "itself_high itself_chance token promotes prefers offset offset_gain"
    ),
    sections=(Entry("writes", "what heads write, from weights and on an example", 34, "run:section"),),
)
"""`headscope writes`: what heads do by their weights alone."""
