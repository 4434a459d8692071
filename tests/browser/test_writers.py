"""Why a chosen line is there: who wrote it, the way back to them, and what is without them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import pytest

import headscope as hs
from headscope.models import Model
from tests.helpers.pages import saved
from tests.helpers.planted_induction import circuit
from tests.helpers.planted_needles import HAY, reader
from tests.helpers.served import Server
from tests.helpers.small_models import translator

pytestmark = pytest.mark.browser

TEXT = " ".join(HAY.split()[:6] * 2)
WHY = "Why L1H0 looks from “the” at “dog”"


@pytest.fixture(scope="module")
def model() -> Model:
    return hs.load((circuit().module, reader()))


@pytest.fixture(scope="module")
def address(model: Model) -> Iterator[str]:
    server = Server(model)
    yield server.start()
    server.stop()


def titles(page: Any, *expected: str) -> None:
    """Wait until these lines are told."""
    page.wait_for_function(
        "(titles) => JSON.stringify([...document.querySelectorAll('.writers h3')].map((each) => each.textContent))"
        " === JSON.stringify(titles)",
        arg=list(expected),
    )


@pytest.mark.parametrize("scale", ["head", "neuron"])
def test_the_chain_of_a_saved_page_is_followed_back(
    model: Model, open_page: Callable[..., Any], scale: str
) -> None:
    view = hs.view(model, TEXT, layer=1, heads=[0], scale=scale, quantities=(), reads=True)
    page = open_page(view.html(), fragment="#pin=from,10")
    titles(page, WHY)
    page.locator(".writers").get_by_role("button", name="L0H0").click()
    titles(page, "Why L0H0 looks from “dog” at “the”")  # the word before: where it noted what L1H0 looks for
    assert page.locator(".writers").get_by_role("button", name="L0H0").count() == 0
    page.locator(".trail").get_by_role("button").click()
    titles(page, WHY)
    assert page.locator(".trail").count() == 0
    page.keyboard.press("Escape")
    page.locator(".writers", has_text="Choose a query").wait_for()


def test_a_writer_of_another_part_opens_in_the_picture_of_that_part(open_page: Callable[..., Any]) -> None:
    state: dict[str, Any] = {"part": "cross", "layer": 1, "heads": [2], "scale": "head", "pin": ("from", 1)}
    view = hs.view(translator(), "the cat sat", target="the dog sat", quantities=(), reads=True, **state)
    page = open_page(view.html())
    page.locator(".writers").get_by_role("button", name="encoder L").first.click()
    page.locator(".writers p", has_text="is not in this page").wait_for()
    page.wait_for_function("text => location.hash.includes(text)", arg="part=encoder")
    page.locator(".trail").get_by_role("button").click()
    page.locator(".writers h3", has_text="Why L1H2 looks").wait_for()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::headscope.errors.HeadscopeWarning")
def test_an_edge_of_a_report_opens_its_reader_with_the_way_to_its_writer(
    model: Model, open_page: Callable[..., Any]
) -> None:
    words = HAY.split()[:12] * 4
    corpus = hs.corpora.texts([" ".join(words[start:]) for start in range(12)])
    page = open_page(hs.report(model, corpus, sections=["composition", "cards"], examples=2))
    page.evaluate("location.hash = '#L1H0'")
    reads = page.locator(".known .wide", has_text="What heads with a role read")
    assert "L0H0" in reads.locator("tbody").inner_text()
    page.keyboard.press("Escape")
    drawing = saved(page.locator("section", has=page.locator(".graph")).locator("[title='Save as SVG']"))
    assert all(f">{text}<" in drawing for text in ("L0H0", "L1H0", "layer 0"))
    page.locator(".graph path[data-opens]").dispatch_event("click")
    page.locator(".writers h3", has_text="Why L1H0 looks from").wait_for()
    page.locator(".writers").get_by_role("button", name="L0H0").click()
    page.locator(".writers h3", has_text="Why L0H0 looks from").wait_for()
    page.locator(".graph g[data-opens=L0H0]").dispatch_event("click")
    page.locator("h2", has_text="Layer 0, head 0").wait_for()


def test_a_live_model_is_asked_and_a_writer_switched_off(address: str, tab: Callable[..., Any]) -> None:
    page = tab(f"{address}#text={quote(TEXT)}&layer=1&heads=0&pin=from,10&between=10,5")
    titles(page, WHY)
    page.locator(".writers").get_by_role("button", name="off").click()
    titles(page, WHY, WHY)
    assert page.locator(".changes code").all_inner_texts() == ["L0H0 off"]
    assert ["L0H0" in each for each in page.locator(".writers").all_inner_texts()] == [True, False]
