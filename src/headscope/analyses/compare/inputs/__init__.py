"""Two inputs."""

from headscope.analyses.record import Analysis, Command, Position
from headscope.core.saving import PAGES, TABLES

ANALYSIS = Analysis(
    name="compare_inputs",
    order=100,
    function="run:inputs",
    command=Command(
        "compare inputs",
        "What does a model do differently on two texts, or two pairs? Every head's difference, as a table or a map.",
        positions=(
            Position("TEXT1", "The first text.", required=True),
            Position("TEXT2", "The second, which is taken from the first.", required=True),
        ),
        runs="command:run",
        output=(
            ".html, .svg, .pdf, .png: A − B; .parquet, .csv, .json, .tex, .nc: figures.",
            (*PAGES, *TABLES, ".nc"),
        ),
    ),
    axis="change",
    section="run:findings",
    table="run:table",
)
