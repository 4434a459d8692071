"""Saved and shown outputs where no widget can be: a frame such as Colab's or VS Code's, and a page such as GitHub's.

None is the place itself. Each is made of what is known of it: the frame is sandboxed, of another origin, without
storage and without a widget manager, and as high as what is in it; that of VS Code has a policy of its own, takes
outputs as HTML and runs each of their scripts again as one that stands at their end and is gone at once; the page keeps
what GitHub's filter of HTML keeps.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.views import widget as widgets
from tests.helpers.patience import PATIENCE

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ORDER = ("text/html", "image/svg+xml", "image/png", "text/plain")
"""What a place without widgets shows of an output: the first that there is."""

NOTEBOOK = """<!doctype html><title>notebook</title><iframe src="https://output.test/" sandbox="allow-scripts allow-downloads"
style="width: 100%; height: 0; border: 0"></iframe><script>
addEventListener("message", ({ data }) => { document.querySelector("iframe").style.height = `${data.height}px`; });
</script>"""
TELL = """const tell = () => parent.postMessage({ height: document.documentElement.scrollHeight }, "*");
new ResizeObserver(tell).observe(document.body);"""
FRAME = f"<!doctype html><title>output</title><body><script>{TELL}</script>OUTPUTS</body>"
VS_CODE = f"""<!doctype html><title>output</title><meta http-equiv="Content-Security-Policy" content="default-src 'none';
script-src https: 'unsafe-inline' 'unsafe-eval'; style-src https: 'unsafe-inline'; img-src https: data:; font-src https:;
connect-src https:; child-src https: data: blob:"><body><template>OUTPUTS</template><script>{TELL}
const output = document.body.appendChild(document.createElement("div"));
output.innerHTML = document.querySelector("template").innerHTML;
for (const {{ textContent, type }} of output.querySelectorAll("script")) {{
  const again = Object.assign(document.createElement("script"), {{ text: textContent, type }});
  output.append(again);
  again.remove();
}}</script></body>"""

KEPT = {
    "h1", "h2", "h3", "h4", "h5", "h6", "br", "b", "i", "strong", "em", "a", "pre", "code", "img", "tt", "div", "ins", "del",
    "sup", "sub", "p", "ol", "ul", "li", "table", "thead", "tbody", "tr", "td", "th", "blockquote", "details", "summary", "span",
}  # fmt: skip
KEPT_OF = {"*": ["alt", "align", "height", "hspace", "name", "title", "width"], "a": ["href"], "img": ["src"]}


@pytest.fixture
def outputs(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], list[Mapping[str, str]]]:
    """What a cell leaves of a view."""
    display = pytest.importorskip("IPython.display")
    found: list[Mapping[str, str]] = []
    monkeypatch.setattr(display, "display", lambda data, raw: found.append(data))

    def left(view: Any) -> list[Mapping[str, str]]:
        found.clear()
        view._ipython_display_()
        return list(found)

    return left


@pytest.fixture
def views(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Any]]:
    """A view, one whose page is kept, and one where anywidget is not installed."""
    maps = hs.wrap(np.random.default_rng(0).dirichlet(np.full(4, 0.3), (2, 3, 4)), ["a", "b", "c", "d"])

    def each() -> Iterator[tuple[str, Any]]:
        yield "widget", hs.head_view(maps, layer=1, heads=[2])
        yield "kept page", hs.head_view(maps, layer=1, heads=[2]).keep_page()
        monkeypatch.setattr(widgets, "import_module", lambda name: __import__("no_such_module"))
        widgets.widget_class.cache_clear()
        yield "no anywidget", hs.head_view(maps, layer=1, heads=[2])
        widgets.widget_class.cache_clear()

    return each()


def shown(output: Mapping[str, str], clean: Callable[[str], str] = str) -> str:
    """An output as HTML, by the first kind that the place knows."""
    kind = next(kind for kind in ORDER if kind in output)
    if kind == "image/png":
        return f'<img src="data:image/png;base64,{output[kind]}">'
    return clean(output[kind]) if kind == "text/html" else f"<pre>{output[kind]}</pre>"


def answer(bodies: Mapping[str, str], route: Any) -> None:
    """Answer from what is given."""
    route.fulfill(body=bodies[route.request.url], content_type="text/html; charset=utf-8")


def complaints(page: Any) -> list[str]:
    """What a page throws from now on."""
    found: list[str] = []
    page.on("pageerror", lambda error: found.append(str(error)))
    return found


def pictures(page: Any) -> list[Any]:
    """The pictures that can be seen: no dot."""
    boxes = [(image, image.bounding_box()) for image in page.locator("img").all() if image.is_visible()]
    return [image for image, box in boxes if box and box["width"] > 50]


@pytest.mark.parametrize("place", [FRAME, VS_CODE], ids=["Colab", "VS Code"])
def test_a_frame_without_widgets_shows_the_view_or_its_picture(
    chromium: Any, outputs: Any, views: Any, place: str
) -> None:
    for kind, view in views:
        frame = place.replace("OUTPUTS", "".join(map(shown, outputs(view))))
        context = chromium.new_context(viewport={"width": 1000, "height": 1200})
        context.set_default_timeout(1000 * PATIENCE)
        bodies = {"https://notebook.test/": NOTEBOOK, "https://output.test/": frame}
        context.route("https://*.test/", partial(answer, bodies))
        page = context.new_page()
        wrong = complaints(page)
        page.goto("https://notebook.test/")
        output = page.frame_locator("iframe").first
        if kind == "no anywidget":
            inner = output.frame_locator("iframe[title=headscope]")
            inner.locator("h2", has_text="Layer 1, head 2").wait_for()
            inner.locator(".hv .toks.l .tok").first.click()
            inner.locator(".hv .toks.l .tok.pin").wait_for()
            assert pictures(output) == []
        else:
            output.locator("img").first.wait_for()
            assert len(pictures(output)) == 1
        page.wait_for_function("() => document.querySelector('iframe').clientHeight > 200")
        assert wrong == [], kind
        context.close()


def test_a_page_without_scripts_and_styles_has_the_picture_once(
    chromium: Any, outputs: Any, views: Any
) -> None:
    bleach = pytest.importorskip("bleach")

    def clean(html: str) -> str:
        html = re.sub(r"<(style|script)\b.*?</\1>", "", html, flags=re.DOTALL)
        return bleach.clean(html, KEPT, KEPT_OF, protocols=("http", "https", "data"), strip=True)

    context = chromium.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    for kind, view in views:
        page.set_content("".join(shown(output, clean) for output in outputs(view)))
        assert len(pictures(page)) == 1, kind
        assert "headscope-reopened" not in page.locator("body").inner_text()
    context.close()
