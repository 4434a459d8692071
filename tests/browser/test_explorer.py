from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pypdf
import pytest

from headscope.core.maps import AttentionMaps
from headscope.core.neurons import Neurons
from headscope.core.tokens import Tokens
from headscope.views.explorer import Input, explorer_page, explorer_payload, views_page
from tests.helpers.page_controls import settled
from tests.helpers.pages import saved
from tests.helpers.patience import eventually

pytestmark = pytest.mark.browser

LONG = "x" * 60
PIECES = [
    "[CLS]",
    "the",
    "cat",
    "##s",
    "مرحبا",
    "日本語",
    "[SEP]",
    "👩‍👩‍👧",
    LONG,
    "</b><img>",
    "end",
    "[SEP]",
]
SIDES = [-1, 0, 0, 0, 0, 0, -1, 1, 1, 1, 1, -1]
WORDS = [-1, 0, 1, 1, 2, 3, -1, 0, 1, 2, 3, -1]
N, LAYERS, HEADS = len(PIECES), 3, 14


def axis(pieces: list[str] = PIECES) -> Tokens:
    special = np.array([piece in ("[CLS]", "[SEP]") for piece in pieces])
    if len(pieces) != N:
        return Tokens(pieces, special_mask=special)
    return Tokens(
        pieces,
        special_mask=special,
        sequence_ids=np.array(SIDES),
        word_ids=np.array(WORDS),
        classes={"sep": np.array([piece == "[SEP]" for piece in pieces])},
    )


def maps(seed: int = 0, tokens: Tokens | None = None, causal: bool = False) -> AttentionMaps:
    tokens = tokens or axis()
    weights = (
        np.random.default_rng(seed)
        .dirichlet(np.full(len(tokens), 0.3), (LAYERS, HEADS, len(tokens)))
        .astype(np.float32)
    )
    weights[1, 2] = 0.0
    weights[1, 2, np.arange(len(tokens)), np.maximum(0, np.arange(len(tokens)) - 1)] = 1.0
    if causal:
        weights = np.tril(weights) + 1e-6 * np.eye(len(tokens), dtype=np.float32)
        weights /= weights.sum(-1, keepdims=True)
    return AttentionMaps(
        list(weights), tokens, tokens, causal=causal, index=(2, 3, 4), meta={"model": "a-model"}
    )


def neurons(n: int = N, key_heads: int = 7) -> Neurons:
    random = np.random.default_rng(5)
    return Neurons(
        q=[random.normal(size=(HEADS, n, 8)) for _ in range(LAYERS)],
        k=[random.normal(size=(key_heads, n, 8)) for _ in range(LAYERS)],
        scaling=[8**-0.5] * LAYERS,
        bias=[None] * LAYERS,
        softcap=[30.0] * LAYERS,
        sinks=[None] * LAYERS,
        v=[random.normal(size=(key_heads, n, 8)) for _ in range(LAYERS)],
        norms=[random.random((HEADS, n, n)) for _ in range(LAYERS)],
    )


def shown(seed: int = 0) -> Input:
    found = maps(seed)
    gradient = [layer * 1e-3 * np.sign(layer - 0.05) for layer in found.layers]
    return Input({"self": found}, f"input {seed}", {"self": neurons()}, {"gradient": {"self": gradient}})


@pytest.fixture(scope="module")
def html() -> str:
    return explorer_page([shown()], state={"layer": 3, "heads": [2]})


@pytest.fixture
def page(open_page: Callable[..., Any], html: str) -> Any:
    return open_page(html)


def fragment(page: Any) -> str:
    return page.evaluate("decodeURIComponent(location.hash)")


def fragment_has(page: Any, text: str) -> None:
    eventually(lambda: text in fragment(page))


def fragment_lacks(page: Any, text: str) -> None:
    eventually(lambda: text not in fragment(page))


def title(page: Any) -> str:
    settled(page)
    return page.locator(".rightpane h2").first.inner_text()


def colours(page: Any, selector: str) -> int:
    script = "c => new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size"
    return page.eval_on_selector(selector, script)


def cell(page: Any, layer: int, head: int) -> tuple[float, float]:
    across = page.locator(".collabels span").nth(head).bounding_box()
    down = page.locator(".rowlabels span").nth(layer - 2).bounding_box()
    return across["x"] + across["width"] / 2, down["y"] + down["height"] / 2


