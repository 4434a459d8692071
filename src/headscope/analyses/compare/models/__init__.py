"""Two models."""

from headscope.analyses.record import Analysis, Command, Entry, Position

ANALYSIS = Analysis(
    name="compare_models",
    order=80,
    function="run:models",
    command=Command(
        "compare models",
        "What did training change? Drift of each head, and change of every measure and role, on the same inputs.",
        groups=("models", "engines", "reading", "table"),
        positions=(
            Position(
                "A [B] [CORPUS]",
                "Two models (hub name, folder or demo; @REVISION), or one with --adapter or --untrained SEED, which "
                "compares it with the adapted one, or with its weights drawn again; then files of texts, by default "
                "the built-in corpus.",
                many=True,
                required=True,
            ),
        ),
        reads="command:read",
        runs="command:run",
        estimates="command:estimate",
        shows="command:shown",
    ),
    estimate="run:estimate",
    axis="js_layer",
    section="section:moved",
    table="statistics:table",
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
