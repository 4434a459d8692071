"""Speech and the words that were said, as a model of speech such as Whisper reads them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from headscope.core.audio import Audio, heard, samples_of
from headscope.core.grid import Frames, Grid
from headscope.core.modality import Picture, Sound
from headscope.core.tokens import Tokens
from headscope.errors import InputError
from headscope.models.perceiver import Perceiver


class Spoken(NamedTuple):
    """Speech and its words as a module takes them, and the two axes of its cross attention.

    Attributes:
        tokens: what the decoder is to write at each query: a token's row is the one that predicts it, as when Whisper
            tells times. What it reads there is the token before.
        frames: how many keys hold sound, from the first on; silence fills the rest. As in transformers a hop of samples
            that is begun counts, a frame of two hops only where both are.
        seconds: how long a frame is.
        inputs: what the module takes, of one row.
    """

    tokens: Tokens
    frames: int
    seconds: float
    inputs: dict[str, Tensor]


def spoken(model: Perceiver, audio: Audio, words: Sequence[str]) -> Spoken:
    """What a model of speech reads when some words were said.

    Args:
        model: an encoder-decoder with a tokenizer and a feature extractor.
        audio: see `headscope.core.audio.Audio`; another rate than the model's is resampled.
        words: what was said. They are joined by spaces; one before the first stands in that word.

    Raises `InputError` for another model, for audio that is longer than the model hears at once, and for a text that is
    longer than it writes.
    """
    expect_speech(model)
    extractor: Any = model.feature_extractor
    positions: int = model.config.max_source_positions
    if extractor is None or not all(
        hasattr(extractor, name) for name in ("sampling_rate", "hop_length", "n_samples")
    ):
        raise InputError(
            f"{model.name}: expected Whisper's feature extractor, found "
            f"{'none' if extractor is None else type(extractor).__name__}; give "
            "hs.load((module, processor)) or hs.load((module, tokenizer, feature_extractor)), or a folder with "
            "preprocessor_config.json"
        )
    sound = listened(model, audio)
    stride = sound.inputs[model.reads].shape[-1] / positions
    tokens, read = _decoder(model, words)
    inputs = {**sound.inputs, "decoder_input_ids": torch.as_tensor(read).to(model.device)[None]}
    assert sound.axis.sound is not None
    samples = len(sound.axis.sound.samples)
    frames = int(-(-samples // extractor.hop_length) // stride)  # as transformers counts them
    seconds = stride * extractor.hop_length / extractor.sampling_rate
    return Spoken(tokens, max(1, min(frames, positions)), seconds, inputs)


LONGEST = 60.0
"""Up to how many seconds a model hears that states no limit: its maps grow by the square of that."""


class ModelSound(NamedTuple):
    """A sound as a module takes it.

    Attributes:
        inputs: what the module takes, of one row.
        axis: one token, all that the module hears (with the silence that fills it up): `headscope.Frames` of as many
            frames as it makes of that are the axis. Of a model that cuts a spectrogram into patches (AST): these.
    """

    inputs: dict[str, Tensor]
    axis: Tokens


def listened(model: Perceiver, audio: Audio) -> ModelSound:
    """What a model of sound takes of a sound.

    Args:
        model: with a feature extractor.
        audio: see `headscope.core.audio.Audio`; channels are averaged, another rate than the model's is resampled.

    Raises `InputError` for a model without a feature extractor, and for a sound that is longer than the model hears.
    """
    extractor: Any = model.feature_extractor
    if extractor is None or not hasattr(extractor, "sampling_rate"):
        raise InputError(
            f"audio: {model.name} has no feature extractor; give hs.load((module, processor)) or "
            "hs.load((module, tokenizer, feature_extractor)), or a folder with preprocessor_config.json"
        )
    rate = int(extractor.sampling_rate)
    audio = samples_of(audio)
    samples = heard(audio, rate)
    most = getattr(extractor, "n_samples", None) or getattr(extractor, "nb_max_samples", None)
    cut = hasattr(model.config, "frequency_stride")
    if cut:
        most = extractor.max_length * rate // 100  # a frame of 10 ms each
    limit = LONGEST if most is None else most / rate
    if len(samples) > limit * rate:
        raise InputError(
            f"{'audio' if isinstance(audio, tuple) else audio}: expected at most {limit:g} s, which {model.name} "
            f"hears at once, found {len(samples) / rate:.2f} s; cut it where nobody speaks"
        )
    read = extractor(samples, sampling_rate=rate, return_tensors="np")
    if model.reads not in read:
        raise InputError(
            f"audio: {model.name} takes {model.reads}, its feature extractor gives {', '.join(read)}"
        )
    sound = Sound(samples, rate, "" if isinstance(audio, tuple) else Path(audio).name)
    values = np.asarray(read[model.reads])
    inputs = {model.reads: torch.as_tensor(values).to(model.device, model.dtype)}
    if cut:
        return ModelSound(inputs, _patches(values[0], model.config, sound.name))
    return ModelSound(inputs, Frames(1, float(sound.seconds if most is None else most / rate), sound))


def _patches(values: np.ndarray[Any, Any], config: Any, name: str) -> Tokens:
    """The patches of a spectrogram ``[frame band]`` in the model's order, the lowest bands first.

    They overlap: each has an even share of what they cover together, within what it sees.
    """
    size, down, across = config.patch_size, config.frequency_stride, config.time_stride
    frames, bands = values.shape
    rows, columns = (bands - size) // down + 1, (frames - size) // across + 1
    seen = values[: (columns - 1) * across + size, : (rows - 1) * down + size]
    scaled = 255 * (seen - seen.min()) / max(float(np.ptp(seen)), 1e-12)
    pixels = np.repeat(np.rint(scaled).astype(np.uint8).T[::-1, :, None], 3, 2)
    grid = Grid(rows, columns, picture=Picture(pixels, name))
    return grid.take(
        np.array([row * columns + column for row in reversed(range(rows)) for column in range(columns)])
    )


def expect_speech(model: Perceiver) -> None:
    """Raise `InputError` for a model that is none of Whisper's kind."""
    positions: Any = getattr(model.config, "max_source_positions", None)
    if not model.encoder_decoder or model.reads == "input_ids" or not isinstance(positions, int):
        raise InputError(
            f"{model.name}: expected a model that hears speech and writes text, such as Whisper, found "
            f"{type(model.module).__name__}"
        )


def _decoder(model: Perceiver, words: Sequence[str]) -> tuple[Tokens, np.ndarray[Any, np.dtype[np.int64]]]:
    """What the decoder writes, and what it reads meanwhile: the same, one later, after the token to start with."""
    tokens = model.from_words(words)
    start = getattr(model.config, "decoder_start_token_id", None)
    if start is None or tokens.ids is None:
        raise InputError(f"{model.name}: its configuration names no decoder_start_token_id")
    if int(tokens.ids[0]) == start:
        tokens = tokens.take(slice(1, None))
    assert tokens.ids is not None
    if not tokens.mask("special")[-1]:
        raise InputError(
            f"{model.name}: expected a tokenizer that ends a text with a special token, found "
            f"{tokens.pieces[-1]!r} at its end"
        )
    most: Any = getattr(model.config, "max_target_positions", None)
    if isinstance(most, int) and len(tokens) > most:
        raise InputError(
            f"text: {len(tokens)} tokens, but {model.name} writes at most {most}; give a shorter text"
        )
    return tokens, np.concatenate([[start], tokens.ids[:-1]])
