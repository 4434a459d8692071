"""Where on a picture tokens are: a bright spot changes the keys of the tokens whose boxes hold it, and of no others."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import headscope as hs
from headscope.attention import one
from headscope.attention.neurons import capture_with_neurons
from headscope.attention.one import prepare, record
from headscope.attention.parts import Parts, group
from headscope.attention.windows import placed
from headscope.core.maps import DUST
from headscope.errors import HeadscopeWarning, InputError, RefusedError
from headscope.models import Model
from tests.helpers.own_eager import of_eager
from tests.helpers.vision_models import MORE, READS, TEN, beside, captured, made, swin, vision

pytest.importorskip("PIL.Image")

LANDSCAPE, PORTRAIT, TINY = (150, 100), (90, 140), (5, 4)
GREY, BRIGHT = 90, 255


def grey(size: tuple[int, int] = LANDSCAPE) -> np.ndarray:
    """A grey picture, (width, height)."""
    return np.full((size[1], size[0], 3), GREY, np.uint8)


def noise(size: tuple[int, int] = LANDSCAPE) -> np.ndarray:
    """A picture of noise."""
    return np.random.default_rng(1).integers(0, 256, (size[1], size[0], 3), np.uint8)


def keys(model: Model, image: np.ndarray, given: dict[str, Any]) -> dict[str, list[torch.Tensor]]:
    """The keys ``[token number]`` of each part's layers, where no token looks at another: each is of its place alone."""
    with hs.edit(model, lambda record: record.weights() * 0):
        _, ready = prepare(model, given.get("text"), target=given.get("target"), image=image)
        records = placed(model.module, record(model, ready), ready, 1)
    return {
        name: [each.k[0].transpose(0, 1).flatten(1) for each in calls]
        for name, calls in group(records).items()
    }


CASES = [(family, size) for family in TEN for size in (LANDSCAPE, PORTRAIT, TINY)]


@pytest.mark.slow
@pytest.mark.parametrize(("family", "size"), [*CASES, *zip(MORE, itertools.cycle((LANDSCAPE, PORTRAIT)))])
def test_a_bright_spot_lights_up_the_tokens_that_hold_it(family: str, size: tuple[int, int]) -> None:
    """In every layer of every part, where no token looks at another, so that each is of its place alone."""
    model, given = vision(family), beside(family)
    boxes = {
        name: maps.key.boxes
        for name, maps in captured(family, grey(size)).items()
        if maps.query.boxes is not None and maps.key.boxes is not None
    }
    first = next(iter(boxes.values()))
    seen = first[np.isfinite(first[:, 0])]
    before = keys(model, grey(size), given)
    # What resizing spreads a pixel over: some pixels of the picture, or of what the model reads of it.
    margin = 2.5 * max(1.0, size[0] / 32, size[1] / 32)
    for left, top, right, bottom in seen[np.random.default_rng(0).choice(len(seen), 3, replace=False)]:
        column, row = int((left + right) / 2), int((top + bottom) / 2)
        reach = (
            0 if size == TINY else max(1, int(min(right - left, bottom - top) / 6))
        )  # a pixel; or within a box
        spot = grey(size)
        spot[max(0, row - reach) : row + reach + 1, max(0, column - reach) : column + reach + 1] = BRIGHT
        after = keys(model, spot, given)
        moved = {
            name: np.array(
                [(now - was).abs().sum(1).numpy() for now, was in zip(after[name], before[name], strict=True)]
            )
            for name in boxes
        }
        most = max(each.max() for each in moved.values())
        assert most > 0
        for name, areas in boxes.items():
            outside = np.maximum(areas[:, :2] - [column + 1, row + 1], [column, row] - areas[:, 2:]).max(1)
            nearest = np.nanmin(outside)
            for layer in moved[name]:
                if nearest > 0:  # a tile that does not show the spot
                    assert name.startswith("tile")
                    assert layer[outside > reach + margin].max(initial=0.0) <= 0.05 * most
                    continue
                assert outside[layer.argmax()] <= (1 if size == TINY else 0), name
                assert layer[outside > reach + margin].max(initial=0.0) <= 0.05 * layer.max(), name


