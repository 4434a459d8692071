"""Pictures as a model of vision sees them, and which area of a picture each of its patches is.

The text beside a picture: which of its characters and words each token stands for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from inspect import signature
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor

from headscope.core.arrays import Arrays, Bools, Bytes, Floats, Ints
from headscope.core.failures import reason
from headscope.core.grid import Grid
from headscope.core.media import Picture, covering
from headscope.core.pictures import picture_of
from headscope.core.tokens import Tokens
from headscope.core.types import AnyMapping
from headscope.errors import InputError
from headscope.models.encode import encode
from headscope.models.perceiver import Perceiver


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


OF_PICTURES = (
    "pixel_values",
    "hidden_states",
    "pixel_attention_mask",
    "spatial_shapes",
    "image_grid_thw",
    "image_sizes",
)
"""What is made of pictures. Beside a text, and where patches are a list, their first axis is not the batch."""

_EDGE = 4  # values of a ramp so near to its ends may be of what was put around the picture

Area = tuple[float, float, float, float]
"""Left, top, right and bottom in a picture's pixels."""


class Looked(NamedTuple):
    """A picture as a module takes it.

    Attributes:
        inputs: what the module takes, of one row.
        patches: the axis of the patches in the model's order, without what stands before them.
        tokens: of a model of text and pictures the axis of both, or of the text alone where these do not meet on one
            (CLIP); else None.
        tiles: of a picture that is cut into several, the patches of each; `patches` are those of the first.
    """

    inputs: dict[str, Tensor]
    patches: Tokens
    tokens: Tokens | None
    tiles: Sequence[Tokens]


def looked(model: Perceiver, image: Any, text: str | None = None) -> Looked:
    """What a model of vision, or of text and pictures, takes of a picture.

    Args:
        model: with an image processor.
        image: as in `picture_of`.
        text: of a model that reads both. Where it does not say where the picture stands, that is before it.

    Raises `InputError` for a model without an image processor, and for one whose patches are no grid.
    """
    if model.image_processor is None:
        raise InputError(
            f"image: {model.name} has no image processor; give hs.load((module, processor)), or a folder with "
            "preprocessor_config.json"
        )
    picture = picture_of(image)
    given = None if text is None else _marked(model, text)
    read = _processed(model, picture.pixels, given)
    tiles = _tiles(model, picture, read, given)
    if given is None:
        inputs = _inputs(model, {name: read[name] for name in OF_PICTURES if name in read})
        return Looked(inputs, tiles[0], None, tiles)
    inputs = _inputs(model, {name: value for name, value in read.items() if name != "labels"})
    assert text is not None
    mixed = _mixed(model, read["input_ids"][0].astype(np.int64), tiles)
    return Looked(inputs, tiles[0], with_text(model.tokenizer, mixed, given, text), tiles)


def rows_of(inputs: AnyMapping) -> int:
    """How many inputs stand in what a module takes; its scalars tell nothing of that."""
    arrays: dict[str, Tensor] = {name: value for name, value in inputs.items() if isinstance(value, Tensor)}
    names = [name for name in arrays if name not in OF_PICTURES] or list(arrays)
    return arrays[names[0]].shape[0]


def _inputs(model: Perceiver, read: Arrays) -> dict[str, Tensor]:
    """What a module takes of what a processor made, by the names that its forward pass has for it."""
    known = signature(model.module.forward).parameters
    called = {"pixel_values": "hidden_states", "image_grid_thw": "grid_thw"} if "grid_thw" in known else {}
    inputs = {called.get(name, name): torch.as_tensor(value) for name, value in read.items()}
    pixels = inputs.get("pixel_values")
    if pixels is not None and pixels.ndim == 5 and "input_ids" not in known:
        inputs = {"pixel_values": pixels[0]}  # Idefics3's tower alone
    sides = both_sides(getattr(vision_config(model), "image_size", None))
    if "interpolate_pos_encoding" in known and pixels is not None and tuple(pixels.shape[-2:]) != sides:
        inputs["interpolate_pos_encoding"] = torch.ones(len(pixels), dtype=torch.bool)
    return inputs


def both_sides(size: Any) -> tuple[int, int] | None:
    """A height and a width, for which one number may stand; None for what is neither."""
    if isinstance(size, Mapping):
        named = cast("AnyMapping", size)
        size = (named.get("height"), named.get("width"))
    size = (size, size) if isinstance(size, int) else tuple(size or ())
    pair = len(size) == 2 and all(isinstance(side, int) for side in size)
    return cast("tuple[int, int]", size) if pair else None


