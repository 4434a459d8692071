"""Which part of the prompt made this answer."""

from headscope.analyses.record import Analysis, Command, Position

ANALYSIS = Analysis(
    name="why",
    order=124,
    function="run:why",
    command=Command(
        "why",
        "Which part of the prompt made this answer? Sentences, messages or documents by what it loses without them.",
        section="Why",
        groups=("model", "table", "long"),
        positions=(
            Position(
                "TEXT|FILE",
                "What the model reads; a file of it; .json of a conversation; or .jsonl, a data set of prompts.",
                required=True,
            ),
        ),
        runs="command:run",
        more=("headscope.analyses.context_attribution.run:context_attribution",),
        named={"tools": "", "documents": "", "part": "", "audio": ""},
        metavars={"subsets": "N", "through": "K", "spans": "UNITS"},
    ),
    axis="masked",
    table="statistics:table",
    figure="figure:figure",
)
