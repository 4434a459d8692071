"""What the heads of a model of speech look at when words are said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from headscope.analyses.align.statistics import WIDTH, word_rows
from headscope.attention.one import running
from headscope.attention.record import AttentionRecord
from headscope.attention.recording import recording
from headscope.core.arrays import Ints
from headscope.core.audio import Audio
from headscope.core.counts import layers_by_heads
from headscope.core.heads import AnyHead, Head
from headscope.errors import InputError
from headscope.models import Model
from headscope.models.model import uncached
from headscope.models.perceive import spoken


class RecordingMaps(NamedTuple):
    """The cross attention of a recording.

    Attributes:
        layers: of each layer the weights ``[head token frame]``, from the first token of the first word to the token
            after the last word, over the frames that hold sound.
        rows: the first row of each word and the one after its last, ``[word 2]``; -1 for a word of no token.
        seconds: how long a frame is.
    """

    layers: dict[int, np.ndarray]
    rows: Ints
    seconds: float

    def heads(self, heads: Sequence[Head]) -> np.ndarray:
        """The weights of some heads, ``[head token frame]``."""
        return np.stack([self.layers[layer][head] for layer, head in heads])


def listen(
    model: Model, audio: Audio, words: Sequence[str], layers: Sequence[int] | None = None
) -> RecordingMaps:
    """The cross attention of all layers of the decoder, or of some, for what was said."""
    speech = spoken(model, audio, words)
    assert speech.tokens.word_ids is not None
    rows = word_rows(speech.tokens.word_ids, len(words))
    there = rows[rows[:, 0] >= 0]
    first, last = int(there.min()), int(there.max())
    maps: dict[int, np.ndarray] = {}

    def keep(record: AttentionRecord) -> None:
        if record.kind == "cross" and (layers is None or record.layer in layers):
            weights = record.weights()[0, :, first : last + 1, : speech.frames]
            maps[record.layer] = weights.detach().to(torch.float32).cpu().numpy()

    with torch.no_grad(), recording(model.module, keep), running(model, speech.inputs):
        model.module(**speech.inputs, **uncached(model.module))
    return RecordingMaps(dict(sorted(maps.items())), np.where(rows >= 0, rows - first, -1), speech.seconds)


def chosen_heads(model: Model, heads: Sequence[AnyHead] | None) -> tuple[list[Head], str]:
    """The heads that are to align, and where they are from.

    Raises `InputError` for a head that the decoder does not have.
    """
    layers, size = int(model.config.decoder_layers), int(model.config.decoder_attention_heads)
    stored: Any = getattr(getattr(model.module, "generation_config", None), "alignment_heads", None)
    if heads is not None:
        named = [*map(Head.of, heads)]
        source = "heads"
    elif stored:
        named = [Head(int(layer), int(head)) for layer, head in stored]
        source = "generation config: alignment_heads"
    else:
        named = [Head(layer, head) for layer in range(layers // 2, layers) for head in range(size)]
        source = "no alignment_heads in the generation config: all heads of the decoder's upper half"
    if not named:
        raise InputError("heads: expected at least one, such as 'L4H2', found none")
    for head in named:
        if not (0 <= head.layer < layers and 0 <= head.head < size):
            raise InputError(f"{source}: expected heads of {layers_by_heads([size] * layers)}, found {head}")
    return named, source


def median_width(model: Model) -> int:
    """The frames of the running median, as the model's configuration says, or Whisper's."""
    return int(getattr(model.config, "median_filter_width", WIDTH))


def description(heads: Sequence[Head], source: str) -> Mapping[str, Any]:
    """Which heads align, for what made a result."""
    return {"heads": [list(head) for head in heads], "chosen_by": source}
