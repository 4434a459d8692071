"""One row of a public table beside the published ones."""

from headscope.analyses.record import Analysis

ANALYSIS = Analysis(name="bench", order=155, function="run:bench")
