"""Heads by how well they align words with speech."""

from headscope.analyses.record import Analysis, Entry

ANALYSIS = Analysis(
    name="align",
    order=55,
    function="run:align",
    command="align",
    axis="aligned",
    table="statistics:table",
    sections=(
        Entry(
            "align",
            "heads of a decoder that look at words where they are heard",
            24,
            "section:section",
            cost=3.0,
            doing="words and their sound",
            of=("sounds",),
            unless="about sounds",
        ),
    ),
)
