"""The checkpoints of a training run."""

from headscope.analyses.record import Analysis

ANALYSIS = Analysis(
    name="compare_training",
    order=110,
    function="run:training",
    command="compare training",
    axis="checkpoint",
    table="run:table",
    figure="figure:figure",
)
