"""Why two texts, read apart, are near."""

from headscope.analyses.record import Analysis
from headscope.core.saving import PAGES, TABLES

ANALYSIS = Analysis(
    name="similar",
    order=125,
    function="run:similar",
    command="similar",
    help="Why are two texts near that are read apart? Words and pairs of words. Not two texts read together: view.",
    heading="Why",
    positions={
        "A": "A text, a query, or a table of pairs; else minimal pairs.",
        "B": "Another text, or a picture; or give --in.",
    },
    named={"in_": "in", "show": "", "labels": "", "chance": "", "keep": ""},
    metavars={"second": "MODEL", "against": "MODEL", "units": "UNITS", "through": "K"},
    output=(
        ".html, .svg, .png or .pdf of the texts; .parquet, .csv, .json or .tex of the table, a row a unit; .nc of all.",
        (*TABLES, ".nc", *PAGES),
    ),
    axis="interaction",
    section="section:section",
    table="statistics:table",
    view="view:view",
    columns=(
        "input side unit level text effect p q deleted | label n model? similarity? similarity_low? similarity_high? "
        "below? below_low? below_high? correlation? correlation_low? correlation_high? heed? heed_low? heed_high?"
    ),
    files={"pairs": "command:save_pairs"},
)
