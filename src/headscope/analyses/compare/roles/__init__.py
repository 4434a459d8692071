"""The roles of two models."""

from headscope.analyses.record import Analysis

ANALYSIS = Analysis(
    name="compare_roles", order=120, function="run:roles", axis="heads_a", section="run:lines"
)
