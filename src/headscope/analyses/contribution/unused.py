"""What a token without a meaning, put into an input, does to the attention of the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal, Unpack

import numpy as np
import xarray as xr

from headscope.analyses.contribution.inputs import Figures, over_inputs
from headscope.analyses.options import Through, with_options
from headscope.analyses.result import returns_result
from headscope.attention.one import capture, tokens_of
from headscope.core.arrays import AnyFloats, Bools
from headscope.core.counts import plural
from headscope.core.maps import AttentionMaps
from headscope.core.tokens import Tokens
from headscope.core.types import AnyDict
from headscope.corpora import Corpus, Example
from headscope.errors import InputError
from headscope.measures.choose import choose, surface
from headscope.measures.measure import Measure
from headscope.models import Model
from headscope.runs.options import COMMAND, RunOptions

Place = int | Literal["first", "middle", "last"]

MASS = "to_unused"

_RESERVED = (
    "[unused1]",
    "[unused0]",
    "<unused1>",
    "<unused0>",
    "<|reserved_special_token_0|>",
    "<reserved_special_token_0>",
    "<extra_id_0>",
    "madeupword0000",
)


@returns_result
@with_options(batch_size=8)
def unused_token(
    model: Model,
    corpus: Corpus | Iterable[Example] | str | tuple[str, str] | Tokens,
    *,
    position: Place = "first",
    token: str | None = None,
    measures: Sequence[str | Measure] | None = None,
    renormalise: bool = True,
    **options: Unpack[Through],
) -> xr.Dataset:
    """What inserting a reserved token does to the other tokens' attention among themselves, and what goes to it.

    Each input is read twice, as it is and with the token; of the second reading the token's own row and column are
    left out, so that the same rows and keys are compared. Positions after the token move on by one, which is a part
    of what is measured.

    Args:
        model: from `headscope.load`: a model of one part.
        corpus: from `headscope.corpora`, examples that have their tokens, or one text or pair.
        position: where the token comes to stand: a place in the input (as in ``list.insert``: -1 is before the last
            token), or ``first`` (after the special tokens that the input begins with), ``middle``, or ``last``
            (before those that it ends with).
        token: a piece of the vocabulary; by default ``[unused1]`` or the model's own reserved token.
        measures: of the other tokens' rows, as in `headscope.measure`; by default the group ``surface``.
        renormalise: divide the rows of the second reading by what they keep for the other tokens, so that a change is
            one of how they share it out (a row that gives the token all of it, to the last digit, gives them nothing).
            False: rows stay as they are, and a part of each change is the mass gone to
            the token.
        batch_size: inputs between two steps of the progress; they run one at a time.

    Returns:
        A dataset over ``(layer, head)``: ``to_unused``, the mean share of a row's attention that goes to the token,
        over the other tokens that can see it; and for each measure m ``m_change`` (with less without), ``m_with`` and
        ``m_without``, in the measure's units. All are means over inputs, with ``_se`` (a jackknife by document; of
        changes it is that of the paired differences) and ``_n`` (inputs).

    Raises:
        InputError: no such token, a place that the input does not have, an input that is too long by one token, an
            encoder-decoder.

    >>> model = headscope.load()
    >>> result = unused_token(model, ("The cat sat.", "It was tired."), measures=["first", "sep"])
    >>> [name for name in result.data_vars if "_" not in name.removeprefix("to_")]
    ['to_unused']
    >>> result.sep_change.dims
    ('layer', 'head')
    """
    if model.encoder_decoder:
        raise InputError(f"{model.name}: expected a model of one part, found an encoder-decoder")
    piece = _piece(model, token)
    number = int(model.tokenizer.convert_tokens_to_ids(piece))
    wanted = choose(measures)
    if wrong := [measure.name for measure in wanted if measure.matrix != "weights"]:
        raise InputError(f"measures: expected measures of weights, found {wrong[0]}")
    if isinstance(corpus, (str, tuple, Tokens)):
        corpus = [Example(tokens=tokens_of(model, corpus), source="text")]
    about = (
        f"Mean share of the attention of the other tokens that goes to {piece}, over those that can see it."
    )
    definitions = [Measure(MASS, f"to {piece}", about, "share", None, "rows")]
    for measure in wanted:
        for part, what in (("change", "Change by"), ("with", "With"), ("without", "Without")):
            text = f"{what} {piece}, of: {measure.description}"
            name, title = f"{measure.name}_{part}", f"{measure.title}, {part}"
            definitions.append(Measure(name, title, text, measure.units, measure.source, "rows"))

    def figures(batch: Sequence[Tokens]) -> Figures:
        readings = [
            _both(model, tokens, placed(tokens, position), piece, number, wanted, renormalise)
            for tokens in batch
        ]
        return Figures(
            readings[0].layers,
            np.concatenate([reading.values for reading in readings]),
            np.concatenate([reading.there for reading in readings if reading.there is not None]),
        )

    return over_inputs(
        model,
        corpus,
        definitions,
        figures,
        title="unused token",
        options=RunOptions(**options),
        asked={"token": piece, "position": position, "renormalise": renormalise},
        meta=lambda: {"command": COMMAND.get()},
    )


def inserted(tokens: Tokens, index: int, piece: str, number: int) -> Tokens:
    """An input with one more token, which is special and in no class, word or sequence."""

    kind = None if tokens.type_ids is None else tokens.type_ids[max(0, index - 1)]
    values: AnyDict = {"ids": number, "type_ids": kind, "special_mask": True}
    values |= {"word_ids": -1, "sequence_ids": -1, "texts": ""}
    pieces = [*tokens.pieces[:index], piece, *tokens.pieces[index:]]
    return tokens.changed(pieces, lambda name, array: np.insert(array, index, values.get(name, 0), axis=0))


def _piece(model: Model, token: str | None) -> str:
    if model.tokenizer is None:
        raise InputError(f"{model.name}: no tokenizer, so no token to insert")
    known: dict[str, int] = model.tokenizer.get_vocab()
    candidates = _RESERVED if token is None else (token,)
    piece = next((piece for piece in candidates if piece in known), None)
    if piece is None and token is not None:
        raise InputError(f"token: expected a piece of the vocabulary, found {token!r}")
    if piece is None:
        raise InputError(
            f"{model.name}: its vocabulary has no reserved token ({', '.join(_RESERVED)}): name one"
        )
    return piece


def placed(tokens: Tokens, position: Place) -> int:
    """Where the token comes to stand, from 0 to the number of tokens."""
    count = len(tokens)
    if isinstance(position, int):
        index = position + count if position < 0 else position
        if not 0 <= index <= count:
            raise InputError(
                f"position: expected a place in an input of {plural(count, 'token')}, found {position}"
            )
        return index
    if position not in ("first", "middle", "last"):
        raise InputError(f"position: expected a number, first, middle or last, found {position!r}")
    inner = np.flatnonzero(~tokens.special)
    first, last = (int(inner[0]), int(inner[-1]) + 1) if len(inner) else (0, count)
    return {"first": first, "middle": (first + last) // 2, "last": last}[position]


def _both(
    model: Model,
    tokens: Tokens,
    index: int,
    piece: str,
    number: int,
    measures: Sequence[Measure],
    renormalise: bool,
) -> Figures:
    """The figures of one input, read without and with the token."""
    if model.max_length is not None and len(tokens) >= model.max_length:
        raise InputError(
            f"expected inputs of fewer than the {model.max_length} tokens that the model takes, found {len(tokens)}"
        )
    without = capture(model, tokens)
    more = capture(model, inserted(tokens, index, piece, number))
    if not isinstance(without, AttentionMaps) or not isinstance(more, AttentionMaps):
        raise InputError(f"{model.name}: expected a model of one part, found several")
    others = np.arange(len(tokens) + 1) != index
    mass = [layer[:, others, index] for layer in more.layers]
    seeing = [more.sight(layer)[:, others, index] for layer in range(len(more))]
    heads = max(map(len, without.layers))
    values = np.full((1, 1 + 3 * len(measures), len(without), heads), np.nan)
    there = np.ones(values.shape[:2])
    there[0, 0] = any(rows.any() for rows in seeing)
    for layer, (share, rows) in enumerate(zip(mass, seeing, strict=True)):
        values[0, 0, layer, : len(share)] = (share * rows).sum(1) / np.maximum(rows.sum(1), 1)
    kept = _others(more, others, mass, without, renormalise)
    before, after = surface(without, measures), surface(kept, measures)
    for at, measure in enumerate(measures):
        span = slice(1 + 3 * at, 4 + 3 * at)
        if measure.name in before and measure.name in after:
            a, b = before[measure.name].values, after[measure.name].values
            values[0, span] = np.stack([b - a, b, a])
        else:
            there[0, span] = 0.0
            values[0, span] = np.where(np.isfinite(values[0, :1]), 0.0, np.nan)
    return Figures(list(without.index), values, there)


def _others(
    more: AttentionMaps,
    others: Bools,
    mass: Sequence[AnyFloats],
    without: AttentionMaps,
    renormalise: bool,
) -> AttentionMaps:
    """The maps without the token's row and column; what a row loses is a sink, or is divided out."""
    kept = more.take(others, others)
    layers, sinks = kept.layers, kept.sink or [np.zeros(share.shape) for share in mass]
    if renormalise:
        rest = [layer.sum(-1) + sink for layer, sink in zip(layers, sinks, strict=True)]
        alive = [np.where(mass > 0, mass, 1.0) for mass in rest]
        layers = [layer / mass[..., None] for layer, mass in zip(layers, alive, strict=True)]
        sinks = [
            np.where(mass > 0, sink / safe, 1.0) for sink, mass, safe in zip(sinks, rest, alive, strict=True)
        ]
    else:
        sinks = [sink + share for sink, share in zip(sinks, mass, strict=True)]
    return replace(without, layers=layers, sink=sinks, visible=kept.visible, meta=more.meta)
