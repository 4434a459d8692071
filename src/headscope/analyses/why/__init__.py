"""Which part of the prompt made this answer."""

from headscope.analyses.record import Analysis

ANALYSIS = Analysis(
    name="why",
    order=123,
    function="run:why",
    axis="masked",
    table="statistics:table",
    view="view:view",
    section="section:section",
)
