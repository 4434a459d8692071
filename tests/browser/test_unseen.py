"""What has no attention map is said on the first screen of a report and of an explorer."""

from __future__ import annotations

from typing import Any

import pytest

import headscope as hs
from tests.helpers.hybrids import HYBRIDS, save_hybrid

pytestmark = [pytest.mark.browser, pytest.mark.slow]

KIND = "lfm2"
SAID = HYBRIDS[KIND][2]
TEXT = "The old house was sold in May."


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return hs.load(save_hybrid(KIND, tmp_path_factory.mktemp("hybrid") / KIND))


def above(page: Any, said: Any, figure: str) -> bool:
    """Whether a sentence stands on the first screen, above the first of what is drawn."""
    box, drawn = said.bounding_box(), page.locator(figure).first.bounding_box()
    return box["y"] >= 0 and box["y"] + box["height"] <= drawn["y"]


def test_a_report_says_it_once_above_its_figures(model: Any, open_page: Any) -> None:
    corpus = hs.corpora.texts([TEXT, "It rained."])
    page = open_page(hs.report(model, corpus, sections=["table"], examples=1))
    said = page.get_by_text(SAID).locator("visible=true")
    assert said.count() == 1
    assert above(page, said, "[data-section=summary]")


def test_an_explorer_says_it_above_its_pictures(model: Any, open_page: Any) -> None:
    page = open_page(hs.view(model, TEXT).html())
    said = page.get_by_text(SAID).locator("visible=true")
    assert said.count() == 1
    assert above(page, said, ".hx .main")
