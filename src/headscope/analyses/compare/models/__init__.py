"""Two models."""

from headscope.analyses.record import Analysis, Entry

ANALYSIS = Analysis(
    name="compare_models",
    order=80,
    function="run:models",
    command="compare models",
    help="What did training change? Drift of each head, and change of every measure and role, on the same inputs.",
    groups=("models", "engines", "reading", "table"),
    positions={
        "A [B] [CORPUS]": "Two models (hub name, folder or demo; @REVISION), or one with --adapter or "
        "--untrained SEED, which "
        "compares it with the adapted one, or with its weights drawn again; then files of texts, by default "
        "the built-in corpus."
    },
    estimate="run:estimate",
    axis="js_layer",
    section="section:moved",
    table="statistics:table",
    columns=(
        "layer head paper measure a b difference se n js js_se cosine cosine_se | role heads_a heads_b share_a "
        "share_b best_a best_b"
    ),
    figure="statistics:figure",
    sections=(
        Entry(
            "compare",
            "beside the same model untrained, or beside another",
            70,
            "examples:section",
            options=("--against",),
            cost=4.5,
            doing="the other model beside it",
            unless="made of texts alone so far",
        ),
    ),
)
