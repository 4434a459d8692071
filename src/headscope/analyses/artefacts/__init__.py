"""Patches that hold no content: artefacts of models of pictures, visual sinks of models of texts and pictures."""

from headscope.analyses.record import Analysis, Entry

ANALYSIS = Analysis(
    name="artefacts",
    order=133,
    function="run:artefacts",
    command="artefacts",
    help="Which patches hold no content (artefacts, visual sinks), and which heads look at them?",
    positions={"IMAGES": "Folders, pictures, or JSON lines of pictures; the built-in ones by default."},
    reads="headscope.console.sources:pictures",
    named={"dimensions": "dimension"},
    axis="artefacts",
    section="section:Artefacts",
    table="statistics:table",
    columns="layer head paper attention se chance ci_low ci_high n from_cls",
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
