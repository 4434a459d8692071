"""The card of a model's heads: one JSON that others can read, compare and make again."""

from headscope.analyses.record import Analysis

ANALYSIS = Analysis(
    name="card", order=150, function="run:card", columns="list layer head paper a b difference se p q"
)
