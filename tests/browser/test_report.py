from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import pytest

import headscope as hs
from headscope.core.maps import wrap
from headscope.views.explorer import Input
from tests.helpers.report_sample import NASTY, dataset, example, maps, report_page

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def html() -> str:
    plain = ["[CLS]", *(f"word{i}" for i in range(20)), "[SEP]"]
    return report_page(dataset(), [example(pieces=plain), example(pieces=NASTY, seed=1)])


RANKING = "[data-section=measures] tbody"
TABLE = "[data-section=heads]"


def address(page: Any, fragment: str) -> None:
    """Wait until the page's address ends in this fragment."""
    page.wait_for_function("expected => location.hash === expected", arg=fragment)


def opened(page: Any, layer: int, head: int) -> None:
    """Wait until the explorer and the figures beside it show this head."""
    page.wait_for_function(
        """([layer, head]) => document.querySelector(".explorer h2:not(.gridpane *)").textContent ===
            `Layer ${layer}, head ${head}` && !document.querySelector(".hx[data-busy]")""",
        arg=[layer, head],
    )
    name = f"L{layer}H{head}"
    assert page.locator(".openhead h2").inner_text() == name
    assert set(page.locator("tr[aria-selected=true] .headname").all_inner_texts()) <= {name}
    assert page.locator(".explorer .chips [aria-pressed=true]").last.inner_text() == str(head)
    assert page.locator(".among h3").inner_text().startswith(f"{name} over the corpus")


def colour(page: Any, selector: str = ".hs") -> str:
    return page.eval_on_selector(selector, "element => getComputedStyle(element).backgroundColor")


def test_the_page_says_what_was_measured(open_page: Any, html: str):
    page = open_page(html)
    assert page.title() == "Where a-model looks"
    assert page.locator("h1").inner_text() == "Where a-model looks"
    assert "52,341 tokens" in page.locator(".facts").inner_text()
    assert "headscope report --text text.txt" in page.locator("footer").text_content()
    assert "no input is that long" in page.locator("[data-section=absent]").text_content()
    assert "22.7 M parameters" in page.locator("footer").text_content()
    assert page.locator(".chart").count() == 6
    assert page.locator(".thumb").count() == 6


def test_a_name_in_the_summary_opens_the_head(open_page: Any, html: str):
    page = open_page(html, fragment="#head=L0H0")
    opened(page, 0, 0)
    page.locator(".headlink", has_text="L1H2").first.click()
    opened(page, 1, 2)
    assert page.locator(f"{TABLE} tr[aria-selected=true]").inner_text().startswith("L1H2")
    said = " ".join(page.locator(".openhead .figure").inner_text().split())
    assert re.fullmatch(r"attention on the previous token 80% over the corpus, \d+% on this input", said), (
        said
    )
    page.wait_for_function("() => location.hash.endsWith('&view.pin=from,1')")
    assert (
        page.locator(".opened .answer").inner_text().startswith("Most from word0: ")
    )  # all heads answer to it
    said = dict(parse_qsl(page.evaluate("location.hash.slice(1)")))
    assert said == {
        "head": "L1H2",
        "example": "0",
        "reason.says": "attention on the previous token",
        "reason.figure": "80%",
        "reason.measure": "previous",
        "reason.example": "0",
        "reason.here": "100%",
        "reason.pin": "from,1",
        "view.pin": "from,1",
    }


def test_a_cell_of_the_grid_shows_its_figure_and_opens_the_head(open_page: Any, html: str):
    page = open_page(html)
    cell = page.locator(".grid [data-row='11']")
    cell.hover()
    tip = page.locator(".report > .tip").inner_text()
    for part in (
        "L2H3", "3-4 in papers", "previous token", "standard error", "12,345", "uniform attention",
        "0.010",
    ):  # fmt: skip
        assert part in tip
    cell.click()
    opened(page, 2, 3)
    tick = page.locator(".strip canvas").first
    tick.click(position={"x": 6 + 0.8 * (tick.bounding_box()["width"] - 12), "y": 9})
    opened(page, 1, 2)
    page.locator(".thumb", has_text="separators").click()
    page.locator(".grid").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowUp")
    opened(page, 0, 1)
    page.wait_for_function("() => location.hash.includes('&measure=sep')")
    page.evaluate("location.hash = '#head=L2H2&measure=entropy&view.picture=matrix'")
    opened(page, 2, 2)
    assert page.locator(".figurehead h3").inner_text().lower() == "entropy"
    assert page.locator(".matrix.big").is_visible()


