"""Pictures and videos as a model of vision sees them, alone or beside a text.

The text beside them: which of its characters and words each token stands for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from functools import partial
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from headscope.core.arrays import Arrays, Bytes
from headscope.core.counts import plural
from headscope.core.failures import reason, warn
from headscope.core.grid import Grid
from headscope.core.lazy import module
from headscope.core.media import Picture, covering
from headscope.core.pictures import pictures_of
from headscope.core.tokens import Tokens
from headscope.core.types import AnyMapping
from headscope.errors import InputError
from headscope.models.encode import encode
from headscope.models.perceiver import Perceiver
from headscope.models.places import (
    Seen,
    Tile,
    after_one_another,
    both_sides,
    frames_of,
    frames_read,
    pixels_of,
    there,
    tiles_of,
    vision_config,
    written,
)


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


OF_ALL = ("img_ids", "txt_ids")
"""What a module takes of all inputs at once: where patches and words are."""

OF_PICTURES = (
    *OF_ALL,
    "pixel_values",
    "pixel_values_videos",
    "hidden_states",
    "pixel_attention_mask",
    "spatial_shapes",
    "image_grid_thw",
    "video_grid_thw",
    "image_sizes",
    "batch_num_images",
)
"""What is made of pictures. Beside a text, and where patches are a list, their first axis is not the batch."""


class Looked(NamedTuple):
    """Pictures or a video as a module takes them.

    Attributes:
        inputs: what the module takes, of one row.
        patches: the axis of the patches in the model's order, without what stands before them; of a picture that is
            cut into tiles, and of several pictures that are looked at one by one, the first one's.
        tokens: of a model of text and pictures the axis of both, or of the text alone where these do not meet on one
            (CLIP); else None.
        parts: the axes of what a model looks at one by one, by the name of the part: ``tile 1``, …
    """

    inputs: dict[str, Tensor]
    patches: Tokens
    tokens: Tokens | None
    parts: Mapping[str, Tokens]


def looked(model: Perceiver, image: Any, text: str | None = None) -> Looked:
    """What a model of vision, or of text and pictures, takes of pictures or of a video.

    Args:
        model: with an image processor.
        image: as in `pictures_of`.
        text: of a model that reads both. Where it does not say where pictures stand, that is before it.

    Raises `InputError` for a model without an image processor, for one whose patches are no grid, and for pictures
    beside a video.
    """
    if model.image_processor is None:
        raise InputError(
            f"image: {model.name} has no image processor; give hs.load((module, processor)), or a folder with "
            "preprocessor_config.json"
        )
    seen = _seen(model, pictures_of(image))
    if text is not None and image_id(model) is None and len(seen.pictures) != 1:
        raise InputError(
            f"image: {model.name} reads a text and one picture apart, found {len(seen.pictures)} pictures"
        )
    given = None if text is None else _marked(model, text, seen)
    process = partial(_processed, model, given)
    read = process([picture.pixels for picture in seen.pictures], [frame.pixels for frame in seen.frames])
    tiles = tiles_of(model, seen, read, process)
    patches, parts = _looked_at(model, seen, read, tiles)
    if given is None:
        inputs = _inputs(model, {name: read[name] for name in OF_PICTURES if name in read})
        return Looked(inputs, patches, None, parts)
    inputs = _inputs(model, {name: value for name, value in read.items() if name != "labels"})
    assert text is not None
    mixed = _mixed(model, read, seen, tiles)
    return Looked(inputs, patches, with_text(model.tokenizer, mixed, given, text), parts)


def _seen(model: Perceiver, media: Sequence[Picture]) -> Seen:
    """Pictures or frames, of a model of videos alone as many frames as it reads, evenly."""
    pictures = [picture for picture in media if picture.frames is None]
    frames = frames_of(media)
    reads = frames_read(model)
    if pictures and (frames or reads):
        raise InputError(
            f"image: {model.name} reads videos, found a picture; give video="
            if reads
            else "video: expected no pictures beside it, found some; give one or the other"
        )
    if len(pictures) > 1:
        pictures = [
            replace(one, name=one.name or f"picture {number}") for number, one in enumerate(pictures, 1)
        ]
    if reads:
        count = reads[0] or -(-len(frames) // reads[1]) * reads[1]
        if count != len(frames):
            warn(f"video: {model.name} reads {count} frames, found {len(frames)}; they are taken evenly", 3)
        evenly: list[int] = np.linspace(0, len(frames) - 1, count).round().astype(int).tolist()
        frames = [frames[at] for at in evenly]
    elif frames and _reader(model, frames) is None:
        raise InputError(
            f"video: {model.name} has no video processor; give hs.load((module, processor)) with one (transformers' "
            "need torchvision)"
        )
    return Seen(pictures, frames)


def _reader(model: Perceiver, frames: Sequence[object]) -> Any:
    """What reads pictures, or frames."""
    if frames and not frames_read(model):
        return getattr(model.processor, "video_processor", None)
    return model.image_processor


def _looked_at(
    model: Perceiver, seen: Seen, read: Arrays, tiles: Sequence[Tile]
) -> tuple[Tokens, dict[str, Tokens]]:
    """The axis of a model's patches, and those of the parts that it looks at one by one."""
    axes = [tile.patches for tile in tiles]
    if "spatial_shapes" in read:  # row by row, then padding
        axes = [_padded(axis, read["pixel_values"].shape[1]) for axis in axes]
    elif pixels_of(read).ndim < 4 or frames_read(model):
        patches, count = after_one_another(axes), len(axes[0])
        way: Any = getattr(vision_config(model), "attention_type", "")
        if way == "divided_space_time":
            frames = (prefixed(axis, model, count + 1) for axis in axes)
            return patches, {
                "time": patches,
                "space": after_one_another([axis for axis in frames if axis is not None]),
            }
        if way == "joint_space_time":
            patches = patches.take(np.arange(len(patches)).reshape(-1, count).T.ravel())
        pairs = {
            "predictor": patches.take(np.repeat(np.arange(len(patches)), 2))
        }  # V-JEPA 2: what is known and asked
        return patches, pairs if hasattr(model.config, "pred_num_hidden_layers") else {}
    return axes[0], {tile.label: axis for tile, axis in zip(tiles, axes, strict=True)} if len(
        axes
    ) > 1 else {}


