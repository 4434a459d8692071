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
    from headscope.analyses.contribution.ablation import ablation
    from headscope.analyses.contribution.importance import importance, relevance
    from headscope.analyses.contribution.statistics import flow, rollout
    from headscope.analyses.contribution.unused import unused_token
    from headscope.analyses.contribution.variability import variability
    from headscope.analyses.coref.run import coreference
    from headscope.analyses.distance.run import distance
    from headscope.analyses.measure.figure import figure
    from headscope.analyses.measure.run import measure
    from headscope.analyses.merge import merge
    from headscope.analyses.negation.run import negation
    from headscope.analyses.neuron_patterns.run import neuron_patterns
    from headscope.analyses.probes.run import probe
    from headscope.analyses.roles.run import roles
    from headscope.analyses.syntax.run import syntax
    from headscope.analyses.tables import table
    from headscope.attention.edit import ablate, edit
    from headscope.attention.generate import generate
    from headscope.attention.load import load
    from headscope.attention.one import capture, gradients
    from headscope.errors import HeadscopeError, InputError, ModelError, RefusedError, ShapeError
    from headscope.heads import Head
    from headscope.live.view import head_view, model_view, neuron_view, view
    from headscope.maps import AttentionMaps, wrap
    from headscope.measures.measure import by_pairs, by_rows
    from headscope.reports.run import report
    from headscope.store import open_maps
    from headscope.tokens import Tokens

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
    "ablation": "headscope.analyses.contribution.ablation",
    "by_pairs": "headscope.measures.measure",
    "by_rows": "headscope.measures.measure",
    "capture": "headscope.attention.one",
    "coreference": "headscope.analyses.coref.run",
    "distance": "headscope.analyses.distance.run",
    "edit": "headscope.attention.edit",
    "figure": "headscope.analyses.measure.figure",
    "flow": "headscope.analyses.contribution.statistics",
    "generate": "headscope.attention.generate",
    "gradients": "headscope.attention.one",
    "head_view": "headscope.live.view",
    "importance": "headscope.analyses.contribution.importance",
    "load": "headscope.attention.load",
    "measure": "headscope.analyses.measure.run",
    "merge": "headscope.analyses.merge",
    "model_view": "headscope.live.view",
    "negation": "headscope.analyses.negation.run",
    "neuron_patterns": "headscope.analyses.neuron_patterns.run",
    "neuron_view": "headscope.live.view",
    "open_maps": "headscope.store",
    "probe": "headscope.analyses.probes.run",
    "relevance": "headscope.analyses.contribution.importance",
    "report": "headscope.reports.run",
    "roles": "headscope.analyses.roles.run",
    "rollout": "headscope.analyses.contribution.statistics",
    "syntax": "headscope.analyses.syntax.run",
    "table": "headscope.analyses.tables",
    "variability": "headscope.analyses.contribution.variability",
    "unused_token": "headscope.analyses.contribution.unused",
    "view": "headscope.live.view",
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
    "open_maps",
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
