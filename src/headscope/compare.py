"""What changed, and is it real? Groups of inputs, models, inputs and checkpoints compared, head by head.

>>> headscope.compare.groups(model, headscope.corpora.pairs("train.tsv")).table       # doctest: +SKIP
>>> headscope.compare.models(base, tuned, headscope.corpora.text("wiki.txt")).table   # doctest: +SKIP
>>> headscope.compare.inputs(model, "The cat sat.", "The dog sat.").table             # doctest: +SKIP
>>> headscope.compare.training(["gpt2@main", "out/"], corpus)                         # doctest: +SKIP
"""

from headscope.analyses.compare.groups.run import groups
from headscope.analyses.compare.inputs.run import inputs
from headscope.analyses.compare.models.run import models
from headscope.analyses.compare.roles.run import roles
from headscope.analyses.compare.training.run import training

__all__ = ["groups", "inputs", "models", "roles", "training"]
