"""Where a long text looks back, sentence by sentence."""

from headscope.analyses.record import Analysis, Command, Position

ANALYSIS = Analysis(
    name="sentences",
    order=131,
    function="run:sentences",
    command=Command(
        "sentences",
        "Where does a long text look back, sentence by sentence, and which heads look at few sentences?",
        positions=(Position("FILE...", "Text files, each one text.", many=True, required=True),),
        runs="command:run",
        named={"spans": ""},
        metavars={"head": "L.H"},
        shows="command:shown",
    ),
    axis="kurtosis",
    section="run:findings",
    table="run:table",
    figure="run:figure",
)
