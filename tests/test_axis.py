"""Axes whose tokens stand for places in several media, and the sheet on which these are drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.core.media import covering
from headscope.errors import InputError, ShapeError
from headscope.measures.choose import surface
from headscope.views.sheet import GAP, LANE, LETTER, TALL, WIDEST, Sheet


def picture(width: int, height: int, value: int, name: str = "") -> hs.Picture:
    return hs.Picture(np.full((height, width, 3), value, np.uint8), name)


def robot() -> hs.Tokens:
    """Two cameras of two patches, three words (the last two are one), and two actions."""
    text = hs.Tokens(["pick", "up", "##ward"], word_ids=np.array([0, 1, 1]), ids=np.array([7, 8, 9]))
    eyes = {
        f"camera {name}": hs.Grid(1, 2, picture=picture(80, 40, value, name))
        for name, value in (("base", 50), ("wrist", 200))
    }
    return hs.Axis({**eyes, "text": text, "actions": 2})


def test_one_axis_may_be_two_blocks() -> None:
    eye = hs.Grid(1, 2, picture=picture(8, 4, 0))
    axis = hs.Axis({"left": eye, "right": eye})
    assert [axis.mask(name).tolist() for name in ("left", "right")] == [
        [True, True, False, False],
        [False, False, True, True],
    ]


def test_blocks_stand_after_one_another() -> None:
    axis = robot()
    assert axis.pieces == (
        *["patch[0,0]", "patch[0,1]"] * 2,
        "pick",
        "up",
        "##ward",
        "actions[0]",
        "actions[1]",
    )
    assert axis.medium.tolist() == [0, 0, 1, 1, -1, -1, -1, -1, -1]
    assert axis.places[3].tolist() == [1, 40, 0, 80, 40]
    assert axis.ids.tolist() == [-1] * 4 + [7, 8, 9] + [-1] * 2
    assert axis.word_ids.tolist() == [-1] * 4 + [0, 1, 1] + [-1] * 2
    assert axis.mask("camera wrist").tolist() == [False] * 2 + [True] * 2 + [False] * 5
    assert axis.mask("actions").nonzero()[0].tolist() == [7, 8]
    assert axis.mask("patch").sum() == 4


def test_words_of_several_blocks_stay_apart() -> None:
    one = hs.Tokens(["a", "##b"], word_ids=np.array([0, 0]))
    assert hs.Axis({"one": one, "two": one}).word_ids.tolist() == [0, 0, 1, 1]


def test_a_medium_of_two_blocks_is_one() -> None:
    seen = picture(40, 40, 9)
    axis = hs.Axis({"tile": hs.Grid(1, 1, picture=seen), "base view": hs.Grid(2, 2, picture=seen)})
    assert axis.media == (seen,)
    assert axis.medium.tolist() == [0] * 5


def test_shares_by_block_are_measures() -> None:
    axis = robot()
    weights = np.random.default_rng(0).dirichlet(np.ones(9), (1, 1, 9))
    names = [f"actions_to_{block}" for block in ("camera base", "camera wrist", "text", "actions")]
    measured = surface(hs.wrap(weights, axis), names)
    by_hand = [
        weights[0, 0, 7:, block].sum(-1).mean() for block in (slice(2), slice(2, 4), slice(4, 7), slice(7, 9))
    ]
    np.testing.assert_allclose([measured[name].item() for name in names], by_hand, rtol=1e-6)
    assert sum(by_hand) == pytest.approx(1)


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ({}, "blocks: expected a block, found none"),
        (
            {"patch": hs.Grid(1, 1, picture=picture(4, 4, 0))},
            "expected names of no other class of tokens, found 'patch'",
        ),
        ({"text": "abc"}, "blocks"),
        ({"text": -1}, "blocks"),
    ],
)
def test_blocks_that_are_none(blocks: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        hs.Axis(blocks)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ([1, 0, 0, 4, 4], r"places\[0\]: expected the number of one of 1 media, found 1"),
        ([0, 4, 0, 0, 4], r"places\[0\]: expected left, top, right, bottom in this order, found 4, 0, 0, 4"),
        ([0, np.nan, 0, 4, 4], r"places\[0\]"),
        ([np.nan, 0, 0, 4, 4], r"places\[0\]: expected the number of one of 1 media, found nan"),
    ],
)
def test_places_that_are_none(place: list[float], message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        hs.Tokens(["a"], media=[picture(4, 4, 0)], places=[place])


def test_stretches_overlap_and_have_channels() -> None:
    series = hs.Series(np.zeros((8, 3)), ("a", "b", "c"))
    steps = hs.Stretches(series, [(0, 4), (2, 6)])
    assert steps.pieces == ("0–4", "2–6")
    assert steps.places.tolist() == [[0, 0, 0, 4, 3], [0, 2, 0, 6, 3]]
    one = hs.Stretches(series, [(0, 1, 4, 2)])
    assert one.places.tolist() == [[0, 0, 1, 4, 2]]
    assert one.mask("step").all()
    with pytest.raises(ShapeError, match=r"spans: expected \[token 2\] or \[token 4\], found shape \(3,\)"):
        hs.Stretches(series, [1, 2, 3])


class Block(torch.nn.Module):
    """Attention over what is given as vectors."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = torch.nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, inputs_embeds: torch.Tensor) -> torch.Tensor:
        return self.attention(inputs_embeds, inputs_embeds, inputs_embeds, need_weights=False)[0]


