"""Dependency relations."""

from headscope.analyses.record import Analysis, Entry

ANALYSIS = Analysis(
    name="syntax",
    order=30,
    function="run:syntax",
    command="syntax",
    estimate="run:estimate",
    axis="relation",
    table="statistics:table",
    merge="run:merge",
    prints="command:printed",
    sections=(Entry("syntax", "dependency relations (table 1)", 40, "examples:section", reads="treebank"),),
)
