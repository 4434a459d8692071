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
    merge="run:negation.merge",
)
