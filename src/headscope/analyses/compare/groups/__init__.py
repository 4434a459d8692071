"""Two groups of inputs."""

from headscope.analyses.record import Analysis, Entry

ANALYSIS = Analysis(
    name="compare_groups",
    order=90,
    function="run:groups",
    command="compare groups",
    help="Does attention differ between two groups of texts or pairs? Every measure of every head, tested.",
    groups=("model", "engines", "table"),
    positions={"PAIRS": ".tsv, .txt (by tabs), .csv or .jsonl."},
    reads="headscope.corpora.pairs:pairs",
    metavars=dict.fromkeys(("label", "text_a", "text_b", "document"), "COLUMN"),
    estimate="run:estimate",
    axis="effect",
    table="statistics:table",
    columns="layer head paper measure group_a group_b difference se effect p q n_a n_b ci_low ci_high",
    figure="statistics:figure",
    files={"view": "run:save_view"},
    more=("statistics:figure",),
    section="section:printed",
    sections=(
        Entry(
            "groups",
            "two groups of labelled texts, where there are some (--pairs)",
            80,
            "examples:section",
            needs="pairs",
            reads="pairs",
            options=("--pairs", "--label"),
        ),
    ),
)
