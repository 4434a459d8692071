"""Several pictures, tiles and videos: each token is of the picture, the frame and the place that it shows."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.attention.neurons import capture_with_neurons
from headscope.attention.one import prepare, record
from headscope.attention.parts import Parts, group, sides
from headscope.attention.windows import placed
from headscope.core.pictures import Video, pictures_of
from headscope.core.tokens import Tokens
from headscope.errors import HeadscopeWarning, InputError
from headscope.models import Model
from headscope.models.pictures import looked
from tests.helpers.own_eager import of_eager
from tests.helpers.typed import Typed
from tests.helpers.video_models import ALONE, TILES, VIDEOS, timesformer, watching
from tests.helpers.vision_models import MORE, READS, TEN, made

PIL = pytest.importorskip("PIL.Image")

GREY, BRIGHT = 90, 255
SIZES = [(150, 100), (90, 140)]
SEVERAL = [family for family in (*READS, *TILES) if family != "CLIP"]
CUT = ["Idefics3", "InternVL", *TILES]


def grey(count: int, size: tuple[int, int] | None = None) -> list[np.ndarray]:
    """Grey pictures, of two sizes by turns where none is given."""
    sizes = itertools.cycle([size] if size else SIZES)
    return [
        np.full((high, wide, 3), GREY, np.uint8) for (wide, high), _ in zip(sizes, range(count), strict=False)
    ]


def noise(count: int, size: tuple[int, int] | None = None) -> list[np.ndarray]:
    """Pictures of noise."""
    draw = np.random.default_rng(1)
    return [draw.integers(0, 256, picture.shape, np.uint8) for picture in grey(count, size)]


def asked(family: str) -> str | None:
    """What a model is asked beside what it sees."""
    return None if family in ALONE else "What?"


def parts_of(model: Model, text: str | None, image: Any) -> Parts:
    """The maps of a model, by part."""
    maps = hs.capture(model, text, image=image)
    assert not isinstance(maps, Sequence)
    return maps if isinstance(maps, Parts) else Parts({"self": maps})


def keys(model: Model, text: str | None, image: Any) -> dict[str, tuple[Tokens, list[torch.Tensor]]]:
    """The axis and the keys ``[token number]`` of each part's layers, where no token looks at another: each is of its
    place alone.
    """
    with hs.edit(model, lambda record: record.weights() * 0):
        axes, ready = prepare(model, text, image=image)
        records = placed(model.module, record(model, ready), ready, 1, axes)
    return {
        name: (
            sides(model, name, calls, 0, ready, axes)[1][0],
            [each.k[0].transpose(0, 1).flatten(1) for each in calls],
        )
        for name, calls in group(records).items()
    }


def shown(axis: Tokens, pixel: tuple[int, int], number: int) -> tuple[np.ndarray, np.ndarray]:
    """Which tokens are of a picture, or of a frame, and which of these hold a pixel (column, row) of it, ±1."""
    media = [
        one.frames[0] <= number < one.frames[1] if one.frames else one.name in ("", f"picture {number + 1}")
        for one in axis.media
        if isinstance(one, hs.Picture)
    ]
    of = np.isin(axis.medium, np.flatnonzero(media))
    boxes = np.full((len(axis), 4), np.nan) if axis.boxes is None else axis.boxes
    column, row = pixel
    left, top, right, bottom = boxes.T
    return of, of & (left < column + 2) & (right > column - 1) & (top < row + 2) & (bottom > row - 1)


def lit(
    model: Model, text: str | None, images: list[np.ndarray], number: int, pixel: tuple[int, int], video: bool
) -> set[str]:
    """The parts in which a bright spot in one of some pictures moves the keys of the tokens that hold it, most of all
    tokens, and of no token of another picture. Those of other tiles have none that holds it.
    """
    column, row = pixel
    bright = [image.copy() for image in images]
    bright[number][row - 1 : row + 2, column - 1 : column + 2] = BRIGHT
    given = (lambda some: Video(some)) if video else (lambda some: some)
    before, after = keys(model, text, given(images)), keys(model, text, given(bright))
    found: set[str] = set()
    for name, (axis, layers) in after.items():
        if not axis.media:
            continue
        of, holding = shown(axis, pixel, number)
        for now, was in zip(layers, before[name][1], strict=True):
            moved = (now - was).abs().sum(1).numpy()
            assert moved[(axis.medium >= 0) & ~of].max(initial=0.0) <= 1e-5, name
            if holding.any() and moved.max() > 1e-3:
                assert holding[moved.argmax()], (name, axis.pieces[moved.argmax()])
                found.add(name)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("family", SEVERAL)
def test_a_bright_spot_in_picture_2_lights_up_its_own_tokens(family: str) -> None:
    model = watching(family)
    pixel = (70, 52) if family != "Idefics2" else (30, 40)
    found = lit(model, "What?", grey(3), 1, pixel, video=False)
    # Of Idefics2 latents look at the tiles, and here nothing looks at anything.
    assert family == "Idefics2" or {"language", "text"} & found
    assert any(name.startswith("picture 2") or name == "vision" for name in found)


@pytest.mark.slow
@pytest.mark.parametrize("family", VIDEOS)
def test_a_bright_spot_in_frame_5_lights_up_its_own_tokens(family: str) -> None:
    found = lit(watching(family), asked(family), grey(8, (150, 100)), 5, (64, 32), video=True)
    expected = {
        "TimeSformer": {"time", "space"},
        "V-JEPA 2": {"encoder", "predictor"},
        "SmolVLM": {"frame 5", "text"},
        **{name: {"frame 5", "language"} for name in ("InternVL", "LLaVA-OneVision", "LLaVA-NeXT-Video")},
        **{name: {"vision", "language"} for name in ("Qwen2-VL", "Qwen2.5-VL", "Qwen3-VL")},
    }
    assert found == expected.get(family, {"self"})


@pytest.mark.slow
@pytest.mark.parametrize("family", CUT)
def test_a_bright_spot_in_tile_3_lights_up_that_and_the_whole(family: str) -> None:
    """In tile 3 and in the view of all of the picture, and in no other tile."""
    model = watching(family)
    tiles = looked(model, grey(1), "What?").parts
    left, top, right, bottom = np.nanmean(tiles["tile 3"].boxes, 0)
    pixel = int((left + right) / 2) + 3, int((top + bottom) / 2) + 3
    holding = {name for name, axis in tiles.items() if shown(axis, pixel, 0)[1].any()}
    assert len(holding) == 2
    assert "tile 3" in holding
    found = lit(model, "What?", grey(1), 0, pixel, video=False)
    assert {name for name in found if name in tiles} == holding
    assert family == "Idefics2" or {"language", "text"} & found


EXACT = [
    *((family, "pictures") for family in SEVERAL),
    *((family, "video") for family in VIDEOS if "TimeSformer" not in family),
]


@pytest.mark.slow
@pytest.mark.parametrize(("family", "kind"), EXACT)
def test_maps_are_the_models_own(family: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bit by bit in float64. Tiles, pictures and frames stand in the batch axis, or are called one after another."""
    module, processor = made({**TEN, **MORE, **TILES, **VIDEOS}[family])
    model = hs.load((module.double(), processor))
    image: Any = noise(2) if kind == "pictures" else Video(noise(8, (150, 100)))
    maps = parts_of(model, asked(family), image)
    _, ready = prepare(model, asked(family), image=image)
    calls = of_eager(monkeypatch, model, ready)
    assert all(call.dtype == torch.float64 for call in calls)
    rest = {name: list(each.layers) for name, each in maps.items()}
    batched = [name for name in maps if name.startswith(("picture", "tile", "frame"))]
    begins: Counter[str] = Counter()
    for call in calls:
        size = call.shape[-1]
        if len(call) > 1:
            mine = [name for name in batched if rest[name] and rest[name][0].shape == call.shape[1:]]
            for name, weights in zip(mine, call, strict=True):
                np.testing.assert_array_equal(rest[name].pop(0), weights.numpy())
            continue
        name = next(name for name, left in rest.items() if left and name not in batched)
        layer, block = rest[name][0], slice(begins[name], begins[name] + size)
        expected = np.zeros_like(layer[:, block])
        expected[..., block] = call[0].numpy()
        np.testing.assert_array_equal(layer[:, block], expected)
        begins[name] += size
        if begins[name] == layer.shape[-1]:
            rest[name].pop(0)
            begins[name] = 0
    assert not any(rest.values())