def test_the_table_sorts_filters_and_opens(open_page: Any, html: str):
    page = open_page(html)
    rows = page.locator(f"{TABLE} tbody tr")
    page.locator(TABLE).get_by_role("button", name="All 12 rows").click()
    assert rows.count() == 12
    page.get_by_role("button", name="previous token").locator(
        "visible=true"
    ).last.scroll_into_view_if_needed()
    header = page.locator(f"{TABLE} thead th", has_text="previous token")
    header.locator("button").click()
    assert rows.first.inner_text().startswith("L1H2")
    assert page.locator(f"{TABLE} thead th[aria-sort=descending]").inner_text().startswith("previous token")
    page.locator(f"{TABLE} .find").fill("previous > .5")
    assert rows.count() == 1
    assert page.locator(f"{TABLE} [role=status]").inner_text() == "1 of 12 rows"
    page.locator(f"{TABLE} .find").fill("nonsense > 1")
    assert rows.count() == 12
    assert page.locator(f"{TABLE} .find").get_attribute("aria-invalid") == "true"
    page.locator(f"{TABLE} .find").fill("L2")
    rows.nth(1).locator("td").last.click()
    opened(page, 2, int(rows.nth(1).locator(".headname").inner_text()[3:]))
    assert not rows.first.locator(".range").first.is_visible()
    page.get_by_role("switch", name="Standard errors").click()
    assert rows.first.locator(".range").first.inner_text().startswith("±")


def test_the_table_is_saved_with_every_digit(open_page: Any, html: str):
    page = open_page(html)
    with page.expect_download() as download:
        page.locator(f"{TABLE} .saves").get_by_role("button", name="CSV").click()
    assert download.value.suggested_filename == "a-model-all-heads-all-figures.csv"
    rows = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text(encoding="utf-8"))))
    data = dataset()
    assert len(rows) == 6 * 12
    assert list(rows[0]) == ["layer", "head", "paper", "measure", "value", "se", "n", "chance"]
    for row in rows:
        assert float(row["value"]) == data[row["measure"]].values[int(row["layer"]), int(row["head"])]


def test_maps_in_the_page_are_those_that_were_given(open_page: Any):
    given = maps(pieces=list("abcde"), seed=3)
    for exact, most in ((False, 0.004), (True, 0)):
        page = open_page(report_page(dataset(), [Input({"self": given})], exact=exact), fragment="#head=L2H1")
        page.locator(".toks.l .tok").nth(1).click()
        page.locator(".toks.r .tok").nth(2).hover()
        tip = page.locator(".hx .tip.on").inner_text()
        found = re.search(r"L2H1\s+(\d\.\d+)", tip)
        assert found is not None, tip
        assert abs(float(found[1]) - float(given["L2H1"][1, 2])) < most + 6e-4


def test_the_explorer_leads_back_to_the_figures(open_page: Any, html: str):
    page = open_page(html, fragment="#head=L0H3")
    page.locator(".chips button").nth(1).dblclick()
    opened(page, 0, 1)
    page.get_by_role("button", name="Next layer").click()
    opened(page, 1, 1)
    page.locator(".hx").press("ArrowRight")
    opened(page, 1, 2)
    assert page.locator(f"{TABLE} tr[aria-selected=true]").inner_text().startswith("L1H2")
    assert page.locator(f"{RANKING} [aria-selected=true]").inner_text().startswith("L1H2")
    assert page.locator(".strip .val").all_inner_texts()[0] == "0.80"
    address(page, "#head=L1H2&example=0")
    page.evaluate("window.scrollTo(0, 0)")
    page.get_by_role("button", name="Row in the table").click()
    assert page.evaluate("document.activeElement.textContent") == "L1H2"
    box = page.locator(f"{TABLE} tr[aria-selected=true]").bounding_box()
    assert 0 < box["y"] < 900
    page.keyboard.press("ArrowDown")
    opened(page, 1, 3)


