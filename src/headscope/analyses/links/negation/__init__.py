"""Negation scope."""

from headscope.analyses.record import Analysis, Command, Position

ANALYSIS = Analysis(
    name="negation",
    order=50,
    function="run:negation",
    command=Command(
        "negation",
        "Do the words in the scope of a negation look at its cue? Precision, recall and F1 of every head.",
        groups=("model", "table", "long", "engines"),
        positions=(
            Position(
                "FILE",
                'JSON lines: {"words": [...], "cue": [2], "scope": [0, 1, 3]}.',
                many=True,
                required=True,
            ),
        ),
        reads="headscope.corpora.negations:negations",
        runs="command:run",
        checks="command:checks",
        shows="command:shown",
    ),
    estimate="run:estimate",
    axis="block",
    section="section:section",
    table="statistics:table",
    merge="run:merge",
)
