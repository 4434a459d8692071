"""BertViz's calls on headscope's views: a notebook of BertViz runs with its imports changed.

>>> from headscope.bertviz import head_view, model_view
>>> from headscope.bertviz.neuron_view import show
>>> from headscope.bertviz.transformers_neuron_view import BertModel, BertTokenizer
"""

from __future__ import annotations

from headscope.bertviz.attention_views import head_view, model_view

__all__ = ["head_view", "model_view"]