def test_a_module_of_ones_own_has_the_axis_that_is_given() -> None:
    torch.manual_seed(0)
    inputs = {"inputs_embeds": torch.randn(1, 9, 8)}
    model = hs.load(Block().eval(), inputs=inputs)
    maps = hs.capture(model, robot(), inputs=inputs)
    assert maps.key.media[1].name == "wrist"
    assert maps.query.mask("actions").sum() == 2
    with pytest.raises(InputError, match="text: expected 9 tokens, as Block attends over, found 1"):
        hs.capture(model, hs.Axis({"actions": 1}), inputs=inputs)


def test_a_word_stands_for_what_its_pieces_stand_for() -> None:
    places = np.array([[0, 0, 0, 4, 1], [0, 2, 0, 6, 1], [np.nan] * 5, [1, 0, 0, 1, 1]])
    found = covering(places, np.array([0, 0, 1, 2]))
    np.testing.assert_array_equal(found, [[0, 0, 0, 6, 1], [np.nan] * 5, [1, 0, 0, 1, 1]])


def test_tokens_around_stand_for_no_place() -> None:
    grid = hs.Grid(1, 2, picture=picture(8, 4, 0))
    assert grid.longer(["[CLS]"], 1).mask("patch").tolist() == [False, True, True]


def test_files_keep_every_medium(tmp_path: Path) -> None:
    media = {
        "picture": hs.Grid(1, 1, picture=hs.Picture(np.full((4, 4, 3), 3, np.uint8), "step 2", (2, 4))),
        "heard": hs.Frames(1, 0.5, hs.Sound(np.full(8, 0.5, np.float32), 16, "bell")),
        "series": hs.Stretches(hs.Series(np.ones((4, 2)), ("x", "y")), [(0, 4)]),
        "dna": hs.Stretches(hs.Letters("AÜC", "record"), [(0, 2)]),
    }
    axis = hs.Axis(media)
    hs.wrap(np.full((1, 1, 4, 4), 0.25), axis).save(tmp_path / "maps.safetensors")
    read = hs.open_maps(tmp_path / "maps.safetensors").key
    np.testing.assert_array_equal(read.places, axis.places)
    for mine, theirs in zip(axis.media, read.media, strict=True):
        assert type(mine) is type(theirs)
        np.testing.assert_array_equal(mine.array, theirs.array)
        assert {**vars(mine)}.keys() == {**vars(theirs)}.keys()
        assert [value for value in vars(mine).values() if not isinstance(value, np.ndarray)] == [
            value for value in vars(theirs).values() if not isinstance(value, np.ndarray)
        ]


class TestSheet:
    def test_one_picture_is_the_sheet(self) -> None:
        axis = hs.Grid(1, 2, ["[CLS]"], picture(80, 40, 9))
        sheet = Sheet([axis])
        np.testing.assert_array_equal(sheet.areas(axis), axis.boxes)
        assert sheet.size == (80, 40)
        assert "media" not in sheet.info()

    def test_each_picture_has_its_own_place(self) -> None:
        axis = robot()
        sheet = Sheet([axis, axis])
        areas = sheet.areas(axis)
        second = TALL * 2 + GAP
        assert areas[0].tolist() == [0, 0, TALL, TALL]
        assert areas[3].tolist() == [second + TALL, 0, second + 2 * TALL, TALL]
        assert np.isnan(areas[4:]).all()
        info = sheet.info()
        assert [(one["name"], one["box"]) for one in info["media"]] == [
            ("base", [0, 0, 2 * TALL, TALL]),
            ("wrist", [second, 0, second + 2 * TALL, TALL]),
        ]

    def test_axes_from_a_file_share_their_media(self, tmp_path: Path) -> None:
        hs.wrap(np.full((1, 1, 9, 9), 1 / 9), robot()).save(tmp_path / "maps.safetensors")
        maps = hs.open_maps(tmp_path / "maps.safetensors")
        assert len(Sheet([maps.query, maps.key]).laid) == 2

    def test_equal_pictures_of_an_axis_stay_apart(self) -> None:
        """As of two cameras that see nothing."""
        axis = hs.Axis({f"camera {number}": hs.Grid(1, 1, picture=picture(8, 8, 0)) for number in range(2)})
        areas = Sheet([axis, axis.take([1])]).areas(axis)
        assert areas[0, 0] != areas[1, 0]
        np.testing.assert_array_equal(Sheet([axis, axis.take([1])]).areas(axis.take([1])), areas[1:])

    def test_a_series_has_a_lane_a_channel(self) -> None:
        axis = hs.Stretches(
            hs.Series(np.random.default_rng(0).normal(size=(8, 3))), [(0, 0, 4, 1), (4, 2, 8, 3)]
        )
        sheet = Sheet([axis])
        assert sheet.areas(axis).tolist() == [
            [0, 0, WIDEST / 2, LANE],
            [WIDEST / 2, 2 * LANE, WIDEST, 3 * LANE],
        ]
        assert sheet.info()["kind"] == "series"
        assert sheet.info()["media"][0]["channels"] == ["channel 1", "channel 2", "channel 3"]

    def test_letters_are_cells(self) -> None:
        axis = hs.Stretches(hs.Letters("AATC"), [(0, 3), (1, 4)])
        assert Sheet([axis]).areas(axis).tolist() == [
            [0, 0, 3 * LETTER, LETTER],
            [LETTER, 0, 4 * LETTER, LETTER],
        ]
        assert Sheet([axis]).info()["media"][0]["letters"] == "AATC"