def test_eight_frames_of_qwen_are_four_steps_of_two_frames() -> None:
    """Known: ``video_grid_thw`` (4, 24, 46) is 1,104 tokens of a text, 276 a step, 12 × 23 of two frames each."""
    module, processor = made(VIDEOS["Qwen2-VL"])
    processor.image_processor.size = {"shortest_edge": 1, "longest_edge": 10**6}
    frames = np.zeros((8, 24 * 14, 46 * 14, 3), np.uint8)
    seen = looked(hs.load((module, processor)), Video(frames), "What?")
    assert seen.inputs["video_grid_thw"].tolist() == [[4, 24, 46]]
    tokens = seen.tokens
    assert tokens is not None
    assert tokens.mask("image").sum() == 1104
    assert np.bincount(tokens.medium[tokens.medium >= 0]).tolist() == [276] * 4
    assert [medium.frames for medium in tokens.media] == [(0, 2), (2, 4), (4, 6), (6, 8)]
    at = tokens.pieces.index("frames 4–5:patch[7,20]")
    assert at == tokens.pieces.index("frames 0–1:patch[0,0]") + 2 * 276 + 7 * 23 + 20
    assert tokens.places is not None
    assert tokens.places[at].tolist() == [2, 20 * 28, 7 * 28, 21 * 28, 8 * 28]
    assert tokens.mask("frames 4–5").sum() == 276


