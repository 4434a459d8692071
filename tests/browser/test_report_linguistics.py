"""Tables of syntax and coreference in a real page: a relation opens sentences, a sentence opens the explorer."""

from __future__ import annotations

from typing import Any

import pytest

import headscope as hs
from headscope.models import Model

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def html(demo: Model) -> str:
    texts = hs.corpora.texts(["The cat sat on the mat.", "A dog barked at the moon."])
    return hs.report(demo, texts, sections=["syntax", "coref"], examples=2)


def relation(page: Any, name: str) -> Any:
    return page.locator(
        "[data-section=syntax] tbody tr", has=page.get_by_role("button", name=name, exact=True)
    )


def wait_for_head(page: Any, name: str, example: str) -> None:
    page.wait_for_function(
        """([name, example]) => document.querySelector(".openhead h2").textContent === name &&
            document.querySelector("select.example").selectedIndex === Number(example) &&
            !document.querySelector(".hx[data-busy]")""",
        arg=[name, example],
        timeout=5000,
    )


def test_a_relation_opens_right_and_wrong_sentences_and_these_the_explorer(open_page: Any, html: str) -> None:
    page = open_page(html)
    row = relation(page, "obj")
    row.get_by_role("button").click()
    assert row.get_by_role("button").get_attribute("aria-pressed") == "true"
    head = row.locator("td b").inner_text()
    title = page.locator("[data-section=syntax] .cases h3").inner_text()
    assert title.startswith(f"obj: {head}")
    right = page.locator("[data-section=syntax] .sentence[data-kind=right]")
    wrong = page.locator("[data-section=syntax] .sentence[data-kind=wrong]")
    assert (right.count(), wrong.count()) == (3, 3)
    assert page.locator("[data-kind=right] path.missed, [data-kind=right] path.chose").count() == 0
    for place in range(3):
        assert right.nth(place).locator("path.found").count() >= 1
        assert wrong.nth(place).locator("path.missed").count() >= 1
        assert wrong.nth(place).locator("path.chose").count() >= 1
        assert wrong.nth(place).locator("text.asked").count() >= 1
    for one in (wrong.first, right.last):
        one.click()
        wait_for_head(page, head, one.get_attribute("data-example"))
        words = one.locator("text").all_text_contents()
        shown = page.locator(".explorer .toks.l .tok").all_inner_texts()
        assert "".join(shown[1:-1]).replace("##", "") == "".join(words).lower()
    assert row.get_attribute("aria-selected") == "true"


def test_arcs_are_as_wide_as_attention_is_strong(open_page: Any, html: str) -> None:
    page = open_page(html)
    widths = page.locator("[data-section=syntax] .sentence path.found").evaluate_all(
        "paths => paths.map(path => Number(path.getAttribute('stroke-width')))"
    )
    assert len(set(widths)) > 1
    assert all(1.3 <= width <= 6 for width in widths)
    path = page.locator("[data-section=syntax] .sentence path.found").first
    path.dispatch_event("pointermove", {"clientX": 200, "clientY": 200})
    weight = float(page.locator(".report > .tip.on").inner_text().split()[-1])
    assert widths[0] == pytest.approx(max(1.3, 6 * weight))


def test_relations_of_few_instances_are_grey_and_open_nothing(open_page: Any, html: str) -> None:
    page = open_page(html, fragment="#head=L0H0")
    few = page.locator("[data-section=syntax] tbody tr.off", has_text="conj").first
    before = page.locator("[data-section=syntax] .cases h3").inner_text()
    few.click()
    assert few.get_by_role("button").count() == 0
    assert few.locator("td").nth(1).inner_text() == "–"
    assert page.locator("[data-section=syntax] .cases h3").inner_text() == before
    assert page.locator(".openhead h2").inner_text() == "L0H0"


def test_coreference_shows_mentions_and_opens_them(open_page: Any, html: str) -> None:
    page = open_page(html)
    section = page.locator("[data-section=coref]")
    assert section.locator("tbody").first.locator("tr").count() == 7
    section.get_by_role("button", name="L2H4", exact=True).last.click()
    assert "any word" in section.locator(".cases h3").inner_text()
    for kind in ("right", "wrong"):
        one = section.locator(f".mentions[data-kind={kind}]").first
        assert one.locator(".said.mention").count() >= 1
        assert one.locator(".said.before").count() >= 1
        assert one.locator(".said.choice").count() == 1
        assert one.locator(".said.choice.right").count() == (kind == "right")
        one.click()
        wait_for_head(page, "L2H4", one.get_attribute("data-example"))


def test_colours_follow_the_theme_and_nothing_is_wider_than_the_page(open_page: Any, html: str) -> None:
    found: set[str] = set()
    for scheme, width in (("light", 700), ("dark", 1400)):
        page = open_page(html, scheme=scheme, width=width)
        path = "[data-section=syntax] .sentence path.found"
        found.add(page.eval_on_selector(path, "path => getComputedStyle(path).stroke"))
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert len(found) == 2


def test_the_table_is_saved_as_the_command_writes_it(open_page: Any, html: str, demo: Model) -> None:
    from headscope.measures.syntax import CHOSEN, COLUMNS

    page = open_page(html)
    with page.expect_download() as download:
        page.locator("[data-section=syntax] .saves").get_by_role("button", name="CSV").click()
    with open(download.value.path(), encoding="utf-8") as file:
        lines = file.read().splitlines()
    assert lines[0].split(",") == [*COLUMNS, *CHOSEN]
    assert any(line.startswith("det,224,2,8,3-9,dep->head,") for line in lines)
