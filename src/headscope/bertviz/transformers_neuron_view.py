"""The classes that BertViz's neuron view needs, over the stock ones of transformers.

The models return their maps last, as BertViz's notebooks expect (``model(...)[-1]``); transformers 5 puts an empty
tuple there. The tokenizers have `encode_plus`, which transformers 5 has left out.
"""

from __future__ import annotations

from typing import Any, cast

import transformers
from transformers.utils.generic import ModelOutput


def _maps_last(output: Any) -> Any:
    """The same output without the empty tuples that stand in for maps that a model does not have."""
    if not isinstance(output, ModelOutput):
        return output
    fields = cast(dict[str, Any], dict(output))
    return cast(Any, type(output))(**{name: value for name, value in fields.items() if value != ()})


class _Model:
    def forward(self, *inputs: Any, **options: Any) -> Any:
        """What the stock model returns, its maps last."""
        return _maps_last(cast(Any, super()).forward(*inputs, **options))


class _Tokenizer:
    def encode_plus(self, text: Any, text_pair: Any = None, **options: Any) -> Any:
        """What the tokenizer gives when it is called with one text or pair."""
        return cast(Any, self)(text, text_pair, **options)


class BertModel(_Model, transformers.BertModel):
    """`transformers.BertModel`."""


class GPT2Model(_Model, transformers.GPT2Model):
    """`transformers.GPT2Model`."""


class RobertaModel(_Model, transformers.RobertaModel):
    """`transformers.RobertaModel`."""


class BertTokenizer(_Tokenizer, transformers.BertTokenizer):
    """`transformers.BertTokenizer` with `encode_plus`."""


class GPT2Tokenizer(_Tokenizer, transformers.GPT2Tokenizer):
    """`transformers.GPT2Tokenizer` with `encode_plus`."""


class RobertaTokenizer(_Tokenizer, transformers.RobertaTokenizer):
    """`transformers.RobertaTokenizer` with `encode_plus`."""
