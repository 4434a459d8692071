"""One self-contained page: the built bundle, a payload and its blobs, and no way to the network."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, cast

from headscope.core.types import AnyMapping
from headscope.errors import RunError

_GARBLING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_RAW = {"pieces", "input"}
_NUMBERS = {float, int, bool}
_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def script_json(value: Any) -> str:
    r"""JSON that may stand in a ``<script>``: ASCII only, and no character that HTML could read as markup.

    >>> script_json("</script>")
    '"\\u003c/script\\u003e"'
    """
    text = json.dumps(cleaned(value), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character, escape in _UNSAFE.items():
        text = text.replace(character, escape)
    return text


def cleaned(value: Any) -> Any:
    r"""What a page is given, its texts without what garbles it: controls, lone surrogates, overrides of direction.

    Pieces stay as they are, as pages letter them, and so does what a model reads.

    >>> cleaned({"title": "a\x00b", "pieces": ["\x00"]}) == {"title": "a\ufffdb", "pieces": ["\x00"]}
    True
    """
    if type(value) in _NUMBERS:
        return value
    if isinstance(value, str):
        return _GARBLING.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, list | tuple):
        items = cast("list[Any]", value)
        return items if _NUMBERS.issuperset(map(type, items)) else [*map(cleaned, items)]
    if isinstance(value, Mapping):
        given = cast("AnyMapping", value)
        return {key: one if key in _RAW else cleaned(one) for key, one in given.items()}
    return value


def html_text(text: str) -> str:
    """Text that may stand in HTML, in an element or an attribute."""
    return html.escape(cleaned(text))


def bundle_file(name: str) -> str:
    """A file of the built bundle. `RunError` when it was never built."""
    path = files("headscope.views") / "static" / name
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        raise RunError(
            f"the page's bundle {name} is missing from this installation: "
            "run `npm ci && npm run build` in frontend/, or install headscope again"
        ) from None


def policy(scripts: str = "script-src 'none'", more: str = "") -> str:
    """The element by which a page lets nothing load from anywhere, and no script run but these."""
    allowed = (
        f"default-src 'none'; {scripts}; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; "
        f"base-uri 'none'; form-action 'none'{more}"
    )
    return f'<meta http-equiv="Content-Security-Policy" content="{allowed}">'


def page(
    payload: AnyMapping,
    blobs: Mapping[str, str],
    *,
    bundle: str,
    title: str,
    connect: bool = False,
    worker: bool = False,
) -> str:
    """An HTML page that shows `payload` with a bundle: ``report`` means ``report.js`` and ``report.css``.

    Everything that comes from a model or a text is JSON, read as data; the policy in the page lets only its
    own script run and lets nothing load from anywhere; with `connect` it may speak to the server that it comes from,
    with `worker` run what stands in it in a worker, WebAssembly too.
    The arrays come last, in the order of `blobs`: what the first of them show is drawn while the browser still
    reads the others.
    """
    script, style = bundle_file(f"{bundle}.js"), bundle_file(f"{bundle}.css")
    if "</script" in script.lower() or "<!--" in script or "</style" in style.lower():
        raise RunError(f"the page's bundle {bundle} holds text that ends its own tag: build it again")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    runs = " 'wasm-unsafe-eval'; worker-src blob:" if worker else ""
    reached = "; connect-src 'self'" if connect else ""
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        policy(f"script-src 'sha256-{digest}'{runs}", reached),
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">\n<meta name="generator" content="headscope">',
        f'<title>{html_text(title)}</title>\n<link rel="icon" href="data:,">',
        f"<style>{style}</style>\n</head>\n<body>",
        '<div id="headscope"></div>',
        "<noscript>This page draws its figures with JavaScript, which is turned off here.</noscript>",
        f'<script type="application/json" id="headscope-payload">{script_json(payload)}</script>',
        f"<script>{script}</script>",
        *(
            f'<script type="text/plain" id="headscope-data-{html_text(name)}">{text}</script>'
            for name, text in blobs.items()
        ),
        "</body>\n</html>\n",
    ]
    return "\n".join(parts)
