"""Probing classifiers for trees."""

from headscope.analyses.record import Analysis, Entry

ANALYSIS = Analysis(
    name="probes",
    order=60,
    function="run:probe",
    command="probe",
    estimate="run:estimate",
    axis="probe",
    table="statistics:table",
    sections=(Entry("probes", "probes for trees (table 3)", 55, "section:section", reads="treebank"),),
)
