"""Two inputs."""

from headscope.analyses.record import Analysis

ANALYSIS = Analysis(
    name="compare_inputs",
    order=100,
    function="run:inputs",
    command="compare inputs",
)
