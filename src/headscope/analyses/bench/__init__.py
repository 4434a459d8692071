"""One row of a public table beside the published ones."""

from typing import Literal

from headscope.analyses.record import Analysis

Name = Literal[
    "aer", "timing", "contacts", "uuas", "retrieval", "induction", "circuits", "faithfulness", "cite"
]
"""The tables that there are."""

By = Literal["heads", "similar"]
"""What aligns words: heads and hidden states, or what a word's absence does to each sentence's vector."""

ANALYSIS = Analysis(
    name="bench",
    order=155,
    function="run:bench",
    columns="name data model layer head system aer? timing? contacts? uuas? retrieval? induction? circuits? "
    "faithfulness? cite? ci_low ci_high n source",
)
