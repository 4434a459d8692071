"""The core interactions in Firefox and WebKit, where they are installed: they are optional, so their absence is a skip."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.core.maps import AttentionMaps
from headscope.views.explorer import Input, explorer_page
from tests.helpers import other_browsers, view_sample
from tests.helpers.patience import PATIENCE
from tests.helpers.standalone_models import model_of

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:setting remote_server_addr:DeprecationWarning"),  # selenium's own
]

UNTIL = """async (holds, patience, ...given) => {
  const found = async () => (await document.fonts.ready, !document.querySelector('.hx:is([data-busy], [data-drawing])')) && holds(...given);
  const end = Date.now() + patience;
  while (!(await found()) && Date.now() < end) await new Promise(requestAnimationFrame);
  return found();
}"""
COLOURS = """(selector) => {
  const canvas = document.querySelector(selector);
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  return new Set(new Uint32Array(data.buffer)).size;
}"""
MIDDLE = """(selector, which) => {
  const one = [...document.querySelectorAll(selector)].filter((each) => each.checkVisibility())[which];
  one.scrollIntoView({ block: 'center', behavior: 'instant' });
  const { x, y, width, height } = one.getBoundingClientRect();
  return [x + width / 2, y + height / 2];
}"""


class Page:
    """A page in one of the browsers."""

    def __init__(self, browser: other_browsers.Browser) -> None:
        self.browser = browser
        self.run = browser.run

    def until(self, holds: str, *given: Any) -> None:
        """Wait until nothing is being drawn and a function of the page holds."""
        function = f"(...given) => ({UNTIL})({holds}, {500 * PATIENCE}, ...given)"  # the browser waits longer
        assert self.run(function, *given), (holds, given, self.run("() => location.hash"))

    def point(self, selector: str, which: int = 0) -> None:
        self.browser.pointer(*self.run(MIDDLE, selector, which))

    def click(self, selector: str, which: int = 0) -> None:
        self.browser.pointer(*self.run(MIDDLE, selector, which), press=True)

    def texts(self, selector: str) -> list[str]:
        return self.run(
            "(of) => [...document.querySelectorAll(of)].map((one) => one.innerText.trim())", selector
        )

    def cell(self, layer: int, head: int) -> tuple[float, float]:
        """The middle of a head in the explorer's grid."""
        across, _ = self.run(MIDDLE, ".collabels span", head)
        _, down = self.run(MIDDLE, ".rowlabels span", layer)
        return across, down


