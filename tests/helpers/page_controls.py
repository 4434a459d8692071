"""What a browser remembers of the reader's wish for all controls, and when a page is drawn."""

from __future__ import annotations

from typing import Any

ALL = "try { localStorage.setItem('headscope.controls', 'all') } catch {}"
"""Run before a page's own script: the page begins with all controls, not with those of a first look."""


def settled(page: Any) -> None:
    """Wait until an explorer is drawn: a new size or theme is noticed with the next frame."""
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    page.wait_for_selector(".hx:not([data-busy]):not([data-drawing])")


LIVE_DRAWN = (
    "() => { const live = document.querySelector('.live'), hx = document.querySelector('.hx');"
    " return hx && !hx.dataset.busy && !hx.dataset.drawing && !live.dataset.reading"
    " && live.classList.contains('told'); }"
)
"""Whether a live page shows what was asked, for `wait_for_function`."""


def press(page: Any, mark: Any) -> None:
    """Click the middle of an element, whatever lies over it."""
    mark.scroll_into_view_if_needed()
    box = mark.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
