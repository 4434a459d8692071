"""Where a long text looks back, sentence by sentence."""

from headscope.analyses.record import Analysis

ANALYSIS = Analysis(
    name="sentences",
    order=131,
    function="run:sentences",
    command="sentences",
    help="Where does a long text look back, sentence by sentence, and which heads look at few sentences?",
    positions={"FILE...": "Text files, each one text."},
    more=("run:figure",),
    named={"spans": "", "level": ""},
    metavars={"head": "L.H"},
    axis="kurtosis",
    section="run:findings",
    table="run:table",
    columns="layer head paper kurtosis ci_low ci_high chance p q sentence received text",
    figure="run:figure",
)