def left(page: Any, place: int) -> Any:
    return page.locator(".hv .toks.l .tok").nth(place).locator(".t")


def right(page: Any, place: int) -> Any:
    return page.locator(".hv .toks.r .tok").nth(place).locator(".t")


def test_a_page_shows_grid_head_and_matrix(page: Any):
    assert title(page) == "Layer 3, head 2"
    said = page.locator(".answer").first.inner_text()
    assert said.startswith("L3H2 looks mostly at the previous token, 100% on average")
    assert colours(page, ".gridbox canvas") > 20
    assert colours(page, ".hv .base:nth-child(2)") > 5
    assert colours(page, ".matrix canvas") >= 2
    assert page.locator(".rowlabels .on").inner_text() == "3"
    assert page.locator(".hv .toks.l .tok").all_inner_texts() == PIECES
    assert left(page, 4).evaluate("e => getComputedStyle(e).direction") == "rtl"
    assert left(page, 8).get_attribute("title") == LONG
    assert page.locator(".hv img").count() == 0
    page.mouse.move(*cell(page, 3, 2))
    tip = page.locator(".tip.on").inner_text()
    assert "L3H2" in tip
    assert re.search(r"previous token\s+1\.000", tip)


def test_a_cell_opens_its_head_and_shift_adds_one(page: Any):
    page.mouse.click(*cell(page, 4, 9))
    assert title(page) == "Layer 4, head 9"
    page.keyboard.down("Shift")
    page.mouse.click(*cell(page, 4, 1))
    page.keyboard.up("Shift")
    assert title(page) == "Layer 4, 2 heads"
    fragment_has(page, "layer=4")
    fragment_has(page, "heads=9,1")
    assert page.locator(".gridbox .ring.also").count() == 1
    page.keyboard.press("1")
    settled(page)
    assert page.locator(".rightpane").is_hidden()
    page.mouse.click(*cell(page, 2, 5))
    assert title(page) == "Layer 2, head 5"
    assert page.locator(".gridbox").is_visible()


def test_thumbnails_are_lines_or_heat_and_take_a_measure(page: Any):
    before = page.eval_on_selector(".gridbox canvas", "c => c.toDataURL()")
    page.get_by_role("radio", name="Heat").click()
    settled(page)
    assert page.eval_on_selector(".gridbox canvas", "c => c.toDataURL()") != before
    page.get_by_label("Measure").select_option("previous")
    page.get_by_role("button", name="sort by it").click()
    fragment_has(page, "measure=previous&sort=true")
    box = page.locator(".gridbox canvas").bounding_box()
    page.mouse.move(box["x"] + 8, box["y"] + 8)
    assert page.locator(".tip.on b").inner_text() == "L3H2"
    page.get_by_role("button", name="largest first").click()
    fragment_has(page, "sort=true&ascending=true")
    page.mouse.move(box["x"] + 8, box["y"] + 9)
    eventually(lambda: page.locator(".tip.on b").inner_text() != "L3H2")
    page.get_by_role("button", name="smallest first").click()
    fragment_lacks(page, "sort=true")
    slider = page.get_by_label("Dim heads below")
    slider.evaluate("e => { e.value = 50; e.dispatchEvent(new Event('input', {bubbles: true})); }")
    fragment_has(page, "least=0.5")


def test_hovering_a_token_leaves_only_its_lines(page: Any):
    left(page, 2).hover()
    assert page.locator(".hv .toks.l .tok.on").inner_text() == "cat"
    opacity = "e => Number(getComputedStyle(e).opacity)"
    eventually(lambda: page.eval_on_selector(".hv .base", opacity) < 0.1)
    assert page.locator(".hv .axis").inner_text().endswith("WEIGHT")
    right(page, 3).hover()
    assert page.locator(".hv .toks.r .tok.on").inner_text() == "##s"
    page.mouse.move(5, 5)
    assert page.locator(".hv .tok.on").count() == 0


def test_a_click_pins_a_token_and_a_pair_has_its_numbers(page: Any):
    left(page, 2).click()
    fragment_has(page, "pin=from,2")
    tip = ""

    def decoded() -> bool:  # other matrices are decoded while nothing else is to be done
        nonlocal tip
        right(page, 2).hover()
        right(page, 1).hover()
        tip = page.locator(".tip.on").inner_text()
        return "gradient" in tip

    eventually(decoded)
    assert "cat → the" in tip
    assert re.search(r"L3H2\s+1\.000", tip)
    assert re.search(r"gradient\s+0\.001", tip)
    page.mouse.move(5, 5)
    page.keyboard.press("Escape")
    fragment_lacks(page, "pin")
    assert page.locator(".hv .tok.pin").count() == 0


