"""Which part of which picture each patch is, told from what a processor makes of pictures that say where they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from itertools import groupby
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
import torch

from headscope.core.arrays import Arrays, Bools, Bytes, Floats, Ints
from headscope.core.grid import Axis, Grid
from headscope.core.media import Picture, title
from headscope.core.tokens import Tokens
from headscope.core.types import AnyMapping
from headscope.errors import InputError
from headscope.models.perceiver import Perceiver

_EDGE = 4  # values of a ramp so near to its ends may be of what was put around the picture
_BLUES = 32  # so many ramps, each of its own blue, go through a processor together
_SIDES = range(1, 17)  # of the patches that a token merges
_GRIDS = ("image_grid_thw", "video_grid_thw", "spatial_shapes")  # Qwen's, SigLIP 2's

_STAGES = ("depths", "depth", "hidden_sizes")  # what configurations have a list of where grids are several

Area = tuple[float, float, float, float]
"""Left, top, right and bottom in a picture's pixels."""


class Seen(NamedTuple):
    """What a model sees at once: pictures, or the frames of a video."""

    pictures: Sequence[Picture]
    frames: Sequence[Picture]


class Process(Protocol):
    """Makes of pictures or frames what a module takes."""

    def __call__(self, pictures: Sequence[Bytes], frames: Sequence[Bytes], **options: Any) -> Arrays:
        """Read the pixels of pictures, or of frames."""
        ...


class Tile(NamedTuple):
    """A grid of patches on a part of a picture.

    Attributes:
        picture: that it is of.
        rows, columns: how many patches it has.
        area: which part it covers; beyond the picture where that has a margin. None for a margin alone.
        label: what it is called beside others, such as ``picture 2 tile 3``.
        order: in which the model has its patches; None for row by row.
    """

    picture: Picture
    rows: int
    columns: int
    area: Area | None
    label: str = ""
    order: Ints | None = None

    @property
    def patches(self) -> Tokens:
        """The axis of its patches; a single one is all that the model sees, margins too."""
        if (self.rows, self.columns) == (1, 1) and self.area is not None:
            return Grid(1, 1, picture=self.picture, area=self.area)
        axis = self.cells(self.rows, self.columns)
        return axis if self.order is None else axis.take(self.order)

    def cells(self, rows: int, columns: int) -> Tokens:
        """The axis of cells that its patches are merged to, row by row."""
        return placed(self, Grid(rows, columns).pieces, self.boxes(rows, columns))

    def first(self, rows: int, columns: int) -> Tile:
        """Its first rows and columns alone."""
        if self.area is None:
            return self
        left, top, right, bottom = self.area
        across, down = (right - left) * columns / self.columns, (bottom - top) * rows / self.rows
        return self._replace(rows=rows, columns=columns, area=(left, top, left + across, top + down))

    def boxes(self, rows: int, columns: int) -> Floats:
        """The areas of such cells, ``[cell 4]``, beyond the picture, too."""
        boxes = Grid(rows, columns, picture=self.picture, area=self.area).boxes
        assert boxes is not None
        return np.full_like(boxes, np.nan) if self.area is None else boxes


def placed(tile: Tile, pieces: Sequence[str], boxes: Floats) -> Tokens:
    """Tokens with areas of a tile's picture, which end where that does; what is all beside it stands for none."""
    boxes = np.clip(boxes, 0, [*tile.picture.size] * 2)
    there = (boxes[:, 0] < boxes[:, 2]) & (boxes[:, 1] < boxes[:, 3])
    places = np.where(there[:, None], np.pad(boxes, ((0, 0), (1, 0))), np.nan)
    named = [f"{tile.label}:{piece}" if tile.label else piece for piece in pieces]
    return Tokens(named, media=[tile.picture], places=places)


def after_one_another(axes: Sequence[Tokens]) -> Tokens:
    """Several axes as one. What their tokens are labelled by are classes of it: pictures, frames, tiles."""
    if len(axes) == 1:
        return axes[0]
    joined = Axis({str(number): axis for number, axis in enumerate(axes)})
    labels = np.array([piece.partition(":")[0] if ":" in piece else "" for piece in joined.pieces])
    owners = np.array([owner(label) for label in labels])
    names = [*dict.fromkeys(owners.tolist()), *dict.fromkeys(labels.tolist())]
    return replace(joined, classes={name: (labels == name) | (owners == name) for name in names if name})


def owner(label: str) -> str:
    """The picture of a tile; nothing where there is one picture alone."""
    return label.partition("tile")[0].rstrip()


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


