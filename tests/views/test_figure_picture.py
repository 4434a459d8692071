"""Stills of heads on a picture: what lies where, in which colour, and what the caption says."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.maps import AttentionMaps
from headscope.views import figure as figures
from headscope.views import seeing
from headscope.views.explorer import Input
from headscope.views.figure_picture import HeadPicture, SeenHeads, asked, looks, thumbnail
from headscope.views.figure_veils import DARK, UNSEEN, Raster, covered, enlarged, sized
from headscope.views.palette import LIGHT
from headscope.views.selection import Selection
from tests.helpers.seen_sample import HIGH, WIDE, picture, random_maps, staged

HEAD = {"scale": "head", "layer": 1, "heads": [1], "picture": "image"}
MANY = {**HEAD, "heads": [0, 1]}
GRID = {"scale": "model", "picture": "image"}
DIFFERENCE = {**HEAD, "side": "difference"}

HEEDED: tuple[tuple[dict[str, Any], str, Any], ...] = (
    *((state, "smooth", True) for state in (HEAD, MANY, DIFFERENCE)),
    *((state, "opacity", 0.3) for state in (HEAD, MANY, DIFFERENCE)),
    *((state, "queries", "patches") for state in (HEAD, MANY, DIFFERENCE)),
    *((state, "strip", "mean") for state in (HEAD, MANY, DIFFERENCE)),
    *((state, "rollout", True) for state in (HEAD, MANY, DIFFERENCE)),
    *((state, "pin", ("from", 5)) for state in (HEAD, MANY, DIFFERENCE)),
    *((state, "pin", ("to", 5)) for state in (HEAD, MANY, DIFFERENCE)),
    *((state, "layer", 0) for state in (HEAD, MANY, DIFFERENCE)),
    *((state, "special", False) for state in (HEAD, MANY, DIFFERENCE)),
    *((state, "theme", "dark") for state in (HEAD, MANY, GRID)),
    *((state, "side", "difference") for state in (HEAD, MANY, GRID)),
    *((state, "draw", "heat") for state in (GRID,)),
    *((state, "picture", "lines") for state in (HEAD, MANY)),
    ({**GRID, "layer": 1, "heads": [1]}, "heads", [0]),
)
"""A state, a key and a value that changes the picture."""

UNHEEDED: tuple[tuple[dict[str, Any], str, Any], ...] = (
    ({**HEAD, "pin": ("from", 5)}, "queries", "patches"),
    (GRID, "opacity", 0.3),
    (GRID, "pin", ("from", 5)),
    (GRID, "special", False),
    (HEAD, "draw", "heat"),
    (HEAD, "threshold", 0.4),
)
"""A state, a key and a value that the page does not show either."""


def both() -> list[Input]:
    one = random_maps()
    other = AttentionMaps([layer[::-1] for layer in one.layers], one.query, one.key)
    return [Input({"self": one}), Input({"self": other})]


def drawn(state: Mapping[str, Any]) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "caption", lambda *_: "caption")
        canvas = figures.figure(both(), state)
    return canvas.save("svg", {"title": "", "description": "", "creator": ""}).decode()


def texts(maps: Any, state: Mapping[str, Any]) -> list[str]:
    svg = figures.picture("svg", [Input(maps if isinstance(maps, dict) else {"self": maps})], state).decode()
    return [html.unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg)]


@pytest.mark.slow
@pytest.mark.parametrize(("state", "key", "value"), HEEDED)
def test_a_picture_heeds(state: dict[str, Any], key: str, value: Any) -> None:
    assert drawn(state) != drawn({**state, key: value})


@pytest.mark.slow
@pytest.mark.parametrize(("state", "key", "value"), UNHEEDED)
def test_a_picture_does_not_heed_what_the_page_does_not(state: dict[str, Any], key: str, value: Any) -> None:
    assert drawn(state) == drawn({**state, key: value})


class TestVeils:
    def test_each_patch_is_a_cell(self) -> None:
        axis = random_maps().query
        raster = Raster(axis.boxes)
        assert raster.shape == (4, 6)
        assert raster.area.tolist() == [0, 0, WIDE, HIGH]
        assert raster.cells[:3].tolist() == [[0] * 4, [0] * 4, [0, 1, 0, 1]]
        assert raster.cells[-1].tolist() == [5, 6, 3, 4]

    def test_a_block_has_several_cells(self) -> None:
        blocks = seeing.blocked(random_maps(rows=3, columns=5, prefix=()).query, 2)
        raster = Raster(blocks.tokens.boxes)
        assert raster.shape == (3, 5)
        assert raster.cells.tolist() == [
            [0, 2, 0, 2], [2, 4, 0, 2], [4, 5, 0, 2], [0, 2, 2, 3], [2, 4, 2, 3], [4, 5, 2, 3],
        ]  # fmt: skip

    def test_colours_say_how_much(self) -> None:
        raster = Raster(hs.Grid(1, 4, picture=picture()).boxes)
        shares = np.array([0.4, 0.1, 0.0, np.nan])
        veils = raster.veils(shares, 0.8, None)[0]
        assert veils[:, :3].tolist() == [[*DARK], [*DARK], [*DARK], [*UNSEEN[:3]]]
        # the root of a quarter is a half
        assert veils[:, 3].tolist() == [0, round(255 * 0.4), round(255 * 0.8), UNSEEN[3]]
        signed = raster.veils(np.array([0.4, -0.1, 0.0, -0.4]), 1.0, LIGHT)[0]
        assert signed[:, 3].tolist() == [255, 128, 0, 255]
        plus, minus = (tuple(int(LIGHT.diverging[at][i : i + 2], 16) for i in (1, 3, 5)) for at in (5, 1))
        assert tuple(signed[0, :3]) == plus
        assert tuple(signed[3, :3]) == tuple(signed[1, :3]) == minus

    def test_only_smooth_ones_run_into_each_other(self) -> None:
        veils = np.zeros((1, 2, 4), np.uint8)
        veils[0, 1] = (10, 20, 30, 200)
        plain = enlarged(veils, 8, 2, smooth=False)
        assert set(plain[..., 3].ravel().tolist()) == {0, 200}
        soft = enlarged(veils, 8, 2, smooth=True)
        between = soft[0, :, 3].astype(int)
        assert (np.diff(between) >= 0).all()
        assert len(set(between.tolist())) > 3
        # the colour of what is clear does not shine through
        assert soft[0, between > 20, :3].tolist() == [[10, 20, 30]] * int((between > 20).sum())

    def test_a_picture_under_veils(self) -> None:
        pixels = np.full((1, 2, 3), 200, np.uint8)
        veils = np.array([[[0, 0, 0, 0], [0, 100, 255, 255]]], np.uint8)
        assert covered(pixels, veils).tolist() == [[[200, 200, 200], [0, 100, 255]]]
        assert np.abs(sized(picture().pixels, 12, 8)[1, 1] - [220, 60, 40]).max() <= 2
        grey = sized(picture().pixels, 12, 8, grey=True)
        assert np.abs(grey[1, 1] - (0.299 * 220 + 0.587 * 60 + 0.114 * 40)).max() <= 2
        part = sized(picture().pixels, 4, 4, np.array([0, 0, 40, 40.0]))
        assert np.abs(part[:2, :2] - [220, 60, 40]).max() <= 4

    def test_what_is_cut_off_lies_around_the_areas(self) -> None:
        whole = Raster(random_maps().query.boxes)
        assert len(whole.outside((WIDE, HIGH))) == 0
        cut = Raster(hs.Grid(2, 2, picture=picture(), area=(20, 0, 100, 80)).boxes)
        assert cut.outside((WIDE, HIGH)).tolist() == [[0, 0, 20, 80], [100, 0, 120, 80]]
        axis = hs.Grid(2, 2, picture=picture(), area=(20, 10, 100, 80))
        said = texts(hs.wrap(np.full((1, 1, 4, 4), 0.25), axis), {**HEAD, "layer": 0, "heads": [0]})
        assert "grey: cut off" in " ".join(said)

    def test_tokens_without_an_area_are_told_in_lines(self) -> None:
        names = ["[CLS]", *(f"register {number}" for number in range(12))]
        maps = random_maps(prefix=names)
        ruler = figures.Canvas(10, 10, LIGHT)
        for width, many in ((480.0, 3), (200.0, 4)):
            one = HeadPicture(Selection(Input({"self": maps}), HEAD), width, ruler)
            lines = one._tokens("to", np.full(len(maps.key), 0.0271))
            assert len(lines) <= many
            assert all(ruler.text_width(line, 5.5) <= one.each for line in lines)
        assert lines[0].startswith("[CLS] .027   register 0 .027")
        assert lines[-1] == "…"

    def test_only_the_part_that_is_seen_is_veiled(self) -> None:
        axis = hs.Grid(1, 1, picture=picture(), area=(40, 0, 80, 80))
        found = thumbnail(
            picture(), axis.boxes, np.array([np.nan]), (12, 8), np.array([0, 0, 120, 80.0]), 0.8, None
        )
        changed = (found != sized(picture().pixels, 12, 8)).any(-1)
        assert changed.tolist() == [[False] * 4 + [True] * 4 + [False] * 4] * 8


class TestLooks:
    def test_a_query_and_means(self) -> None:
        maps = random_maps()
        one = Selection(Input({"self": maps}), HEAD)
        weights, sees = maps.layers[1][1], np.ones((26, 26), bool)
        np.testing.assert_allclose(looks(one, weights, sees, 7), weights[7])
        np.testing.assert_allclose(looks(one, weights, None, "all"), weights.mean(0), rtol=1e-6)
        np.testing.assert_allclose(looks(one, weights, None, "patches"), weights[2:].mean(0), rtol=1e-6)

    def test_a_mean_is_over_the_queries_that_see(self) -> None:
        maps = staged()["stage 1"]
        one = Selection(Input({"self": maps}), HEAD)
        weights, seen = maps.layers[1][0], maps.visible[1]
        expected = [weights[seen[:, key], key].mean() for key in range(64)]
        np.testing.assert_allclose(looks(one, weights, one.sees(), "all"), expected, rtol=1e-6)
        row = looks(one, weights, one.sees(), 20)
        assert (np.isnan(row) == ~seen[20]).all()

    def test_blocks_weigh_what_they_have(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(seeing, "WHOLE", 3 * 2 * 26 * 8)
        maps = random_maps()
        one = Selection(Input({"self": maps}), HEAD)
        assert len(one.query) == 8
        np.testing.assert_allclose(
            looks(one, one.matrix(1, 1), None, "all"), maps.layers[1][1].mean(0), rtol=1e-5
        )
        np.testing.assert_allclose(
            looks(one, one.matrix(1, 1), None, "patches"), maps.layers[1][1][2:].mean(0), rtol=1e-5
        )
        said = " ".join(texts(maps, {**HEAD, "pin": ("from", 3)}))
        assert "where patches[0-1,2-3] look" in said
        assert "queries are blocks of 2 × 2 patches" in said

    def test_who_looks(self) -> None:
        one = Input({"self": random_maps()})
        assert asked(Selection(one, HEAD)) == "all"
        assert asked(Selection(one, {**HEAD, "queries": "patches"})) == "patches"
        assert asked(Selection(one, {**HEAD, "queries": "patches", "pin": ("from", 4)})) == 4
        bare = Input({"self": random_maps(prefix=())})
        assert asked(Selection(bare, {**HEAD, "queries": "patches"})) == "all"


class TestStills:
    def test_a_head_says_where_a_patch_looks(self) -> None:
        found = texts(random_maps(), {**HEAD, "pin": ("from", 9), "rollout": True})
        assert {"from patch[1,1]", "where patch[1,1] looks", "rollout to layer 1"} <= set(found)
        assert "every layer, head 1: where patch[1,1] looks" in found
        assert {"0", "1", "2"} <= set(found)
        said = " ".join(found)
        assert "rollout (Abnar & Zuidema 2020)" in said
        weights = random_maps().layers[1][1][9]
        given = next(text for text in found if re.match(r"\[CLS\] \.?\d", text)).split()
        assert float(given[1]) == pytest.approx(weights[0], rel=0.06)

    def test_rollout_is_that_of_the_analysis(self) -> None:
        maps = random_maps()
        found = Selection(Input({"self": maps}), {**HEAD, "layer": 2}).rollout()
        np.testing.assert_allclose(found, hs.contribution.rollout(maps)[2], atol=1e-6)

    def test_windows_are_told_from_what_is_not_looked_at(self) -> None:
        found = texts(staged(), {**HEAD, "part": "stage 1", "pin": ("from", 20)})
        assert "grey: hidden by the mask" in " ".join(found)
        assert "grey: hidden by the mask" not in " ".join(texts(random_maps(), HEAD))

    def test_the_grid_shows_the_mean_over_all_queries(self) -> None:
        maps = random_maps()
        one = Selection(Input({"self": maps}), GRID)
        seen = SeenHeads.of(one)
        assert seen is not None
        assert seen.aspect == pytest.approx(HIGH / WIDE)
        for row, (layer, head) in enumerate((layer, head) for layer in range(3) for head in range(2)):
            expected = np.where(np.arange(26) < 2, 0, maps.layers[layer][head].mean(0))
            np.testing.assert_allclose(seen.means[row], expected, atol=1e-6)
        cell = seen.cell(2, 1, 60, 40, LIGHT).reshape(4, 20, 6, 20, 3).mean((1, 3))
        under = sized(picture().pixels, 120, 80).reshape(4, 20, 6, 20, 3).mean((1, 3))
        kept = (cell.sum(-1) / under.sum(-1)).ravel()
        assert int(kept.argmax()) == int(seen.means[5][2:].argmax())
        assert "what is not looked at is dark" in " ".join(texts(maps, GRID))

    def test_a_difference_is_tinted(self) -> None:
        inputs = both()
        one = Selection(inputs[0], {**GRID, "side": "difference"}, against=Selection(inputs[1], GRID))
        seen = SeenHeads.of(one)
        assert seen is not None
        own = [maps.parts["self"].layers[1][0].mean(0)[2:] for maps in inputs]
        np.testing.assert_allclose(seen.means[2][2:], own[0] - own[1], atol=1e-6)
        assert seen.note.endswith("blue more, orange less")

    def test_what_is_drawn_fits(self) -> None:
        ruler = figures.Canvas(10, 10, LIGHT)
        for width in (220.0, 480.0):
            for heads in ([0], [0, 1]):
                one = Selection(Input({"self": random_maps()}), {**HEAD, "heads": heads, "rollout": True})
                drawing = HeadPicture(one, width, ruler)
                assert drawing.across * drawing.each <= width
                assert drawing.beside * drawing.small <= width
                assert drawing.along * drawing.layer <= width

    @pytest.mark.slow
    @pytest.mark.parametrize("theme", ["light", "dark"])
    @pytest.mark.parametrize("scale", ["head", "model"])
    def test_files_of_each_kind(self, tmp_path: Path, theme: str, scale: str) -> None:
        from PIL import Image

        view = hs.view(random_maps(), layer=1, heads=[0, 1], theme=theme, scale=scale)
        for kind in ("png", "svg", "pdf"):
            data = view.save(tmp_path / f"head.{kind}").read_bytes()
            assert len(data) > 5000
        pixels = np.asarray(Image.open(io.BytesIO((tmp_path / "head.png").read_bytes())).convert("RGB"))
        ground = (255, 255, 255) if theme == "light" else (15, 18, 20)
        assert tuple(pixels[0, 0]) == ground
        # the red of the picture is there
        red = (pixels[..., 0].astype(int) - pixels[..., 1]) > 60
        assert red.mean() > 0.01
        assert (tmp_path / "head.svg").read_text().count("<image") > 2
