"""Probing classifiers for trees."""

from headscope.analyses.record import Analysis, Entry

ANALYSIS = Analysis(
    name="probes",
    order=60,
    function="run:probe",
    command="probe",
    help="How much of a dependency tree can be read off attention, words and hidden states by a trained probe.",
    groups=("model", "engines", "table"),
    positions={"TRAIN": "The treebank to train on.", "DEV": "The treebank to score on."},
    reads="headscope.console.sources:annotated",
    named={"kinds": "kind", "clusters": ""},
    metavars={
        "kinds": "attention|attention+words|distance+words|right-branching|reinitialised|structural|all"
    },
    estimate="run:estimate",
    axis="probe",
    section="section:Probes",
    table="statistics:table",
    columns=(
        "probe uas uuas spearman selectivity n seed uas_low uas_high uas_punct uuas_low uuas_high spearman_low "
        "spearman_high depth_spearman root_accuracy control selectivity_low selectivity_high edges sentences layer "
        "vectors epochs loss held_out parameters effective clusters"
    ),
    sections=(Entry("probes", "probes for trees (table 3)", 55, "section:section", reads="treebank"),),
)
