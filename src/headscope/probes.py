"""Probing classifiers: what can be read off a model's attention, words or hidden states by a small trained function.

Clark et al. 2019 (section 5, table 3), Hewitt and Manning 2019, Hewitt and Liang 2019; see docs/probes.md.
`headscope.probe` trains and scores them on treebanks.
"""

from headscope.analyses.probes.fit import Fitted, fit
from headscope.analyses.probes.modules import AttentionProbe, DistanceProbe, TreeDepth, TreeDistance
from headscope.analyses.probes.trees import Trees

__all__ = ["AttentionProbe", "DistanceProbe", "Fitted", "TreeDepth", "TreeDistance", "Trees", "fit"]
