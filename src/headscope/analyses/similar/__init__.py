"""Why two texts, read apart, are near."""

from headscope.analyses.record import Analysis

ANALYSIS = Analysis(
    name="similar",
    order=125,
    function="run:similar",
    axis="interaction",
    table="statistics:table",
    section="section:section",
)