def test_tokens_of_picture_2_are_of_no_place_on_picture_1() -> None:
    one, other = noise(2)
    axis = parts_of(watching("LLaVA"), "What?", [one, other])["language"].key
    for picture, given in zip(axis.media, (one, other), strict=True):
        np.testing.assert_array_equal(picture.pixels, given)
    for number in (0, 1):
        mask = axis.mask(f"picture {number + 1}")
        assert mask.sum() == 16
        assert set(axis.medium[mask]) == {number}
        wide, high = axis.media[number].size
        assert (axis.places[mask][:, 3:] <= [wide, high]).all()


def test_rows_of_tiles_are_as_llava_next_packs_them() -> None:
    """150 × 100 pixels are scaled to 112 × 75 on 2 × 2 tiles of 4 × 4 patches: of 8 rows 6 show the picture, the first
    one from 6.25 pixels above it on, and each ends with a token.
    """
    axis = looked(watching("LLaVA-NeXT"), grey(1), "What?").tokens
    assert axis is not None
    base, rest = slice(0, 16), slice(16, 16 + 6 * 9)
    np.testing.assert_allclose(axis.boxes[base][5], [37.5, 25, 75, 50])
    step = 150 / 8
    expected = [
        [np.nan] * 4
        if column == 8
        else [
            column * step,
            max(0, row * step - 6.25),
            (column + 1) * step,
            min(100, (row + 1) * step - 6.25),
        ]
        for row in range(6)
        for column in range(9)
    ]
    np.testing.assert_allclose(axis.boxes[rest], expected, atol=1)
    assert axis.pieces[rest][8] == "newline"
    assert axis.pieces[rest][9 * 3 + 5] == "tile 5:patch[3,5]"
    assert axis.mask("tile 3").sum() == 3 * 4


