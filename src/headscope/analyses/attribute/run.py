"""Direct logit attribution: which heads, and which of the tokens they look at, give a token its logit."""

from __future__ import annotations

import xarray as xr

from headscope.analyses.attribute import statistics
from headscope.analyses.result import returns_result
from headscope.attention.one import Text, prepare
from headscope.attention.residual import token_id, unembedding, written
from headscope.core.counts import plural
from headscope.core.validation import validated
from headscope.errors import InputError
from headscope.models import Model
from headscope.models.pieces import shown_piece
from headscope.runs.long import described
from headscope.runs.options import COMMAND


@returns_result
@validated
def attribute(model: Model, text: Text, *, token: str | int | None = None, position: int = -1) -> xr.Dataset:
    """Direct logit attribution: the logit of one token at one position, as a sum of what each part adds to it.

    In a decoder with one residual stream, the logits are the unembedding of the final norm of a sum: the embedding, and
    what each head and each MLP wrote. With **the norm frozen**, its divisor as it is on this input, the logit is a sum
    too. A head's part is split by the token that its values come from: ``α_qk v_k W_O`` along the token's direction.
    Where a norm follows attention (Gemma 2), it is frozen as well.

    It is the *direct* effect only: what later layers make of a head's output counts as theirs. The logit is the model's
    own **before a final softcap** (Gemma 2), which is no sum.

    Source: Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits"; Wang et al. 2022, section 3.

    Args:
        model: a causal language model from `headscope.load`, in float32 or float64.
        text: as in `headscope.capture`; of `Tokens` the ids are read.
        token: a text that is one token (mind the space: ``" Paris"``), a piece of the vocabulary, or an id; by default
            the token with the largest logit.
        position: after which token of the input the logit is read, from 0; negative from the end.

    Returns:
        A dataset of logits: ``heads`` over ``(layer, head, source)``, 0 where the position cannot see the source;
        ``attention_bias`` and ``mlp`` (all else that a layer writes) over ``layer``, and of a hybrid ``mixer``, what a
        convolution, linear attention, a state space or a recurrence writes (``mixer_kind`` says which of these);
        ``embedding``, ``bias`` (of the final norm and the unembedding) and ``logit``. The others sum to ``logit``, to
        1e-4 of the largest of them (or of 1), which is checked. A bias of the values counts for the token of the value.
        ``piece`` names the sources.

    Raises:
        InputError: no such token or position.
        RefusedError: an encoder or encoder-decoder, a model whose parts do not add to one stream, which the message
            names; weights of half precision.

    >>> import transformers
    >>> config = transformers.GPT2Config(vocab_size=20, n_embd=8, n_layer=2, n_head=2, n_positions=8)
    >>> small = headscope.load(transformers.GPT2LMHeadModel(config))
    >>> found = attribute(small, headscope.Tokens(["a", "b", "c"], ids=[3, 4, 5]), token=7)
    >>> found["heads"].dims, found["heads"].shape
    (('layer', 'head', 'source'), (2, 2, 3))
    >>> parts = found.drop_vars("logit").map(lambda part: part.sum())
    >>> abs(sum(float(part) for part in parts.values()) - float(found["logit"])) < 1e-4
    True
    """
    unembedding(model)
    axes, ready = prepare(model, text)
    tokens = axes["self"]
    place = position + len(tokens) if position < 0 else position
    if not 0 <= place < len(tokens):
        raise InputError(
            f"position: expected a place in an input of {plural(len(tokens), 'token')}, found {position}"
        )
    parts = written(model, ready, place, None if token is None else token_id(model, token))
    meta = {
        "model": described(model, ())["model"],
        "token": shown_piece(model.tokenizer, parts.token),
        "id": parts.token,
        "position": place,
        "after": tokens.pieces[place],
        "softcap": parts.softcap,
        "command": COMMAND.get(),
    }
    return statistics.dataset(parts.heads, parts.terms, parts.layers, tokens.pieces, meta, parts.kinds)
