"""Coreference."""

from headscope.analyses.record import Analysis, Entry

ANALYSIS = Analysis(
    name="coref",
    order=40,
    function="run:coreference",
    command="coref",
    help="Which head finds antecedents: accuracies by type of mention with intervals, beside four rules.",
    groups=("model", "table", "long", "engines"),
    positions={
        "FILE": "Coreference: .conllu with Entity=, CoNLL-2012, .conll, or .jsonl with clusters; the built-in corpus "
        "by default."
    },
    reads="headscope.console.sources:coreference",
    estimate="run:coreference.estimate",
    axis="candidates",
    section="section:Coref",
    table="statistics:table",
    columns=(
        "system candidates layer head paper type accuracy ci_low ci_high n split? split_low? split_high? difference? "
        "difference_low? difference_high? p? times? choices? rule? effective? clusters?"
    ),
    every="statistics:every_head",
    merge="run:coreference.merge",
    sections=(Entry("coref", "coreference (table 2)", 50, "examples:section", reads="coref"),),
)
