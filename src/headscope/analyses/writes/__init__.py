"""What each head writes, and why it looks there."""

from headscope.analyses.record import Analysis, Entry

ANALYSIS = Analysis(
    name="writes",
    order=130,
    function="run:writes",
    command="writes",
    axis="promoted",
    table="statistics:table",
    sections=(Entry("writes", "what heads write, from weights and on an example", 34, "section:section"),),
)
"""`headscope writes`: what heads do by their weights alone."""