WINDOWS = ("Swin", "Swin v2", "padded Swin", "Donut")
TRACED = ("TrOCR",)  # its maps are recomputed from what a fused kernel was given


@pytest.mark.slow
@pytest.mark.parametrize("family", [family for family in (*TEN, *MORE) if family not in (*WINDOWS, *TRACED)])
def test_maps_are_the_models_own(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bit by bit. Tiles stand in the batch axis; windows may be called one after another."""
    model, given = vision(family), beside(family)
    maps = captured(family, noise())
    _, ready = prepare(model, given.get("text"), target=given.get("target"), image=noise())
    calls = iter(of_eager(monkeypatch, model, ready))
    tiles = [each for name, each in maps.items() if name.startswith("tile")]
    for number in range(len(tiles[0]) if tiles else 0):
        for tile, weights in zip(tiles, next(calls), strict=True):
            np.testing.assert_array_equal(tile.layers[number], weights.numpy())
    for layer in (layer for each in maps.values() if each not in tiles for layer in each.layers):
        pieces = [next(calls)[0]]
        while sum(len(each[0]) for each in pieces) < len(layer[0]):
            pieces.append(next(calls)[0])
        own = torch.stack([torch.block_diag(*heads) for heads in zip(*pieces, strict=True)]).numpy()
        np.testing.assert_array_equal(layer, own[:, : layer.shape[1], : layer.shape[2]])  # SigLIP 2 pads
    assert next(calls, None) is None


@pytest.mark.parametrize("family", WINDOWS)
def test_maps_cut_into_windows_are_the_models_own(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the model's own functions, which cut the places of the grid as they cut hidden states."""
    model, given = vision(family), beside(family)
    _, ready = prepare(model, target=given.get("target"), text=None, image=noise())
    seen = record(model, ready)
    if seen[0].route == "interface":
        for call, own in zip(seen, of_eager(monkeypatch, model, ready), strict=True):
            np.testing.assert_array_equal(call.weights().numpy(), own.numpy())
    calls = iter(seen)
    looked = 0
    for name, maps in captured(family, noise()).items():
        if not name.startswith("stage"):
            continue
        high, wide = (int(number) + 1 for number in maps.key.pieces[-1][6:-1].split(","))
        for place, layer in enumerate(maps.layers):
            call = next(calls)
            block: Any = model.module.get_submodule(call.module.partition(".attention")[0])
            cut = sys.modules[type(block).__module__].window_partition
            grid = torch.arange(1, high * wide + 1).view(1, high, wide, 1)
            grid, _ = block.maybe_pad(grid, high, wide)
            grid = grid.roll((-block.shift_size, -block.shift_size), (1, 2))
            places = cut(grid, block.window_size).flatten(1) - 1
            hides = block.get_attn_mask(*grid.shape[1:3], dtype=torch.float32, device=grid.device)
            sight = np.zeros(layer.shape[1:], bool)
            assert len(call.given) == len(places)
            for number, (spots, weights) in enumerate(zip(places, call.given, strict=True)):
                kept = spots >= 0
                rows = spots[kept][:, None].numpy(), spots[kept].numpy()
                np.testing.assert_array_equal(layer[:, *rows], weights[:, kept][..., kept].numpy())
                sight[rows] = True if hides is None else hides[number][kept][:, kept].numpy() == 0
            np.testing.assert_array_equal(maps.sight(place)[0], sight)
            assert layer[:, ~sight].max(initial=0.0) <= DUST
            looked += block.shift_size > 0
            if maps.sink is not None:  # what goes to padding
                np.testing.assert_allclose(maps.sink[place], 1 - layer.sum(-1), atol=1e-6)
    assert looked
    assert (captured(family, noise())["stage 1"].sink is not None) == (family == "padded Swin")


def test_a_batch_of_pictures_gives_the_maps_of_each() -> None:
    model = vision("Swin")
    rows = [prepare(model, None, image=image)[1]["pixel_values"] for image in (grey(), noise())]
    both = hs.capture(model, inputs={"pixel_values": torch.cat(rows)})
    assert isinstance(both, list)
    for image, found in zip((grey(), noise()), both, strict=True):
        for name, maps in captured("Swin", image).items():
            assert isinstance(found, dict)
            np.testing.assert_allclose(maps.weights, found[name].weights, atol=1e-5)
            assert found[name].key.pieces == maps.key.pieces
            assert found[name].key.boxes is None


def test_heads_of_windows_keep_their_numbers_and_can_be_edited() -> None:
    parts = captured("Swin", noise())
    assert {name: (maps.index, len(maps.layers[0])) for name, maps in parts.items()} == {
        "stage 1": ((0, 1), 2),
        "stage 2": ((2, 3), 4),
        "stage 3": ((4,), 4),
    }
    assert [part.name for part in vision("Swin").checked.parts] == list(parts)
    with hs.ablate(vision("Swin"), "L3H1"):
        silenced = captured("Swin", noise())
    assert not silenced["stage 2"].layers[1][1].any()
    np.testing.assert_array_equal(silenced["stage 2"].layers[0], parts["stage 2"].layers[0])
    assert (silenced["stage 3"].layers[0] != parts["stage 3"].layers[0]).any()


def test_gradients_and_neurons_of_windows_lie_on_the_grid() -> None:
    """A gradient is what the output changes by when a weight does; q·k and the bias give the weights again."""
    model = vision("padded Swin")
    parts = captured("padded Swin", noise())
    slopes = hs.gradients(model, None, lambda output: output[0].sum(), image=noise())
    assert {name: [layer.shape for layer in layers] for name, layers in slopes.items()} == {
        name: [layer.shape for layer in maps.layers] for name, maps in parts.items()
    }
    for place, slope in enumerate(slopes["stage 1"]):
        assert not slope[:, ~parts["stage 1"].sight(place)[0]].any()
        assert slope.any()
    _, seen = capture_with_neurons(model, image=noise(), values=True)
    for name, maps in parts.items():
        each = seen[name]
        for place, layer in enumerate(maps.layers):
            bias = each.bias[place]
            scores = each.q[place] @ each.k[place].transpose(0, 2, 1) * each.scaling[place] + bias
            scores = np.where(maps.sight(place), scores, -np.inf)
            again = np.exp(scores - scores.max(-1, keepdims=True))
            own = layer / layer.sum(-1, keepdims=True)  # without what goes to padding
            np.testing.assert_allclose(again / again.sum(-1, keepdims=True), own, atol=1e-5)
        assert each.norms[0].shape == maps.layers[0].shape


def test_large_stages_are_kept_without_queries_and_keys() -> None:
    model = hs.load(made(lambda: swin(side=80)))
    with pytest.warns(
        HeadscopeWarning, match="stage 1: queries and keys of 1,600 positions in windows are left out"
    ):
        captured, seen = capture_with_neurons(model, image=noise())
    assert isinstance(captured, dict)
    assert len(captured["stage 1"].query) == 1600
    assert list(seen) == ["stage 2", "stage 3"]


def test_stages_too_large_to_keep_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one, "LARGEST", 1_000_000)
    told = "stage 1: the maps of its 384 positions would take 0 GB, so it is left out"
    with pytest.warns(HeadscopeWarning, match=told):
        parts = captured("Donut", noise())
    assert list(parts) == ["stage 2", "decoder", "cross"]
    assert parts["cross"].key.pieces == parts["stage 2"].key.pieces
    with pytest.warns(HeadscopeWarning, match=told):
        _, seen = capture_with_neurons(vision("Donut"), image=noise(), target="Ham.")
    assert list(seen) == list(parts)


