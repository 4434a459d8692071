"""Regions of a picture, against pixels and by hand."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import headscope as hs
from headscope.core.link import OUT_OF_SIGHT, located
from headscope.core.region import Region, Runs
from headscope.core.tokens import Tokens
from headscope.errors import InputError

DISC = "fe09m04M2N2N2O0O2O0000000000000001N101N2N2N3Ld>"
COMB = "5i0o20000000000000000000000000000000cN"
"""What pycocotools 2.0.8 makes of the masks in the test below."""


def centres(height: int, width: int) -> np.ndarray[Any, Any]:
    """The middle of each pixel, row by row, ``[pixel 2]``."""
    rows, columns = np.mgrid[:height, :width]
    return np.stack([columns.ravel(), rows.ravel()], -1) + 0.5


def filled(region: Region, height: int, width: int) -> np.ndarray[Any, Any]:
    """The pixels of a picture whose middle is in a region."""
    return region.contains(centres(height, width)).reshape(height, width)


def axis(
    rows: int, columns: int, size: tuple[int, int], area: Any = None, prefix: Any = ("[CLS]",)
) -> Tokens:
    width, height = size
    return hs.Grid(rows, columns, prefix, hs.Picture(np.zeros((height, width, 3), np.uint8)), area=area)


masks = arrays(np.bool_, st.tuples(st.integers(1, 9), st.integers(1, 9))).filter(
    lambda mask: bool(mask.any())
)


@given(masks)
def test_runs_say_every_pixel(mask: np.ndarray[Any, Any]) -> None:
    runs = Runs.of(mask)
    np.testing.assert_array_equal(runs.array(), mask)
    assert all(runs.counts[1:])
    pixels = mask.T.ravel().tolist()  # by hand: column after column, what is out of it first
    counts, inside = [0], False
    for pixel in pixels:
        if pixel != inside:
            counts.append(0)
            inside = pixel
        counts[-1] += 1
    assert list(runs.counts) == counts


def compressed(counts: list[int]) -> str:
    """COCO's string of counts, as `rleToString` in its maskApi.c writes it."""
    text = ""
    for place, count in enumerate(counts):
        number = count - counts[place - 2] if place > 2 else count
        more = True
        while more:
            group = number & 0x1F
            number >>= 5
            more = number != -1 if group & 0x10 else number != 0
            text += chr((group | 0x20 if more else group) + 48)
    return text


@given(masks)
def test_a_mask_may_be_given_in_every_form(mask: np.ndarray[Any, Any]) -> None:
    counts = list(Runs.of(mask).counts)
    size = list(mask.shape)
    whole = Region(mask=mask)
    for given_counts in (counts, compressed(counts), compressed(counts).encode()):
        same = Region(mask={"size": size, "counts": given_counts})
        assert same == whole
        assert hash(same) == hash(whole)
    np.testing.assert_array_equal(filled(whole, *mask.shape), mask)
    left, top, right, bottom = (int(side) for side in whole.bounds)
    assert mask[top:bottom, left:right].sum() == mask.sum()
    assert all(edge.any() for edge in (mask[top], mask[bottom - 1], mask[:, left], mask[:, right - 1]))
    x, y = whole.middle
    assert mask[int(y), int(x)]


def test_the_compressed_runs_of_pycocotools() -> None:
    """A disc and a comb."""
    rows, columns = np.mgrid[:40, :50]
    disc = (rows - 18) ** 2 + (columns - 27) ** 2 < 120
    comb = np.zeros((40, 50), bool)
    comb[5:30, ::3] = True
    for mask, text in ((disc, DISC), (comb, COMB)):
        assert Region(mask={"size": [40, 50], "counts": text}) == Region(mask=mask)


def test_masks_are_read_from_files(tmp_path: Path) -> None:
    pillow = pytest.importorskip("PIL.Image")
    mask = np.zeros((6, 8), bool)
    mask[1:3, 2:7] = True
    grey = pillow.fromarray(mask.astype(np.uint8) * 200)
    palette = pillow.fromarray(mask.astype(np.uint8) * 3, "P")
    palette.putpalette([255, 255, 255] + [0, 0, 0] * 5)  # the first colour need not be black
    see_through = np.zeros((6, 8, 4), np.uint8)
    see_through[..., 3] = 255
    see_through[mask, 1] = 9
    for name, image in (
        ("grey.png", grey),
        ("two.png", pillow.fromarray(mask)),
        ("palette.png", palette),
        ("rgba.png", pillow.fromarray(see_through)),
        ("deep.png", pillow.fromarray(mask.astype(np.uint16) * 40_000)),
    ):
        image.save(tmp_path / name)
        assert Region(mask=tmp_path / name) == Region(mask=mask), name
    with pytest.raises(InputError, match="expected a picture, found no such file"):
        Region(mask=tmp_path / "none.png")


@given(st.integers(0, 8), st.integers(0, 8), st.integers(1, 8), st.integers(1, 8), st.booleans())
def test_boxes_polygons_and_masks_of_whole_pixels_agree(
    left: int, top: int, width: int, height: int, turned: bool
) -> None:
    right, bottom = left + width, top + height
    corners = [(left, top), (right, top), (right, bottom), (left, bottom)]
    corners = corners[::-1] if turned else corners
    mask = np.zeros((20, 20), bool)
    mask[top:bottom, left:right] = True
    box = Region((left, top, right, bottom))
    flat = Region(polygons=[[number for corner in corners for number in corner]])
    np.testing.assert_array_equal(filled(box, 20, 20), mask)
    np.testing.assert_array_equal(filled(flat, 20, 20), mask)
    assert flat == Region(polygons=[corners])
    assert Region(mask=mask).bounds == box.bounds == flat.bounds


