"""The page of a head: reached by its address, a table and a map, it says what the report says of the head."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from headscope.analyses.model_card.page import page as card_page
from headscope.analyses.model_card.page import site
from tests.helpers.report_whole import HEADS, whole_report

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def html(build_once: Any) -> str:
    return build_once("whole", whole_report)


def known(page: Any) -> list[str]:
    """The parts of the page of a head, a line each."""
    return [" ".join(text.split()) for text in page.locator(".known > div").all_inner_texts()]


def hash_is(page: Any, fragment: str) -> None:
    page.wait_for_function("expected => location.hash === expected", arg=fragment)


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
def test_an_address_opens_the_page_of_a_head(open_page: Any, html: str, width: int, scheme: str) -> None:
    page = open_page(html, fragment="#L1H2", width=width, scheme=scheme)
    assert page.locator(".openhead h2").inner_text() == "L1H2"
    assert page.title() == "L1H2 · Where a-model looks"
    does, examples, place, *_ = known(page)
    # The interval, the count and the documents of the roles' table; the score as the first map has it.
    assert does == "What it does previous token 0.800 0.750 to 0.850, n 12,345, 60 documents, q < .001"
    assert re.match(
        "Examples STRONGEST · PREVIOUS TOKEN 0.90 bee0 … bee8 1 of 40 0.40 ant0 … ant8 6th", examples
    )
    assert place.startswith("Where it stands out previous token 0.800 1 of 12, ± .016")
    assert page.locator(".strip").first.inner_text().split() == ["previous", "token", "0.80", "1", "of", "12"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    shares = page.locator(".known").evaluate("one => one.scrollWidth <= one.clientWidth")
    assert shares
    hash_is(page, "#L1H2")
    page.keyboard.press("Escape")
    page.wait_for_function("() => location.hash.startsWith('#head=L1H2')")
    assert page.title() == "Where a-model looks"
    page.go_back()
    hash_is(page, "#L1H2")
    assert page.locator(".hs.enlarged").count() == 1


def test_a_table_and_a_map_lead_to_it_and_back_closes_it(open_page: Any, html: str) -> None:
    page = open_page(html, fragment="#head=L2H3&example=0")
    name = page.locator("[data-section=roles] .headname", has_text="L0H1")
    assert name.get_attribute("href") == "#L0H1"
    name.click()
    assert page.locator(".openhead h2").inner_text() == "L0H1"
    assert known(page)[0].startswith("What it does separators 0.800")
    page.locator(".besides .grid [data-row]").nth(
        HEADS.index(next(h for h in HEADS if str(h) == "L1H2"))
    ).click()
    header = " ".join(page.locator(".openhead .figure").inner_text().split())
    assert header == "previous token 0.800 over the corpus, 1.000 on this input"
    assert known(page)[0].startswith("What it does previous token 0.800")
    before = page.evaluate("location.hash")
    page.get_by_role("button", name="Page of this head").click()
    hash_is(page, "#L1H2")
    page.locator(".known .line").nth(1).click()
    page.wait_for_function("() => location.hash.startsWith('#L1H2&example=0&reason.says=previous')")
    page.go_back()
    hash_is(page, "#L1H2")
    page.go_back()
    hash_is(page, before)
    assert page.locator(".hs.enlarged").count() == 0


def test_a_head_without_a_role_says_to_which_it_is_nearest(open_page: Any, html: str) -> None:
    page = open_page(html, fragment="#L2H3")
    assert known(page)[0] == "What it does No role; nearest to previous token, 0.310."
    page.locator(".hx").press("ArrowLeft")
    page.wait_for_function("() => document.querySelector('.openhead h2').textContent === 'L2H2'")


def card() -> Any:
    rows = [
        {"head": str(head), "paper": head.paper, "score": 0.8 - 0.01 * place, "low": 0.7, "high": 0.9, "se": 0.01,
         "n": 99, "documents": 12, "threshold": 0.5, "chance": 0.1, "p": 1e-9, "q": 1e-8 if place < 2 else 0.9,
         "stays": 0.93}
        for place, head in enumerate(HEADS)
    ]  # fmt: skip
    stable = {"top": 10, "share": 0.9, "low": 0.8, "high": 1, "chance": 0.1, "documents": 12, "needed": 40}
    one = {"why": "it does", "tested": True, "heads": rows, "stability": stable}
    none = [{**row, "q": 1} for row in rows]
    plain = [{key: row[key] for key in ("head", "paper", "score")} for row in rows]
    return {
        "model": {"name": "a <b>", "revision": None, "class": "B", "dtype": "float32", "parameters": 9, "causal": False,
                  "weights": "ab", "notes": [], "unseen": None},
        "made": {"headscope": "1"}, "options": {"seed": 0, "limit": None}, "not_told": {"sink": "not causal"},
        "corpora": {"corpus": {"name": "c", "sha256": "d" * 64, "documents": 12, "inputs": 20, "tokens": 300}},
        "lists": {
            "previous token": one, "itself": {**one, "heads": none},
            "importance": {**one, "tested": False, "heads": plain, "stability": "few"},
        },
        "varied": {"dtype": {"previous token": {"share": 0.7, "chance": 0.1, "heads": []}, "itself": "no such list"}},
    }  # fmt: skip


def test_a_card_is_a_report_and_a_site_leads_to_its_heads(open_page: Any, tmp_path: Path) -> None:
    page = open_page(card_page(card()))
    summary = page.locator("[data-section=summary]")
    said = " ".join(summary.inner_text().split())
    assert "2 of 12 heads stand out" in said
    assert "No head stands out in: itself." in said
    assert "share from 90% (previous token) to 90% (itself) of the 10 highest heads; by chance 10%." in said
    assert summary.locator("dt").all_inner_texts() == ["previous token", "importance, highest"]
    summary.locator(".headlink", has_text="L0H1").first.click()
    header = " ".join(page.locator(".openhead .figure").inner_text().split())
    assert header == "previous token 0.790 over the corpus"
    assert known(page)[0] == "What it does previous token 0.790 0.700 to 0.900, n 99, 12 documents, q < .001"
    page.get_by_role("button", name="Page of this head").click()
    hash_is(page, "#L0H1")
    table = page.locator("[data-section=roles] tbody tr")
    assert table.count() == 2
    assert table.first.locator("td").last.inner_text() == ".93"
    lists = page.locator("[data-section=lists]")
    held = [" ".join(row.split()) for row in lists.locator("tbody tr").all_inner_texts()]
    assert held[0] == "previous token .90 .80 – 1 .10 12 40 .70"
    assert "itself, dtype" in (lists.text_content() or "")
    path = tmp_path / "site.html"
    path.write_text(site([("a/index.html", card())]), encoding="utf-8")
    page.goto(path.as_uri())
    assert page.locator("svg a").count() == len(HEADS)
    assert page.locator("svg a").nth(1).get_attribute("href") == "a/index.html#L0H1"
    rows = [" ".join(row.split()) for row in page.locator("tr").all_inner_texts()]
    assert rows[1:] == ["previous token 2 · L0H0 0.800", "importance L0H0 0.800"]
    assert page.locator("h2").inner_text() == "a <b>"
    assert "No head of any model stands out in: itself." in page.locator("body").inner_text()