@pytest.mark.slow
@pytest.mark.parametrize("family", READS)
def test_a_picture_alone_is_looked_at_as_it_is_beside_a_text(family: str) -> None:
    alone = hs.capture(vision(family), image=noise())
    both = captured(family, noise())
    assert not isinstance(alone, list)
    for name, maps in alone.items() if isinstance(alone, Parts) else [("vision", alone)]:
        np.testing.assert_array_equal(maps.weights, both[name].weights)
        np.testing.assert_array_equal(maps.key.boxes, both[name].key.boxes)


PREFIXES = {
    "ViT": ["[CLS]"],
    "DeiT": ["[CLS]", "[DIST]"],
    "DINOv2 with registers": ["[CLS]", "register 0", "register 1", "register 2", "register 3"],
    "DINOv3": ["[CLS]", "register 0", "register 1", "register 2", "register 3"],
    "CLIP vision": ["[CLS]"],
    "BEiT": ["[CLS]"],
    "SigLIP": [],
}


@pytest.mark.parametrize("family", PREFIXES)
def test_what_stands_before_the_patches_is_named(family: str) -> None:
    axis = captured(family, grey())["self"].query
    named = PREFIXES[family]
    assert list(axis.pieces[: len(named) + 1]) == [*named, "patch[0,0]"]
    assert axis.mask("special").sum() == len(named)
    assert axis.mask("cls").tolist() == [piece == "[CLS]" for piece in axis.pieces]
    assert axis.mask("register").tolist() == [piece.startswith("register") for piece in axis.pieces]
    assert np.isnan(axis.boxes[: len(named)]).all()  # pyright: ignore[reportOptionalSubscript]