def rows_of(inputs: AnyMapping) -> int:
    """How many inputs stand in what a module takes; its scalars tell nothing of that."""
    arrays: dict[str, Tensor] = {name: value for name, value in inputs.items() if isinstance(value, Tensor)}
    names = [name for name in arrays if name not in OF_PICTURES] or list(arrays)
    return arrays[names[0]].shape[0]


def _inputs(model: Perceiver, read: Arrays) -> dict[str, Tensor]:
    """What a module takes of what a processor made, by the names that its forward pass has for it."""
    known = signature(model.module.forward).parameters
    called: dict[str, str] = {}
    if "grid_thw" in known:
        called = dict.fromkeys(("pixel_values", "pixel_values_videos"), "hidden_states")
        called |= dict.fromkeys(("image_grid_thw", "video_grid_thw"), "grid_thw")
    elif "pixel_values_videos" in read and "pixel_values_videos" not in known:  # frames are pictures
        frames = read["pixel_values_videos"]
        read = {"pixel_values": frames.reshape(-1, *frames.shape[-3:])}
    inputs = {called.get(name, name): torch.as_tensor(value) for name, value in read.items()}
    pixels = inputs.get("pixel_values")
    if pixels is not None and pixels.ndim == 5 and "input_ids" not in known and not frames_read(model):
        pixels = pixels.flatten(0, 1)[there(pixels)]  # Idefics3's tower alone
        inputs = {"pixel_values": pixels}
    sides = both_sides(getattr(vision_config(model), "image_size", None))
    if "interpolate_pos_encoding" in known and pixels is not None and tuple(pixels.shape[-2:]) != sides:
        inputs["interpolate_pos_encoding"] = torch.ones(len(pixels), dtype=torch.bool)
    return inputs


def _marked(model: Perceiver, text: str, seen: Seen) -> str:
    """A text that says where each picture, or the video, stands, where the model reads both in one row."""
    both = model.processor
    if both is None:
        raise InputError(
            f"image: {model.name} has no processor of texts and pictures; give hs.load((module, processor))"
        )
    mark = getattr(both, "video_token" if seen.frames else "image_token", None)
    count = len(seen.pictures) or 1
    marked = 0 if mark is None else text.count(str(mark))
    if image_id(model) is None or marked == count:
        return text
    if marked:
        raise InputError(f"text: expected {mark} for each of {plural(count, 'picture')}, found {marked}")
    mark = "<image>" if mark is None else str(mark)
    vocabulary: Any = model.tokenizer.get_vocab()
    if (
        mark in ("<|image_pad|>", "<|video_pad|>") and "<|vision_start|>" in vocabulary
    ):  # as Qwen2-VL's chat template
        return f"<|vision_start|>{mark}<|vision_end|>" * count + text
    return (mark if "paligemma" in type(both).__name__.lower() else f"{mark}\n") * count + text


def image_id(model: Perceiver) -> int | None:
    """The id of a picture's tokens in a text; None where the model has none, as it reads the two apart."""
    return _id(model, "image")


def _id(model: Perceiver, of: str) -> int | None:
    for name in (f"{of}_token_id", f"{of}_token_index"):
        for holder in (model.config, model.processor):
            number: Any = getattr(holder, name, None)
            if isinstance(number, int):
                return number
    return None


