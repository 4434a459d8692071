"""What changed, and is it real? Groups of inputs, models, inputs and checkpoints compared, head by head.

The statistics of this package need no torch (`permutation`, `two_groups`, `two_inputs`, `two_models`, `two_roles`). Its
public functions run models; they load when they are first used:

>>> headscope.compare.groups(model, headscope.corpora.pairs("train.tsv")).table       # doctest: +SKIP
>>> headscope.compare.models(base, tuned, headscope.corpora.text("wiki.txt")).table   # doctest: +SKIP
>>> headscope.compare.inputs(model, "The cat sat.", "The dog sat.").table             # doctest: +SKIP
>>> headscope.compare.training(["gpt2@main", "out/"], corpus)                         # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headscope.analyses.compare_groups.run import groups
    from headscope.analyses.compare_inputs.run import inputs
    from headscope.analyses.compare_models.run import models
    from headscope.analyses.compare_roles.run import roles
    from headscope.analyses.compare_training.run import training

__all__ = ["groups", "inputs", "models", "roles", "training"]


def __getattr__(name: str) -> Any:
    """Functions load what they need when they are first used."""
    if name in __all__:
        value = getattr(importlib.import_module(f"headscope.analyses.compare_{name}.run"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'headscope.compare' has no attribute {name!r}")
