from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from headscope.errors import RunError
from headscope.views import page as page_module
from headscope.views.page import bundle_file, cleaned, html_text, page, script_json

BUNDLE = {"report.js": "console.log('1 < 2')", "report.css": "a > b { color: red }"}


@pytest.fixture(autouse=True)
def bundle(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(page_module, "bundle_file", BUNDLE.__getitem__)


class Reader(HTMLParser):
    """The elements of a page, and the text of each script."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.scripts: list[str] = []
        self.title = ""
        self.open = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open = tag
        self.attributes += attrs
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.open == "script":
            self.scripts[-1] += data
        if self.open == "title":
            self.title += data

    def handle_endtag(self, tag: str) -> None:
        self.open = ""


ATTACKS = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]>",
    "\u2028\u2029",
    "\x00",
    "\ud800",
    "${alert(1)} {title} %s \\1",
    "</title><img src=x onerror=alert(1)>",
    '" onload="alert(1)',
]


@pytest.mark.parametrize("text", ATTACKS)
def test_data_stays_data(text: str):
    payload: dict[str, Any] = {"pieces": [text], text: 1}
    html = page(payload, {"0": "AAAA"}, bundle="report", title=text)
    html.encode("utf-8")
    reader = Reader(html)
    assert reader.tags.count("script") == 3
    assert "img" not in reader.tags
    assert json.loads(reader.scripts[0]) == payload
    assert reader.scripts[2] == "AAAA"
    assert reader.title == cleaned(text)
    assert not any(name.startswith("on") for name, _ in reader.attributes)


def test_script_json_is_ascii_without_markup():
    text = script_json({"a": "<>&\u2028é"})
    assert text.isascii()
    assert not set("<>&") & set(text)
    assert json.loads(text) == {"a": "<>&\u2028é"}


def test_script_json_refuses_what_json_has_not():
    with pytest.raises(ValueError, match="not JSON compliant"):
        script_json(float("nan"))


def test_only_its_own_script_runs_and_nothing_loads():
    html = page({}, {}, bundle="report", title="t")
    found = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert found
    policy = dict(part.strip().split(" ", 1) for part in found[1].split(";"))
    digest = base64.b64encode(hashlib.sha256(BUNDLE["report.js"].encode()).digest()).decode()
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == f"'sha256-{digest}'"
    assert policy["font-src"] == "data:"
    assert html.index("Content-Security-Policy") < html.index("<style>")
    assert re.findall(r"(?:src|href)=\S*", html) == [
        'href="data:,">'
    ]  # the icon, or else a browser asks for one


def test_titles_lose_what_garbles_a_page():
    assert cleaned("a\u202eb\x00\ud800é👩‍👧\n") == "a\ufffdb\ufffd\ufffdé👩‍👧\n"
    assert html_text('<a b="c">') == "&lt;a b=&quot;c&quot;&gt;"


@pytest.mark.parametrize("script", ["a = '</script>'", "x<!--y"])
def test_a_bundle_that_ends_its_own_tag_is_refused(script: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(BUNDLE, "report.js", script)
    with pytest.raises(RunError, match="bundle report holds text that ends its own tag"):
        page({}, {}, bundle="report", title="t")


def test_a_bundle_that_was_never_built_says_how_to_build_it():
    with pytest.raises(RunError, match=r"bundle nothing\.js is missing .* npm run build"):
        bundle_file("nothing.js")