def _processed(
    model: Perceiver, text: str | None, pictures: Sequence[Bytes], frames: Sequence[Bytes], **options: Any
) -> dict[str, np.ndarray]:
    """What the model's processor makes of pictures or of a video's frames, and of the text beside them."""
    of = "video" if frames else "image"
    processor = _reader(model, frames) if text is None else model.processor
    given: Any = [np.stack(frames)] if frames else list(pictures)
    if frames and hasattr(_reader(model, frames), "sample_frames"):
        options |= {"do_sample_frames": False}
    elif frames:  # an image processor that reads videos (VideoMAE)
        given = [list(frames)]
    if type(model.processor).__name__ == "Idefics2Processor":  # it takes no arrays
        given = [module("PIL.Image").fromarray(one) for one in given]
    options |= {"input_data_format": "channels_last", "return_tensors": "np" if text is None else "pt"}
    try:
        both = {"text": [text], f"{of}s": given}
        read = processor(given, **options) if text is None else processor(**both, **options)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{of}: its processor {type(processor).__name__} cannot read it ({reason(error)})"
        ) from None
    return {name: np.asarray(value) for name, value in read.items()}


def _padded(patches: Tokens, count: int) -> Tokens:
    """Patches, and padding after them up to `count`."""
    padding = [f"padding {number}" for number in range(count - len(patches))]
    special = replace(patches, special_mask=np.zeros(len(patches), np.bool_))
    return special.longer(padding, -1, last=True)


def _mixed(model: Perceiver, read: Arrays, seen: Seen, tiles: Sequence[Tile]) -> Tokens:
    """The axis of a text with pictures or a video in it: of the tokens that stand for these each has its area."""
    ids = read["input_ids"][0].astype(np.int64)
    tokens = model.from_ids(ids.tolist())
    if image_id(model) is None:  # the two are read apart
        return tokens
    image = np.isin(ids, [number for of in ("image", "video") if (number := _id(model, of)) is not None])
    cells = written(model, seen, tiles, read, int(image.sum()))
    pieces = list(tokens.pieces)
    for place, piece in zip(np.flatnonzero(image).tolist(), cells.pieces, strict=True):
        pieces[place] = piece
    places = np.full((len(ids), 5), np.nan)
    places[image] = cells.places
    classes = {**tokens.classes, "image": image, "question": ~image & ~tokens.special}
    for name, mask in cells.classes.items():
        classes[name] = np.zeros(len(ids), np.bool_)
        classes[name][image] = mask
    return replace(tokens, pieces=pieces, media=cells.media, places=places, classes=classes)


def _place(piece: str) -> tuple[int, int]:
    """The row and the column of a patch."""
    row, column = piece.partition("[")[2].rstrip("]").split(",")
    return int(row), int(column)


def merged(patches: Tokens | None, rows: int, columns: int, of: tuple[int, int]) -> Tokens:
    """The axis of cells that merge patches, `rows` × `columns` of them, row by row; each has the area of its patches.

    Args:
        patches: in any order; None where no picture is known.
        of: how many rows and columns of patches there are; what their last cells lack is padding.
    """
    grid = Grid(rows, columns)
    if patches is None or patches.places is None or len(patches) != of[0] * of[1]:
        return grid
    at = np.array([_place(piece) for piece in patches.pieces])
    down, across = (-(-have // want) for have, want in zip(of, (rows, columns), strict=True))
    cell = (at[:, 0] // down) * columns + at[:, 1] // across
    before = patches.pieces[0].partition("patch")[0]
    pieces = [before + piece for piece in grid.pieces]
    return replace(grid, pieces=pieces, media=patches.media, places=covering(patches.places, cell))


def prefixed(patches: Tokens, model: Perceiver, count: int) -> Tokens | None:
    """The patches with what stands around them where an axis has `count` tokens; None where it is another axis."""
    config = vision_config(model)
    detections = int(getattr(config, "num_detection_tokens", 0) or 0)  # YOLOS
    extra = count - len(patches) - detections
    if patches.places is None or extra < 0:
        return None
    registers = int(getattr(config, "num_register_tokens", 0) or 0)
    distilled = str(getattr(config, "model_type", "")) in ("deit", "audio-spectrogram-transformer")
    names = [
        *(["[CLS]"] if extra > registers else []),
        *(["[DIST]"] if distilled and extra == 2 else []),
        *(f"register {number}" for number in range(registers if extra >= registers else 0)),
    ]
    if len(names) != extra:
        return None
    patches = replace(patches, special_mask=np.zeros(len(patches), np.bool_)).longer(names, -1)
    tokens = patches.longer([f"[DET] {number}" for number in range(detections)], -1, last=True)
    return tokens.with_classes(
        cls=np.array([piece == "[CLS]" for piece in tokens.pieces]),
        register=np.array([piece.startswith("register ") for piece in tokens.pieces]),
    )