def test_a_head_opens_in_the_head_view_whatever_was_open(open_page: Any, html: str):
    page = open_page(html, fragment="#head=L0H3")
    page.get_by_role("radio", name="Model").click()
    page.wait_for_selector(".hx[data-scale=model]")
    page.locator(".headlink", has_text="L1H2").first.click()
    opened(page, 1, 2)
    assert page.locator(".hx[data-scale=head]").count() == 1
    page.get_by_role("radio", name="Model").click()
    page.wait_for_selector(".hx[data-scale=model]")
    page.locator(".headlink", has_text="L1H2").first.click()
    page.wait_for_selector(".hx[data-scale=head]")


def test_the_explorer_fills_the_window_and_goes_back(open_page: Any, html: str):
    page = open_page(html, fragment="#head=L1H2&example=0")
    page.get_by_role("button", name="Page of this head").click()
    page.wait_for_selector(".hx.wide")
    assert page.locator(".hx").bounding_box()["width"] > 1300
    address(page, "#L1H2&example=0")
    page.reload()
    page.wait_for_selector("#headscope[data-ready]")
    assert page.locator(".hx.wide").count() == 1
    page.get_by_role("button", name="Back to the report").click()
    page.wait_for_selector(".hx.narrow")
    address(page, "#head=L1H2&example=0")
    page.get_by_role("button", name="Page of this head").click()
    page.get_by_role("button", name="Row in the table").click()
    assert page.locator(f"{TABLE} tr[aria-selected=true]").bounding_box()["y"] < 900


def test_what_is_open_comes_back_on_a_reload(open_page: Any, html: str):
    page = open_page(html, fragment="#head=L0H3&example=1")
    page.get_by_role("radio", name="Matrix").click()
    page.locator(".chips button").nth(1).click()
    page.get_by_role("switch", name="Special tokens").click()
    page.locator(".thumb", has_text="separators").click()
    expected = "#head=L0H1&example=1&measure=sep&view.heads=3,1&view.special=false&view.picture=matrix"
    address(page, expected)
    page.reload()
    page.wait_for_selector("#headscope[data-ready]")
    opened_heads = page.locator(".chips [aria-pressed=true]").all_inner_texts()
    assert opened_heads == ["1", "3"]
    assert page.locator(".matrix.big").is_visible()
    assert page.locator(".openhead h2").inner_text() == "L0H1"
    assert page.get_by_label("Example", exact=True).evaluate("select => select.selectedIndex") == 1
    assert page.evaluate("location.hash") == expected


def test_a_head_that_an_example_lacks(open_page: Any):
    layers = [np.full((heads, 4, 4), 0.25, np.float32) for heads in (4, 2, 4)]
    ragged = Input({"self": wrap(layers, list("abcd"))})
    page = open_page(report_page(dataset(), [ragged]), fragment="#head=L1H3")
    assert page.locator(".opened > .say").inner_text() == "The maps of this example hold no such head."
    assert not page.locator(".hx").is_visible()
    assert page.locator(".openhead h2").inner_text() == "L1H3"
    page.locator(TABLE).get_by_role("button", name="All 12 rows").click()
    page.locator(f"{TABLE} tbody tr").nth(11).locator("td").last.click()
    opened(page, 2, 3)
    assert page.locator(".hx").is_visible()


def test_light_dark_and_what_the_system_says(open_page: Any, html: str):
    light, dark = "rgb(255, 255, 255)", "rgb(15, 18, 20)"
    page = open_page(html, scheme="dark")
    assert colour(page) == dark
    page.emulate_media(color_scheme="light")
    page.wait_for_selector(".hs[data-theme=light]")
    assert colour(page) == light
    assert colour(page, ".hx") == light
    assert page.locator(".explorer [aria-label^=Theme]:visible").count() == 0
    button = page.locator("header button[aria-label^=Theme]")
    assert button.get_attribute("aria-label") == "Theme: auto"
    button.click()
    assert button.get_attribute("aria-label") == "Theme: dark"
    assert colour(page) == colour(page, ".hx") == dark
    page.wait_for_function("() => location.hash.endsWith('theme=dark')")
    page.emulate_media(media="print")
    page.wait_for_selector(".hs[data-theme=light]")
    assert colour(page) == light
    assert not page.locator("aside").is_visible()
    assert colour(open_page(html, scheme="light", fragment="#theme=dark")) == dark


