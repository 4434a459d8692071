"""Coreference."""

from headscope.analyses.record import Analysis, Command, Entry, Position

ANALYSIS = Analysis(
    name="coref",
    order=40,
    function="run:coreference",
    command=Command(
        "coref",
        "Which head finds antecedents: accuracies by type of mention with intervals, beside four rules.",
        groups=("model", "table", "long", "engines"),
        positions=(
            Position(
                "FILE",
                "Coreference: .conllu with Entity=, CoNLL-2012, .conll, or .jsonl with clusters; the built-in corpus "
                "by default.",
                many=True,
            ),
        ),
        reads="headscope.console.sources:coreference",
        shows="command:shown",
    ),
    estimate="run:estimate",
    axis="candidates",
    section="section:Coref",
    table="statistics:table",
    every="statistics:every_head",
    merge="run:merge",
    sections=(Entry("coref", "coreference (table 2)", 50, "examples:section", reads="coref"),),
)
