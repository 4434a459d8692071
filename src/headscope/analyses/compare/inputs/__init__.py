"""Two inputs."""

from headscope.analyses.record import Analysis
from headscope.core.saving import PAGES, TABLES

ANALYSIS = Analysis(
    name="compare_inputs",
    order=100,
    function="run:inputs",
    command="compare inputs",
    help="What does a model do differently on two texts? Every head's difference, as a table or a map.",
    positions={"TEXT1": "The first text.", "TEXT2": "The second, which is taken from the first."},
    output=(
        ".html, .svg, .pdf, .png: A − B; .parquet, .csv, .json, .tex, .nc: figures.",
        (*PAGES, *TABLES, ".nc"),
    ),
    axis="change",
    section="run:findings",
    table="run:table",
    columns="layer head paper measure a b difference js cosine change from to",
)
