"""What does a head contribute? Gradients, norms, ablation and flow, each a function.

What runs a model loads when it is first used:

>>> headscope.contribution.importance(model, corpus)             # gradients: every head, one backward pass
>>> headscope.contribution.ablation(model, corpus, heads=["L4H2"])   # the output without a head
>>> headscope.contribution.norms(model, "The cat sat.")          # what each key contributes to each query
>>> headscope.contribution.relevance(model, "The cat sat.")      # gradient x attention, from layer to layer
>>> headscope.contribution.rollout(maps)                         # attention of all layers, multiplied up
>>> headscope.contribution.flow(maps)                            # the largest flow from token to token
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headscope.analyses.contribution.ablation import ablation
    from headscope.analyses.contribution.importance import importance, relevance
    from headscope.analyses.contribution.statistics import flow, rollout
    from headscope.attention.neurons import norms

_WHERE = {
    "ablation": "headscope.analyses.contribution.ablation",
    "flow": "headscope.analyses.contribution.statistics",
    "importance": "headscope.analyses.contribution.importance",
    "norms": "headscope.attention.neurons",
    "relevance": "headscope.analyses.contribution.importance",
    "rollout": "headscope.analyses.contribution.statistics",
}

__all__ = ["ablation", "flow", "importance", "norms", "relevance", "rollout"]


def __getattr__(name: str) -> Any:
    """Functions load what they need when they are first used."""
    if name in _WHERE:
        value = getattr(importlib.import_module(_WHERE[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'headscope.contribution' has no attribute {name!r}")