def test_tokens_are_shown_and_never_run(open_page: Any):
    title = "</title></script><script>document.title='broken'</script>\x00\u202e"
    name = "<img src=x onerror=document.title='broken'>"
    page = open_page(report_page(dataset(name=name), [example()], title=title))
    assert page.title().startswith("</title></script><script>")
    assert page.locator("h1").inner_text().startswith("</title></script><script>document.title")
    assert page.locator(".topbar .model").inner_text() == name
    assert page.locator("img").count() == 0
    seen = page.locator(".toks.l .tok").all_inner_texts()
    assert seen[1] == NASTY[1]
    assert seen[2] == "␀"
    assert seen[3:6] == NASTY[3:6]
    assert seen[6] == NASTY[6].replace(" ", "␣")
    assert seen[7:11] == ["\ufffd", "\ufffdevil", "\ufffd", "∅"]
    assert seen[11:15] == ["&amp;", "the", "##ing", "[SEP]"]


def test_on_a_narrow_window_the_head_is_a_drawer(open_page: Any, html: str):
    page = open_page(html, width=380, height=800)
    assert not page.locator(".hx").is_visible()
    drawer = page.locator(".drawer")
    assert drawer.get_attribute("aria-expanded") == "false"
    page.locator(".headlink").first.click()
    assert drawer.get_attribute("aria-expanded") == "true"
    page.wait_for_function("() => !document.querySelector('.hx[data-busy]')")
    assert page.locator(".hx .toks").first.is_visible()
    drawer.click()
    assert not page.locator(".hx").is_visible()
    drawer.click()
    page.get_by_role("button", name="Row in the table").click()
    assert not page.locator(".hx").is_visible()
    assert page.locator(f"{TABLE} tr[aria-selected=true]").bounding_box()["y"] < 800


def test_a_model_of_one_head(open_page: Any):
    page = open_page(report_page(dataset(1, 1), [example(1, 1, list("abc"))]))
    opened(page, 0, 0)
    assert page.locator(".grid [data-row]").count() == 1


