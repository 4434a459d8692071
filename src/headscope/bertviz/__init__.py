"""BertViz's calls on headscope's views: a notebook of BertViz runs with its imports changed.

>>> from headscope.bertviz import head_view, model_view
>>> from headscope.bertviz.neuron_view import show
>>> from headscope.bertviz.transformers_neuron_view import BertModel, BertTokenizer

What transformers 5 left out and these notebooks use is given back on import: see `headscope.bertviz.given_back`.
"""

from __future__ import annotations

from headscope.bertviz.attention_views import head_view, model_view
from headscope.bertviz.given_back import give_back

__all__ = ["head_view", "model_view"]

give_back()
