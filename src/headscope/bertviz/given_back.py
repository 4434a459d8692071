"""What transformers 5 left out and BertViz's notebooks use, given back while `headscope.bertviz` is imported.

Each is added where it is missing only, changes nothing that works without it, and is named once, on stderr (in a
notebook on stdout, as it is no error):

- ``tokenizer.encode_plus(a, b)``, which is now ``tokenizer(a, b)``;
- ``model(…)[-1]`` is the maps: transformers 5 puts an empty tuple for cross-attention behind those of an encoder;
- ``model(…, output_attentions=True)`` gives maps under SDPA, too: such a call runs eager attention, as it did in
  transformers 4.
"""

from __future__ import annotations

import sys
from typing import Any

import transformers
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils.generic import ModelOutput

from headscope.attention.interface import supports, through_interface
from headscope.core.notebook import in_notebook

_tokenizers: Any = PreTrainedTokenizerBase
_models: Any = PreTrainedModel
_outputs: Any = ModelOutput
_plain_call: Any = _models.__call__
_plain_tuple: Any = _outputs.to_tuple


def give_back() -> None:
    """Give back what is missing, and say so."""
    given: list[str] = []
    if not hasattr(_tokenizers, "encode_plus"):
        _tokenizers.encode_plus = _encode_plus
        given.append("tokenizer.encode_plus")
    if _outputs.to_tuple(ModelOutput(attentions=(0,), cross_attentions=())) != ((0,),):
        _outputs.to_tuple = _to_tuple
        given.append("maps as the last output")
    if _models.__call__ is _plain_call:
        _models.__call__ = _call
        given.append("output_attentions under SDPA")
    if given:
        version = f"transformers {transformers.__version__}"
        where = sys.stdout if in_notebook() else sys.stderr
        print(f"headscope.bertviz: gave back to {version}: {', '.join(given)}", file=where)


def _encode_plus(
    self: Any, text: Any, text_pair: Any = None, add_special_tokens: bool = True, **options: Any
) -> Any:
    """What the tokenizer gives when it is called with one text or pair."""
    return self(text, text_pair, add_special_tokens=add_special_tokens, **options)


def _to_tuple(self: Any) -> tuple[Any, ...]:
    """The output's fields, without the empty tuples that stand for maps that a model does not have."""
    fields: tuple[Any, ...] = _plain_tuple(self)
    return tuple(field for field in fields if not _empty(field))


def _empty(field: object) -> bool:
    return isinstance(field, tuple) and field == ()


def _call(self: Any, *inputs: Any, **options: Any) -> Any:
    """A call of a model; with eager attention where it is asked for maps that its fused kernel does not form."""
    if (
        not options.get("output_attentions")
        or self.config._attn_implementation == "eager"
        or not supports(self)
    ):
        return _plain_call(self, *inputs, **options)
    with through_interface(self, lambda record: None):
        return _plain_call(self, *inputs, **options)
