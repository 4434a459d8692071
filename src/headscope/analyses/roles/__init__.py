"""Roles of heads, tested."""

from headscope.analyses.record import ANY, Analysis, Entry
from headscope.core.saving import TABLES

ANALYSIS = Analysis(
    name="roles",
    order=20,
    function="run:roles",
    command="roles",
    help="What each head does: its roles, with scores, intervals, thresholds and q.",
    groups=("inputs", "model", "engines", "table"),
    output=(".parquet, .csv, .json or .tex.", TABLES),
    section="section:Roles",
    columns=(
        "layer head paper role score ci_low ci_high threshold chance p q n offsets se documents family copying stays "
        "nearest nearest_score"
    ),
    sections=(
        Entry(
            "roles",
            "patterns and roles of heads, tested",
            20,
            "section:section",
            accompanies=("figures", "clusters", "cards", "compare"),
            of=ANY,
        ),
    ),
)
