"""The widget in marimo: an app drawn by ``marimo run``, and what a click in it tells Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.page_controls import ALL
from tests.helpers.patience import PATIENCE

pytest.importorskip("marimo")
pytest.importorskip("anywidget")

pytestmark = [pytest.mark.browser, pytest.mark.slow]

APP = """
import marimo

app = marimo.App()


@app.cell
def _():
    import headscope as hs
    import marimo as mo
    import numpy as np

    weights = np.random.default_rng(0).dirichlet(np.full(6, 0.3), (2, 3, 6))
    maps = hs.wrap(weights, ["[CLS]", "the", "cat", "sat", ".", "[SEP]"])
    view = hs.view(maps, layer=1, heads=[0])
    view
    return mo, view


@app.cell
def _(mo):
    ask = mo.ui.run_button(label="what is shown")
    ask
    return (ask,)


@app.cell
def _(ask, mo, view):
    mo.md(f"heads {view.state['heads']} at {view.state['layer']}" if ask.value else "not asked")
    return
"""


def test_marimo_shows_the_view(chromium: Any, serve: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP, encoding="utf-8")
    url = serve(tmp_path, "marimo", "run", "--headless", "--no-token", "app.py")
    context = chromium.new_context(viewport={"width": 1400, "height": 1600})
    context.set_default_timeout(1000 * PATIENCE)
    context.add_init_script(ALL)
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(url, wait_until="domcontentloaded")
    page.locator(".inbook h2", has_text="Layer 1, head 0").wait_for()
    page.locator(".inbook[data-busy]").wait_for(state="detached")
    inked = "c => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(byte => byte !== 0)"
    assert page.locator(".inbook .gridbox canvas").evaluate(inked)
    page.locator(".inbook .chips button").nth(2).click()
    page.locator(".inbook h2", has_text="Layer 1, 2 heads").wait_for()
    page.get_by_role("button", name="what is shown").click()
    page.get_by_text("heads [0, 2] at 1").wait_for()
    context.close()
    assert errors == []
