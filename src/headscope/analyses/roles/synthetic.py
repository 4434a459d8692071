"""Inputs made of random tokens that come twice, on which induction and duplicate-token heads show."""

from __future__ import annotations

from typing import Any

import numpy as np

from headscope.core.arrays import Ints
from headscope.core.tokens import Tokens
from headscope.corpora import Example
from headscope.errors import InputError
from headscope.models import Model
from headscope.models.perceive import expect_ids
from headscope.models.pieces import classes, shown_pieces, special_tokens

MOST = 50
"""How many random tokens are repeated, where model and vocabulary allow it."""


def repeated_tokens(
    model: Model, *, tokens: int | None = None, sequences: int = 64, seed: int = 0
) -> list[Example]:
    """Random tokens, and the same again, each sequence a document: ``<s> a b c a b c``.

    Source: Elhage et al. 2021; Olsson et al. 2022. Nothing but the first copy tells what comes next in the second, so
    what a head does there it does by matching tokens. Within a copy all tokens differ. Special tokens stand where the
    tokenizer puts them around a text (``<s>`` in Llama, ``[CLS]`` and ``[SEP]`` in BERT, none in GPT-2); they, the
    unknown token and pieces such as ``[unused7]`` are never drawn. A model without a tokenizer gets ids of its
    vocabulary alone.

    Args:
        model: from `headscope.load`.
        tokens: how many are repeated; by default from 25 to 50, another number in each sequence, or as fit: where all
            copies are as far apart, a head that looks so far back would pass for one that matches tokens.
        sequences: how many sequences.
        seed: of the draw.

    Raises `InputError` where that does not fit the model, and for models of pixels or frames.
    """
    if sequences < 1:
        raise InputError(f"sequences: expected at least 1, found {sequences}")
    vocabulary = _vocabulary(model)
    before, after = _around(model)
    room = len(vocabulary)
    if model.max_length is not None:
        room = min(room, (model.max_length - len(before) - len(after)) // 2)
    size = min(MOST, room) if tokens is None else tokens
    if not 2 <= size <= room:
        raise InputError(f"tokens: expected 2 to {room} to repeat in an input of {model.name}, found {size}")
    draw = np.random.default_rng(seed)
    examples: list[Example] = []
    for number in range(sequences):
        count = size if tokens is not None else int(draw.integers(max(2, size // 2), size + 1))
        ids = draw.choice(vocabulary, count, replace=False)
        axis = _tokens(model, np.concatenate([before, ids, ids, after]), len(before), len(after))
        examples.append(Example(tokens=axis, document=number, source=f"repeated tokens, sequence {number}"))
    return examples


def _vocabulary(model: Model) -> Ints:
    """Ids to draw from."""
    expect_ids(model)
    size: Any = getattr(model.text_config, "vocab_size", None)
    if model.tokenizer is None:
        if not isinstance(size, int):
            raise InputError(
                f"{model.name}: expected a model of tokens, found no vocabulary and no tokenizer"
            )
        names = ("bos", "eos", "pad", "unk", "decoder_start", "mask", "sep", "cls")
        hidden = {getattr(model.text_config, f"{name}_token_id", None) for name in names}
        return np.array([number for number in range(size) if number not in hidden], np.int64)
    tokenizer = model.tokenizer
    size = min(len(tokenizer), size) if isinstance(size, int) else len(tokenizer)
    hidden = {*special_tokens(tokenizer).ids, tokenizer.unk_token_id}
    pieces: list[Any] = tokenizer.convert_ids_to_tokens(range(size))
    unused = ("[unused", "<unused", "<extra_id")
    kept = [
        number
        for number, piece in enumerate(pieces)
        if number not in hidden and piece and not str(piece).startswith(unused)
    ]
    return np.array(kept, np.int64)


def _around(model: Model) -> tuple[Ints, Ints]:
    """The special tokens that the tokenizer puts before and after a text."""
    if model.tokenizer is None:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    tokens = model.encode(model.sample())
    assert tokens.ids is not None
    text = np.flatnonzero(~tokens.mask("special"))
    return tokens.ids[: text[0]], tokens.ids[text[-1] + 1 :]


def _tokens(model: Model, ids: Ints, before: int, after: int) -> Tokens:
    special = np.ones(len(ids), np.bool_)
    special[before : len(ids) - after] = False
    sequence = np.where(special, -1, 0)
    if model.tokenizer is None:
        return Tokens([str(number) for number in ids], ids, special_mask=special, sequence_ids=sequence)
    pieces = shown_pieces(model.tokenizer, ids.tolist())
    types = np.zeros(len(ids), np.int64) if model.encode(model.sample()).type_ids is not None else None
    return Tokens(
        pieces,
        ids,
        type_ids=types,
        special_mask=special,
        sequence_ids=sequence,
        classes=classes(model.tokenizer, ids.tolist(), [False] * len(ids)),
    )
