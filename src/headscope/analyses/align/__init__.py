"""Heads by how well they align words with speech."""

from headscope.analyses.record import Analysis, Entry

ANALYSIS = Analysis(
    name="align",
    order=55,
    function="run:align",
    command="align",
    help="When each word of a recording was said, by the cross attention of Whisper; --choose finds the heads for it.",
    groups=("model", "table", "kept", "engines"),
    positions={"AUDIO": "A WAV file, of at most what the model hears at once."},
    more=("heads:alignment_heads",),
    named={"choose": "choose", "sampling_rate": ""},
    metavars={"heads": "L1H2,…", "language": "en"},
    rules={
        **dict.fromkeys(("best", "limit", "resume", "shard", "dask"), "choose"),
        "devices": "choose -dask",
        "write": "choose -shard",
        "text": "-choose audio",
        "heads": "-choose",
    },
    axis="aligned",
    section="section:printed",
    table="statistics:table",
    columns=(
        "layer head paper accuracy ci_low ci_high chance error n chosen monotonic | word start end mass"
    ),
    merge="heads:KIND.merge",
    sections=(
        Entry(
            "align",
            "heads of a decoder that look at words where they are heard",
            24,
            "section:section",
            cost=3.0,
            doing="words and their sound",
            of=("sounds",),
            unless="about sounds",
        ),
    ),
)