def vision_config(model: Perceiver) -> Any:
    """The part of a model's configuration that is about pictures."""
    config: Any = model.config
    for name in ("vision_config", "encoder"):
        part: Any = getattr(config, name, None)
        if hasattr(part, "patch_size"):
            return part
    return config


def _marked(model: Perceiver, text: str) -> str:
    """A text that says where the picture stands, where the model reads both in one row."""
    both = model.processor
    if both is None:
        raise InputError(
            f"image: {model.name} has no processor of texts and pictures; give hs.load((module, processor))"
        )
    mark = getattr(both, "image_token", None)
    if image_id(model) is None or (mark is not None and str(mark) in text):
        return text
    mark = "<image>" if mark is None else str(mark)
    vocabulary: Any = model.tokenizer.get_vocab()
    if mark == "<|image_pad|>" and "<|vision_start|>" in vocabulary:  # as Qwen2-VL's chat template
        return f"<|vision_start|>{mark}<|vision_end|>{text}"
    return f"{mark}{text}" if "paligemma" in type(both).__name__.lower() else f"{mark}\n{text}"


def image_id(model: Perceiver) -> int | None:
    """The id of a picture's tokens in a text; None where the model has none, as it reads the two apart."""
    for name in ("image_token_id", "image_token_index"):
        for holder in (model.config, model.processor):
            number: Any = getattr(holder, name, None)
            if isinstance(number, int):
                return number
    return None


def _processed(model: Perceiver, pixels: Bytes, text: str | None, **options: Any) -> dict[str, np.ndarray]:
    """What the model's processor makes of a picture, and of the text beside it."""
    processor = model.image_processor if text is None else model.processor
    try:
        given = {"images": pixels, "return_tensors": "np"}
        if text is not None:
            given = {"text": [text], "images": [pixels], "return_tensors": "pt"}
        read = processor(**given, input_data_format="channels_last", **options)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"image: its processor {type(processor).__name__} cannot read it ({reason(error)})"
        ) from None
    return {name: np.asarray(value) for name, value in read.items()}


