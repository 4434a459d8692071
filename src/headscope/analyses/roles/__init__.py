"""Roles of heads, tested."""

from headscope.analyses.record import ANY, Analysis, Entry

ANALYSIS = Analysis(
    name="roles",
    order=20,
    function="run:roles",
    command="roles",
    sections=(
        Entry(
            "roles",
            "patterns and roles of heads, tested",
            20,
            "section:section",
            beside=("figures", "clusters", "cards", "compare"),
            of=ANY,
        ),
    ),
)
