"""Which heads need the whole text, and which do with its start and the last tokens."""

from headscope.analyses.record import Analysis

ANALYSIS = Analysis(
    name="streaming",
    order=129,
    function="run:streaming",
    command="streaming",
    help="Which heads need the whole text, and which do with its start and the last tokens?",
    groups=("texts", "model", "table"),
    named={"lengths": "length", "duo": "duo-attention"},
    metavars={"duo": "FOLDER"},
    axis="key_head",
    section="statistics:findings",
    table="statistics:table",
    columns="layer key_head heads loss ci_low ci_high p q estimate estimate_low estimate_high outside",
    figure="statistics:figure",
    files={"duo": "duo:save_duo_attention"},
)