def frames_read(model: Perceiver) -> tuple[int, int] | None:
    """How many frames a model of videos alone reads, 0 for any number, and how many of these a patch spans; None for
    another model.
    """
    config = vision_config(model)
    deep: Any = getattr(config, "tubelet_size", 1)
    count: Any = getattr(config, "num_frames", None) or (0 if hasattr(config, "frames_per_clip") else None)
    return None if count is None else (count, deep if isinstance(deep, int) else deep[0])


def tiles_of(model: Perceiver, seen: Seen, read: Arrays, process: Process) -> list[Tile]:
    """The grids of patches that a model makes of what it sees, in its order.

    Args:
        model: with an image processor.
        seen: pictures, or frames.
        read: what a processor made of these.
        process: the same processor.

    Raises `InputError` for a model whose patches are no grids.
    """
    config = vision_config(model)
    grids = next((read[name] for name in _GRIDS if name in read), None)
    if grids is not None:
        shapes = [(int(n), int(m)) for *times, n, m in grids for _ in range(int(times[0]) if times else 1)]
        media = steps(seen.frames, -(-len(seen.frames) // len(shapes))) if seen.frames else seen.pictures
        merge = getattr(model.image_processor, "merge_size", None) or getattr(config, "spatial_merge_size", 0)
        tiles: list[Tile] = [
            Tile(picture, *shape, (0.0, 0.0, *picture.size), order=_in_blocks(*shape, int(merge), config))
            for picture, shape in zip(media, shapes, strict=True)
        ]
        return labelled(tiles)
    pixels = pixels_of(read)
    deep: Any = getattr(config, "tubelet_size", None)
    across = both_sides(
        getattr(config, "patch_size", None) or (deep[1:] if isinstance(deep, Sequence) else None)
    )
    if pixels.ndim == 4 and (
        across is None or any(isinstance(getattr(config, name, None), list) for name in _STAGES)
    ):
        across = pixels.shape[2:]  # of several grids, or one that is not known, all is one patch
    if pixels.ndim not in (4, 5) or across is None:
        raise InputError(
            f"image: {model.name} cuts a picture into no one grid of patches; headscope.capture with inputs "
            f"({{'pixel_values': …}}) gives its maps"
        )
    size = np.array(pixels.shape[-2:])
    # Swin pads what is no whole number of patches, others cut it off.
    pads = any(hasattr(part, "maybe_pad") for part in model.module.modules())
    rows, columns = ((size + across - 1) // across if pads else size // across).tolist()
    tiles = []
    real = there(pixels) if seen.pictures else np.arange(len(_rows(read)))
    for picture, area in _shown(model, seen, real, process):
        if area is not None:
            first, last = np.array(area[:2]), np.array(area[2:])
            reach = (last - first) / size[::-1] * across[::-1] * [columns, rows]
            area = cast("Area", (*first.tolist(), *(first + reach).tolist()))
        tiles.append(Tile(picture, rows, columns, area))
    return labelled(tiles)


def pixels_of(read: Mapping[str, Any]) -> Any:
    """What a module takes of pictures, or of frames."""
    return read.get("pixel_values", read.get("pixel_values_videos"))


def there(pixels: Any) -> Ints:
    """Which tiles or frames of pixels, with or without a batch axis, are no padding."""
    tiles = pixels.reshape(-1, *pixels.shape[-3:])
    every = np.arange(len(tiles))
    return every if pixels.ndim < 5 else every[[bool(tile.any()) for tile in tiles]]


def frames_of(media: Sequence[Picture]) -> list[Picture]:
    """All frames of a video of which `steps` made these pictures."""
    return [
        Picture(pixels, title((number, number + 1)), (number, number + 1))
        for one in media
        if one.frames
        for number, pixels in enumerate((one.pixels, *one.after), one.frames[0])
    ]


def steps(frames: Sequence[Picture], deep: int) -> list[Picture]:
    """What a model sees at each step of a video of which it takes `deep` frames together."""
    made: list[Picture] = []
    for start in range(0, len(frames), deep):
        some = frames[start : start + deep]
        ends = (some[0].frames or (0, 0))[0], (some[-1].frames or (0, 0))[1]
        made.append(Picture(some[0].pixels, title(ends), ends, [frame.pixels for frame in some[1:]]))
    return made


def labelled(tiles: Sequence[Tile]) -> list[Tile]:
    """Tiles that say which of several pictures, or frames, they are of, and which of a picture's tiles they are."""
    runs = [list(run) for _, run in groupby(tiles, lambda tile: id(tile.picture))]
    made: list[Tile] = []
    for number, run in enumerate(runs, 1):
        picture = run[0].picture
        of = title(picture.frames) if picture.frames else f"picture {number}" if len(runs) > 1 else ""
        for place, tile in enumerate(run, 1):
            made.append(tile._replace(label=f"{of} tile {place}".strip() if len(run) > 1 else of))
    return made


def _shown(
    model: Perceiver, seen: Seen, tiles: Ints, process: Process
) -> Iterator[tuple[Picture, Area | None]]:
    """Of what each of a module's tiles is, and which part of it it shows, told by ramps in its place."""
    flat = {"do_rescale": False, "do_normalize": False}
    flat |= {"offset": False} if hasattr(model.image_processor, "offset") else {}  # ViViT
    sizes = [picture.size for picture in seen.pictures or seen.frames]
    if seen.frames:
        if len(tiles) != len(sizes):
            raise InputError(
                f"video: {model.name} makes {len(tiles)} of {len(sizes)} frames; of which is not known here"
            )
        ramp = _ramp(sizes[0], 255)
        tile = _rows(process([], [ramp] * len(sizes), **flat))[0]
        area = _area(tile, tile[2] > 255 - _EDGE, sizes[0])
        yield from ((step, area) for step in steps(seen.frames, (frames_read(model) or (0, 1))[1]))
        return
    most = np.zeros(len(tiles), np.int64)
    seen_in: list[tuple[int, Area | None]] = [(0, None)] * len(tiles)
    for start in range(0, len(sizes), _BLUES):
        blues = {number: 255 - _EDGE * (number - start) for number in range(start, len(sizes))[:_BLUES]}
        ramps = [_ramp(size, blues.get(number, 0)) for number, size in enumerate(sizes)]
        for place, tile in enumerate(_rows(process(ramps, [], **flat))[tiles]):
            for number, blue in blues.items():
                shown = np.abs(tile[2] - blue) < _EDGE / 2
                if shown.sum() > most[place]:
                    most[place], seen_in[place] = shown.sum(), (number, _area(tile, shown, sizes[number]))
    yield from ((seen.pictures[number], area) for number, area in seen_in)


def _rows(read: Arrays) -> Floats:
    """The tiles or frames that a processor made, ``[tile channel row column]``."""
    pixels = pixels_of(read)
    return pixels.reshape(-1, *pixels.shape[-3:])


def _in_blocks(rows: int, columns: int, merge: int, config: Any) -> Ints | None:
    """The order of patches that are given merge block by merge block (Qwen2-VL), and these, where the model attends in
    windows, window by window (Qwen2.5-VL): places in a grid that is read row by row. None where nothing is merged.
    """
    if not merge:
        return None
    row, column = np.divmod(np.arange(rows * columns), columns)
    keys = [column, row, column // merge, row // merge]
    if getattr(config, "fullatt_block_indexes", None) is not None:
        side = config.window_size // config.patch_size  # in patches
        keys += [column // side, row // side]
    return np.lexsort(keys)


def _ramp(size: tuple[int, int], blue: int) -> Bytes:
    """A picture whose red grows from left to right and whose green grows from top to bottom.

    What comes out of a processor that it goes through says of each pixel where it was, and by its blue in which
    picture.
    """
    width, height = size
    ramp = np.full((height, width, 3), blue, np.uint8)
    ramp[..., 0] = np.rint(255 * (np.arange(width) + 0.5) / width)
    ramp[..., 1] = np.rint(255 * (np.arange(height) + 0.5) / height)[:, None]
    return ramp


def _area(tile: np.ndarray, shown: Bools, size: tuple[int, int]) -> Area:
    """Which part of a picture a tile shows, told from the ramp in it; beyond the picture where that has a margin.

    Args:
        tile: ``[channel row column]``.
        shown: ``[row column]``: where there is a picture.
        size: of the picture, (width, height).
    """
    red, green, _ = tile.astype(np.float64)
    for values, side in ((red, size[0]), (green, size[1])):
        shown = shown & ((values > _EDGE) & (values < 255 - _EDGE) if side > 1 else True)
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


def written(model: Perceiver, seen: Seen, tiles: Sequence[Tile], read: Arrays, count: int) -> Tokens:
    """The axis of the `count` tokens of a text that stand for what is seen.

    - One for each patch of a tile, or for a block of patches.
    - Of tiles on a grid around which their margin is cut, rows of it, each with a token for its end (LLaVA-NeXT).
    - As many for each tile as there are latents, each of which sees all of it (Idefics2).

    Raises `InputError` where it is none of these.
    """
    latents: Any = getattr(getattr(model.config, "perceiver_config", None), "resampler_n_latents", 0)
    if latents and count == latents * len(tiles):
        every = [f"latent {number}" for number in range(latents)]
        return after_one_another(
            [placed(tile, every, np.repeat(tile.boxes(1, 1), latents, 0)) for tile in tiles]
        )
    pack: Any = getattr(getattr(model.module, "model", model.module), "pack_image_features", None)
    if pack is not None and seen.pictures:
        axes = [_packed(model, pack, tiles, read, number) for number in range(len(seen.pictures))]
        if sum(map(len, axes)) == count:
            return after_one_another(axes)
    pools = pack is not None and bool(seen.frames)  # frames, with a part of a block or without, and one end
    for side in _SIDES:
        for up in (0, side - 1) if pools else (0,):
            shapes = [((tile.rows + up) // side, (tile.columns + up) // side) for tile in tiles]
            exact = all(tile.rows % side == tile.columns % side == 0 for tile in tiles)
            ends = count - sum(rows * columns for rows, columns in shapes)
            if (exact or pools) and 0 <= ends <= pools:
                cells = [
                    (tile if up else tile.first(shape[0] * side, shape[1] * side)).cells(*shape)
                    for tile, shape in zip(tiles, shapes, strict=True)
                ]
                return after_one_another([*cells, Tokens(["newline"])][: len(cells) + ends])
    patches = " + ".join(f"{tile.rows} × {tile.columns}" for tile in tiles[:8])
    raise InputError(
        f"image: {model.name} reads {patches}{' …' * (len(tiles) > 8)} patches as {count} tokens, which are no grid: "
        "of which areas they are is not known here"
    )


def _packed(model: Perceiver, pack: Any, tiles: Sequence[Tile], read: Arrays, number: int) -> Tokens:
    """The tokens of a picture of several tiles, as the model itself packs what it is given of these: here their areas.

    Args:
        pack: the model's function.
        tiles: of all pictures.
        read: with the sizes of the pictures.
        number: of the picture.
    """
    runs = [list(run) for _, run in groupby(tiles, lambda tile: id(tile.picture))]
    mine, (rows, columns) = runs[number], runs[number][0][1:3]
    areas = np.stack([tile.boxes(rows, columns) for tile in mine])
    given = {
        "image_features": [torch.as_tensor(areas)],
        "image_sizes": torch.as_tensor(read["image_sizes"])[number][None],
        "image_newline": torch.full((4,), torch.nan, dtype=torch.float64),
        **{
            name: getattr(model.config, name)
            for name in ("vision_feature_select_strategy", "vision_aspect_ratio")
            if name in signature(pack).parameters
        },
    }
    boxes: Floats = pack(**given)[0][0].numpy()
    base, rest, of = mine[0].patches, boxes[rows * columns :], owner(mine[0].label)
    end = f"{of}:newline".lstrip(":")
    if len(mine) == 1:
        return after_one_another([base, Tokens([end] * len(rest))])
    across = int(np.isnan(rest[:, 0]).argmax())  # each row ends with a newline
    rest = rest.reshape(-1, across + 1, 4)
    middle, half = (rest[..., :2] + rest[..., 2:]) / 2, (rest[..., 2:] - rest[..., :2]) / 2
    for side, axis in ((0, 1), (1, 0)):  # what is resampled is of cells that are wider than patches
        apart = np.diff(middle[:, :across, side], axis=axis)
        half[..., side] = np.fmax(half[..., side], apart.max(initial=0.0) / 2)
    pieces = [
        end if np.isnan(center[0]) else f"{_holding(mine[1:], center).label}:patch[{row},{column}]"
        for row, line in enumerate(middle)
        for column, center in enumerate(line)
    ]
    boxes = np.concatenate([middle - half, middle + half], -1).reshape(-1, 4)
    return after_one_another([base, placed(mine[0]._replace(label=""), pieces, boxes)])


def _holding(tiles: Sequence[Tile], point: Floats) -> Tile:
    """The tile in which a point lies, or that is nearest to it."""

    def beyond(tile: Tile) -> float:
        left, top, right, bottom = tile.area or (np.inf,) * 4
        return float(np.maximum(np.maximum([left, top] - point, point - [right, bottom]), 0).sum())

    return min(tiles, key=beyond)