def test_the_text_is_shaded_by_what_a_token_looks_at(page: Any):
    page.get_by_role("radio", name="Text", exact=True).click()
    words = page.locator(".shaded .word")
    caption = page.locator(".shaded .sub")
    assert caption.inner_text().startswith("Shaded by what each token receives on average")
    words.nth(4).hover()
    assert f"what “{words.nth(4).inner_text()}” looks at" in caption.inner_text()
    strong = words.evaluate_all("all => all.map((e) => parseFloat(e.style.getPropertyValue('--shade')))")
    assert max(strong) == 52
    words.nth(4).click()
    page.mouse.move(0, 0)
    assert f"what “{words.nth(4).inner_text()}” looks at" in caption.inner_text()
    page.keyboard.press("Escape")
    assert "on average" in caption.inner_text()


def test_chips_toggle_isolate_and_restore(page: Any):
    chips = page.locator(".chips button")
    assert chips.count() == HEADS
    chips.nth(2).click()
    assert title(page) == "Layer 3, head 2", "the last one stays"
    chips.nth(13).click()
    chips.nth(5).click()
    assert title(page) == "Layer 3, 3 heads"
    assert chips.nth(13).evaluate("e => e.classList.contains('alt')")
    assert page.locator(".hv .axis .hn").all_inner_texts() == ["2", "13", "5"]
    chips.nth(7).dblclick()
    assert title(page) == "Layer 3, head 7"
    chips.nth(7).dblclick()
    assert title(page).startswith("Layer 3, ")
    assert title(page).endswith(" heads")


def lines(page: Any) -> int:
    settled(page)
    return int(re.match(r"[\d,]+", page.locator(".hv .sub").inner_text())[0].replace(",", ""))


def test_threshold_and_the_strongest_of_each_token(open_page: Callable[..., Any], html: str):
    page = open_page(html, fragment="#heads=0")
    before = lines(page)
    slide = "(e, v) => { e.value = v; e.dispatchEvent(new Event('input', {bubbles: true})); }"
    page.get_by_label("Weakest line").evaluate(slide, 120)
    fragment_has(page, "threshold=0.36")
    assert 0 < lines(page) < before
    page.get_by_label("Weakest line").evaluate(slide, 0)
    page.get_by_label("Lines a token").evaluate(slide, 0)
    fragment_has(page, "top_k=1")
    assert N <= lines(page) <= N + 2


def test_filters_and_special_tokens(page: Any):
    for name, from_, to in (
        ("A→B", PIECES[1:6], PIECES[7:11]),
        ("B→A", PIECES[7:11], PIECES[1:6]),
        ("A→A", PIECES[1:6], PIECES[1:6]),
    ):
        page.get_by_role("radio", name=name).click()
        settled(page)
        assert page.locator(".hv .toks.l .tok").all_inner_texts() == from_
        assert page.locator(".hv .toks.r .tok").all_inner_texts() == to
    page.get_by_role("radio", name="All").first.click()
    page.keyboard.press("s")
    settled(page)
    assert "[SEP]" not in page.locator(".hv .toks.l .tok").all_inner_texts()
    assert "special tokens hidden" in page.locator(".status").inner_text()
    assert "raw weights" in page.locator(".status").inner_text()
    page.get_by_role("switch", name="Rows sum to 1").click()
    settled(page)
    assert "rows renormalised" in page.locator(".status").inner_text()
    left(page, 1).click()
    right(page, 0).hover()
    assert re.search(r"L3H2\s+1\.000", page.locator(".tip.on").inner_text())


