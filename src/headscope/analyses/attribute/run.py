"""Direct logit attribution: which heads, and which of the tokens they look at, give a token its logit.

The terms of a logit as a dataset and as a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.result import returns_result
from headscope.attention.one import Text, prepare
from headscope.attention.residual import LogitTerms, token_id, unembedding, written
from headscope.core.arrays import of_layers
from headscope.core.counts import plural
from headscope.core.types import AnyDict, AnyMapping
from headscope.core.validation import validated
from headscope.errors import InputError
from headscope.measures.dataset import describe, description
from headscope.measures.tidy import tidy
from headscope.models import Model
from headscope.models.pieces import shown_piece
from headscope.runs.long import described
from headscope.runs.options import COMMAND
from headscope.views.blocks import Block, rows_of

COLUMNS = ("part", "layer", "head", "paper", "contribution", "source", "token", "from_source")
"""Columns of the table: ``source`` is the index of the token from which most of a head's part comes."""

TERMS = {
    "heads": "What a head adds to the logit with what it takes from a source token.",
    "attention_bias": "What the biases of a layer's attention add, which come from no head.",
    "mixer": "What else mixes tokens in a layer adds: a convolution, linear attention, a state space.",
    "mlp": "What a layer adds besides its attention.",
    "embedding": "What enters the first layer adds: the token itself, and its position.",
    "bias": "What the biases of the final norm and of the unembedding add.",
}
"""The terms of a logit, and what they are."""


def dataset(parts: LogitTerms, pieces: Sequence[str], meta: AnyMapping) -> xr.Dataset:
    """Label the terms of a logit.

    Args:
        parts: of it. Where nothing but attention mixes tokens there is no ``mixer``.
        pieces: of the input's tokens.
        meta: what made them.
    """
    kinds, terms = parts.kinds, parts.terms
    variables: AnyDict = {"heads": (("layer", "head", "source"), of_layers(parts.heads))}
    if not any(kinds):
        terms = {name: value for name, value in terms.items() if name != "mixer"}
    for name, value in terms.items():
        variables[name] = ("layer", value) if np.ndim(value) else ((), value)
    coords: AnyDict = {"layer": list(parts.layers), "source": np.arange(len(pieces))}
    coords["piece"] = "source", list(pieces)
    if any(kinds):
        coords["mixer_kind"] = "layer", list(kinds)
    result = xr.Dataset(variables, coords=coords, attrs=describe(meta))
    for name in variables:
        about = TERMS.get(name, "The logit, before a final softcap: the sum of all others.")
        result[name].attrs |= {"units": "logit", "description": about}
    return result


def table(result: xr.Dataset) -> pd.DataFrame:
    """One row a head and one each other term, with `COLUMNS`, the largest first. They sum to the logit."""
    heads = result["heads"]
    total = heads.sum("source", skipna=False)
    most = (heads * np.where(total >= 0, 1, -1)[..., None]).fillna(-np.inf).argmax("source")
    figures = xr.Dataset({"contribution": total, "from_source": heads.isel(source=most)})
    by_head: Any = tidy(
        figures.assign(part="head").reset_coords().rename(piece="token"),
        COLUMNS,
        "contribution",
        ("layer", "head"),
    )
    rows: list[AnyDict] = by_head.to_dict("records")
    layers = [int(layer) for layer in result["layer"].values]
    for name in TERMS:
        if name != "heads" and name in result:
            values = np.atleast_1d(result[name].values)
            of = layers if result[name].ndim else [None]
            parts = result["mixer_kind"].values if name == "mixer" else [name] * len(of)
            rows += [
                {"part": str(part), "layer": layer, "contribution": float(value)}
                for part, layer, value in zip(parts, of, values, strict=True)
                if not np.isnan(value)
            ]
    rows.sort(key=lambda row: -abs(row["contribution"]))
    frame: Any = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame.astype(dict.fromkeys(("layer", "head", "source"), "Int64"))


_SUMS = {
    "heads": "heads",
    "attention_bias": "biases of attention",
    "mixer": "what else mixes tokens",
    "mlp": "MLPs",
    "embedding": "embedding",
    "bias": "final biases",
}


def findings(result: xr.Dataset) -> list[str | Block]:
    """What the logit is the sum of, and the heads that add or take most."""
    rows: Any = table(result)
    about = description(result)
    parts = ", ".join(
        f"{name} {float(result[key].sum()):.3f}" for key, name in _SUMS.items() if key in result
    )
    capped = f", before the softcap of {about['softcap']:g}" if about["softcap"] else ""
    return [
        f"the logit of {about['token']!r} after {about['after']!r}: {float(result['logit']):.3f}{capped} = {parts}",
        "the heads that add or take most (token: from which most of it comes)",
        *rows_of(rows[rows["part"] == "head"], of="attribute", dropped=("part", "source")),
    ]


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
    return dataset(parts, tokens.pieces, meta)
