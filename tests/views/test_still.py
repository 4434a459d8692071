"""Stills as files: sizes, properties, fonts, and what cannot be drawn. What each mode draws is in test_still_*.py."""

from __future__ import annotations

import io
import re
import sys
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image
from pypdf import PdfReader

import headscope as hs
from headscope.errors import HeadscopeWarning, MissingError
from headscope.views import still

ABOUT = {"title": "Attention of <x>", "description": '{"é": "ü"}', "creator": "headscope"}


def view(*tokens: str, **state: Any) -> hs.View:
    weights = np.random.default_rng(0).dirichlet(np.ones(len(tokens)), (2, 3, len(tokens)))
    return hs.view(hs.wrap(weights, tokens), **{"scale": "head", "picture": "matrix", **state})


@pytest.fixture(scope="module")
def cat() -> hs.View:
    return view("the", "cat", "sat")


def made(of: hs.View, kind: Any = "svg", **options: Any) -> bytes:
    return still.picture(kind, of.payload, of.blobs, **options)


@pytest.mark.parametrize(("width", "pixels"), [("column", 317), ("page", 662), (2, 192)])
def test_a_width_is_that_of_the_paper(cat: hs.View, width: float | str, pixels: int) -> None:
    svg = ElementTree.fromstring(made(cat, width=width))
    assert svg.get("width") == str(pixels)
    points = PdfReader(io.BytesIO(made(cat, "pdf", width=width))).pages[0].mediabox.width
    assert float(points) == pytest.approx(pixels * 0.75)
    assert Image.open(io.BytesIO(made(cat, "png", width=width, dots=192))).width == 2 * pixels


def test_text_can_be_read_and_is_not_too_small(cat: hs.View) -> None:
    svg = made(cat, width="column", title="A title").decode()
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    assert {"A title", "the", "cat", "sat"} <= set(texts)
    assert min(float(size) for size in re.findall(r'font-size="([\d.]+)px"', svg)) >= 7 / 0.75
    pdf = PdfReader(io.BytesIO(made(cat, "pdf", title="A title"))).pages[0].extract_text()
    assert "A title" in pdf
    assert "cat" in pdf


def test_a_paper_says_in_its_caption_what_is_open(cat: hs.View) -> None:
    assert b">Layer 1, head " in made(cat)
    assert b">Layer 1, head " not in made(cat, title=None)


def test_a_file_says_what_made_it(cat: hs.View) -> None:
    words = ElementTree.fromstring(made(cat, about=ABOUT)).find("{*}metadata")
    assert {one.tag.split("}")[-1]: one.text for one in words} == ABOUT
    info = PdfReader(io.BytesIO(made(cat, "pdf", about=ABOUT))).metadata
    assert (info.title, info.subject, info.creator) == tuple(ABOUT.values())
    image = Image.open(io.BytesIO(made(cat, "png", about=ABOUT, dots=40)))
    image.load()
    expected = {"Title": ABOUT["title"], "Description": ABOUT["description"], "Software": "headscope"}
    assert image.text == expected  # type: ignore[attr-defined]


def test_the_same_state_is_the_same_picture(cat: hs.View) -> None:
    assert made(cat) == made(view("the", "cat", "sat"))


def test_a_character_without_a_font_is_named() -> None:
    with pytest.warns(HeadscopeWarning, match="no font on this machine has \U00013000: a box stands"):
        made(view("\U00013000", "a"), "png")


def test_text_is_data() -> None:
    svg = made(view("<script>alert(1)</script>", "&amp;", "\x00")).decode()
    assert "<script" not in svg
    texts = {one.text for one in ElementTree.fromstring(svg).findall(".//{*}text")}
    assert "&amp;" in texts


@pytest.mark.parametrize("library", ["py_mini_racer", "vl_convert"])
def test_what_is_missing_is_named(cat: hs.View, monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    still._context.cache_clear()
    still._converter.cache_clear()
    with pytest.raises(
        MissingError, match=rf"{library} is not installed: pip install 'headscope\[figures\]'"
    ):
        made(cat, "png")
    still._context.cache_clear()
    still._converter.cache_clear()