def test_keys_move_and_the_list_names_them(page: Any):
    for key, wanted in (
        ("ArrowRight", "Layer 3, head 3"),
        ("ArrowDown", "Layer 4, head 3"),
        ("ArrowDown", "Layer 4, head 3"),
        ("ArrowUp", "Layer 3, head 3"),
        ("ArrowLeft", "Layer 3, head 2"),
        ("3", "Layer 3, head 2, neuron by neuron"),
        ("Escape", "Layer 3, head 2"),
        ("Enter", "Layer 3, head 2, neuron by neuron"),
        ("2", "Layer 3, head 2"),
    ):
        page.keyboard.press(key)
        assert title(page) == wanted, key
    page.keyboard.press("1")
    settled(page)
    assert page.locator(".rightpane").is_hidden()
    page.keyboard.press("2")
    page.keyboard.press("?")
    assert page.locator("dialog").is_visible()
    assert "find a token" in page.locator("dialog").inner_text()
    page.keyboard.press("Escape")
    assert page.locator("dialog").is_hidden()


def test_a_token_is_found(page: Any):
    page.keyboard.press("/")
    page.keyboard.type("日本")
    assert page.locator(".hv .tok.hit").all_inner_texts() == ["日本語", "日本語"]
    page.keyboard.press("Enter")
    fragment_has(page, "pin=from,5")
    page.keyboard.press("Enter")
    fragment_has(page, "pin=to,5")
    box = page.locator(".findbox")
    field, told = box.get_by_role("searchbox"), box.get_by_role("status")
    for text, said, invalid in (("zebra", "no such token", "true"), ("cat", "", "false")):
        field.fill(text)
        assert (told.inner_text(), field.get_attribute("aria-invalid")) == (said, invalid)
    page.keyboard.press("Escape")
    assert page.locator(".hv .tok.hit").count() == 0


def test_matrix_zooms_and_moves(page: Any):
    page.keyboard.press("m")
    fragment_has(page, "picture=matrix")
    assert page.locator(".mrows .mtok").count() == N
    page.keyboard.press("+")
    page.keyboard.press("+")
    fragment_has(page, "zoom=4,5,4,5")
    eventually(lambda: page.locator(".mrows .mtok").count() == 5)
    box = page.locator(".big .ov").bounding_box()
    page.mouse.move(box["x"] + 50, box["y"] + 50)
    assert "→" in page.locator(".tip.on").inner_text()
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"], box["y"] + box["height"], steps=4)
    page.mouse.up()
    fragment_has(page, "zoom=0,")
    fragment_lacks(page, "pin")
    page.keyboard.press("0")
    fragment_lacks(page, "zoom")


