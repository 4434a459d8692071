"""Stills of a head on a picture: what is dark, what stands beside it, and what is said."""

from __future__ import annotations

import functools
import io
import re
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.core.maps import AttentionMaps
from headscope.views import images as seeing
from headscope.views.still import converted
from tests.helpers.colours import LIGHT
from tests.helpers.seen_sample import picture, random_maps, staged
from tests.helpers.stills import Still, Stills, against_reversed, alpha

pytest.importorskip("py_mini_racer")

HEAD: dict[str, Any] = {"scale": "head", "layer": 1, "heads": [1], "picture": "image"}


@functools.cache
def both() -> hs.View:
    return against_reversed(random_maps())


def still(view: hs.View, **state: Any) -> Still:
    return Stills(view, HEAD)(**state)


def test_a_head_says_where_a_patch_looks() -> None:
    maps = random_maps()
    found = still(hs.view(maps), pin=["from", 9], rollout=True)
    assert {"from (query)", "where patch[1,1] looks", "rollout to layer 1"} <= set(found.texts)
    assert "Every layer, head 1: where patch[1,1] looks" in found.texts
    assert {"0", "1", "2"} <= set(found.texts)
    assert "Rollout (Abnar & Zuidema 2020)" in found.said
    # What has no area stands below as text, with what it is given.
    weights = maps.layers[1][1][9]
    given = found.texts[found.texts.index("[CLS]", found.texts.index("where patch[1,1] looks")) + 1]
    assert float(given) == pytest.approx(weights[0], abs=0.001)
    on = 100 * weights[2:].sum()
    share = re.search(r"(\d+)% of what patch\[1,1\] looks at is the picture", found.said)
    assert share is not None
    assert float(share[1]) == pytest.approx(on, abs=0.8)


def test_veils_are_the_roots_of_shares() -> None:
    maps = random_maps()
    found = still(hs.view(maps), pin=["from", 9], opacity=0.8)
    weights = maps.layers[1][1][9][2:].reshape(4, 6)
    # The board of what is looked at is the first; the strip has one for each layer.
    veils = found.pixels
    assert len(veils) == 1 + 3
    cells = veils[0].reshape(4, veils[0].shape[0] // 4, 6, -1, 4)
    assert (cells == cells[:, :1, :, :1]).all(), "a patch is one colour"
    expected = 0.8 * (1 - np.sqrt(weights / weights.max()))
    np.testing.assert_allclose(cells[:, 0, :, 0, 3] / 255, expected, atol=0.02)


def test_only_smooth_ones_run_into_each_other() -> None:
    plain, soft = (still(both(), smooth=smooth).pixels[0][..., 3] for smooth in (False, True))
    assert len(np.unique(plain)) <= 24
    assert len(np.unique(soft)) > 60


def test_windows_are_told_from_what_is_not_looked_at() -> None:
    view = hs.view(staged())
    found = still(view, layer=0, part="stage 1", pin=["from", 20])
    assert "Grey: what the mask hides." in found.said
    assert "Grey" not in still(both()).said


def test_what_is_cut_off_is_grey() -> None:
    axis = hs.Grid(2, 2, picture=picture(), area=(20, 10, 100, 80))
    view = hs.view(hs.wrap(np.full((1, 1, 4, 4), 0.25), axis))
    found = still(view, layer=0, heads=[0])
    assert "what the model does not see here" in found.said
    greys = [each for each in found.all("rect") if each.get("fill") == "rgb(134, 140, 146)"]
    assert len(greys) == 2 * 3  # above, left and right of what is seen, on both boards
    assert {alpha(each) for each in greys} == {0.78}


def test_blocks_of_patches_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seeing, "WHOLE", 3 * 2 * 26 * 8)
    with pytest.warns(hs.errors.HeadscopeWarning, match="blocks of 2 × 2 patches"):
        view = hs.view(random_maps())
    found = still(view, pin=["from", 3])
    assert "where patches[0-1,2-3] look" in found.texts
    assert "queries are blocks of 2 × 2 patches" in found.said


@pytest.mark.parametrize(("head", "right"), [(0, True), (1, False)])
def test_a_region_is_outlined_by_whether_the_head_looks_there(head: int, right: bool) -> None:
    axis = hs.Grid(2, 3, prefix=["[CLS]"], picture=picture())
    weights = np.full((1, 2, 7, 7), 0.02)
    weights[0, 0, :, 2] = weights[0, 1, :, 6] = 0.88
    view = hs.view(hs.wrap(weights, axis), links=[("cls", hs.Region((44, 4, 76, 36)))])
    found = still(view, layer=0, heads=[head], pin=["from", 0])
    lines = [each.element.get("stroke") for each in found.of("path")]
    wanted, other = (LIGHT.right, LIGHT.wrong) if right else (LIGHT.wrong, LIGHT.right)
    assert wanted in lines
    assert other not in lines


def test_a_side_of_text_has_its_tokens_alone() -> None:
    axis = hs.Grid(2, 3, prefix=["[CLS]"], picture=picture())
    maps = AttentionMaps([np.full((1, 7, 2), 0.5)], axis, hs.Tokens(["a", "b"]), kind="cross")
    found = still(hs.view(maps), layer=0, heads=[0])
    assert len(found.of("svg")) == 1
    where = found.texts.index("where all queries look on average")
    assert [found.texts[where + at] for at in (1, 3)] == ["a", "b"]
    assert "Dark" not in found.said


def test_a_difference_is_tinted_on_grey() -> None:
    found = still(both(), side="difference")
    assert "Blue: more in the first than in the second; orange: less." in found.said
    assert len(found.all("filter")) == 1  # the photo under tints is grey
    assert still(both()).all("filter") == []


def test_a_photo_stands_once_in_a_still() -> None:
    view = hs.view(random_maps())
    assert still(view, heads=[0, 1]).svg.count("data:image/jpeg") == 1


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_png_has_the_colours_of_the_theme_and_the_picture(theme: str) -> None:
    image = pytest.importorskip("PIL.Image")
    svg = still(both(), theme=theme).svg
    pixels = np.asarray(image.open(io.BytesIO(converted(svg, "png", 96))).convert("RGB"))
    assert tuple(pixels[0, 0]) == ((255, 255, 255) if theme == "light" else (15, 18, 20))
    # The red of the picture is there.
    assert ((pixels[..., 0].astype(int) - pixels[..., 1]) > 60).mean() > 0.01
