"""Which heads do the same."""

from headscope.analyses.record import ANY, Analysis, Entry

ANALYSIS = Analysis(
    name="distance",
    order=15,
    function="run:distance",
    command="distance",
    help="Jensen–Shannon distances between all heads over a corpus, and how heads and layers lie to one another.",
    groups=("inputs", "model", "table", "long", "engines"),
    axis="head_b",
    section="run:findings",
    table="statistics:table",
    columns="layer_a head_a layer_b head_b value se n",
    figure="arrangement:figure",
    files={"map": "arrangement:save_map", "figure": ""},
    merge="run:distance.merge",
    sections=(
        Entry(
            "clusters",
            "the map of heads by their distances (figure 6)",
            82,
            "run:section",
            cost=2.0,
            doing="distances between all heads",
            decoder=25,
            of=ANY,
        ),
    ),
)