@pytest.fixture(scope="module", params=["firefox", "webkit"])
def browser(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    start = getattr(other_browsers, request.param)
    with start(tmp_path_factory.mktemp(request.param)) as found:
        yield found


@pytest.fixture
def open_in(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """Open HTML from a file. At the end nothing may have been thrown in it."""
    opened: list[Page] = []

    def open_html(html: str, fragment: str = "") -> Page:
        path = tmp_path / f"page{len(opened)}.html"
        path.write_text(html, encoding="utf-8")
        browser.goto(f"{path.as_uri()}{fragment}")
        page = Page(browser)
        opened.append(page)
        page.run(
            """() => { window.thrown = [];
              addEventListener('error', (event) => thrown.push(event.message));
              addEventListener('unhandledrejection', (event) => thrown.push(String(event.reason))); }"""
        )
        page.until("() => document.querySelector('#headscope[data-ready]') !== null")
        return page

    yield open_html
    if opened:
        assert opened[-1].run("() => { localStorage.clear(); return thrown; }") == []


@pytest.fixture(scope="module")
def explorer() -> str:
    weights = np.array(view_sample.some(layers=4, heads=6).layers)
    places = np.arange(len(view_sample.PIECES))
    weights[3, 2] = np.eye(len(places))[np.maximum(0, places - 1)]  # it looks at the previous token
    maps = AttentionMaps(list(weights), view_sample.tokens(), view_sample.tokens())
    found = Input({"self": maps}, "an input", {"self": view_sample.neurons(layers=4, heads=6)})
    return explorer_page([found], state={"layer": 3, "heads": [2]})


@pytest.fixture
def page(open_in: Callable[..., Page], explorer: str) -> Page:
    return open_in(explorer)


@pytest.fixture(scope="module")
def report(browser: Any, request: pytest.FixtureRequest, build_once: Any) -> str:
    """No model is loaded before a browser is there."""
    demo = request.getfixturevalue("demo")
    texts = hs.corpora.texts(
        ["The cat sat on the mat, and it purred.", "A dog barked at the moon [all night]."] * 4
    )
    sections = ["figures", "roles", "cards"]
    return build_once("other browsers", lambda: hs.report(demo, texts, sections=sections, examples=2))


TITLE = "(title) => document.querySelector('.rightpane h2').innerText === title"
HASH = "(part, there) => decodeURIComponent(location.hash).includes(part) === there"


def test_an_explorer_opens_and_draws(page: Page):
    page.until(TITLE, "Layer 3, head 2")
    assert page.texts(".hv .toks.l .tok") == view_sample.PIECES
    assert page.run(COLOURS, ".gridbox canvas") > 20
    assert page.run(COLOURS, ".hv .base:nth-child(2)") > 5
    assert page.run(COLOURS, ".matrix canvas") >= 2
    assert page.run("() => document.documentElement.scrollWidth - innerWidth") <= 0
    inter = "(named) => document.fonts.check(`13px ${named}`) && [...document.fonts].some((one) => one.status === 'loaded')"
    assert page.run(inter, "Inter"), "the page's own font"
    page.click("[aria-label^='Theme']")
    page.until("() => document.querySelector('.hx').dataset.theme === 'dark'")
    paper = "() => getComputedStyle(document.querySelector('.hx')).backgroundColor"
    assert page.run(paper) == "rgb(15, 18, 20)"


def test_a_click_on_the_grid_opens_the_head_and_back_returns(page: Page):
    page.browser.pointer(*page.cell(1, 4), press=True)
    page.until(TITLE, "Layer 1, head 4")
    page.until(HASH, "layer=1", True)
    page.run("() => history.back()")
    page.until(TITLE, "Layer 3, head 2")


def test_pointing_gives_figures_and_leaves_a_tokens_lines(page: Page):
    page.browser.pointer(*page.cell(3, 2))
    page.until("() => /L3H2[^]*previous token\\s+1\\.000/.test(document.querySelector('.tip.on')?.innerText)")
    page.point(".hv .toks.l .tok .t", 2)
    page.until("() => document.querySelector('.hv .toks.l .tok.on')?.innerText.trim() === '##s'")
    page.until("() => Number(getComputedStyle(document.querySelector('.hv .base')).opacity) < 0.1")
    page.browser.pointer(5, 5)
    page.until("() => document.querySelector('.hv .tok.on') === null")
    page.click(".hv .toks.l .tok .t", 2)
    page.until(HASH, "pin=from,2", True)
    page.point(".hv .toks.r .tok .t", 1)
    page.until("() => /##s 2 → it 1[^]*L3H2\\s+1\\.000/.test(document.querySelector('.tip.on')?.innerText)")


def test_views_are_switched(page: Page):
    scale, visible = ".hx [role=radio]", "(of) => document.querySelector(of)?.checkVisibility() === true"
    names = page.texts(scale)
    neurons, model = (
        next(i for i, name in enumerate(names) if word in name) for word in ("Neurons", "Model")
    )
    page.click(scale, neurons)
    page.until(visible, ".nv")
    page.until(HASH, "scale=neuron", True)
    page.click(scale, model)
    page.until("() => document.querySelector('.rightpane')?.checkVisibility() === false")
    page.until(visible, ".gridbox")
    page.browser.pointer(*page.cell(2, 5), press=True)
    page.until(TITLE, "Layer 2, head 5")
    page.until(visible, ".hv")


def test_a_reports_figure_opens_its_head_and_back_returns(open_in: Callable[..., Page], report: str):
    page = open_in(report)
    link = "[data-section=summary] .headlink"
    head = "() => document.querySelector('.openhead h2').textContent"
    named = page.run(
        "(of) => [...document.querySelectorAll(of)].filter((each) => each.checkVisibility()).map((one) => one.dataset.opens)",
        link,
    )
    first = next(i for i, one in enumerate(named) if one != page.run(head))
    before = page.run(head)
    reason = "(of, which) => JSON.parse([...document.querySelectorAll(of)].filter((each) => each.checkVisibility())[which].dataset.reason)"
    said = page.run(reason, link, first)
    page.click(link, first)
    page.until("(name) => document.querySelector('.openhead h2').textContent === name", named[first])
    assert page.texts(".openhead .figure > *")[:2] == [said["says"], said["figure"]]
    page.until("() => document.querySelector('.explorer .hv canvas')?.checkVisibility() === true")
    page.run("() => history.back()")
    page.until("(name) => document.querySelector('.openhead h2').textContent === name", before)


def test_a_lab_checks_what_was_clicked(browser: Any, tmp_path: Path) -> None:
    """The model in the page runs here, too: task 3 wants a token pinned."""
    lab = hs.lab("heads", model_of("BERT"))
    browser.goto(lab.save(tmp_path / "lab.html").as_uri())
    page = Page(browser)
    at = """(title) => document.querySelector('.lab h3').innerText === title
      && document.querySelector('.live.told') !== null && !document.querySelector('[data-reading]')"""
    page.until(at, lab.tasks[0]["title"])
    for task in lab.tasks[1:3]:
        page.click(".lab .steps .press")
        page.until(at, task["title"])
    place = lab.tasks[2]["check"]["pin"][0]
    page.click(".lab .presses .press")
    assert page.texts(".lab .told")[0].startswith("The token is not pinned")
    page.click(".hv .toks.l .tok", place)
    page.until("() => document.querySelector('.lab .open').innerText.includes('pinned')")
    page.click(".lab .presses .press")
    assert page.texts(".lab .told") == ["Yes."]
