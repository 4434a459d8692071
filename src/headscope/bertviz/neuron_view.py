"""`show`, BertViz's neuron view, on any model."""

from __future__ import annotations

from typing import Any, Literal

from headscope.bertviz.show import HtmlAction, shown
from headscope.core.types import AnyDict
from headscope.core.validation import validated
from headscope.live import view as views
from headscope.models import Model
from headscope.models import load as find


@validated
def show(
    model: Any,
    model_type: str | None,
    tokenizer: Any,
    sentence_a: str,
    sentence_b: str | None = None,
    display_mode: Literal["dark", "light"] = "dark",
    layer: int | None = None,
    head: int | None = None,
    html_action: HtmlAction = "view",
) -> Any:
    """Show how queries and keys make the attention of a head: the "+" beside a token opens its neurons.

    Args:
        model: any model that transformers loads; it need not be one of `transformers_neuron_view`.
        model_type: BertViz's name of its kind; not needed here, any model will do.
        tokenizer: its tokenizer, which also says which special tokens stand around the texts.
        sentence_a: text A.
        sentence_b: text B.
        display_mode: ``dark`` or ``light``.
        layer, head: what is shown at first; 0 and 0 by default.
        html_action: ``view`` displays; ``return`` returns an object whose ``data`` is a page of HTML.
    """
    del model_type
    ready = model if isinstance(model, Model) else find((model, tokenizer))
    state: AnyDict = {
        "scale": "head",
        "layer": layer or 0,
        "heads": [head or 0],
        "theme": display_mode,
    }
    view = views.neuron_view(ready, sentence_a, pair=sentence_b or None, neurons=True, **state)
    return shown(view, html_action)
