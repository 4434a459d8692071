"""The first look: few controls, lines and bars whatever the weights are, and sinks that can be taken out."""

from __future__ import annotations

import html as markup
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.core.maps import AttentionMaps
from headscope.core.tokens import Tokens
from headscope.models import Model
from headscope.views.explorer import Input, explorer_page
from tests.helpers.page_controls import settled

pytestmark = pytest.mark.browser

N = 12
FIRST_LOOK = {
    "Model", "Head", "Neurons", "‹", "›", "Lines", "Text", "Matrix", "Hide [CLS]", "More", "Skip to the picture", "Save", "◐", "?",
    "previous token", "next token", "itself", "first token", "entropy (nats)",
}  # fmt: skip


def maps(weights: np.ndarray) -> AttentionMaps:
    n = weights.shape[-1]
    special = np.arange(n) == 0
    pieces = ["[CLS]", *(f"w{place}" for place in range(1, n))]
    tokens = Tokens(pieces, special_mask=special, word_ids=np.arange(-1, n - 1))
    return AttentionMaps(list(weights.astype(np.float32)), tokens, tokens)


def sink(n: int = N) -> AttentionMaps:
    """Heads that give the first token .7, and the rest where it likes."""
    weights = 0.3 * np.random.default_rng(0).dirichlet(np.full(n, 0.3), (2, 4, n))
    weights[..., 0] += 0.7
    return maps(weights)


@pytest.fixture(scope="module")
def html() -> str:
    return explorer_page([Input({"self": sink()})], state={"layer": 0, "heads": [0]})


def visible(page: Any) -> set[str]:
    names = "[...document.querySelectorAll('.hx button:not(.roles *)')].filter(b => b.checkVisibility()).map(b => b.innerText.split('\\n')[0])"
    return set(page.evaluate(names))


def lines(page: Any) -> int:
    """How many lines are drawn: "40 lines" or "the 840 strongest of 2,450 lines"."""
    said = re.search(r"[\d,]+", page.locator(".hv .sub").inner_text())
    assert said
    return int(said[0].replace(",", ""))


def test_a_first_page_has_one_row_of_few_controls(open_page: Callable[..., Any], html: str):
    page = open_page(html, quiet=True)
    assert visible(page) == FIRST_LOOK
    assert page.locator(".hx input:visible, .hx select:visible").count() == 0
    assert page.locator(".tools").bounding_box()["height"] < 64
    page.get_by_role("button", name="Next head").click()
    page.get_by_role("button", name="Next layer").click()
    settled(page)
    assert page.locator(".rightpane h2").inner_text() == "Layer 1, head 1"


def test_all_controls_are_a_click_away_and_remembered(open_page: Callable[..., Any], html: str):
    page = open_page(html, quiet=True)
    page.get_by_role("button", name="More").click()
    settled(page)
    for locator in (
        page.get_by_label("Weakest line"),
        page.locator(".chips"),
        page.get_by_label("Find a token"),
    ):
        assert locator.is_visible()
    page.get_by_role("button", name="Keep all these in sight").click()
    settled(page)
    page.reload()
    page.wait_for_selector("#headscope[data-ready]")
    assert page.locator(".chips").is_visible()
    page.get_by_role("button", name="Less").click()
    settled(page)
    page.reload()
    page.wait_for_selector("#headscope[data-ready]")
    assert visible(page) == FIRST_LOOK


def test_what_a_state_uses_is_counted(open_page: Callable[..., Any], html: str):
    page = open_page(html, quiet=True, fragment="#heads=0,2&unit=words&threshold=0.1")
    page.get_by_role("button", name="More · 3").click()
    page.get_by_role("radio", name="Pieces").click()
    page.get_by_role("button", name="More · 2").wait_for()
    assert page.get_by_role("radio", name="Words").is_visible()


def test_the_sink_can_be_taken_out(open_page: Callable[..., Any], html: str):
    page = open_page(html, quiet=True)
    assert page.locator(".hv .toks.r .tok").count() == N
    picture = "document.querySelector('.gridbox canvas').toDataURL()"
    before = page.evaluate(picture)
    page.get_by_role("switch", name="Hide [CLS]").click()
    settled(page)
    assert page.locator(".hv .toks.r .tok").all_inner_texts() == [f"w{place}" for place in range(1, N)]
    assert page.locator(".hv .toks.l .tok").count() == N
    assert page.evaluate(picture) != before
    assert lines(page) > N
    assert "the mean of its row as it is shown" in page.locator(".hv .sub").inner_text()
    assert re.search(r"sinks left out as keys, \d+% of L0H\d's weight", page.locator(".status").inner_text())


