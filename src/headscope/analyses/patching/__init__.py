"""Which heads made an answer: their outputs patched between two prompts."""

from headscope.analyses.record import Analysis

ANALYSIS = Analysis(
    name="patching",
    order=127,
    function="run:patching",
    command="patch",
    help="Which heads made the answer? Outputs patched between a clean and a corrupted prompt. Not which words: why.",
    heading="Why",
    positions={
        "PAIRS.jsonl": 'One object a line: "clean" and "corrupted", prompts of as many tokens, "answer" and "wrong", '
        "one "
        'token each (mind the space); "group" as you like. By default 48 pairs that ship in the package.'
    },
    groups=("model", "table", "kept", "engines"),
    metavars={"edges": "K"},
    axis="patching",
    section="statistics:findings",
    table="statistics:table",
    columns=("layer head paper to effect ci_low ci_high p q estimate estimate_low estimate_high chance n"),
    figure="statistics:figure",
    merge="run:KIND.merge",
)
