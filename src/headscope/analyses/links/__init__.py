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
