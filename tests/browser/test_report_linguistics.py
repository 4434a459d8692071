"""Tables of syntax and coreference in a real page: a relation opens sentences, a sentence opens the explorer."""

from __future__ import annotations

import io
from typing import Any

import pandas as pd
import pytest

from headscope.analyses.links.coref.statistics import table
from headscope.analyses.links.syntax.statistics import CHOSEN, COLUMNS
from headscope.models import Model
from headscope.reports.page import report_page
from headscope.views.blobs import Blobs
from tests.helpers import linguistics_sample as sample
from tests.helpers.pages import saved
from tests.helpers.report_sample import dataset, example
from tests.helpers.section_blocks import rows
from tests.helpers.unfold import unfolded

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def html(demo: Model, build_once: Any) -> str:
    return build_once("linguistics", lambda: sample.of_builtin(demo))


def relation(page: Any, name: str) -> Any:
    return page.locator("[data-section=syntax] tbody tr", has=page.get_by_role("link", name=name, exact=True))


def wait_for_head(page: Any, name: str, example: str) -> None:
    page.wait_for_function(
        """([name, example]) => document.querySelector(".openhead h2").textContent === name &&
            document.querySelector("select.example").selectedIndex === Number(example) &&
            !document.querySelector(".hx[data-busy]")""",
        arg=[name, example],
    )


def test_a_relation_opens_right_and_wrong_sentences_and_these_the_explorer(open_page: Any, html: str) -> None:
    page = unfolded(open_page(html))
    row = relation(page, "obj")
    row.locator(".headname").click()
    unfolded(page)
    assert row.locator(".headname").get_attribute("aria-expanded") == "true"
    head = row.locator("td b").inner_text()
    title = page.locator("[data-section=syntax] .cases h3").inner_text()
    assert title.startswith(f"obj (object → verb): {head}")
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


def test_a_label_opens_its_sentences_and_these_the_explorer_with_gold_links(
    open_page: Any, html: str
) -> None:
    page = unfolded(open_page(html))
    section = page.locator("[data-section=links]")
    assert section.locator("tbody th").all_inner_texts() == ["all", "pronoun", "time"]
    row = section.locator("tbody tr", has=page.get_by_role("link", name="pronoun", exact=True))
    row.locator(".headname").click()
    unfolded(page)
    head = row.locator("td b").inner_text()
    assert section.locator(".cases h3").inner_text().startswith(f"pronoun: {head}")
    assert section.locator(".key span").first.inner_text() == "the link, found"
    sentence = section.locator(".sentence").first
    assert sentence.locator("text.asked").all_text_contents() == ["it"]
    assert sentence.locator("path.found, path.missed").count() >= 1
    for one in (section.locator(".sentence").last, sentence):
        one.click()
        wait_for_head(page, head, one.get_attribute("data-example"))
        assert page.locator(".goldkey").count() == 1
    assert row.get_attribute("aria-selected") == "true"
    section.locator("tbody tr").first.click()
    assert "These are all labels together" in section.locator(".cases").inner_text()


def test_relations_of_few_instances_are_grey_and_open_nothing(open_page: Any, html: str) -> None:
    page = unfolded(open_page(html, fragment="#head=L0H0"))
    few = page.locator("[data-section=syntax] tbody tr.off", has_text="conj").first
    before = page.locator("[data-section=syntax] .cases h3").inner_text()
    few.click()
    assert few.get_by_role("link").count() == 0
    assert few.locator("td").nth(1).inner_text() == "–"
    assert page.locator("[data-section=syntax] .cases h3").inner_text() == before
    assert page.locator(".openhead h2").inner_text() == "L0H0"


def test_coreference_shows_mentions_and_opens_them(open_page: Any, html: str) -> None:
    page = unfolded(open_page(html))
    section = page.locator("[data-section=coref]")
    assert section.locator("tbody").first.locator("tr").count() == 7
    section.get_by_role("link", name="L2H4", exact=True).last.click()
    unfolded(page)
    assert "any word" in section.locator(".cases h3").inner_text()
    for kind in ("right", "wrong"):
        one = section.locator(f".mentions[data-kind={kind}]").first
        assert one.locator(".said.mention").count() >= 1
        assert one.locator(".said.before").count() >= 1
        assert one.locator(".said.choice").count() == 1
        assert one.locator(".said.choice.right").count() == (kind == "right")
        one.click()
        wait_for_head(page, "L2H4", one.get_attribute("data-example"))


# --- figures that are known


