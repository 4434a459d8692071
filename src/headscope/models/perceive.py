"""Pictures and sounds as inputs of a model: their axes beforehand, and what the module takes for a batch of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from headscope.core.audio import Audio, heard, samples_of
from headscope.core.grid import Frames, Stretches
from headscope.core.media import Picture, Sound
from headscope.core.tokens import WHAT, Kind, Tokens
from headscope.errors import InputError
from headscope.models.encode import collate
from headscope.models.perceiver import Perceiver, moved
from headscope.models.pictures import image_id, looked, prefixed


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
        most = extractor.max_length * rate // _FRAMES
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
    inputs = moved(model, {model.reads: torch.as_tensor(values)})
    if cut:
        return ModelSound(inputs, _patches(values[0], model.config, sound))
    return ModelSound(inputs, Frames(1, float(sound.seconds if most is None else most / rate), sound))


def _patches(values: np.ndarray[Any, Any], config: Any, sound: Sound) -> Tokens:
    """The patches of a spectrogram ``[frame band]`` in the model's order, the lowest bands first; they overlap."""
    size = int(config.patch_size)
    frames, bands = map(int, values.shape)
    down, across = int(config.frequency_stride), int(config.time_stride)
    rows, columns = (bands - size) // down + 1, (frames - size) // across + 1
    row, column = np.divmod(np.arange(rows * columns), columns)
    low, begin = row * down, column * across
    sides = begin / _FRAMES, 1 - (low + size) / bands, (begin + size) / _FRAMES, 1 - low / bands
    pieces = [f"patch[{rows - 1 - r},{c}]" for r, c in zip(row.tolist(), column.tolist(), strict=True)]
    return Stretches(sound, np.stack(sides, -1), pieces)


_FRAMES = 100
"""Frames of a spectrogram in a second (AST)."""


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


_TYPES = ("mm_token_type_ids", "token_type_ids")

TOWERS = ("vision_model", "vision_tower", "visual")
"""What families call the part of a model of texts and pictures that looks at pictures."""


def see(model: Perceiver, image: Any, text: str | None = None) -> Tokens:
    """The axis of a picture, or of a text with a picture in it.

    Args:
        model: with an image processor.
        image: as `headscope.capture` takes it.
        text: what a model of both reads; one of pictures alone sees the picture.

    Raises `InputError` for a model without an image processor, and for one whose tokens are no grid of patches.
    """
    seen = looked(model, image, text if model.processor is not None and image_id(model) is not None else None)
    if seen.tokens is not None:
        _expect_same(model, seen.tokens, seen.inputs)
        return seen.tokens
    before = None if model.checked is None or seen.parts else model.checked.prefix
    axis = None if before is None else prefixed(seen.patches, model, before + len(seen.patches))
    if axis is None:
        raise InputError(
            f"image: {model.name} reads pictures along no one axis of patches, so its heads are not measured over "
            "pictures; headscope.capture gives its maps"
        )
    return axis


def hears(model: Perceiver) -> tuple[int, float] | None:
    """How many samples in a second a model hears, and how many seconds at once; None for one that hears nothing."""
    extractor: Any = model.feature_extractor
    rate: Any = getattr(extractor, "sampling_rate", None)
    if not isinstance(rate, int):
        return None
    most: Any = getattr(extractor, "n_samples", None)
    return rate, LONGEST if most is None else most / rate


def hear(model: Perceiver, audio: Audio) -> Tokens:
    """The axis of a sound: the frames that a model's encoder makes of it.

    Raises `InputError` for a model without a feature extractor, and for one that does not say how many frames it makes.
    """
    sound = listened(model, audio)
    if len(sound.axis) > 1:  # patches, and what stands before them
        axis = prefixed(sound.axis, model, len(sound.axis) + 2)
        assert axis is not None
        return axis
    count: Any = getattr(model.config, "max_source_positions", None)
    if not model.encoder_decoder or not isinstance(count, int):
        lengths: Any = getattr(model.module, "_get_feat_extract_output_lengths", None)
        if lengths is None:
            raise InputError(
                f"audio: {model.name} does not say how many frames it makes of a sound, so its heads are not measured "
                "over sounds; headscope.capture gives its maps"
            )
        count = int(lengths(torch.tensor([sound.inputs[model.reads].shape[-1]]))[0])
    assert sound.axis.times is not None
    return Frames(count, float(sound.axis.times[0, 1]) / count, sound.axis.sound)


