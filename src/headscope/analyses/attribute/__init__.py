"""What each head adds to the logit of a token."""

from headscope.analyses.record import Analysis, Command, Position

ANALYSIS = Analysis(
    name="attribute",
    order=125,
    function="run:attribute",
    command=Command(
        "attribute",
        "Which heads give a token its logit, and from where? Direct logit attribution, the final norm frozen.",
        section="Why",
        positions=(Position("TEXT", "What the model reads.", required=True),),
    ),
    axis="source",
    section="statistics:findings",
    table="statistics:table",
)
