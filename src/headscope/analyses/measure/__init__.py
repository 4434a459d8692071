"""Where heads look, over a corpus."""

from headscope.analyses.record import ANY, Analysis, Entry
from headscope.core.saving import PICTURES, TABLES

ANALYSIS = Analysis(
    name="measure",
    order=10,
    function="run:measure",
    command="measure",
    help="Measure every head over a corpus: offsets, separators, punctuation, entropy, each with its error.",
    groups=("inputs", "model", "table", "long", "engines"),
    output=(
        ".parquet, .csv, .json, .tex or .nc; .svg, .pdf or .png for a figure; else a table is printed.",
        (*TABLES, ".nc", *PICTURES),
    ),
    estimate="run:measure.estimate",
    section="section:wide",
    columns="layer head paper measure value se n chance ci_low ci_high",
    figure="figure:figure",
    merge="run:measure.merge",
    sections=(
        Entry(
            "gradients",
            "what attention matters, by gradients (figure 3)",
            95,
            "section:gradients",
            cost=2.5,
            doing="gradients, forward and backward",
            unless="of a loss on words",
        ),
        Entry(
            "lookback",
            "context or own words, in conversations and generated text",
            57,
            "section:lookback",
            decoder=39,
        ),
        Entry(
            "figures",
            "every measure as a map of heads and by layer (figures 2 and 4)",
            90,
            "section:figures",
            last=True,
            of=ANY,
        ),
        Entry("table", "all heads, all figures", 86, "section:table", last=True, of=ANY),
    ),
)