def pair(words: str, seed: int) -> Input:
    """Six tokens; head 2 of layer 1 looks at the last two, more at the one or at the other."""
    pieces = words.split()
    weights = np.full((2, 4, 6, 6), 1 / 6)
    weights[1, 2] = 0.0
    weights[1, 2, :, 4:] = (0.9, 0.1) if seed else (0.1, 0.9)
    axis = Tokens(pieces)
    return Input({"self": AttentionMaps(list(weights.astype(np.float32)), axis, axis)}, words)


def test_of_two_inputs_the_head_that_differs_opens_and_both_are_in_sight(open_page: Callable[..., Any]):
    both = [pair("the key of the door was", 0), pair("the keys of the door were", 1)]
    page = open_page(explorer_page(both), quiet=True)
    assert page.title() == "the key of the door was / the keys of the door were · the model"
    assert page.locator(".rightpane h2").all_inner_texts() == ["Layer 1, head 2"] * 2
    assert page.locator(".which").all_inner_texts() == [one.label for one in both]
    assert page.locator(".which mark").all_inner_texts() == ["key", "was", "keys", "were"]
    assert page.locator(".hv").first.locator(".toks.l .tok.changed").all_inner_texts() == ["key", "was"]
    page.get_by_role("radio", name="Difference").click()
    settled(page)
    assert page.locator(".which > div").all_inner_texts() == [one.label for one in both]
    page.get_by_role("radio", name="Model").click()
    settled(page)
    page.get_by_label("Measure").select_option("difference")
    page.get_by_role("button", name="sort by it").click()
    settled(page)
    page.locator(".gridbox canvas").click(position={"x": 10, "y": 10})
    settled(page)
    assert page.locator(".rightpane h2").inner_text() == "Layer 1, head 2"


def test_an_input_is_named_and_opens_on_a_telling_head(open_page: Callable[..., Any]):
    weights = np.full((2, 4, 6, 6), 1 / 6)
    weights[0, 1] = np.eye(6)[[0, 0, 1, 2, 3, 4]]  # the previous token
    weights[0, 3] = np.eye(6)[[0] * 6]  # a sink
    weights[1, 2, 5] = np.eye(6)[1]  # from "was" to "key"
    axis = Tokens(["the", "key", "of", "the", "door", "was"])
    one = Input({"self": AttentionMaps(list(weights.astype(np.float32)), axis, axis)})
    page = open_page(explorer_page([one], model="a-model"), quiet=True)
    assert page.locator(".rightpane h2").inner_text() == "Layer 1, head 2"
    assert page.title() == "the key of the door was · a-model"
    assert page.locator(".bar .text").inner_text() == "the key of the door was"
    assert page.locator(".answer").inner_text().startswith("L1H2 looks from was to key, 100%")
    assert page.locator(".gridbox b").all_inner_texts() == ["Heads", "Layers"]


def test_one_name_is_one_number(open_page: Callable[..., Any], demo: Model):
    """A corpus of one input has that input's figures: in Python, in the strip of the input and in that of the corpus."""
    text = "The keys to the old cabinet were lost."
    measured = hs.measure(demo, hs.corpora.texts([text]))
    expected = float(measured["previous"].sel(layer=0, head=2))
    page = open_page(
        hs.view(demo, text, measures=measured, layer=0, heads=[2], measure="corpus:previous").html()
    )
    rows = page.locator(".mrow").filter(has_text="previous token")
    assert [row.locator(".val").inner_text() for row in rows.all()] == [f"{expected:.3f}"] * 2
    wanted = ["L0H2 among all 72 heads, on this input", "Over the corpus"]
    assert page.locator(".measures h3:visible").all_inner_texts() == wanted
    said = page.locator(".answer").inner_text()
    share = re.match(r"L0H2 looks mostly at the previous token, ([\d.]+)% on average; ", said)
    assert share
    assert float(share[1]) == pytest.approx(100 * expected, abs=0.1)


def test_a_frame_that_may_store_nothing_begins_quiet(tab: Callable[..., Any], html: str, tmp_path: Path):
    path = tmp_path / "frame.html"
    path.write_text(
        f'<iframe style="width:1300px;height:900px" sandbox="allow-scripts" srcdoc="{markup.escape(html)}"></iframe>',
        encoding="utf-8",
    )
    frame = tab(path.as_uri()).frame_locator("iframe")
    frame.locator("#headscope[data-ready]").wait_for()
    frame.get_by_role("button", name="More").click()
    frame.locator(".chips").wait_for()