def test_rows_of_a_thousand_heads_are_made_as_they_are_looked_at(open_page: Any):
    page = open_page(report_page(dataset(36, 32), [example(36, 32, list("abc"))]), fragment="#head=L35H31")
    rows, box = page.locator(f"{TABLE} tbody tr"), page.locator(f"{TABLE} .tablebox")
    names = rows.locator(".headname")
    order = [f"L{layer}H{head}" for layer in range(36) for head in range(32)]
    fills = page.locator(".grid [data-row]").evaluate_all("all => all.map(one => one.getAttribute('fill'))")
    assert len(fills) == 36 * 32
    assert len(set(fills)) > 1
    assert page.evaluate("document.documentElement.scrollWidth") <= 1400
    # The open head's row stands below the first ones.
    assert names.all_inner_texts() == [*order[:5], "L35H31"]
    assert rows.last.get_attribute("aria-selected") == "true"
    page.locator(TABLE).get_by_role("button", name="All 1,152 rows").click()
    assert names.all_inner_texts() == order[:100]
    assert page.locator(f"{TABLE} table").get_attribute("aria-rowcount") == "1153"
    assert page.locator(f"{TABLE} [tabindex='0'].headname").all_inner_texts() == ["L0H0"]
    box.evaluate("box => box.scrollTo(0, box.scrollHeight)")
    page.wait_for_function("() => document.querySelectorAll('[data-section=heads] tbody tr').length === 200")
    # The arrow keys go on beyond the rows that were made.
    last = page.evaluate(
        "() => { const last = [...document.querySelectorAll('[data-section=heads] .headname')].at(-1);"
        " last.focus({ preventScroll: true }); return last.textContent; }"
    )
    page.keyboard.press("ArrowDown")
    after = order.index(last) + 1
    opened(page, after // 32, after % 32)
    assert page.evaluate("document.activeElement.textContent") == order[after]
    made = names.all_inner_texts()
    assert len(made) > after
    assert made == order[: len(made)]
    # A head that a link opened is found among them all, in its place.
    page.evaluate("location.hash = '#head=L30H5'")
    opened(page, 30, 5)
    page.get_by_role("button", name="Row in the table").click()
    assert page.evaluate("document.activeElement.textContent") == "L30H5"
    assert page.locator(f"{TABLE} tr[data-opens=L30H5]").evaluate(
        "row => { const [one, all] = [row, row.closest('.tablebox')].map(each => each.getBoundingClientRect());"
        " return one.top >= all.top && one.bottom <= all.bottom; }"
    )
    made = names.all_inner_texts()
    assert "L30H5" in made
    assert made == order[: len(made)]
    # What is sorted and searched is all of them.
    header = page.locator(f"{TABLE} thead th", has_text="previous token")
    header.locator("button").click()
    assert len(set(names.all_inner_texts())) == 100
    measured = dataset(36, 32)["previous"].values
    assert names.first.inner_text() == f"L{measured.argmax() // 32}H{measured.argmax() % 32}"
    page.locator(f"{TABLE} .find").fill("L35")
    assert sorted(names.all_inner_texts()) == sorted(order[-32:])
    page.locator(f"{TABLE} .find").fill("")
    page.locator(TABLE).get_by_role("button", name="The first 5 rows").click()
    assert rows.count() == 6


def test_heads_without_figures_are_empty_and_not_opened(open_page: Any):
    data = dataset()
    for name in list(data.data_vars):
        if not str(name).endswith("_chance"):
            data[name] = data[name].astype(float)
            data[name].values[2, 3] = np.nan
    page = open_page(report_page(data, [example()]))
    page.locator(TABLE).get_by_role("button", name="All 11 rows").click()
    assert page.locator(f"{TABLE} tbody tr").count() == 11
    box = page.locator(".grid").bounding_box()
    before = page.locator(".openhead h2").inner_text()
    page.locator(".grid").click(position={"x": box["width"] - 12, "y": box["height"] - 12})
    assert page.locator(".openhead h2").inner_text() == before


def test_a_report_without_examples_says_so(open_page: Any):
    page = open_page(report_page(dataset()))
    assert page.locator(".opened > .say").inner_text() == "This page holds no examples."
    page.locator(f"{TABLE} tbody tr").nth(3).click()
    page.wait_for_function("() => location.hash.startsWith('#head=L0H3&reason.says=')")
    assert page.locator(".among h3").inner_text().startswith("L0H3 over the corpus")


def test_a_broken_page_says_what_is_wrong(tab: Any, tmp_path: Path, html: str):
    path = tmp_path / "broken.html"
    path.write_text(html.replace('id="headscope-data-0">', 'id="headscope-data-0">AAAA'), encoding="utf-8")
    alert = tab(path.as_uri(), errors_allowed=True).locator("[role=alert]")
    alert.wait_for()
    assert alert.inner_text().startswith("This report cannot be shown")


def test_a_patch_is_pinned_where_it_stands_among_patches_put_together(open_page: Any):
    axis = hs.Grid(6, 6, prefix=["[CLS]"], picture=hs.Picture(np.full((60, 60, 3), 200, np.uint8)))
    weights = np.full((3, 4, len(axis), len(axis)), 1 / len(axis), np.float32)
    weights[1, 2, 20] = 0.2 / 36
    weights[1, 2, 20, 19] = 0.8  # the row that shows .8, of the patch in row 3, column 1
    page = open_page(report_page(dataset(), [Input({"self": hs.wrap(weights, axis)}, side=2)]))
    page.locator('[data-opens=L1H2][data-reason*="previous"]').first.click()
    page.wait_for_function("() => new URLSearchParams(location.hash.slice(1)).get('view.pin') === 'from,4'")


def test_what_is_read_after_the_rest_is_folded_until_it_is_named(built_in: str, open_page: Any) -> None:
    page = open_page(built_in, quiet=True)
    every = page.locator("[data-section=heads]")
    assert page.locator("[data-section=roles]").is_visible()
    assert not every.is_visible()
    page.get_by_role("link", name="All heads, all figures").click()
    assert every.is_visible()
    assert every.bounding_box()["y"] < 900
    again = open_page(built_in, quiet=True, fragment="#section=heads")
    assert again.locator("[data-section=heads]").is_visible()
