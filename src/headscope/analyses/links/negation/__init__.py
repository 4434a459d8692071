"""Negation scope."""

from headscope.analyses.record import Analysis

ANALYSIS = Analysis(
    name="negation",
    order=50,
    function="run:negation",
    command="negation",
    help="Do the words in the scope of a negation look at its cue? Precision, recall and F1 of every head.",
    groups=("model", "table", "long", "engines"),
    positions={"FILE": 'JSON lines: {"words": [...], "cue": [2], "scope": [0, 1, 3]}.'},
    reads="headscope.corpora.links:negations",
    rules={"against": "-shard -resume"},
    estimate="run:negation.estimate",
    axis="block",
    section="section:section",
    table="statistics:table",
    columns=(
        "layer head paper score value ci_low ci_high n system difference difference_low difference_high p q times "
        "choices effective clusters | layer head paper score before after difference ci_low ci_high n"
    ),
    merge="run:negation.merge",
)