def perceived(tokens: Tokens) -> bool:
    """Whether an input is, or holds, a picture or a sound that the module takes."""
    return (tokens.picture is not None and tokens.boxes is not None) or (
        tokens.sound is not None and tokens.ids is None
    )


def inputs(model: Perceiver, batch: Sequence[Tokens]) -> dict[str, Tensor]:
    """What the module takes for inputs of pictures, of texts with a picture each, or of sounds.

    Raises `InputError` for pictures that become inputs of several sizes: they do not stand in one batch.
    """
    examples: list[dict[str, Tensor]] = []
    for tokens in batch:
        if tokens.picture is not None:
            examples.append(looked(model, [one for one in tokens.media if isinstance(one, Picture)]).inputs)
        else:
            assert tokens.sound is not None
            examples.append(listened(model, (tokens.sound.samples, tokens.sound.rate)).inputs)
    for name in examples[0]:
        sizes = {tuple(one[name].shape[1:]) for one in examples}
        if len(sizes) > 1:
            raise InputError(
                f"{name}: expected inputs of one size in a batch, found {', '.join(map(str, sorted(sizes)))}"
            )
    ready = {name: torch.cat([one[name] for one in examples]) for name in examples[0]}
    if batch[0].ids is not None:
        texts = collate(batch, getattr(model.tokenizer, "pad_token_id", None) or 0)
        ready |= {name: torch.as_tensor(array) for name, array in texts.items()}
        named: Sequence[str] = getattr(model.processor, "model_input_names", ())
        for name in _TYPES:  # which tokens stand for the picture
            if name in named and name not in ready:
                ready[name] = torch.zeros_like(ready["input_ids"])
                paligemma = "PaliGemma" in type(model.processor).__name__
                for row, tokens in enumerate(() if paligemma else batch):
                    kinds = tokens.mask("image") * (2 if getattr(tokens.picture, "frames", None) else 1)
                    ready[name][row, : len(tokens)] = torch.tensor(kinds, dtype=torch.long)
    return moved(model, ready)


def _expect_same(model: Perceiver, tokens: Tokens, expected: Mapping[str, Tensor]) -> None:
    """Raise `InputError` where a batch made of tokens is not what the processor makes of a text and its picture."""
    made = inputs(model, [tokens])
    for name, value in expected.items():
        rebuilt = made.get(name)
        if rebuilt is None or not torch.equal(rebuilt.cpu(), value.to(rebuilt.dtype).cpu()):
            raise InputError(
                f"image: {model.name} takes {name} of a text and its picture, which cannot be told from the tokens, so "
                "its heads are not measured over them; headscope.capture gives its maps"
            )


def reads(model: Perceiver) -> Kind:
    """What a model reads where nobody says: texts, pictures (a model of both that writes none, too) or sounds."""
    if model.reads.startswith("pixel_values"):
        return "images"
    if model.reads in ("input_features", "input_values"):
        return "sounds"
    writes: Any = getattr(model.module, "can_generate", None)
    both = model.image_processor is not None and tower(model.module) is not None
    return "images" if both and not (callable(writes) and writes()) else "text"


def takes_ids(model: Perceiver) -> bool:
    """Whether a model takes tokens, alone or beside what else it reads."""
    return model.reads == "input_ids" or "input_ids" in signature(model.module.forward).parameters


def expect_reads(model: Perceiver, kind: Kind) -> None:
    """Raise `InputError` for a model that has nothing to make inputs of this kind with."""
    needed, reader = {
        "text": (model.tokenizer, "tokenizer"),
        "images": (model.image_processor, "image processor"),
        "sounds": (model.feature_extractor, "feature extractor"),
    }[kind]
    if needed is None:
        raise InputError(
            f"{kind}: expected a model that reads {WHAT[kind]}, found {model.name}, which has no {reader}"
        )


def expect_ids(model: Perceiver) -> None:
    """Raise `InputError` for a model that takes no tokens."""
    if not takes_ids(model):
        raise InputError(
            f"text: expected a model that reads texts, found {model.name}, which takes {model.reads}"
        )


def tower(module: nn.Module) -> nn.Module | None:
    """The part of a model of texts and pictures that looks at pictures; None where there is none."""
    for holder in (module, getattr(module, "base_model", None)):
        for name in TOWERS:
            part: Any = getattr(holder, name, None)
            if isinstance(part, nn.Module) and part is not module:
                return part
    return None


def of_tower(module: str) -> bool:
    """Whether a module of this dotted name is in such a part."""
    return any(part in TOWERS for part in module.split("."))