@given(st.lists(st.tuples(st.integers(0, 24), st.integers(0, 24)), min_size=3, max_size=7, unique=True))
def test_a_polygon_is_what_its_triangles_hold_an_odd_number_of_times(corners: list[tuple[int, int]]) -> None:
    assume(all(len({corner[side] for corner in corners}) > 1 for side in (0, 1)))
    points = centres(25, 25)
    points[:, 1] += 1 / 64  # on few lines through two corners
    x, y = points.T
    expected = np.zeros(len(points), bool)
    off = np.ones(len(points), bool)
    first = corners[0]
    for second, third in itertools.pairwise(corners[1:]):
        turns = [
            (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0])
            for a, b in ((first, second), (second, third), (third, first))
        ]
        off &= np.all([turn != 0 for turn in turns], 0)
        expected ^= np.all([turn > 0 for turn in turns], 0) | np.all([turn < 0 for turn in turns], 0)
    assert off.mean() > 0.9
    np.testing.assert_array_equal(Region(polygons=[corners]).contains(points)[off], expected[off])


@pytest.mark.slow
@given(
    st.integers(1, 7),
    st.integers(1, 7),
    st.floats(0, 80),
    st.floats(0, 50),
    st.floats(0.5, 60),
    st.floats(0.5, 40),
)
def test_a_region_is_the_patches_whose_middle_is_in_it(
    rows: int, columns: int, left: float, top: float, width: float, height: float
) -> None:
    tokens = axis(rows, columns, (90, 60))
    right, bottom = min(90.0, left + width), min(60.0, top + height)
    found, said = located(Region((left, top, right, bottom)), "words", tokens)
    tall, wide = 60 / rows, 90 / columns
    expected = [
        1 + row * columns + column
        for row in range(rows)
        for column in range(columns)
        if left <= (column + 0.5) * wide < right and top <= (row + 0.5) * tall < bottom
    ]
    if not expected:  # the patch that holds its own middle
        x, y = (left + right) / 2, (top + bottom) / 2
        assert len(found) >= 1
        for token in found.tolist():
            row, column = divmod(token - 1, columns)
            assert row * tall - 1e-6 <= y <= (row + 1) * tall + 1e-6
            assert column * wide - 1e-6 <= x <= (column + 1) * wide + 1e-6
    else:
        assert found.tolist() == expected
    assert said == ""


def test_a_thin_ring_takes_a_patch_that_has_some_of_it() -> None:
    rows, columns = np.mgrid[:80, :80]
    away = np.hypot(rows - 40, columns - 40)
    ring = (away > 21) & (away < 24)  # between the middles of patches of 40 pixels
    found, _ = located(Region(mask=ring), "words", axis(2, 2, (80, 80), prefix=()))
    (patch,) = found.tolist()
    row, column = divmod(patch, 2)
    assert ring[row * 40 : row * 40 + 40, column * 40 : column * 40 + 40].any()


def test_what_is_cut_off_has_no_patch() -> None:
    """A model that sees the middle 60 of 100 pixels."""
    tokens = axis(3, 3, (100, 60), area=(20, 0, 80, 60), prefix=())
    found, said = located(Region((0, 0, 15, 60)), "words", tokens)
    assert (len(found), said) == (0, OUT_OF_SIGHT)
    assert (
        located(Region((0, 0, 27, 60)), "words", tokens)[1] == OUT_OF_SIGHT
    )  # less than half of the first column
    assert located(Region((0, 0, 31, 60)), "words", tokens)[0].tolist() == [0, 3, 6]


@pytest.mark.parametrize(
    ("region", "said"),
    [
        (
            Region((10, 10, 90, 65)),
            r"within the picture's 90 × 60 pixels, found one from \(10, 10\) to \(90, 65\)",
        ),
        (Region((-5, 10, 20, 40)), r"found one from \(-5, 10\) to \(20, 40\)"),
        (Region(polygons=[[0, 0, 200, 0, 200, 50]]), r"to \(200, 50\)"),
        (
            Region(mask=np.ones((60, 80), bool)),
            "a mask of 90 × 60 pixels, as the picture, found one of 80 × 60",
        ),
    ],
)
def test_what_is_of_another_picture_is_said(region: Region, said: str) -> None:
    with pytest.raises(InputError, match=said):
        located(region, "words", axis(2, 3, (90, 60)))
    with pytest.raises(
        InputError, match="expected tokens that are areas of a picture for a region, found none"
    ):
        located(region, "words", Tokens(["a"]))
    assert located(Region((-0.5, 0, 90.5, 60)), "words", axis(1, 1, (90, 60)))[0].tolist() == [1]


@given(masks)
def test_the_outline_of_a_mask_parts_its_pixels_from_others(mask: np.ndarray[Any, Any]) -> None:
    """Its length is how often neighbours differ, and no line is drawn twice."""
    length = 0.0
    for x0, y0, x1, y1 in Region(mask=mask).outlines():
        assert x0 == x1 or y0 == y1
        length += abs(x1 - x0) + abs(y1 - y0)
    wide = np.pad(mask, 1).astype(int)
    assert length == np.abs(np.diff(wide, axis=0)).sum() + np.abs(np.diff(wide, axis=1)).sum()


def test_the_outline_of_a_large_mask_is_coarse_and_within_it() -> None:
    mask = np.zeros((700, 1000), bool)
    mask[100:500, 200:900] = True
    lines = Region(mask=mask).outlines()
    assert len(lines) == 4
    numbers = np.array(lines).reshape(-1, 2)
    assert np.abs(numbers.min(0) - (200, 100)).max() <= 4
    assert np.abs(numbers.max(0) - (900, 500)).max() <= 4
    thin = np.zeros((700, 1000), bool)
    thin[333, 10:20] = True
    assert Region(mask=thin).outlines()
