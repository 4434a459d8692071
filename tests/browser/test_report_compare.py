"""The section on two models in a real page: heads open with A | B | A − B, the map shows drift and measures."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.analyses.reproduce import Typed
from headscope.models import Model
from tests.helpers.pages import saved, table
from tests.helpers.unfold import unfolded

pytestmark = pytest.mark.browser

TEXTS = [f"{who} {what}" for who in ("The cat", "A dog", "Nobody") for what in ("sat.", "ran, and slept.")]
LARGEST = "all => all.reduce((a, b) => (b.width * b.height > a.width * a.height ? b : a)).toDataURL()"
SECTION = "[data-section=compare]"


@pytest.fixture(scope="module")
def html(demo: Model, build_once: Any) -> str:
    options: dict[str, Any] = {"sections": ["compare"], "examples": 2}
    return build_once(
        "compare-page", lambda: hs.report(demo, hs.corpora.texts(TEXTS), typed=Typed(), **options)
    )


@pytest.fixture(scope="module")
def compared(demo: Model) -> Any:
    return hs.compare.models(demo, hs.load(untrained=0), hs.corpora.texts(TEXTS))


def at(page: Any, layer: int, head: int) -> Any:
    """A cell of the map."""
    return page.locator(f'{SECTION} .grid [data-row="{12 * layer + head}"]')


def wait_for_head(page: Any, name: str) -> None:
    page.wait_for_function(
        """name => document.querySelector(".openhead h2").textContent === name &&
            document.querySelectorAll(".sides button").length === 4 &&
            !document.querySelector(".hx[data-busy]")""",
        arg=name,
    )


def choose(page: Any, name: str) -> None:
    button = page.locator(".sides").get_by_role("radio", name=name, exact=True)
    button.click()
    assert button.get_attribute("aria-checked") == "true"
    page.wait_for_function("() => !document.querySelector('.hx[data-busy]')")


def shown(page: Any) -> str:
    """What the explorer says that it shows."""
    return page.locator(".explorer .status").inner_text()


def test_a_cell_opens_the_head_with_the_switch(open_page: Any, html: str) -> None:
    page = open_page(html)
    captions = page.locator(".findings h3")
    assert "Drift of each head" in captions.all_inner_texts()
    assert captions.evaluate_all("all => all.every(each => each.scrollWidth <= each.clientWidth)")
    assert page.locator(f"{SECTION} .grid [data-row]").count() == 72
    assert page.locator(".sides button").count() == 0  # the page opens on one model
    at(page, 1, 8).click()
    wait_for_head(page, "L1H8")
    assert "the first input minus the second" in shown(page)
    checked = page.locator(".sides [aria-checked=true]")
    assert checked.all_inner_texts() == ["A − B"]
    assert page.locator(f"{SECTION} .grid .ring").count() == 1
    assert page.locator(".explorer .hx .bar .seg:visible").count() == 0  # one switch, not two


def test_the_map_is_walked_and_opened_by_keys(open_page: Any, html: str) -> None:
    page = open_page(html, fragment="#head=L2H6")
    grid = page.locator(f"{SECTION} .grid")
    assert grid.get_attribute("aria-label").startswith("drift of 72 heads")
    page.locator(f"{SECTION} details:has(.thumbs) > summary").focus()
    page.keyboard.press("Tab")
    for key in ("ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    wait_for_head(page, "L3H7")
    assert "the first input minus the second" in shown(page)
    assert grid.locator(".ring").count() == 1


def test_a_b_and_their_difference(open_page: Any, html: str) -> None:
    page = open_page(html)
    at(page, 0, 2).click()
    wait_for_head(page, "L0H2")
    pictures: dict[str, str] = {}
    for name, panes in (("A − B", 1), ("A", 1), ("B", 1), ("A beside B", 2)):
        choose(page, name)
        assert page.locator(".explorer .pane").count() == panes
        assert ("minus" in shown(page)) == (name == "A − B")
        page.wait_for_selector(".hx:not([data-busy]):not([data-drawing])")
        pictures[name] = page.locator(".explorer .pane").first.locator("canvas").evaluate_all(LARGEST)
    assert len({pictures[name] for name in ("A", "B", "A − B")}) == 3
    assert pictures["A beside B"] == pictures["A"]
    page.wait_for_function("() => location.hash.includes('view.side=both')")
    choose(page, "B")
    page.wait_for_function("() => location.hash.includes('view.side=one')")
    again = open_page(html, fragment=page.evaluate("location.hash"), width=420)
    assert again.locator(".openhead h2").inner_text() == "L0H2"
    assert again.locator(".sides [aria-checked=true]").all_inner_texts() == ["B"]
    assert again.evaluate("document.documentElement.scrollWidth") <= 420


def test_figures_of_one_side_say_whose_they_are(open_page: Any, html: str) -> None:
    page = open_page(html)
    page.locator("select.example").select_option(index=0)  # of one model
    page.wait_for_function("() => document.querySelectorAll('.sides button').length === 0")
    assert " in A" not in page.locator(".opened").inner_text()
    at(page, 0, 2).click()
    wait_for_head(page, "L0H2")
    assert page.locator(".openhead .figure span").all_inner_texts() == ["drift", "over the corpus"]
    assert page.locator(".among h3").inner_text() == "L0H2 in A over the corpus, among all 72 heads"
    ranks = page.locator(".explorer .measures")
    found: dict[str, str] = {}
    for name, whose in (("A − B", "A"), ("A", "A"), ("B", "B")):
        choose(page, name)
        page.wait_for_function(
            "text => document.querySelector('.explorer .measures h3').textContent === text",
            arg=f"L0H2 among all 72 heads, in {whose}",
        )
        found[name] = ranks.locator(".val").first.inner_text()
    assert found["A − B"] == found["A"] != found["B"]  # as the title says
    choose(page, "A beside B")
    titles = [f"L0H2 among all 72 heads, in {whose}" for whose in "AB"]
    page.wait_for_function(
        "() => document.querySelectorAll('.explorer .measures h3:not([hidden] *)').length === 2"
    )
    assert ranks.locator("h3:not([hidden] *)").all_inner_texts() == titles
    assert ranks.locator(".mrow:first-child .val").all_inner_texts() == [found["A"], found["B"]]


def test_points_rows_links_and_sentences_open_heads(open_page: Any, html: str, compared: Any) -> None:
    page = unfolded(open_page(html))
    least, most = (f"L{row['layer']}H{row['head']}" for row in map(compared.drift.iloc.__getitem__, (-1, 0)))
    line = page.locator("[data-section=summary] li", has_text="Beside itself with untrained weights")
    assert line.locator(".headlink").all_inner_texts()[:2] == [least, most]
    line.locator(".headlink").nth(1).click()
    wait_for_head(page, most)

    row = page.locator(f"{SECTION} tbody tr", has=page.get_by_role("button", name="next token", exact=True))
    rows = compared.table[compared.table["measure"] == "next"]
    best = rows.loc[rows["difference"].abs().idxmax()]
    name = f"L{int(best['layer'])}H{int(best['head'])}"
    assert row.locator(".headname").inner_text() == name
    found = [text.split("\n")[0].replace("−", "-") for text in row.locator("td.n").all_inner_texts()[:3]]
    assert [float(text) for text in found] == pytest.approx(
        [best["a"], best["b"], best["difference"]], abs=6e-4
    )
    row.locator(".headname").click()
    wait_for_head(page, name)
    assert row.get_attribute("aria-selected") == "true"
    link = row.locator(".headlink").last
    link.click()
    wait_for_head(page, link.inner_text())

    role = page.locator(f"{SECTION} tbody tr", has_text="previous token").last.locator(".headlink").first
    role.click()
    wait_for_head(page, role.inner_text())

    plot = page.locator(f"{SECTION} .plot:not(.grid) svg")
    plot.scroll_into_view_if_needed()
    dot = plot.locator("[data-row]").nth(40).bounding_box()
    page.mouse.click(dot["x"] + dot["width"] / 2, dot["y"] + dot["height"] / 2)
    page.wait_for_function("() => document.querySelectorAll('.sides button').length === 4")


def test_the_map_shows_drift_or_the_difference_of_a_measure(open_page: Any, html: str, compared: Any) -> None:
    page = open_page(html)
    drift = compared.drift.set_index(["layer", "head"])["js"]
    at(page, 0, 2).hover()
    assert f"{drift[0, 2]:.3f} nats" in page.locator(".report > .tip.on").inner_text()
    texts = page.locator(f"{SECTION} .grid [data-row] + text").all_text_contents()
    assert texts[:12] == [f"{value:.2f}"[1:] for value in drift.sort_index()[0]]
    before = at(page, 0, 2).get_attribute("fill")
    page.locator(f"{SECTION} summary", has_text="A − B of").click()
    page.locator(f"{SECTION} .thumb", has_text="previous token, A − B").click()
    own = compared.table[compared.table["measure"] == "previous"].set_index(["layer", "head"])["difference"]
    at(page, 0, 2).hover()
    assert f"{own[0, 2]:.3f}" in page.locator(".report > .tip.on").inner_text()
    assert at(page, 0, 2).get_attribute("fill") != before
    page.locator(f"{SECTION}").get_by_role("button", name="entropy", exact=True).click()
    assert page.locator(f"{SECTION} .thumb[aria-pressed=true]").all_inner_texts() == ["entropy, A − B"]


def test_tables_and_the_picture_are_saved(open_page: Any, html: str, compared: Any) -> None:
    page = open_page(html)

    def button(name: str) -> Any:
        return page.locator(f"{SECTION} .saves [title='Save {name}']")

    rows = table(button("heads as CSV"))
    assert len(rows) == len(compared.table)
    expected = compared.table.set_index(["measure", "layer", "head"])
    for row in rows[::97]:
        own = expected.loc[(row["measure"], int(row["layer"]), int(row["head"]))]
        for key in ("a", "b", "difference", "se", "js", "cosine"):
            assert float(row[key]) == pytest.approx(own[key], rel=1e-3, abs=2e-6)
    layers = table(button("layers as CSV"))
    np.testing.assert_allclose([float(row["js"]) for row in layers], compared.layers["js"], rtol=1e-4)
    assert {row["change"] for row in table(button("roles as CSV"))} <= {"kept", "lost", "gained"}
    drawing = ET.fromstring(saved(button("as SVG")))
    assert len(list(drawing.iter("{http://www.w3.org/2000/svg}rect"))) > 72
