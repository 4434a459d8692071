"""Pictures: files, Pillow images and arrays, as they are seen."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from headscope.core.arrays import Bools, Bytes
from headscope.core.failures import reason, warn
from headscope.core.kinds import is_path
from headscope.core.lazy import module
from headscope.core.media import Picture
from headscope.errors import InputError


def picture_of(image: Any) -> Picture:
    """A picture from a file, from Pillow, or from an array.

    It is turned as its EXIF data say; of an animation the first frame is taken, with a warning; what can be seen
    through lies on white; 16 bits become 8.

    Args:
        image: a path, or the bytes of a file; a Pillow image; or numbers ``[row column]`` or ``[row column channel]``
            (1, 3 or 4 channels), whole ones from 0 to 255 or fractions from 0 to 1.

    Raises `InputError` for a file that is no picture and for another array.
    """
    if isinstance(image, Picture):
        return image
    if is_path(image):
        path = Path(image)
        with _opened(path, str(path)) as opened:
            return Picture(_pixels(opened, str(path)), path.name)
    if isinstance(image, bytes):
        with _opened(io.BytesIO(image), "image") as opened:
            return Picture(_pixels(opened, "image"), "")
    if hasattr(image, "getexif") and hasattr(image, "convert"):
        return Picture(_pixels(image, "image"), "")
    return Picture(_array(image), "")


@dataclass(frozen=True, eq=False)
class Video:
    """What is shown as a video, in place of a picture: a path, ``[frame row column 3]``, or a list of pictures."""

    source: Any


def with_video(image: Any, video: Any) -> Any:
    """What is shown of pictures and a video, as `pictures_of` takes it."""
    if video is None:
        return image
    return Video(video) if image is None else [*(image if several(image) else [image]), Video(video)]


def several(image: Any) -> bool:
    """Whether something is a list of pictures, and not the numbers of one."""
    return isinstance(image, list | tuple) and not all(isinstance(one, int | float | list) for one in image)  # pyright: ignore[reportUnknownVariableType]


def pictures_of(image: Any) -> list[Picture]:
    """The pictures of what is shown: one, several, the frames of a video (each says which), or both.

    Args:
        image: as in `picture_of`; or a list of these; or a `Video`.

    Raises `InputError` as `picture_of` does, and for frames of several sizes.
    """
    if isinstance(image, Video):
        return _frames(image.source)
    if not several(image):
        return [picture_of(image)]
    if len(image) == 1:
        return pictures_of(image[0])
    pictures: list[Picture] = []
    for number, one in enumerate(image):
        try:
            pictures += pictures_of(one)
        except InputError as error:
            raise InputError(f"image[{number}]: {str(error).removeprefix('image: ')}") from None
    return pictures


def _frames(video: Any) -> list[Picture]:
    """The frames of a video, of one size."""
    name = "video"
    if is_path(video):
        path = Path(video)
        name = str(path)
        if path.is_dir():
            known = module("PIL.Image").registered_extensions()
            files = [file for file in path.iterdir() if file.suffix.lower() in known]
            frames = [picture_of(file).pixels for file in sorted(files, key=_numbered)]
        elif path.suffix.lower() in _FILMS:
            raise InputError(
                f"{name}: expected a folder of frames, a GIF or an animated WebP, found {path.suffix}; "
                "ffmpeg -i FILM frames/%05d.png makes a folder of it"
            )
        else:
            with _opened(path, name) as opened:
                frames = list(_animated(opened))
    elif hasattr(video, "getexif"):
        frames = list(_animated(video))
    elif isinstance(video, list | tuple) or getattr(video, "ndim", 0) == 4:
        frames = [picture_of(one).pixels for one in cast("Sequence[Any]", video)]
    else:
        raise InputError(
            f"video: expected a path, frames [frame row column 3] or a list of pictures, found {type(video).__name__}"
        )
    if not frames:
        raise InputError(f"{name}: expected frames, found none")
    for number, frame in enumerate(frames):
        if frame.shape != frames[0].shape:
            first, other = (f"{wide} × {high}" for high, wide, _ in (frames[0].shape, frame.shape))
            raise InputError(
                f"{name}: expected frames of one size, found {first} and {other} (frame {number})"
            )
    return [Picture(frame, f"frame {number}", (number, number + 1)) for number, frame in enumerate(frames)]


_FILMS = (".avi", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".webm", ".wmv")


def _numbered(path: Path) -> list[tuple[int, str]]:
    """What sorts ``frame 10`` behind ``frame 9``."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", path.name)]


