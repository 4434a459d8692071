"""Dimensions of queries and keys that carry a pattern."""

from headscope.analyses.record import Analysis

ANALYSIS = Analysis(name="neuron_patterns", order=140, function="run:neuron_patterns")