def _tiles(model: Perceiver, picture: Picture, read: Arrays, text: str | None) -> list[Tokens]:
    """The patches of each tile of a picture, mostly of one that is all of it, in the model's order."""
    config = vision_config(model)
    pixels, size = read["pixel_values"], picture.size
    if "image_grid_thw" in read:
        rows, columns = (int(side) for side in read["image_grid_thw"][0, 1:])
        patches = Grid(rows, columns, picture=picture)
        return [patches.take(_in_blocks(rows, columns, config, model.image_processor))]
    if "spatial_shapes" in read:  # SigLIP 2: row by row, then padding
        rows, columns = (int(side) for side in read["spatial_shapes"][0])
        patches = Grid(rows, columns, picture=picture)
        return [_padded(patches, pixels.shape[1])]
    across = both_sides(getattr(config, "patch_size", None))
    if pixels.ndim not in (4, 5) or across is None:
        raise InputError(
            f"image: {model.name} cuts a picture into no one grid of patches; headscope.capture with inputs "
            f"({{'pixel_values': …}}) gives its maps"
        )
    height, width = pixels.shape[-2:]
    # Swin pads what is no whole number of patches, others cut it off.
    pads = any(hasattr(part, "maybe_pad") for part in model.module.modules())
    rows, columns = (
        -(-side // step) if pads else side // step for side, step in zip((height, width), across, strict=True)
    )
    ramp = _processed(model, _ramp(picture), text, do_rescale=False, do_normalize=False)["pixel_values"]
    tiles: list[Tokens] = []
    for tile in ramp.reshape(-1, *ramp.shape[-3:]):
        left, top, right, bottom = _area(tile, size)
        step = (right - left) / width * across[1], (bottom - top) / height * across[0]
        area = (left, top, left + columns * step[0], top + rows * step[1])
        tiles.append(_within(Grid(rows, columns, picture=picture, area=area), size))
    if len(tiles) == 1:
        return tiles
    return [
        replace(tokens, pieces=[f"tile{number + 1}:{piece}" for piece in tokens.pieces])
        for number, tokens in enumerate(tiles)
    ]


def _within(patches: Tokens, size: tuple[int, int]) -> Tokens:
    """Patches whose boxes end where the picture does; what is all beside it stands for none."""
    assert patches.places is not None
    places = np.clip(patches.places, 0, [np.inf, *size, *size])
    places[(places[:, 1] >= places[:, 3]) | (places[:, 2] >= places[:, 4])] = np.nan
    return replace(patches, places=places)


def _in_blocks(rows: int, columns: int, config: Any, processor: Any) -> Ints:
    """The order of patches that are given merge block by merge block (Qwen2-VL), and these, where the model attends in
    windows, window by window (Qwen2.5-VL): places in a grid that is read row by row.
    """
    row, column = np.divmod(np.arange(rows * columns), columns)
    merge = int(getattr(processor, "merge_size", None) or getattr(config, "spatial_merge_size", 1))
    keys = [column, row, column // merge, row // merge]
    if getattr(config, "fullatt_block_indexes", None) is not None:
        side = config.window_size // config.patch_size  # in patches
        keys += [column // side, row // side]
    return np.lexsort(keys)


def _padded(patches: Tokens, count: int) -> Tokens:
    """Patches, and padding after them up to `count`."""
    padding = [f"padding {number}" for number in range(count - len(patches))]
    special = replace(patches, special_mask=np.zeros(len(patches), np.bool_))
    return special.longer(padding, -1, last=True)


def _ramp(picture: Picture) -> Bytes:
    """A picture whose red grows from left to right and whose green grows from top to bottom.

    What comes out of a processor that it goes through says of each pixel where it was.
    """
    width, height = picture.size
    ramp = np.full((height, width, 3), 255, np.uint8)
    ramp[..., 0] = np.rint(255 * (np.arange(width) + 0.5) / width)
    ramp[..., 1] = np.rint(255 * (np.arange(height) + 0.5) / height)[:, None]
    return ramp


def _area(tile: np.ndarray, size: tuple[int, int]) -> Area:
    """Which part of a picture a tile shows, told from the ramp in it; beyond the picture where that has a margin."""
    red, green, blue = tile.astype(np.float64)
    shown = blue > 255 - _EDGE
    for values, side in ((red, size[0]), (green, size[1])):
        shown &= (values > _EDGE) & (values < 255 - _EDGE) if side > 1 else True
    (left, right), (top, bottom) = (
        _ends(values, shown, side, axis)
        for axis, (values, side) in enumerate(((red, size[0]), (green, size[1])))
    )
    return left, top, right, bottom


def _ends(values: np.ndarray, shown: Bools, size: int, axis: int) -> tuple[float, float]:
    """Where the line through the values of a ramp begins and ends, in pixels of a picture that has `size` of them.

    Args:
        values: ``[row column]``.
        shown: where they are of the picture.
        axis: along which they grow: 0 for columns, 1 for rows.
    """
    count = np.maximum(shown.sum(axis), 1)
    mean: Floats = np.where(shown, values, 0.0).sum(axis) / count
    flat = 127.5 / size  # the value of the first pixel, which an enlarged picture keeps up to its edge
    inside = (mean > max(_EDGE, flat + 1)) & (mean < 255 - max(_EDGE, flat + 1))
    places = np.arange(len(mean)) + 0.5
    if inside.sum() < 3 or size == 1:
        return 0.0, float(size)
    slope, start = np.polyfit(places[inside], mean[inside] / 255 * size, 1)
    first, last = float(start), float(start + slope * len(mean))
    near = 0.01 * size  # where all of a side is kept the fit is off by a fraction of a pixel
    return (0.0 if abs(first) < near else first, float(size) if abs(last - size) < near else last)


def _mixed(model: Perceiver, ids: Ints, tiles: Sequence[Tokens]) -> Tokens:
    """The axis of a text with a picture in it: of the tokens that stand for the picture each has its area."""
    tokens = model.from_ids(ids.tolist())
    image = image_id(model)
    if image is None:  # the two are read apart
        return tokens
    seen = ids == image
    count = int(seen.sum())
    rows, columns = (1 + max(places) for places in zip(*map(_place, tiles[0].pieces), strict=True))
    side = next((side for side in range(1, 17) if count * side**2 == len(tiles) * rows * columns), None)
    if side is None or rows % side or columns % side:
        raise InputError(
            f"image: {model.name} reads a picture of {len(tiles)} × {rows} × {columns} patches as {count} tokens, "
            "which are no grid: of which areas they are is not known here"
        )
    cells = [merged(tile, rows // side, columns // side, (rows, columns)) for tile in tiles]
    places = np.full((len(ids), 5), np.nan)
    places[seen] = np.concatenate([cell.places for cell in cells if cell.places is not None])
    pieces = list(tokens.pieces)
    names = [piece for cell in cells for piece in cell.pieces]
    for place, name in zip(np.flatnonzero(seen).tolist(), names, strict=True):
        pieces[place] = name
    classes = {**tokens.classes, "image": seen, "question": ~seen & ~tokens.special}
    return replace(tokens, pieces=pieces, media=tiles[0].media, places=places, classes=classes)


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
