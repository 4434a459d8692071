"""The text beside a picture: which of its characters and words each token stands for."""

from __future__ import annotations

from dataclasses import replace
from difflib import SequenceMatcher
from typing import Any

import numpy as np

from headscope.core.tokens import Tokens
from headscope.errors import InputError
from headscope.models.encode import encode


def with_text(tokenizer: Any, tokens: Tokens, read: str, text: str) -> Tokens:
    """Tokens of a text and a picture with the places of the text's own tokens in it.

    Args:
        tokenizer: of the model.
        tokens: as the processor made them, with ids.
        read: what the processor read, which ends with the text.
        text: as it was given, to which `offsets` and `word_ids` refer.

    What a processor writes around a text and a picture is special. A tokenizer that gives no offsets leaves the tokens
    as they are; so does a processor that reads the text otherwise than its tokenizer does.
    """
    if tokens.ids is None or not getattr(tokenizer, "is_fast", False):
        return tokens
    try:
        alone = encode(tokenizer, read)
    except InputError:
        return tokens
    if alone.ids is None or alone.offsets is None or alone.word_ids is None or alone.special_mask is None:
        return tokens
    start = len(read) - len(text)
    indices = np.flatnonzero(~alone.special_mask & (alone.offsets[:, 1] > start))
    if not len(indices):
        return tokens
    place = np.full(len(alone), -1)
    alike = SequenceMatcher(None, alone.ids.tolist(), tokens.ids.tolist(), autojunk=False)
    for block in alike.get_matching_blocks():
        place[block.a : block.a + block.size] = np.arange(block.b, block.b + block.size)
    if (place[indices] < 0).any():
        return tokens
    at = place[indices]
    offsets = np.zeros((len(tokens), 2), np.int64)
    offsets[at] = (alone.offsets[indices] - start).clip(0)
    words, sequence = np.full((2, len(tokens)), -1)
    words[at] = alone.word_ids[indices] - alone.word_ids[indices].min()
    sequence[at] = 0
    special = np.ones(len(tokens), np.bool_)
    special[at] = False
    texts = [""] * len(tokens)
    for number, token in zip(indices.tolist(), at.tolist(), strict=True):
        texts[token] = "" if alone.texts is None else alone.texts[number]
    texts[at[0]] = text[: offsets[at[0], 1]]
    return replace(
        tokens, offsets=offsets, word_ids=words, sequence_ids=sequence, special_mask=special, texts=texts
    )
