"""Pictures as a model of vision sees them, and which area of a picture each of its patches is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from headscope.errors import InputError
from headscope.failures import reason
from headscope.grid import Grid
from headscope.models.perceiver import Perceiver
from headscope.pictures import picture_of
from headscope.senses import Picture
from headscope.tokens import Tokens

_EDGE = 4  # values of a ramp so near to its ends may be of what was put around the picture


class Looked(NamedTuple):
    """A picture as a module takes it.

    Attributes:
        inputs: what the module takes, of one row.
        patches: the axis of the patches, row by row, without what stands before them.
        tokens: of a model of text and pictures the axis of both; else None.
    """

    inputs: dict[str, Tensor]
    patches: Tokens
    tokens: Tokens | None


def looked(model: Perceiver, image: Any, text: str | None = None) -> Looked:
    """What a model of vision, or of text and pictures, takes of a picture.

    Args:
        model: with an image processor.
        image: as in `picture_of`.
        text: of a model that reads both.

    Raises `InputError` for a model without an image processor, and for one whose patches are no grid.
    """
    processor = model.image_processor
    if processor is None:
        raise InputError(
            f"image: {model.name} has no image processor; give hs.load((module, processor)), or a folder with "
            "preprocessor_config.json"
        )
    picture = picture_of(image)
    read = _processed(processor, picture.pixels)
    pixels = read["pixel_values"]
    rows, columns = _size(model, read)
    area = _area(processor, picture, pixels.shape)
    if text is None:
        inputs = {name: torch.as_tensor(value) for name, value in read.items() if name in ("pixel_values",)}
        return Looked(inputs, Grid(rows, columns, picture=picture, area=area), None)
    both = model.processor
    if both is None:
        raise InputError(
            f"image: {model.name} has no processor of texts and pictures; give hs.load((module, processor))"
        )
    mark = str(getattr(both, "image_token", "<image>"))
    given = text if mark in text or not _writes_mark(model, both) else f"{mark}\n{text}"
    ready = dict(
        both(text=[given], images=[picture.pixels], return_tensors="pt", input_data_format="channels_last")
    )
    ids: npt.NDArray[np.int64] = ready["input_ids"][0].numpy()
    seen = ids == _image_id(model, both)
    return Looked(
        ready,
        Grid(rows, columns, picture=picture, area=area),
        _mixed(model, ids, seen, (rows, columns), picture, area),
    )


def _writes_mark(model: Perceiver, processor: Any) -> bool:
    """Whether a text has to say where the picture stands (PaliGemma's processor puts it there itself)."""
    return "paligemma" not in type(processor).__name__.lower()


def _image_id(model: Perceiver, processor: Any) -> int:
    for name in ("image_token_id", "image_token_index"):
        for holder in (model.config, processor):
            number: Any = getattr(holder, name, None)
            if isinstance(number, int):
                return number
    return int(model.tokenizer.convert_tokens_to_ids(str(getattr(processor, "image_token", "<image>"))))


def _processed(processor: Any, pixels: npt.NDArray[np.uint8], **options: Any) -> dict[str, npt.NDArray[Any]]:
    try:
        read = processor(pixels, return_tensors="np", input_data_format="channels_last", **options)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"image: its processor {type(processor).__name__} cannot read it ({reason(error)})"
        ) from None
    return {name: np.asarray(value) for name, value in read.items()}


def _size(model: Perceiver, read: dict[str, npt.NDArray[Any]]) -> tuple[int, int]:
    """How many rows and columns of patches a picture has."""
    config: Any = getattr(model.config, "vision_config", None) or model.config
    patch: Any = getattr(config, "patch_size", None)
    across: list[Any] = list(cast("Sequence[Any]", patch)) if isinstance(patch, Sequence) else [patch, patch]
    if not all(isinstance(side, int) and side > 0 for side in across) or read["pixel_values"].ndim != 4:
        raise InputError(f"image: {model.name} cuts a picture into no grid of patches that is known here")
    height, width = read["pixel_values"].shape[2:]
    return height // int(across[0]), width // int(across[1])


