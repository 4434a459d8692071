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
    files={"pairs": "command:save_pairs"},
)
