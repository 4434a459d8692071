"""Pictures: what is read, and which area of the picture each patch stands for."""

from __future__ import annotations

import io
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import headscope as hs
from headscope.core.pictures import picture_of
from headscope.errors import HeadscopeWarning, InputError, ShapeError
from headscope.models import Model
from tests.helpers.small_models import sharpen

PIL = pytest.importorskip("PIL.Image")

SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
WIDE, HIGH = 640, 427


def quiet(make: Callable[[], Any]) -> Any:
    """A processor, without what transformers says of the backend that it takes."""
    transformers.logging.set_verbosity_error()
    try:
        return make()
    finally:
        transformers.logging.set_verbosity_warning()


FAMILIES: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "ViT": (
        lambda: transformers.ViTModel(transformers.ViTConfig(**SMALL)),
        lambda: transformers.ViTImageProcessor(),
    ),
    "CLIP": (
        lambda: transformers.CLIPVisionModel(transformers.CLIPVisionConfig(**SMALL)),
        lambda: transformers.CLIPImageProcessor(),
    ),
    "SigLIP": (
        lambda: transformers.SiglipVisionModel(transformers.SiglipVisionConfig(**SMALL)),
        lambda: transformers.SiglipImageProcessor(),
    ),
}
"""Families as their processors are by default; where their patches are is tested in test_geometry.py."""


def family(name: str) -> Model:
    torch.manual_seed(0)
    make, processor = FAMILIES[name]
    return hs.load((sharpen(make().eval()), quiet(processor)))


def grey(width: int = WIDE, height: int = HIGH) -> np.ndarray:
    return np.full((height, width, 3), 90, np.uint8)


def test_boxes_tell_what_a_crop_leaves_out() -> None:
    maps = hs.capture(family("CLIP"), image=grey())
    boxes = maps.query.boxes[1:]
    # The shorter side is kept whole, and as much of the middle of the longer one (sizes are cut to whole pixels).
    np.testing.assert_allclose(
        boxes[0], [(WIDE - HIGH) / 2, 0, (WIDE - HIGH) / 2 + HIGH / 7, HIGH / 7], atol=2
    )
    np.testing.assert_allclose(boxes[-1, 2:], [(WIDE + HIGH) / 2, HIGH], atol=2)


def test_an_axis_of_patches_is_saved_filtered_and_found_again(tmp_path: Path) -> None:
    maps = hs.capture(family("ViT"), image=grey())
    maps.save(tmp_path / "maps.safetensors")
    again = hs.open_maps(tmp_path / "maps.safetensors")
    np.testing.assert_array_equal(again.query.boxes, maps.query.boxes)
    np.testing.assert_array_equal(again.query.picture.pixels, grey())
    kept = maps.query.take(slice(1, 4))
    assert kept.boxes.shape == (3, 4)
    assert kept.picture is maps.query.picture


def png(image: Any, **options: Any) -> io.BytesIO:
    file = io.BytesIO()
    image.save(file, "PNG", **options)
    file.seek(0)
    return file


def test_a_picture_is_read_as_it_is_seen(tmp_path: Path) -> None:
    red = np.zeros((2, 4, 3), np.uint8)
    red[0, :, 0] = 255
    image = PIL.fromarray(red)
    turned = image.getexif()
    turned[0x0112] = 6  # the camera was turned: to be shown a quarter turn clockwise
    image.save(tmp_path / "turned.png", exif=turned)
    assert picture_of(tmp_path / "turned.png").size == (2, 4)
    assert picture_of(tmp_path / "turned.png").pixels[:, 1, 0].tolist() == [255] * 4
    image.convert("CMYK").save(tmp_path / "cmyk.tif")
    assert picture_of(tmp_path / "cmyk.tif").pixels[0, 0].tolist() == [255, 0, 0]
    PIL.fromarray(np.array([[0, 65535]], np.uint16)).save(tmp_path / "deep.png")
    assert picture_of(tmp_path / "deep.png").pixels[0, :, 0].tolist() == [0, 255]
    clear = np.zeros((1, 2, 4), np.uint8)
    clear[0, 1, 3] = 255
    PIL.fromarray(clear).save(tmp_path / "clear.png")
    assert picture_of(tmp_path / "clear.png").pixels[0, :, 0].tolist() == [255, 0]
    PIL.fromarray(grey(3, 2)).save(
        tmp_path / "moving.gif", save_all=True, append_images=[PIL.fromarray(255 - grey(3, 2))]
    )
    with pytest.warns(HeadscopeWarning, match=r"moving.gif: 2 frames; the first one is taken"):
        assert picture_of(tmp_path / "moving.gif").pixels[0, 0, 0] == 90
    assert picture_of(PIL.fromarray(red)).size == (4, 2)
    assert picture_of(np.array([[0.0, 1.0]])).pixels[0, :, 2].tolist() == [0, 255]
    assert picture_of(np.array([[False, True]])).pixels[0, :, 2].tolist() == [0, 255]


@pytest.mark.parametrize("mode", ["RGBA", "LA", "I;16", "F"])
def test_a_large_picture_takes_little_more_than_its_pixels(mode: str) -> None:
    """A .png file of 350 kB may hold 89 million pixels."""
    image = PIL.new(mode, (1_000, 1_000))
    tracemalloc.start()
    try:
        assert picture_of(image).size == (1_000, 1_000)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def test_a_model_that_sees_nothing_says_so(demo: Model) -> None:
    with pytest.raises(InputError, match=r"has no image processor; give hs\.load"):
        hs.capture(demo, image=grey())
    bare = hs.load(FAMILIES["ViT"][0]().eval())
    with pytest.raises(InputError, match=r"has no image processor; give hs\.load"):
        hs.capture(bare, image=grey())


def test_a_folder_of_a_model_of_vision_brings_its_processor(tmp_path: Path) -> None:
    torch.manual_seed(0)
    make, processor = FAMILIES["ViT"]
    make().save_pretrained(tmp_path)
    quiet(processor).save_pretrained(tmp_path)
    model = hs.load(tmp_path)
    assert len(hs.capture(model, image=grey()).query) == 197


def test_grids_and_frames_are_axes() -> None:
    axis = hs.Grid(2, 2, prefix=["[CLS]"], picture=hs.Picture(grey(40, 20)), area=(0, 0, 20, 20))
    assert axis.pieces == ("[CLS]", "patch[0,0]", "patch[0,1]", "patch[1,0]", "patch[1,1]")
    assert axis.boxes[4].tolist() == [10, 10, 20, 20]
    assert hs.Grid(1, 2).boxes is None
    with pytest.raises(InputError, match="area: expected left, top, right, bottom in this order"):
        hs.Grid(1, 2, picture=hs.Picture(grey()), area=(9, 0, 3, 3))
    frames = hs.Frames(2, 0.25)
    assert frames.times.tolist() == [[0, 0.25], [0.25, 0.5]]
    with pytest.raises(
        ShapeError, match="places: expected a medium, left, top, right and bottom for each of 2 tokens"
    ):
        hs.Tokens(["a", "b"], places=np.zeros((2, 3)))
