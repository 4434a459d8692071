"""What each head writes, and why it looks there."""

from headscope.analyses.record import Analysis

ANALYSIS = Analysis(
    name="writes",
    order=126,
    function="run:writes",
    command="writes",
    axis="promoted",
    table="statistics:table",
)
"""`headscope writes`: what heads do by their weights alone."""
