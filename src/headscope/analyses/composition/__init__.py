"""Which head feeds which."""

from headscope.analyses.record import Analysis, Entry

ANALYSIS = Analysis(
    name="composition",
    order=132,
    function="run:composition",
    command="composition",
    help="Which head feeds which? What heads read of what others wrote. Not whether the answer needs it: patch.",
    heading="Why",
    groups=("texts", "model", "table", "long", "engines"),
    metavars={"head": "L.H"},
    rules={"of": "head", "ablated": "head", "reinitialised": "head", "repeated": "-needles"},
    axis="reader",
    section="section:Composition",
    table="statistics:table",
    columns=(
        "layer head paper kind writer_layer writer_head writer share ci_low ci_high z q | side writer layer head "
        "paper share se ci_low ci_high chance p q share_untrained? contrast_left? left_se? attention_left? "
        "attention_se?"
    ),
    merge="run:composition.merge",
    sections=(Entry("composition", "which head feeds which", 35, "section:section"),),
)
