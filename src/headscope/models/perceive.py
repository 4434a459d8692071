"""Pictures and sounds as inputs of a model: their axes beforehand, and what the module takes for a batch of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any

import torch
from torch import Tensor, nn

from headscope.core.audio import Audio
from headscope.core.grid import Frames
from headscope.core.modality import Kind
from headscope.core.tokens import Tokens
from headscope.errors import InputError
from headscope.models.audio import LONGEST, listened
from headscope.models.encode import collate
from headscope.models.perceiver import Perceiver
from headscope.models.pictures import image_id, looked, prefixed

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
    before = None if model.checked is None else model.checked.prefix
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
            examples.append(looked(model, tokens.picture).inputs)
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
        pad: Any = getattr(model.tokenizer, "pad_token_id", None)
        texts = collate(batch, pad_id=0 if pad is None else int(pad))
        ready |= {name: torch.as_tensor(array) for name, array in texts.items()}
        named: Sequence[str] = getattr(model.processor, "model_input_names", ())
        for name in _TYPES:  # which tokens stand for the picture
            if name in named and name not in ready:
                ready[name] = torch.zeros_like(ready["input_ids"])
                for row, tokens in enumerate(
                    batch if "PaliGemma" not in type(model.processor).__name__ else ()
                ):
                    ready[name][row, : len(tokens)] = torch.tensor(tokens.mask("image"), dtype=torch.long)
    return {
        name: value.to(model.device, model.dtype if value.is_floating_point() else value.dtype)
        for name, value in ready.items()
    }


def _expect_same(model: Perceiver, tokens: Tokens, expected: Mapping[str, Tensor]) -> None:
    """Raise `InputError` where a batch made of tokens is not what the processor makes of a text and its picture."""
    made = inputs(model, [tokens])
    for name, value in expected.items():
        rebuilt = made.get(name)
        if (
            rebuilt is None
            or rebuilt.shape != value.shape
            or not torch.equal(rebuilt.cpu(), value.to(rebuilt.dtype).cpu())
        ):
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


WHAT: Mapping[Kind, str] = {"text": "texts", "images": "pictures", "sounds": "sounds"}
"""What inputs of a kind are called."""


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
