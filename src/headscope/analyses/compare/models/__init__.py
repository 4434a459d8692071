"""Two models."""

from headscope.analyses.record import Analysis, Entry

ANALYSIS = Analysis(
    name="compare_models",
    order=80,
    function="run:models",
    command="compare models",
    estimate="run:estimate",
    axis="js_layer",
    table="statistics:table",
    figure="figure:figure",
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
