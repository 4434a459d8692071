"""Which heads retrieve: they bring what the model copies from far back in its text."""

from headscope.analyses.record import Analysis, Entry

ANALYSIS = Analysis(
    name="retrieval",
    order=128,
    function="run:retrieval",
    command="retrieval",
    help="Which heads retrieve what the model copies from far back, and does it answer without them?",
    groups=("texts", "model", "table", "kept", "engines"),
    named={"lengths": "length"},
    axis="retrieval",
    section="section:Retrieval",
    table="statistics:table",
    columns=(
        "layer head paper score ci_low ci_high p q chance n written? written_low? written_high? written_p? written_q? "
        "stays? written_stays? score_chat?"
    ),
    figure="statistics:figure",
    merge="run:KIND.merge",
    sections=(
        Entry(
            "retrieval",
            "heads that copy from far back",
            30,
            "section:section",
            accompanies=("roles", "cards"),
            cost=3.0,
            unless="of sentences hidden in texts",
        ),
    ),
)
