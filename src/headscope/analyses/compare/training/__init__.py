"""The checkpoints of a training run."""

from headscope.analyses.record import Analysis

ANALYSIS = Analysis(
    name="compare_training",
    order=110,
    function="run:training",
    command="compare training",
    help="How do heads come to do what they do? Every measure at each of several checkpoints of one model.",
    groups=("table", "reading", "checkpoints"),
    positions={
        "CHECKPOINT... [CORPUS...]": "Hub names or folders in order, NAME@REVISION, or one folder of "
        "checkpoint-N folders; then files of "
        "texts, by default the built-in corpus."
    },
    axis="checkpoint",
    section="run:largest",
    table="run:table",
    columns="checkpoint layer head paper measure value se n chance",
    figure="run:figure",
)
