"""How far heads look on pictures: the examples of the docstrings, what must hold, and a loop over a model's own maps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import headscope as hs
from headscope.attention.one import prepare
from headscope.errors import InputError
from headscope.measures.choose import default_measures, surface
from headscope.measures.dataset import description, names
from headscope.measures.measure import pair_measure
from headscope.measures.perceived import PICTURES
from tests.helpers.small_models import seeing


def picture(width: int, height: int) -> hs.Picture:
    return hs.Picture(np.zeros((height, width, 3), np.uint8))


def maps(rows: Any, axis: hs.Tokens, **more: Any) -> hs.AttentionMaps:
    return hs.wrap(np.asarray(rows, np.float64)[None, None], axis, **more)


def value(of: hs.AttentionMaps, name: str) -> float:
    return surface(of, [name])[name].item()


def test_merged_patches_are_neighbours_where_they_touch() -> None:
    """Four small patches left of a large one: the two beside it touch it, the two at the edge do not."""
    boxes = [[0, 0, 5, 5], [5, 0, 10, 5], [0, 5, 5, 10], [5, 5, 10, 10], [10, 0, 20, 10]]
    axis = hs.Stretches(picture(20, 10), boxes, ["a", "b", "c", "d", "large"])
    rows = np.eye(5)
    rows[:4] = [0, 0, 0, 0, 1]
    assert value(maps(rows, axis), "locality") == pytest.approx((0 + 1 + 0 + 1 + 1) / 5)


def test_what_is_no_patch_neither_asks_nor_answers() -> None:
    """Queries and keys without an area change nothing, whatever they look at and wherever they stand."""
    draw = np.random.default_rng(0)
    plain = draw.dirichlet(np.ones(6), 6)
    grid = hs.Grid(2, 3, picture=picture(30, 20))
    whole = np.zeros((8, 8))
    inside = [1, 2, 3, 4, 5, 6]
    whole[np.ix_(inside, inside)] = plain * 0.5
    whole[1:7, 0], whole[1:7, 7] = 0.3, 0.2
    whole[[0, 7]] = draw.dirichlet(np.ones(8), 2)
    among = hs.Axis({"before": ["[CLS]"], "grid": grid, "after": ["word"]})
    for name in ("distance_pixels", "distance_share"):
        assert value(maps(whole, among), name) == pytest.approx(value(maps(plain, grid), name))
    for name in ("locality", "same_row", "same_column"):
        assert value(maps(whole, among), name) == pytest.approx(value(maps(plain, grid), name) * 0.5)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 5), st.integers(2, 5), st.integers(0, 2), st.booleans())
def test_uniform_attention_is_chance_and_attention_to_itself_nothing(
    height: int, width: int, prefix: int, causal: bool
) -> None:
    axis = hs.Grid(height, width, ["[CLS]", "register 0"][:prefix], picture(7 * width, 3 * height))
    seen = np.tri(len(axis)) if causal else np.ones((len(axis), len(axis)))
    even = surface(maps(seen / seen.sum(1, keepdims=True), axis, causal=causal), list(PICTURES))
    itself = surface(maps(np.eye(len(axis)), axis, causal=causal), list(PICTURES))
    for name in names(even):
        assert even[name].item() == pytest.approx(even[f"{name}_chance"].item())
        assert itself[f"{name}_chance"].item() == pytest.approx(even[name].item())
        assert itself[name].item() == pytest.approx(1.0 if name == "locality" else 0.0, abs=1e-12)
    assert ("same_column" in names(even)) == (height > 1)


def test_a_larger_picture_has_larger_distances_and_the_same_shares() -> None:
    rows = np.random.default_rng(1).dirichlet(np.ones(12), 12)
    small, large = (hs.Grid(3, 4, picture=picture(40 * by, 30 * by)) for by in (1, 3))
    for name in PICTURES:
        by = 3.0 if name == "distance_pixels" else 1.0
        assert value(maps(rows, large), name) == pytest.approx(by * value(maps(rows, small), name))


def test_what_has_no_patches_says_so() -> None:
    words = hs.wrap(np.full((1, 1, 3, 3), 1 / 3), ["a", "b", "c"])
    with pytest.raises(InputError, match="distance_pixels: the inputs have no patches whose areas are known"):
        surface(words, ["distance_pixels"])
    found = surface(words, ["pictures", "to_register", "entropy"])
    assert names(found) == ["entropy"]
    assert description(found)["absent"]["to_register"] == "the inputs have no registers"
    bare = hs.wrap(np.full((1, 1, 4, 4), 0.25), hs.Grid(2, 2))  # areas of no picture
    assert "locality" in description(surface(bare, ["locality", "entropy"]))["absent"]
    with pytest.raises(InputError, match="to_patch: the inputs have no patches"):
        surface(words, ["to_patch"])


def test_patches_are_a_class_of_tokens() -> None:
    axis = hs.Grid(1, 2, ["[CLS]", "register 0"], picture(20, 10))
    assert axis.mask("patch").tolist() == [False, False, True, True]
    assert axis.mask("register").tolist() == [False, True, False, False]
    rows = np.full((4, 4), 0.25)
    rows[0] = [0.1, 0.2, 0.3, 0.4]
    found = surface(maps(rows, axis), ["cls_to_patch", "to_register"])
    assert found["cls_to_patch"].item() == pytest.approx(0.7)
    assert found["to_register"].item() == pytest.approx((0.2 + 3 * 0.25) / 4)
    with pytest.raises(InputError, match=r"this input has first, special, patch$"):
        hs.Grid(1, 1, picture=picture(20, 10)).mask("frame")


def test_a_measure_of_ones_own_says_what_it_needs() -> None:
    @pair_measure("left", "Mean mass to the left.", rows="all", needs=("patch",))
    def left(tokens: hs.Tokens, queries: Any) -> Any:
        return tokens.boxes[:, 0] < tokens.boxes[queries, None, 0]

    axis = hs.Grid(1, 2, picture=picture(20, 10))
    assert value(maps([[1, 0], [0.3, 0.7]], axis), "to_patch") == 1
    assert surface(maps([[1, 0], [0.3, 0.7]], axis), [left])["left"].item() == pytest.approx(0.15)


@pytest.mark.parametrize("kind", ["vit", "dinov2_with_registers"])
def test_distances_of_a_model_by_a_loop_over_its_own_maps(kind: str) -> None:
    model = seeing(kind)
    image = np.random.default_rng(2).integers(0, 255, (96, 64, 3), np.uint8)
    found = surface(hs.capture(model, image=image), ["pictures", "cls"])  # pyright: ignore[reportArgumentType]
    model.module.set_attn_implementation("eager")
    with torch.no_grad():
        own = model.module(**prepare(model, None, image=image)[1], output_attentions=True).attentions
    prefix = 1 if kind == "vit" else 3
    side = 4  # patches that are 16 pixels wide and 24 high, as the picture is made square
    for layer, weights in enumerate(own):
        for head, rows in enumerate(weights[0].double().numpy()):
            far, near, beside, below = [], [], [], []
            for query in range(side * side):
                row = rows[prefix + query, prefix:]
                sums = np.zeros(4)
                for key in range(side * side):
                    down, across = query // side - key // side, query % side - key % side
                    sums[0] += row[key] * np.hypot(16 * across, 24 * down)
                    sums[1] += row[key] * (max(abs(across), abs(down)) <= 1)
                    sums[2] += row[key] * (down == 0 and across != 0)
                    sums[3] += row[key] * (across == 0 and down != 0)
                far.append(sums[0] / row.sum())
                for each, total in zip((near, beside, below), sums[1:], strict=True):
                    each.append(total)
            for name, each in zip(
                ("distance_pixels", "locality", "same_row", "same_column"),
                (far, near, beside, below),
                strict=True,
            ):
                np.testing.assert_allclose(found[name].values[layer, head], np.mean(each), rtol=1e-5)
            np.testing.assert_allclose(found["cls"].values[layer, head], rows[:, 0].mean(), rtol=1e-5)


def test_a_corpus_of_pictures_has_measures_of_its_own_by_default() -> None:
    model, draw = seeing("dinov2_with_registers"), np.random.default_rng(3)
    photos = [draw.integers(0, 255, size, np.uint8) for size in ((96, 64, 3), (40, 60, 3), (64, 64, 3)) * 2]
    measured = hs.measure(model, hs.corpora.images(photos), batch_size=4)
    assert names(measured) == [*PICTURES, "cls", "to_register", "current", "entropy", "largest"]
    maps: list[Any] = [hs.capture(model, image=each) for each in photos]
    for name in names(measured):
        own = [surface(each, [name])[name].values for each in maps]
        np.testing.assert_allclose(measured[name], np.mean(own, 0), rtol=1e-4)  # as many rows in each
        without = [np.mean(own[:place] + own[place + 1 :], 0) for place in range(6)]
        spread = np.sqrt(5 / 6 * ((without - np.mean(without, 0)) ** 2).sum(0))
        np.testing.assert_allclose(measured[f"{name}_se"], spread, rtol=1e-2, atol=1e-6)
    with pytest.raises(InputError, match="kind: expected text, images, sounds, found 'smells'"):
        default_measures("smells")


def test_few_pictures_are_held_at_a_time(tmp_path: Path) -> None:
    """A block of texts has 256 inputs; as many photos would fill the memory with their pixels."""
    model = seeing()
    photos = [np.full((8, 8, 3), number, np.uint8) for number in range(70)]
    part = hs.measure(
        model, hs.corpora.images(photos), measures=["entropy"], shard="2/2", part=tmp_path / "2.nc"
    )
    assert description(part)["shard"]["of_blocks"] == 3
    assert description(part)["corpus"]["examples"] == 32
