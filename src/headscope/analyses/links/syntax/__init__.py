"""Dependency relations."""

from headscope.analyses.record import Analysis, Entry

ANALYSIS = Analysis(
    name="syntax",
    order=30,
    function="run:syntax",
    command="syntax",
    help="Which head finds which dependency relation: accuracies with intervals, beside the best fixed offset.",
    groups=("model", "table", "long", "engines"),
    positions={"TREEBANK": "Trees, .conllu and others; the built-in ones by default."},
    reads="headscope.console.sources:annotated",
    named={"offsets": "", "clusters": "", "treebank": ""},
    estimate="run:syntax.estimate",
    axis="relation",
    section="section:Syntax",
    table="statistics:table",
    columns=(
        "relation n layer head paper direction accuracy ci_low ci_high baseline_offset baseline_accuracy "
        "split_accuracy? split_low? split_high? p? q? few? difference? difference_low? difference_high? times? "
        "choices? effective? clusters?"
    ),
    every="statistics:every_head",
    merge="run:syntax.merge",
    sections=(Entry("syntax", "dependency relations (table 1)", 40, "section:section", reads="treebank"),),
)