def _animated(image: Any) -> Iterator[Bytes]:
    for number in range(getattr(image, "n_frames", 1)):
        image.seek(number)
        yield np.asarray(image.convert("RGB"))


def expect_picture(path: Path) -> None:
    """Raise `InputError` where a file is no picture, or breaks off. To be fast, a JPEG is read as small as can be."""
    with _opened(path, str(path)) as image:
        image.draft("RGB", (1, 1))
        image.load()


def mask_of(path: Path) -> Bools:
    """The pixels of a file that are not black, ``[row column]``; of a palette those that are not its first colour.

    Raises `InputError` for a file that is no picture.
    """
    with _opened(path, str(path)) as image:
        pixels: np.ndarray = np.asarray(image)
        colours = len(image.getbands()) - (image.mode in ("LA", "PA", "RGBA"))
    return pixels != 0 if pixels.ndim == 2 else (pixels[..., :colours] != 0).any(-1)


@contextmanager
def _opened(file: Any, name: str) -> Generator[Any]:
    """An open Pillow image, of a path or a file. What goes wrong while it is open is an `InputError`."""
    pillow = module("PIL.Image")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pillow.DecompressionBombWarning)
            with pillow.open(file) as image:
                yield image
    except FileNotFoundError:
        raise InputError(f"{name}: expected a picture, found no such file") from None
    except pillow.UnidentifiedImageError:
        raise InputError(
            f"{name}: expected a picture, found a file that cannot be read (of no kind that Pillow knows)"
        ) from None
    except (pillow.DecompressionBombError, pillow.DecompressionBombWarning):
        raise InputError(
            f"{name}: expected a picture of at most {pillow.MAX_IMAGE_PIXELS:,} pixels, found more; where that is "
            "meant, set PIL.Image.MAX_IMAGE_PIXELS"
        ) from None
    except Warning:
        raise
    except Exception as error:  # a broken file leads to many
        raise InputError(
            f"{name}: expected a picture, found a file that cannot be read ({reason(error)})"
        ) from None


def _pixels(image: Any, name: str) -> Bytes:
    """The pixels of a Pillow image, upright, in red, green and blue."""
    if (
        getattr(image, "n_frames", 1) > 1 and image.format != "MPO"
    ):  # a camera's, with a second view of the same
        warn(f"{name}: {image.n_frames} frames; the first one is taken", 3)
        image.seek(0)
    upright = module("PIL.ImageOps").exif_transpose(image)
    if upright.mode.startswith(("I", "F")):
        return _array(
            np.asarray(upright).astype(np.float32) / np.float32(65535 if upright.mode != "F" else 1)
        )
    if upright.mode in ("LA", "PA", "RGBA", "La", "RGBa") or "transparency" in upright.info:
        return _array(np.asarray(upright.convert("RGBA")))
    return np.asarray(upright.convert("RGB"))


def _array(image: Any) -> Bytes:
    try:
        array: np.ndarray = np.asarray(image)
    except (TypeError, ValueError):
        array = np.empty(0, object)
    if array.dtype.kind not in "buif" or array.ndim not in (2, 3) or not array.size:
        given = (
            f"shape {array.shape} of {array.dtype}" if isinstance(image, np.ndarray) else type(image).__name__
        )
        raise InputError(
            f"image: expected a path, a Pillow image or numbers [row column] or [row column channel], found {given}"
        )
    array = array[..., None] if array.ndim == 2 else array
    if array.shape[2] not in (1, 3, 4):
        raise InputError(f"image: expected 1, 3 or 4 channels at the end, found shape {array.shape}")
    if not np.isfinite(array).all():
        raise InputError("image: expected finite numbers, found NaN or infinity")
    integral = array.dtype.kind in "bui"
    least, most = float(array.min()), float(array.max())
    unit = {np.dtype(np.bool_): 1.0, np.dtype(np.uint16): 65535.0}.get(
        array.dtype, 255.0 if integral else 1.0
    )
    if least < 0 or most > unit * 255.5 / 255:
        expected = "whole numbers from 0 to 255" if integral else "fractions from 0 to 1"
        raise InputError(f"image: expected {expected}, found {least:g} to {most:g}")
    pixels = np.empty((*array.shape[:2], 3), np.uint8)
    for row, part in enumerate(array):  # a large picture is never held in numbers of 64 bits
        scaled = part.astype(np.float64) * (255 / unit)
        if scaled.shape[1] == 4:
            alpha = scaled[:, 3:] / 255
            scaled = scaled[:, :3] * alpha + 255 * (1 - alpha)
        pixels[row] = np.rint(scaled)
    return pixels