def test_features_that_are_resampled_stand_for_larger_cells() -> None:
    """LLaVA-OneVision makes 3 × 4 cells of the 6 × 8 patches on a picture."""
    axis = looked(watching("LLaVA-OneVision"), grey(1), "What?").tokens
    assert axis is not None
    boxes = axis.boxes[16 : 16 + 3 * 5].reshape(3, 5, 4)
    np.testing.assert_allclose(boxes[:, :4, 0], [[0, 37.5, 75, 112.5]] * 3, atol=0.5)
    np.testing.assert_allclose(boxes[:, 0, 1], [0, 31.25, 68.75], atol=1)
    np.testing.assert_allclose(boxes[:, 0, 3], [31.25, 68.75, 100], atol=1)
    assert np.isnan(boxes[:, 4]).all()


def test_divided_attention_is_of_time_and_of_space() -> None:
    """TimeSformer's own softmax in float64: along time at one place, then over each frame with [CLS]."""
    module, processor = made(timesformer)
    module.double()
    calls: list[torch.Tensor] = []

    def keep(part: Any, given: Any, _: Any) -> None:
        rows, places, width = given[0].shape
        query, key, _ = part.qkv(given[0]).reshape(rows, places, 3, 4, width // 4).permute(2, 0, 3, 1, 4)
        calls.append((query @ key.transpose(-1, -2) * part.scale).softmax(-1))

    for layer in module.encoder.layer:
        for part in (layer.temporal_attention.attention, layer.attention.attention):
            part.register_forward_hook(keep)
    frames = noise(8, (150, 100))
    model = hs.load((module, processor))
    calls.clear()
    maps = parts_of(model, None, Video(frames))
    assert list(maps) == ["time", "space"]
    axis = maps["time"].key
    assert axis.pieces[16 * 5 + 6] == "frame 5:patch[1,2]"
    for number in (0, 1):
        time, space = (call.detach().numpy() for call in calls[2 * number : 2 * number + 2])
        assert time.shape == (16, 4, 8, 8)
        assert space.shape == (8, 4, 17, 17)
        layers = maps["time"].layers[number].reshape(4, 8, 16, 8, 16), maps["space"].layers[number]
        for place in range(16):
            np.testing.assert_allclose(layers[0][:, :, place, :, place], time[place], atol=1e-14)
        assert maps["time"].layers[number].sum() == pytest.approx(4 * 128)
        for frame in range(8):
            block = slice(17 * frame, 17 * frame + 17)
            np.testing.assert_allclose(layers[1][:, block, block], space[frame], atol=1e-14)
        assert layers[1].sum() == pytest.approx(4 * 136)
    assert maps["space"].key.pieces[17 * 5 : 17 * 5 + 2] == ("[CLS]", "frame 5:patch[0,0]")


def test_words_about_two_pictures_and_about_a_video() -> None:
    for family, image in (("LLaVA", noise(2)), ("Qwen2-VL", Video(noise(4, (150, 100))))):
        model = watching(family)
        kind: dict[str, Any] = {"video": image.source} if isinstance(image, Video) else {"image": image}
        written = hs.generate(model, "What?", **kind, max_new_tokens=3, min_new_tokens=3)
        assert isinstance(written, Parts)
        axis = written["language"].key
        plain = parts_of(model, "What?", image)["language"]
        count = len(plain.key)
        assert len(axis) == count + 2
        np.testing.assert_array_equal(axis.places[:count], plain.key.places)
        assert np.isnan(axis.places[count:]).all()
        for mine, own in zip(written["language"].layers, plain.layers, strict=True):
            np.testing.assert_allclose(mine[:, :count, :count], own, atol=1e-6)


def test_a_text_says_where_each_picture_stands() -> None:
    model = watching("LLaVA")
    axis = parts_of(model, "<image>This<image>or that?", noise(2))["language"].key
    assert axis.pieces[0] == "picture 1:patch[0,0]"
    assert axis.pieces[16] == "This"[: len(axis.pieces[16])]
    assert axis.mask("picture 2").argmax() > 17
    with pytest.raises(InputError, match="text: expected <image> for each of 2 pictures, found 1"):
        hs.capture(model, "<image>This?", image=noise(2))
    with pytest.raises(InputError, match=r"reads a text and one picture apart, found 2 pictures"):
        hs.capture(watching("CLIP"), "What?", image=noise(2))


def test_what_a_model_cannot_see_is_said_in_one_line() -> None:
    frames = noise(8, (150, 100))
    with pytest.raises(
        InputError, match=r"video: LlavaForConditionalGeneration has no video processor; give"
    ):
        hs.capture(watching("LLaVA"), "What?", video=frames)
    with pytest.raises(InputError, match=r"image: VideoMAEModel reads videos, found a picture; give video="):
        hs.capture(watching("VideoMAE"), image=frames[0])
    with pytest.raises(InputError, match=r"video: expected no pictures beside it, found some"):
        hs.capture(watching("Qwen2-VL"), "What?", image=frames[0], video=frames)
    with pytest.raises(InputError, match=r"image\[1\]: nothing.png: expected a picture, found no such file"):
        hs.capture(watching("LLaVA"), "What?", image=[frames[0], "nothing.png"])
    with pytest.warns(
        HeadscopeWarning, match=r"VideoMAEModel reads 8 frames, found 4; they are taken evenly"
    ):
        maps = hs.capture(watching("VideoMAE"), video=frames[:4])
    assert isinstance(maps, hs.AttentionMaps)
    assert [medium.frames for medium in maps.key.media] == [(0, 1), (1, 2), (2, 3), (3, 4)]


@pytest.mark.parametrize("family", ["VideoMAE", "Qwen2-VL"])
def test_a_file_of_maps_has_every_frame(family: str, tmp_path: Path) -> None:
    model, frames = watching(family), noise(8, (150, 100))
    maps = parts_of(model, asked(family), Video(frames))
    name = "language" if "language" in maps else "self"
    maps[name].save(tmp_path / "maps.safetensors")
    media = hs.open_maps(tmp_path / "maps.safetensors").key.media
    assert [one.frames for one in media] == [(0, 2), (2, 4), (4, 6), (6, 8)]
    again = parts_of(model, asked(family), list(media))[name]
    np.testing.assert_array_equal(again.weights, maps[name].weights)


def test_pictures_that_are_looked_at_one_by_one_are_parts() -> None:
    model = watching("ViT")
    one, other = noise(2)
    both = parts_of(model, None, [one, other])
    assert list(both) == ["picture 1", "picture 2"]
    for name, image in zip(both, (one, other), strict=True):
        alone = hs.capture(model, image=image)
        assert isinstance(alone, hs.AttentionMaps)
        np.testing.assert_allclose(both[name].weights, alone.weights, atol=1e-6)
        np.testing.assert_array_equal(both[name].key.boxes, alone.key.boxes)
    with pytest.raises(InputError, match="reads pictures along no one axis of patches"):
        model.see([one, other])


def test_a_video_is_a_folder_an_animation_an_array_or_a_list(tmp_path: Path) -> None:
    frames = [np.full((6, 8, 3), 20 * number, np.uint8) for number in range(11)]
    folder = tmp_path / "frames"
    folder.mkdir()
    for number, frame in enumerate(frames):
        PIL.fromarray(frame).save(folder / f"frame {number}.png")
    (folder / "notes.txt").write_text("no frame")
    moving = [PIL.fromarray(frame) for frame in frames]
    moving[0].save(tmp_path / "moving.webp", save_all=True, append_images=moving[1:], lossless=True)
    for video in (
        folder,
        tmp_path / "moving.webp",
        np.stack(frames),
        frames,
        moving,
        PIL.open(tmp_path / "moving.webp"),
    ):
        found = pictures_of(Video(video))
        assert [picture.frames for picture in found] == [(number, number + 1) for number in range(11)]
        assert [int(picture.pixels[0, 0, 0]) for picture in found] == [20 * number for number in range(11)]
    for video, said in (
        (
            tmp_path / "film.mp4",
            r"film.mp4: expected a folder of frames, a GIF or an animated WebP, found .mp4; ffmpeg",
        ),
        (tmp_path / "moving", "moving: expected a picture, found no such file"),
        ([], "video: expected frames, found none"),
        (3, r"video: expected a path, frames \[frame row column 3\] or a list of pictures, found int"),
        (
            [frames[0], frames[1][:4]],
            r"video: expected frames of one size, found 8 × 6 and 8 × 4 \(frame 1\)",
        ),
    ):
        with pytest.raises(InputError, match=said):
            pictures_of(Video(video))


@pytest.mark.slow
def test_pictures_and_a_video_are_typed(typed: Typed, tmp_path: Path) -> None:
    module, processor = made(TEN["LLaVA"])
    module.save_pretrained(tmp_path / "llava")
    processor.save_pretrained(tmp_path / "llava")
    for number, image in enumerate(noise(2)):
        PIL.fromarray(image).save(tmp_path / f"{number}.png")
    shown = [word for number in range(2) for word in ("--image", tmp_path / f"{number}.png")]
    found = typed(
        "why", "What?", "-m", tmp_path / "llava", "--answer", " It", *shown, "--spans", "picture", "--json"
    )
    assert [row["text"] for row in found.rows] == ["picture 1", "picture 2"]
    typed("view", "What?", "-m", tmp_path / "llava", *shown, "-o", tmp_path / "view.html")
    assert (tmp_path / "view.html").exists()
    moving = [PIL.fromarray(frame) for frame in noise(8, (150, 100))]
    moving[0].save(tmp_path / "film.gif", save_all=True, append_images=moving[1:])
    module, processor = made(VIDEOS["VideoMAE"])
    module.save_pretrained(tmp_path / "mae")
    processor.save_pretrained(tmp_path / "mae")
    typed("view", "-m", tmp_path / "mae", "--video", tmp_path / "film.gif", "-o", tmp_path / "film.html")
    assert (tmp_path / "film.html").exists()
    typed.refuses(
        "--image: expected no --video with it", "view", "-m", tmp_path / "mae", *shown, "--video", tmp_path
    )


def test_gradients_and_neurons_of_each_picture_are_its_own() -> None:
    """Those of a picture that is looked at alone; what another gives does not hang on it."""
    model, (one, other) = watching("ViT"), noise(2)
    slopes = hs.gradients(model, None, lambda output: output[0][1, 0, :3].sum(), image=[one, other])
    alone = hs.gradients(model, None, lambda output: output[0][0, 0, :3].sum(), image=other)
    _, both = capture_with_neurons(model, image=[one, other], values=True)
    _, single = capture_with_neurons(model, image=other, values=True)
    assert list(slopes) == list(both) == ["picture 1", "picture 2"]
    for layer in (0, 1):
        assert not slopes["picture 1"][layer].any()
        np.testing.assert_allclose(slopes["picture 2"][layer], alone["self"][layer], atol=1e-6)
        for name in ("q", "k", "v", "norms"):
            mine, own = getattr(both["picture 2"], name)[layer], getattr(single["self"], name)[layer]
            np.testing.assert_allclose(mine, own, atol=1e-5)


def test_a_black_frame_is_no_padding() -> None:
    """Nor is it where nothing is normalised, so that it is all 0, as the tiles are that fill up a batch."""
    module, processor = made(VIDEOS["LLaVA-OneVision"])
    processor.video_processor.pictures.do_normalize = False
    maps = parts_of(
        hs.load((module, processor)), "What?", Video([np.zeros((90, 120, 3), np.uint8), *noise(2, (120, 90))])
    )
    assert list(maps) == ["frame 0", "frame 1", "frame 2", "language"]