def _area(processor: Any, picture: Picture, shape: tuple[int, ...]) -> tuple[float, float, float, float]:
    """The part of a picture that a processor keeps: left, top, right, bottom in the picture's pixels.

    A picture whose red grows from left to right and whose green grows from top to bottom goes through it: what comes
    out says of each pixel where it was.
    """
    width, height = picture.size
    if len(shape) != 4:
        return 0.0, 0.0, width, height  # patches that are cut already: of all of it
    ramp = np.full((height, width, 3), 255, np.uint8)
    ramp[..., 0] = np.rint(255 * (np.arange(width) + 0.5) / width)
    ramp[..., 1] = np.rint(255 * (np.arange(height) + 0.5) / height)[:, None]
    out = _processed(processor, ramp, do_rescale=False, do_normalize=False)["pixel_values"][0]
    left, right = _ends(out[0].mean(0), width)
    top, bottom = _ends(out[1].mean(1), height)
    return left, top, right, bottom


def _ends(values: npt.NDArray[Any], size: int) -> tuple[float, float]:
    """Where the line through the values of a ramp begins and ends, in pixels of a picture that is `size` wide."""
    inside = (values > _EDGE) & (values < 255 - _EDGE)
    places = np.arange(len(values)) + 0.5
    if inside.sum() < 3 or size == 1:
        return 0.0, float(size)
    slope, start = np.polyfit(places[inside], values[inside] / 255 * size, 1)
    first, last = float(start), float(start + slope * len(values))
    near = 0.01 * size  # where all of a side is kept the fit is off by a fraction of a pixel
    return (0.0 if abs(first) < near else first, float(size) if abs(last - size) < near else last)


def _mixed(
    model: Perceiver,
    ids: npt.NDArray[np.int64],
    seen: npt.NDArray[np.bool_],
    size: tuple[int, int],
    picture: Picture,
    area: tuple[float, float, float, float],
) -> Tokens:
    """The axis of a text with a picture in it: of the tokens that stand for the picture each has its area."""
    tokens = model.from_ids(ids.tolist())
    count, (rows, columns) = int(seen.sum()), size
    merged = next((side for side in range(1, 9) if count * side * side == rows * columns), None)
    if merged is None or rows % merged or columns % merged:
        raise InputError(
            f"image: {model.name} reads a picture of {rows} × {columns} patches as {count} tokens, which is no grid"
        )
    grid = Grid(rows // merged, columns // merged, picture=picture, area=area)
    boxes = np.full((len(ids), 4), np.nan)
    boxes[seen] = grid.boxes
    pieces = list(tokens.pieces)
    for place, name in zip(np.flatnonzero(seen).tolist(), grid.pieces, strict=True):
        pieces[place] = name
    classes = {**tokens.classes, "image": seen}
    return replace(tokens, pieces=pieces, picture=picture, boxes=boxes, classes=classes)


def prefixed(patches: Tokens, model: Perceiver, count: int) -> Tokens | None:
    """The patches with what stands before them where an axis has `count` tokens; None where it is another axis."""
    extra = count - len(patches)
    config: Any = getattr(model.config, "vision_config", None) or model.config
    registers = int(getattr(config, "num_register_tokens", 0) or 0)
    if patches.boxes is None or extra not in (0, 1, 2, registers, registers + 1):
        return None
    first = ["[CLS]"] if extra > registers or (not registers and extra) else []
    if extra == 2 and not registers:
        first.append("[DIST]")
    names = [*first, *(f"register {number}" for number in range(extra - len(first)))]
    mask = np.arange(count) < extra
    return Tokens(
        [*names, *patches.pieces],
        special_mask=mask,
        classes={
            "cls": np.arange(count) < min(1, extra),
            "register": mask & (np.arange(count) >= len(first)),
        },
        picture=patches.picture,
        boxes=np.concatenate([np.full((extra, 4), np.nan), patches.boxes]),
    )
