"""Head by head, with examples."""

from headscope.analyses.record import ANY, Analysis, Entry

ANALYSIS = Analysis(
    name="cards",
    order=25,
    function="run:choose_examples",
    sections=(
        Entry(
            "cards",
            "head by head, with real examples",
            60,
            "section:section",
            accompanies=("*",),
            cost=0.5,
            doing="examples for each head",
            decoder=38,
            of=ANY,
        ),
    ),
)
