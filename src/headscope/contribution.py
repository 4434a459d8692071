"""What does a head contribute? Gradients, norms, ablation and flow, each a function.

>>> headscope.contribution.importance(model, corpus)                 # gradients: every head, one backward pass
>>> headscope.contribution.ablation(model, corpus, heads=["L4H2"])   # the output without a head
>>> headscope.contribution.norms(model, "The cat sat.")              # what each key contributes to each query
>>> headscope.contribution.relevance(model, "The cat sat.")          # gradient x attention, from layer to layer
>>> headscope.contribution.value_zeroing(model, "The cat sat.")      # what a layer takes from each token
>>> headscope.contribution.logit_lens(model, "The cat sat")          # what the model would say after each layer
>>> headscope.contribution.rollout(maps)                             # attention of all layers, multiplied up
>>> headscope.contribution.flow(maps)                                # the largest flow from token to token
"""

from headscope.analyses.contribution.importance import ablation, importance, relevance
from headscope.analyses.contribution.layers import logit_lens, value_zeroing
from headscope.analyses.contribution.statistics import flow, rollout
from headscope.analyses.contribution.unused import unused_token
from headscope.analyses.contribution.variability import variability
from headscope.analyses.neuron_patterns.run import neuron_patterns
from headscope.attention.neurons import norms

__all__ = [
    "ablation",
    "flow",
    "importance",
    "logit_lens",
    "neuron_patterns",
    "norms",
    "relevance",
    "rollout",
    "unused_token",
    "value_zeroing",
    "variability",
]
