"""Which part of the prompt made this answer."""

from headscope.analyses.record import Analysis

ANALYSIS = Analysis(
    name="why",
    order=124,
    function="run:why",
    axis="masked",
    table="statistics:table",
)
"""What `headscope why` says of a prompt and its answer."""
