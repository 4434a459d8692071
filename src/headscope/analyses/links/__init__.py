"""Which head connects what belongs together."""

from headscope.analyses.record import Analysis, Entry

ANALYSIS = Analysis(
    name="links",
    order=28,
    function="run:links",
    command="links",
    help="Which head connects X to Y, by any annotation: accuracies with intervals, beside the best simple rule.",
    groups=("model", "table", "long", "engines"),
    positions={
        "FILE": "Links: .jsonl (of pictures, too), A B ALIGNMENT, speech, trees or coreference; by default the "
        "built-in trees or, with a model of pictures, the built-in pictures."
    },
    reads="headscope.console.sources:links",
    named={"offsets": ""},
    metavars={"documents": "field:NAME", "source": "CLASS"},
    rules={"symmetrise": "together", "together": "-shard -skip_failures -estimate -all_heads -devices -dask"},
    estimate="run:links.estimate",
    axis="label",
    section="section:Linked",
    table="statistics:table",
    columns=(
        "label n layer head paper direction accuracy ci_low ci_high split_accuracy? mass rank baseline "
        "baseline_accuracy p? q? inside? area? mean_map? aer? aer_low? aer_high? average_precision split_low? "
        "split_high? few? difference? difference_low? difference_high? times? choices? effective? clusters? | label "
        "system n inputs? accuracy accuracy_low accuracy_high average_precision average_precision_low "
        "average_precision_high aer? aer_low? aer_high? precision_at_l? precision_at_l_low? precision_at_l_high? "
        "precision_at_l5? precision_at_l5_low? precision_at_l5_high? heads"
    ),
    every="statistics:every_head",
    merge="run:links.merge",
    sections=(
        Entry(
            "links",
            "the best heads of links of any kind (--links)",
            45,
            "examples:section",
            needs="links",
            reads="links",
            options=("--links",),
        ),
    ),
)
