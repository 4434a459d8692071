"""Patches that hold no content: artefacts of models of pictures, visual sinks of models of texts and pictures."""

from headscope.analyses.record import Analysis, Entry

ANALYSIS = Analysis(
    name="artefacts",
    order=133,
    function="run:artefacts",
    command="artefacts",
    axis="artefacts",
    table="statistics:table",
    sections=(
        Entry(
            "artefacts",
            "patches that hold no content, and the heads that look at them",
            22,
            "section:section",
            of=("images",),
            unless="about pictures",
        ),
    ),
)
