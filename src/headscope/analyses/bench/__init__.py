"""One row of a public table beside the published ones."""

from typing import Literal

from headscope.analyses.record import Analysis

Name = Literal["aer", "timing", "contacts", "uuas", "retrieval", "induction"]
"""The tables that there are."""

ANALYSIS = Analysis(name="bench", order=155, function="run:bench")
