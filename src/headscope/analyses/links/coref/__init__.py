"""Coreference."""

from headscope.analyses.record import Analysis, Entry

ANALYSIS = Analysis(
    name="coref",
    order=40,
    function="run:coreference",
    command="coref",
    estimate="run:estimate",
    axis="candidates",
    table="statistics:table",
    merge="run:merge",
    prints="command:printed",
    sections=(Entry("coref", "coreference (table 2)", 50, "examples:section", reads="coref"),),
)
