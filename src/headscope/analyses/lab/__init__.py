"""Labs of 18 minutes: text and tasks beside a picture, with the answers that the model itself gives."""

from headscope.analyses.record import Analysis

ANALYSIS = Analysis(name="lab", order=160, function="run:lab")
