"""headscope: see and measure where a transformer looks.

>>> import headscope as hs
>>> model = hs.load()                                      # the demo model; or "gpt2", a folder, a module
>>> maps = hs.capture(model, "The cat sat on the mat.")    # every head's map, exact
>>> stats = hs.measure(model, hs.corpora.builtin())        # every head over a corpus, with errors
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from headscope import compare, corpora, probes
    from headscope.attention.edit import ablate, edit
    from headscope.attention.generate import generate
    from headscope.attention.one import capture, gradients
    from headscope.errors import HeadscopeError, InputError, ModelError, RefusedError, ShapeError
    from headscope.heads import Head
    from headscope.maps import AttentionMaps, wrap
    from headscope.measures.flow import flow, rollout
    from headscope.measures.measure import by_pairs, by_rows
    from headscope.run.ablation import ablation
    from headscope.run.coref import coreference
    from headscope.run.distance import distance
    from headscope.run.importance import importance, relevance
    from headscope.run.load import load
    from headscope.run.measure import measure
    from headscope.run.merge import merge
    from headscope.run.negation import negation
    from headscope.run.neuron_patterns import neuron_patterns
    from headscope.run.probe import probe
    from headscope.run.report import report
    from headscope.run.roles import roles
    from headscope.run.syntax import syntax
    from headscope.run.tables import table
    from headscope.run.unused import unused_token
    from headscope.run.variability import variability
    from headscope.run.view import head_view, model_view, neuron_view, view
    from headscope.tokens import Tokens
    from headscope.views.figure_measure import figure

_WHERE = {
    "AttentionMaps": "headscope.maps",
    "Head": "headscope.heads",
    "HeadscopeError": "headscope.errors",
    "InputError": "headscope.errors",
    "ModelError": "headscope.errors",
    "RefusedError": "headscope.errors",
    "ShapeError": "headscope.errors",
    "Tokens": "headscope.tokens",
    "ablate": "headscope.attention.edit",
    "ablation": "headscope.run.ablation",
    "by_pairs": "headscope.measures.measure",
    "by_rows": "headscope.measures.measure",
    "capture": "headscope.attention.one",
    "coreference": "headscope.run.coref",
    "distance": "headscope.run.distance",
    "edit": "headscope.attention.edit",
    "figure": "headscope.views.figure_measure",
    "flow": "headscope.measures.flow",
    "generate": "headscope.attention.generate",
    "gradients": "headscope.attention.one",
    "head_view": "headscope.run.view",
    "importance": "headscope.run.importance",
    "load": "headscope.run.load",
    "measure": "headscope.run.measure",
    "merge": "headscope.run.merge",
    "model_view": "headscope.run.view",
    "negation": "headscope.run.negation",
    "neuron_patterns": "headscope.run.neuron_patterns",
    "neuron_view": "headscope.run.view",
    "probe": "headscope.run.probe",
    "relevance": "headscope.run.importance",
    "report": "headscope.run.report",
    "roles": "headscope.run.roles",
    "rollout": "headscope.measures.flow",
    "syntax": "headscope.run.syntax",
    "table": "headscope.run.tables",
    "variability": "headscope.run.variability",
    "unused_token": "headscope.run.unused",
    "view": "headscope.run.view",
    "wrap": "headscope.maps",
}

__all__ = [
    "AttentionMaps",
    "Head",
    "HeadscopeError",
    "InputError",
    "ModelError",
    "RefusedError",
    "ShapeError",
    "Tokens",
    "ablate",
    "ablation",
    "by_pairs",
    "by_rows",
    "capture",
    "compare",
    "coreference",
    "corpora",
    "distance",
    "edit",
    "figure",
    "flow",
    "generate",
    "gradients",
    "head_view",
    "importance",
    "load",
    "measure",
    "merge",
    "model_view",
    "negation",
    "neuron_patterns",
    "neuron_view",
    "probe",
    "probes",
    "relevance",
    "report",
    "roles",
    "rollout",
    "syntax",
    "table",
    "unused_token",
    "variability",
    "view",
    "wrap",
]


def __getattr__(name: str) -> Any:
    """Public names load what they need when they are first used."""
    if name in ("compare", "corpora", "probes"):
        return importlib.import_module(f"headscope.{name}")
    if name in _WHERE:
        value = getattr(importlib.import_module(_WHERE[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'headscope' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