def test_neurons_follow_the_query(page: Any):
    page.get_by_role("radio", name="Neurons").click()
    assert title(page) == "Layer 3, head 2, neuron by neuron"
    assert "Key head 1 serves query heads 2 to 3" in page.locator(".nvhead").inner_text()
    assert "capped softly" in page.locator(".nvhead").inner_text()
    heading = page.locator(".axis.n").inner_text()
    for word in ("query", "key head 1", "elementwise", "÷ √8", "weight"):
        assert word in heading
    page.locator(".nv .toks.l .tok").nth(3).hover()
    assert page.locator(".nv .sub").nth(1).inner_text().startswith("##s looks most at cat (1.000)")
    body, names = page.locator(".nvbody").bounding_box(), page.locator(".axis.n span").nth(2).bounding_box()
    page.mouse.move(names["x"] + names["width"] / 2, body["y"] + 30)
    tip = page.locator(".tip.on").inner_text()
    assert re.search(r" → the neuron \d", tip)
    q, k, product = (float(x.replace("−", "-")) for x in re.findall(r"[+−]\d+\.\d+", tip))
    assert product == pytest.approx(q * k, abs=0.02)
    page.get_by_role("switch", name="Values").click()
    settled(page)
    assert "‖αvWₒ‖" in page.locator(".axis.n").inner_text()
    page.locator(".nv .toks.r .tok").nth(7).locator(".t").click()
    fragment_has(page, "pin=to,7")
    assert "👩‍👩‍👧 (k)" in page.locator(".vector h3").inner_text()
    page.keyboard.press("Escape")
    query = page.get_by_role("listbox", name="query")
    query.focus()
    for key in ("Home", "ArrowDown", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    fragment_has(page, "pin=from,2")
    assert query.get_by_role("option", selected=True).inner_text() == "cat"
    live = page.locator(".rightpane [aria-live=polite]")
    eventually(lambda: live.text_content().startswith("cat looks most at the 1.000, "))  # of one head, three
    page.keyboard.press("ArrowRight")
    assert page.get_by_role("listbox", name="key").evaluate("e => e === document.activeElement")
    page.keyboard.press("ArrowDown")
    assert page.locator(".nv .toks.r .tok.on").inner_text() == "the"
    assert "cat (q) and the (k)" in page.locator(".vector h3").inner_text()
    assert title(page) == "Layer 3, head 2, neuron by neuron", "arrows do not leave the column"
    page.get_by_role("radio", name="Head", exact=True).click()
    assert title(page) == "Layer 3, head 2"


def test_two_inputs_are_linked(open_page: Callable[..., Any]):
    page = open_page(explorer_page([shown(0), shown(1)], state={"layer": 3, "heads": [0]}))
    assert page.locator(".pane").count() == 2
    page.locator(".chips button").nth(4).click()
    page.locator(".chips button").nth(0).click()
    settled(page)
    assert page.locator(".rightpane h2").all_inner_texts() == ["Layer 3, head 4", "Layer 3, head 4"]
    page.get_by_role("radio", name="A→B").click()
    settled(page)
    assert [len(page.locator(".hv").nth(i).locator(".toks.l .tok").all()) for i in (0, 1)] == [5, 5]
    page.get_by_role("radio", name="Difference").click()
    fragment_has(page, "side=difference")
    assert page.locator(".pane").count() == 1
    assert "the first input minus the second" in page.locator(".status").inner_text()
    said = "text => document.querySelector('.measures h3').textContent.endsWith(text)"
    page.wait_for_function(said, arg="heads, in “input 0”")
    page.get_by_role("radio", name="One").click()
    page.get_by_label("Input", exact=True).select_option("1")
    fragment_has(page, "input=1")
    page.wait_for_function(said, arg="heads, in “input 1”")


def test_a_filter_that_makes_inputs_unequal_leaves_a_sentence(open_page: Callable[..., Any]):
    sides = [-1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, -1]
    other = Tokens(
        PIECES,
        special_mask=np.array([place in (0, N - 1) for place in range(N)]),
        sequence_ids=np.array(sides),
        word_ids=np.array([-1, *range(6), *range(4), -1]),
    )
    page = open_page(explorer_page([shown(), Input({"self": maps(1, other)})]), fragment="#side=difference")
    pictures, said = page.locator(".gridbox:visible, .rightpane:visible"), page.locator(".gap")
    drawn = pictures.count()
    assert drawn > 0
    assert said.is_hidden()
    page.get_by_role("radio", name="A→B").click()
    settled(page)
    told = "A difference needs as many tokens in both inputs; these show 5 × 4 pieces and 6 × 4 pieces."
    assert told in said.inner_text()
    assert pictures.count() == 0
    for key in ("ArrowDown", "/", "Escape"):
        page.keyboard.press(key)
    assert page.locator(".failure").count() == 0
    page.get_by_role("radio", name="All", exact=True).first.click()
    settled(page)
    assert said.is_hidden()
    assert pictures.count() == drawn
    page.get_by_role("radio", name="A→A").click()
    page.get_by_role("radio", name="Side by side").click()
    settled(page)
    assert page.locator(".pane:visible").count() == 2
    assert page.get_by_role("radio", name="Difference").is_disabled()


def test_the_fragment_brings_a_state_back(open_page: Callable[..., Any], html: str):
    wanted = "#layer=4&heads=1,3&filter=ab&special=false&threshold=0.1&pin=from,2&theme=dark"
    page = open_page(html, fragment=wanted)
    assert title(page) == "Layer 4, 2 heads"
    assert page.locator(".hx").get_attribute("data-theme") == "dark"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowDown")
    parts = sorted(wanted.removeprefix("#").split("&"))
    eventually(lambda: sorted(fragment(page).removeprefix("#").split("&")) == parts)
    page.evaluate("location.hash = '#layer=2&heads=0'")
    eventually(lambda: title(page) == "Layer 2, head 0")


def test_a_hundred_tokens_scroll_and_keep_their_lines(open_page: Callable[..., Any]):
    maps_of_many = maps(3, axis([f"t{i}" for i in range(120)]))
    page = open_page(explorer_page([Input({"self": maps_of_many})], state={"top_k": 12}))
    scroll = page.locator(".hv .scroll")
    assert scroll.evaluate("e => e.scrollHeight > e.clientHeight")
    scroll.evaluate("e => e.scrollTop = 600")
    eventually(lambda: "rows 3" in page.locator(".hv .sub").inner_text())
    assert "of 120" in page.locator(".hv .sub").inner_text()
    assert colours(page, ".hv .base:nth-child(2)") > 3


def test_a_screen_reader_gets_a_table_of_the_row(page: Any):
    table = page.locator(".rightpane table").first
    assert table.is_hidden(), "nothing is pointed at"
    left(page, 2).click()
    page.mouse.move(5, 5)
    page.locator(".rightpane caption", has_text="From cat to each token").wait_for(state="attached")
    assert table.locator("thead th").all_text_contents() == ["token", "L3H2"]
    cells = table.locator("tbody tr").evaluate_all(
        "rows => rows.map(r => [...r.cells].map(c => c.textContent))"
    )
    assert [name for name, _ in cells] == PIECES
    assert [weight for _, weight in cells] == ["0.000", "1.000"] + ["0.000"] * (N - 2)
    live = page.locator(".rightpane [aria-live=polite]")
    assert live.text_content().startswith("cat looks most at the 1.000")
    page.locator(".chips button").nth(13).click()
    page.locator(".rightpane thead", has_text="L3H13").wait_for(state="attached")
    assert table.locator("thead th").all_text_contents() == ["token", "L3H2", "L3H13"]
    page.keyboard.press("Escape")
    eventually(table.is_hidden)
    assert live.text_content() == ""


def test_tokens_are_reached_by_keyboard(page: Any):
    column = page.get_by_role("listbox", name="from (query)")
    assert column.get_by_role("option").count() == N
    page.locator(".chips button").last.focus()
    while not column.evaluate("e => e === document.activeElement"):
        page.keyboard.press("Tab")
    for key, wanted in (
        ("ArrowDown", "the"),
        ("ArrowDown", "cat"),
        ("End", "[SEP]"),
        ("ArrowUp", "end"),
        ("Home", "[CLS]"),
    ):
        page.keyboard.press(key)
        assert page.locator(".hv .toks.l .tok.on").inner_text() == wanted, key
        at = column.get_attribute("aria-activedescendant")
        assert page.locator(f"#{at}").inner_text() == wanted
    assert title(page) == "Layer 3, head 2", "arrows do not leave the column"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    fragment_has(page, "pin=from,1")
    assert column.get_by_role("option", selected=True).inner_text() == "the"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert page.get_by_role("listbox", name="to (key)").evaluate("e => e === document.activeElement")
    assert page.locator(".hv .toks.r .tok.on").inner_text() == "the"
    page.keyboard.press("Escape")
    fragment_lacks(page, "pin")
    left(page, 2).click()
    page.keyboard.press("ArrowRight")
    assert title(page) == "Layer 3, head 3", "after a click arrow keys go from head to head"


def test_pictures_have_roles_and_names(page: Any):
    grid = page.get_by_role("application", name=re.compile("3 layers by 14 heads. L3H2 is open"))
    grid.focus()
    page.keyboard.press("ArrowDown")
    settled(page)
    assert page.get_by_role("application", name=re.compile("L4H2 is open")).count() == 1
    assert page.get_by_role("group", name=f"L4H2: attention from {N} tokens to {N}").count() == 1
    assert page.locator(".hx > [role=status]").text_content() == "Layer 4, head 2"
    page.keyboard.press("m")
    settled(page)
    matrix = page.get_by_role("application", name=re.compile("L4H2 as a matrix"))
    matrix.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert page.locator(".tip.on").inner_text().startswith("the → the")
    page.keyboard.press("Enter")
    fragment_has(page, "pin=from,1")
    live = page.locator(".rightpane [aria-live=polite]")
    eventually(lambda: live.text_content().startswith("the "))


def test_the_open_layer_is_drawn_while_the_others_are_still_being_read(
    open_page: Callable[..., Any], html: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "headscope.views.explorer._SMALL", 0
    )  # a grid of ready thumbnails, as long inputs have
    large = explorer_page([Input({"self": maps()})], state={"layer": 4, "heads": [2]})
    last = large.rindex("<script")
    middle = (last + large.rindex("</script>")) // 2
    page = open_page(html)
    page.evaluate("text => { document.open(); document.write(text); }", large[:middle])
    page.wait_for_selector("#headscope[data-ready]")
    assert page.evaluate("document.readyState") == "loading"
    assert title(page) == "Layer 4, head 2"
    page.mouse.click(*cell(page, 3, 1))
    page.wait_for_selector(".hx[data-busy]")
    page.evaluate("text => { document.write(text); document.close(); }", large[middle:])
    assert title(page) == "Layer 3, head 1"
    assert page.locator(".failure").count() == 0


SAVED = "t => new DOMParser().parseFromString(t, 'image/svg+xml').querySelector('parsererror') === null"


@pytest.mark.parametrize("scale", ["model", "head", "neuron"])
def test_pictures_are_saved_and_say_what_they_are(open_page: Callable[..., Any], html: str, scale: str):
    page = open_page(html, fragment=f"#scale={scale}&pin=from,2")
    text = saved(page.get_by_role("button", name="SVG"))
    assert page.evaluate(SAVED, text)
    if scale != "model":
        assert ">日本語</text>" in text
        assert "&lt;/b&gt;&lt;img&gt;" in text
    if scale == "head":
        assert "<title>a-model: input 0 · Layer 3, head 2</title>" in text
        assert re.search(r">a-model: input 0 · \d+ tokens · raw weights", text)
        words = " ".join(re.findall(">([^<>]*)</text>", text))
        assert not re.search("Hover|Click|Esc", words)
        assert "in full the lines from “cat”, the others faint." in words
        assert re.search(r"@font-face\s*{[^}]*Inter[^}]*src: url\(\"?data:font/woff2;base64,", text)
    with page.expect_download() as png:
        page.get_by_role("button", name="PNG").click()
    assert Path(png.value.path()).read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


OVER = """() => { const paper = document.querySelector(".hx").getBoundingClientRect();
  return [...document.querySelectorAll(".hx *")].filter((each) => each.checkVisibility() && !each.closest(".nv, .hidden, .skip, .tip")
    && each.getBoundingClientRect().right > paper.right + 1).map((each) => each.outerHTML.slice(0, 80)); }"""


def test_an_explorer_fits_a_phone_and_paper(open_page: Callable[..., Any], html: str):
    page = open_page(html, fragment="#theme=dark")
    for state in (
        "scale=model",
        "heads=0,1,2,3,4,5,6,7,8,9,10,11",
        "picture=matrix",
        "scale=neuron&values=true",
    ):
        page.evaluate(f"location.hash = '#theme=dark&{state}'")
        for width in (320, 600, 900, 1400):
            page.set_viewport_size({"width": width, "height": 900})
            settled(page)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (state, width)
            # Nothing is cut off either: what is wider than the page stands in a box that scrolls.
            assert page.evaluate(OVER) == [], (state, width)
    seen = page.locator("canvas:visible").count()
    pdf = pypdf.PdfReader(io.BytesIO(page.pdf(prefer_css_page_size=True)))
    assert abs(pdf.pages[0].mediabox.width - 595) < 1
    assert "softmax" in " ".join(one.extract_text() for one in pdf.pages), "what stands at the right"
    settled(page)
    assert page.locator(".hx").get_attribute("data-theme") == "dark"
    assert page.locator("canvas:visible").count() == seen
    assert page.eval_on_selector(".hx", "e => e.clientWidth") == 1400, "the screen has its picture again"
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 687, "height": 970})
    page.wait_for_selector(".hx.printing[data-theme=light]:not([data-busy])")
    assert page.evaluate("document.documentElement.scrollWidth") <= 687
    assert page.evaluate(OVER) == []


def test_views_are_built_when_they_come_near_and_all_are_on_paper(open_page: Callable[..., Any]):
    html = views_page([explorer_payload([shown(seed)], state={"heads": [0]}) for seed in range(4)])
    page = open_page(html)
    views = page.locator(".hx")
    assert views.count() == 4
    views.nth(3).scroll_into_view_if_needed()
    views.nth(3).locator(".chips button").nth(3).click()
    eventually(lambda: fragment(page) == "#3.heads=0,3")
    page = open_page(html)
    page.wait_for_function(
        "() => document.querySelectorAll('.waiting').length === 0 && document.querySelectorAll('[data-busy]').length === 0"
    )
    assert page.evaluate("scrollY") == 0
    page.emulate_media(media="print")
    page.wait_for_function("() => document.querySelectorAll('.hx.printing:not([data-busy])').length === 4")
    drawn = page.locator(".gridbox").evaluate_all(
        "all => all.map(one => one.querySelectorAll('canvas').length)"
    )
    assert len(drawn) == 4
    assert all(drawn)