def test_what_is_saved_has_the_rows_and_the_arcs(open_page: Any, html: str) -> None:
    page = open_page(html)
    section = page.locator("[data-section=syntax]")
    section.locator("tbody tr", has_text="determiner").first.click()
    section.locator(".sentence").first.wait_for()
    drawing = saved(section.locator(".saves").get_by_role("button", name="SVG"))
    arcs = section.locator(".sentence path.found, .sentence path.missed").evaluate_all(
        "all => all.map(each => each.getAttribute('d'))"
    )
    assert arcs
    assert all(f'd="{path}"' in drawing for path in arcs)
    assert "determiner" in drawing
    assert "the expected share" not in drawing  # what only a tip says
    lines = saved(section.locator(".saves").get_by_role("button", name="CSV")).splitlines()
    assert lines[0].split(",") == [*COLUMNS, *CHOSEN]
    assert any(line.startswith("det,224,2,8,3-9,dep->head,") for line in lines)


@pytest.fixture(scope="module")
def planted() -> str:
    examples = [example(pieces=["a", "dog", "ran"]), example(pieces=["the", "old", "cat"])]
    return report_page(dataset(), examples, sections=[sample.syntax(), sample.coref(), sample.probes()])


def cells(row: Any) -> list[str]:
    """The texts of a row's cells, lines parted by a bar."""
    return [" | ".join(text.split("\n")) for text in row.locator("th, td").all_inner_texts()]


def bar_of(row: Any) -> dict[str, list[float]]:
    """Where a row's bar, its interval and its baseline are, from 0 to 1."""
    return row.locator("svg.share").evaluate(
        """svg => {
            const at = (name, part) => [...svg.querySelectorAll(name)].flatMap(part);
            const number = (one, key) => Number(one.getAttribute(key));
            return {
                value: at(".value", one => [number(one, "width") / 110]),
                reach: at(".reach", one => [(number(one, "x1") - 1) / 110, (number(one, "x2") - 1) / 110]),
                base: at(".base", one => [(number(one, "x1") - 1) / 110]),
            };
        }"""
    )


def test_rows_of_relations_say_what_was_found(open_page: Any, planted: str) -> None:
    page = unfolded(open_page(planted))
    body = page.locator("[data-section=syntax] tbody")
    found = {texts[0]: (texts, row) for row in body.locator("tr").all() for texts in [cells(row)]}
    labels = ["det determiner → noun", "nsubj subject → verb", "csubj subject clause → verb"]
    assert list(found) == ["all", "all but punct, root", *labels, "prep", "pobj"]
    found |= dict(zip(("det", "nsubj", "csubj"), map(found.get, labels), strict=True))
    det, own = found["det"]
    assert det[1:3] == ["41", "L1H2 2-3 | dep→head"]
    assert det[4:7] == ["1 | .914 – 1", "1 | .914 – 1", ".512 | at +1"]
    assert det[8] == ".943 | det 8-11"
    assert own.locator("td").last.get_attribute("title") == "det: head 8-11, best offset .517 at +1"
    drawn = bar_of(own)
    assert (drawn["value"], drawn["reach"]) == ([1], [pytest.approx(0.914, abs=5e-4), 1])
    assert drawn["base"] == [pytest.approx(21 / 41)]
    nsubj, own = found["nsubj"]
    low, high = bar_of(own)["reach"]
    assert bar_of(own)["value"] == [pytest.approx(30 / 41)]
    assert nsubj[4] == f".732 | {low:.3f} – {high:.3f}".replace("0.", ".") != nsubj[5]
    info = next(row for row in rows(sample.syntax().info(Blobs()), "relations") if row["relation"] == "nsubj")
    split = [f"{info[name]:.3f}".lstrip("0") for name in ("split_accuracy", "split_low", "split_high")]
    assert nsubj[5] == "{} | {} – {}".format(*split)
    title = own.locator("td").nth(4).get_attribute("title")
    assert title.startswith(f"L0H1 was the choice {info['times']} times of 200; beside the best offset: ")
    title = found["det"][1].locator("td").nth(6).get_attribute("title")
    assert title == "p < .001"
    csubj, own = found["csubj"]
    assert csubj[1:] == ["1", "–", "", "–", "–", ".000 | at −1", "–", "–"]
    assert own.get_attribute("class") == "off"
    assert own.get_attribute("title") == "Too few instances for a best head"
    assert bar_of(own) == {"value": [], "reach": [], "base": [0]}
    assert found["prep"][0][1:] == [""] * 7 + [".667 | prep 7-4"]
    assert found["all"][0][8] == ".345 | All 7-6"
    assert "headscope syntax trees.conllu" in page.locator("[data-section=syntax]").inner_text()


def test_coreference_is_saved_as_the_command_writes_it(open_page: Any, planted: str) -> None:
    page = open_page(planted)
    text = saved(page.locator("[data-section=coref] .saves").get_by_role("button", name="CSV"))
    kinds = {"layer": "Int64", "head": "Int64", "times": "Int64", "choices": "Int64"}
    pd.testing.assert_frame_equal(
        pd.read_csv(io.StringIO(text)).astype(kinds), table(sample.coref().result), check_dtype=False
    )
