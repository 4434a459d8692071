"""A figure as a page: maps of all heads, a checkpoint at a time, above their lines."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headscope as hs
from tests.analyses.test_sections import training


@pytest.mark.slow
def test_maps_step_through_checkpoints_and_play(open_page: Callable[..., Any], tmp_path: Path) -> None:
    figures = training()
    figure = hs.figure(figures, ["entropy"])
    page = open_page(figure.save(tmp_path / "film.html").read_text(encoding="utf-8"))
    (panel,) = [place for place, name in enumerate(figures["measure"].values) if name == "entropy"]
    value = figures["value"].values[panel]

    def shown() -> list[float]:
        cells = "all => all.map(e => e.textContent).filter(text => /^\\.\\d\\d$/.test(text)).map(Number)"
        return page.locator(".picture text").evaluate_all(cells)[:6]

    slider = page.get_by_label("step")
    for step, name in enumerate(figures["checkpoint"].values):
        slider.fill(str(step))
        assert page.locator("output").inner_text() == name
        assert shown() == pytest.approx(value[step].ravel(), abs=0.006)
    slider.fill("0")
    page.get_by_role("button", name="Play").click()
    page.get_by_role("button", name="Play").wait_for()  # it stops at the last one
    assert page.locator("output").inner_text() == "step-1000"
    ground = "e => getComputedStyle(e).backgroundColor"
    light = page.locator(".hs").evaluate(ground)
    page.emulate_media(color_scheme="dark")
    assert page.locator(".hs").evaluate(ground) != light
    assert (
        json.loads(page.locator("#headscope-payload").text_content())["views"][0]["frames"][0]["name"]
        == "step-0"
    )
