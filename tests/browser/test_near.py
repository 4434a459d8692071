"""Two texts that are read apart on a page: what a pointed word shows, and what a press keeps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import headscope as hs
from headscope.analyses.similar import statistics
from tests.analyses.similar.test_readers import TEXT, clip
from tests.helpers.small_models import sharpen, small_bert
from tests.helpers.small_tokenizers import demo


@pytest.mark.slow
def test_a_pointed_word_shows_its_lines_and_a_press_keeps_them(open_page: Callable[..., Any]) -> None:
    model = small_bert(demo())
    found = hs.similar(
        model, "The bill came <b>late</b>.", ["Payment was due. It came late.", "A cat sat."], chance=False
    )
    page = open_page(found.view().html())
    first: Any = statistics.pairs(found)
    first = first[first["input"] == 0]
    assert page.locator("button.unit").count() == len({*first["unit_a"]}) + len({*first["unit_b"]})
    late = page.locator("button.unit[aria-label^='A: late']")
    numbers = "all => all.map(e => e.textContent).filter(text => /^[+−]/.test(text))"
    assert page.locator(".drawing text").evaluate_all(numbers) == []
    late.hover()
    assert "Without “late” it is" in page.locator(".near .sub").first.inner_text()
    shown = page.locator(".drawing text").evaluate_all(numbers)
    assert len(shown) == 1 + len({*first["unit_b"]})
    page.mouse.move(5, 5)
    assert page.locator(".drawing text").evaluate_all(numbers) == []
    late.click()
    page.mouse.move(5, 5)
    assert late.get_attribute("aria-pressed") == "true"
    assert late.evaluate("button => button.matches(':focus')")
    assert page.locator(".drawing text").evaluate_all(numbers) == shown
    page.get_by_label("Document").select_option(index=1)
    assert page.locator("button.unit[aria-pressed=true]").count() == 0
    last = str(found["text_b"].values[1]).split()[1]
    assert page.locator(f"button.unit[aria-label^='B: {last}']").count() == 1
    assert page.locator(".near b").count() == 0  # what texts say is no markup


@pytest.mark.slow
def test_a_pointed_patch_shades_words(open_page: Callable[..., Any], tmp_path: Path) -> None:
    from PIL import Image

    torch.manual_seed(0)
    module, processor = clip()
    sharpen(module)
    Image.effect_noise((80, 60), 50).save(tmp_path / "noise.png")
    found = hs.similar(hs.load((module.eval(), processor)), TEXT, str(tmp_path / "noise.png"))
    page = open_page(found.view().html())
    words = page.locator("button.unit[aria-label^='A: ']")
    patches = page.locator("button.unit[aria-label^='B: patch']")
    assert (words.count(), patches.count()) == (4, 16)
    assert page.locator(".drawing image").count() == 1
    picture = page.locator(".drawing svg svg").first.bounding_box()
    last = patches.last.bounding_box()
    assert last["x"] + last["width"] <= picture["x"] + picture["width"] + 1
    assert last["y"] + last["height"] == pytest.approx(picture["y"] + picture["height"], abs=1)
    patches.last.click()
    page.mouse.move(5, 5)
    assert page.locator(".drawing text").count() == 2 + 2 * 4  # A and B, and each word with its figure
    assert "Without “patch[3,3]” it is" in page.locator(".near .sub").first.inner_text()
