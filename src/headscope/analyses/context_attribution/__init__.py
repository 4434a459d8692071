"""Where answers come from, over a data set of prompts."""

from headscope.analyses.record import Analysis, Entry
from headscope.core.saving import PAGES, TABLES

ANALYSIS = Analysis(
    name="context_attribution",
    order=124,
    function="run:context_attribution",
    command="why",
    help="Which part of the prompt made this answer? Spans by what it loses without each. Not which heads: patch.",
    heading="Why",
    groups=("model", "table", "long"),
    positions={
        "TEXT|FILE": "What the model reads; a file of it; .json of a conversation; or .jsonl, a data set of prompts."
    },
    more=("headscope.analyses.why.run:why",),
    named={
        **dict.fromkeys(("tools", "documents", "part", "audio", "anew", "delete", "subsets"), ""),
        "open_": "open",
        "image": "image",
    },
    metavars={"than": "MODEL", "through": "K", "spans": "UNITS"},
    output=(
        ".html, .svg, .png or .pdf of the prompt and its answer; .parquet, .csv, .json or .tex of the table, a row "
        "a span (of each prompt); .nc of all.",
        (*TABLES, ".nc", *PAGES),
    ),
    axis="attributed",
    section="statistics:every_figure",
    table="statistics:table",
    rows="spans:table",
    columns=(
        "input? span level text effect ci_low ci_high share p q estimate deleted lexical attention start end parent"
    ),
    files={"cite": "spans:save", "figures": "command:save_figures"},
    merge="run:context_attribution.merge",
    sections=(
        Entry(
            "sources",
            "which part of each prompt its answer came from (--prompts)",
            46,
            "section:section",
            needs="prompts",
            reads="prompts",
            options=("--prompts",),
        ),
    ),
)
