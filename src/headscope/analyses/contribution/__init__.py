"""What the output owes to a head."""

from headscope.analyses.record import Analysis

ANALYSIS = Analysis(name="contribution", order=130, function="importance:importance")
