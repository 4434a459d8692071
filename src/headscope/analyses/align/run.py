"""Words of speech in time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import torch

from headscope.analyses.align.statistics import WIDTH, entered, smoothed, word_rows
from headscope.attention.one import describe, running
from headscope.attention.record import AttentionRecord
from headscope.attention.recording import recording
from headscope.core.arrays import Ints
from headscope.core.audio import Audio
from headscope.core.counts import layers_by_heads
from headscope.core.heads import AnyHead, Head
from headscope.core.types import AnyDict, AnyMapping
from headscope.core.validation import Count, Expected, validated
from headscope.errors import InputError
from headscope.models import Model
from headscope.models.model import uncached
from headscope.models.perceive import expect_speech, spoken
from headscope.runs.options import COMMAND


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


def description(heads: Sequence[Head], source: str) -> AnyMapping:
    """Which heads align, for what made a result."""
    return {"heads": [list(head) for head in heads], "chosen_by": source}


Sound = Annotated[str | Path | np.ndarray[Any, Any], Expected("a WAV file or an array of samples")]
"""What was recorded."""

Transcript = Annotated[str | Sequence[str], Expected("a string or a list of words")]
"""What was said."""


@validated
def align(
    model: Model,
    audio: Sound,
    text: Transcript,
    *,
    sampling_rate: Count | None = None,
    heads: Sequence[AnyHead] | None = None,
) -> pd.DataFrame:
    """When each word was said: words and seconds by dynamic time warping on the cross attention of chosen heads.

    Args:
        model: Whisper, or a model of its kind.
        audio: a WAV file, or samples ``[sample]``; at most as long as the model hears at once (Whisper: 30 s).
        text: what was said. Words are told by white space, or given as a list; the text is read as it stands, so begin
            it with a space where the model writes one.
        sampling_rate: of samples. Another rate than the model's is resampled.
        heads: of the decoder's cross attention; None: the generation configuration's ``alignment_heads``, or, where it
            has none, all heads of the decoder's upper half.

    Returns:
        A row a word: ``word``, ``start`` and ``end`` in seconds, and ``mass``, the mean attention that the heads give
        to the frames between them; NaN for a word of no token. ``attrs`` say which heads were used, and why these.

    A language is chosen with ``model.tokenizer.set_prefix_tokens(language="en", task="transcribe")``.

    Raises:
        InputError: the model hears no speech, has no such head, or cannot take so much sound or text.

    >>> whisper = hs.load("whisper-tiny")
    >>> hs.align(whisper, "speech.wav", "so it was", heads=["L1H2"]).columns.tolist()
    ['word', 'start', 'end', 'mass']
    """
    sound: Audio
    if isinstance(audio, np.ndarray):
        if sampling_rate is None:
            raise InputError("sampling_rate: expected the rate of the samples, such as 16000, found none")
        sound = (audio, sampling_rate)
    elif sampling_rate is not None:
        raise InputError("sampling_rate: expected samples beside it, found a file, which has its own")
    else:
        sound = audio
    expect_speech(model)
    words = _words(text)
    used, source = chosen_heads(model, heads)
    heard = listen(model, sound, words, sorted({head.layer for head in used}))
    weights = heard.heads(used)
    entries = entered(smoothed(weights, median_width(model)).mean(0))
    rows: list[AnyDict] = []
    for word, (first, after) in zip(words, heard.rows, strict=True):
        row: AnyDict = {"word": word.strip(), "start": np.nan, "end": np.nan, "mass": np.nan}
        if first >= 0:
            start, end = int(entries[first]), int(entries[after])
            mass = weights[:, first:after, start:end].sum(-1, dtype=np.float64).mean()
            row |= {
                "start": round(start * heard.seconds, 6),
                "end": round(end * heard.seconds, 6),
                "mass": mass,
            }
        rows.append(row)
    times = pd.DataFrame(rows)
    times.attrs = {**describe(model), **description(used, source), "command": COMMAND.get()}
    return times


def _words(text: str | Sequence[str]) -> list[str]:
    """The words of a text; a space before the first stays with it, as pieces are made of it."""
    if not isinstance(text, str):
        return list(text)
    words = text.split()
    if not words:
        raise InputError("text: expected at least one word, found an empty text")
    return [" " + words[0] if text[0].isspace() else words[0], *words[1:]]
