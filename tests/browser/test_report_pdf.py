"""The report on paper: what a browser prints of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pypdf
import pytest

from headscope.views.pdf import print_page
from tests.helpers.report_sample import dataset, example, report_page
from tests.helpers.report_whole import whole_report

pytestmark = pytest.mark.browser

A4 = (595, 842)


@pytest.fixture(scope="module")
def html() -> str:
    return whole_report()


@pytest.fixture(scope="module")
def printed(program: Path, html: str, tmp_path_factory: pytest.TempPathFactory) -> pypdf.PdfReader:
    """The page printed by the browser of these tests."""
    output = tmp_path_factory.mktemp("pdf") / "report.pdf"
    print_page(html, output, program)
    return pypdf.PdfReader(output)


def text_of(pdf: pypdf.PdfReader) -> str:
    return re.sub(r"\s+", " ", " ".join(page.extract_text() for page in pdf.pages))


def test_every_section_is_there_as_text_on_a4(open_page: Any, html: str, printed: pypdf.PdfReader) -> None:
    page = open_page(html)
    titles = page.locator(".page h1, .page h2").all_inner_texts()
    commands = page.locator(".again code").all_inner_texts()
    assert len(titles) > 10
    assert len(printed.pages) > 3
    for one in printed.pages:
        assert abs(one.mediabox.width - A4[0]) < 1
        assert abs(one.mediabox.height - A4[1]) < 1
    text = text_of(printed)
    for part in (*titles, *commands):
        assert part in text
    first = printed.pages[0].extract_text()
    assert titles[0] in first
    assert "file:" not in text
    assert "Choose a" not in text
    assert f"1 / {len(printed.pages)}" in first
    outline = [str(entry.title) for entry in _flat(printed.outline)]
    assert [title for title in titles if title not in outline] == []


def _flat(outline: list[Any]) -> list[Any]:
    found: list[Any] = []
    for entry in outline:
        found += _flat(entry) if isinstance(entry, list) else [entry]
    return found


def test_what_is_folded_or_scrolled_on_the_screen_is_printed(html: str, printed: pypdf.PdfReader) -> None:
    text = text_of(printed)
    assert "because" in text  # where a bar comes from: folded
    heads = text.split("All heads, all figures", 2)[2]
    data = dataset()
    for name in ("previous", "entropy"):
        for value in data[name].values.ravel():
            shown = f"{value:.3f}".lstrip("0") if name == "previous" else f"{value:.2f}"
            assert shown in heads
    assert "show this head" not in text
    for word in ("CSV", "Parquet", "Page of this head", "Download"):
        assert word not in text


def test_contents_lead_to_their_sections(open_page: Any, html: str, printed: pypdf.PdfReader) -> None:
    entries = open_page(html).locator(".contents a").all_inner_texts()
    links = [
        annotation.get_object()
        for annotation in printed.pages[0].get("/Annots", [])
        if annotation.get_object()["/Subtype"] == "/Link"
    ]
    targets = {str(link["/Dest"]) for link in links if "/Dest" in link}
    assert len(targets) == len(entries)
    assert {target.lstrip("/") for target in targets} <= {
        name.lstrip("/") for name in printed.named_destinations
    }


def test_nothing_is_a_picture_of_pixels(printed: pypdf.PdfReader) -> None:
    assert sum(len(page.images) for page in printed.pages) == 0


def test_a_page_in_the_dark_prints_light_and_is_dark_again(open_page: Any, html: str) -> None:
    page = open_page(html, scheme="dark", fragment="#theme=dark")
    before = page.locator(".plot svg").first.get_attribute("width")
    assert page.locator("details[open]:not(.more)").count() == 0
    page.set_viewport_size({"width": 688, "height": 1000})
    page.emulate_media(media="print")
    page.wait_for_selector("#headscope[data-theme=light]")
    assert page.locator("details:not([open])").count() == 0
    assert page.locator(".plot svg").first.get_attribute("width") != before
    for gone in ("aside", ".saves", "canvas", ".ring", "input", ".ctl", ".topbar .right"):
        assert page.locator(gone).locator("visible=true").count() == 0, gone
    wide = page.locator(".page svg, .page table, .page img").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect()).filter(box => box.width > 0)"
        ".map(box => box.right - document.querySelector('.page').getBoundingClientRect().left)"
    )
    assert max(wide) <= 688
    page.emulate_media(media="screen")
    page.set_viewport_size({"width": 1400, "height": 900})
    page.wait_for_selector("#headscope[data-theme=dark]")
    page.wait_for_function(
        "width => document.querySelector('.plot svg').getAttribute('width') === width", arg=before
    )
    assert page.locator("details[open]:not(.more)").count() == 0
    assert page.locator(".grid > svg").first.is_visible()
    assert page.locator(".allheads").count() == 0


def test_heads_of_a_large_model_are_as_many_as_are_read(open_page: Any) -> None:
    page = open_page(report_page(dataset(24, 16), [example(24, 16, list("abc"))]))
    page.emulate_media(media="print")
    page.wait_for_selector(".allheads")
    assert page.locator(".allheads tbody tr").count() == 200
    assert "hold 184 more" in page.locator(".allheads .dim.paper").first.inner_text()
