"""Patches that hold no content: artefacts of models of pictures, visual sinks of models of texts and pictures."""

from headscope.analyses.record import Analysis

ANALYSIS = Analysis(
    name="artefacts",
    order=133,
    function="run:artefacts",
    command="artefacts",
    axis="artefacts",
    table="statistics:table",
)