@pytest.mark.parametrize("family", [family for family in READS if family != "CLIP"])
def test_a_text_knows_which_of_its_tokens_are_the_picture(family: str) -> None:
    parts = captured(family, grey())
    text = next(maps for name, maps in parts.items() if name in ("language", "text"))
    image = text.query.mask("image")
    assert image.sum() >= 4
    np.testing.assert_array_equal(np.isfinite(text.query.boxes[:, 0]), image)
    assert all(
        "patch[" in piece for piece, is_image in zip(text.query.pieces, image, strict=True) if is_image
    )
    assert "What?" in "".join(text.query.pieces)
    assert all(maps.query.picture is not None for maps in parts.values())


def test_a_text_may_say_where_the_picture_stands() -> None:
    pieces = [
        hs.capture(vision("LLaVA"), text, image=grey())["language"].query.pieces
        for text in ("What?", "<image>What?", "See: <image>")
    ]
    assert pieces[0][0] == pieces[1][0] == pieces[2][-16] == "patch[0,0]"
    with pytest.raises(InputError, match="image"):
        hs.capture(vision("LLaVA"), "<image> and <image>", image=grey())


def test_an_encoder_decoder_of_pictures_needs_a_target() -> None:
    with pytest.raises(InputError, match="an encoder-decoder needs target"):
        hs.capture(vision("TrOCR"), image=grey())
    parts = captured("TrOCR", grey())
    assert list(parts) == ["encoder", "decoder", "cross"]
    assert parts["cross"].key.pieces[:2] == ("[CLS]", "patch[0,0]")
    assert captured("Donut", grey())["cross"].key.pieces == captured("Donut", grey())["stage 2"].key.pieces


def test_a_model_that_reads_both_is_checked_on_a_picture() -> None:
    """Its text alone was checked when it was loaded."""
    module, processor = made(TEN["LLaVA"])
    model = hs.load((module, processor))
    with torch.no_grad():
        for layer in module.model.vision_tower.encoder.layers:
            layer.self_attn.out_proj.weight.zero_()
    with pytest.raises(RefusedError, match=r"vision_tower.*an edit of the weights does not reach the output"):
        hs.capture(model, "What?", image=grey())


def test_a_processor_that_needs_more_than_is_installed_leaves_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, processor = made(TEN["LLaVA"])
    module.save_pretrained(tmp_path)
    processor.save_pretrained(tmp_path)

    def missing(*_: Any, **__: Any) -> Any:
        raise ImportError("Its video processor requires the Torchvision library")

    monkeypatch.setattr(transformers.AutoProcessor, "from_pretrained", missing)
    with pytest.warns(
        HeadscopeWarning, match=r"its processor cannot be loaded \(Its video.*reads no pictures here"
    ):
        model = hs.load(tmp_path)
    assert len(hs.capture(model, "What?").query) == 4
    with pytest.raises(InputError, match="has no image processor"):
        hs.capture(model, "What?", image=grey())
