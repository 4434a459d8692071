"""Draw the picture of the report anew, as the README and the documentation show it: its first screen.

python tools/pictures.py                the report of the demo model on the built-in corpus
python tools/pictures.py REPORT.html    one that is there already

Needs playwright and a Chromium ($CHROMIUM, else the system's).
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import headscope as hs

TARGET = Path(__file__).resolve().parent.parent / "docs" / "report.png"
WIDTH, HEIGHT = 1400, 900
READY = "#headscope[data-ready]"


def draw(report: Path) -> None:
    """The first screen of a report, light."""
    with sync_playwright() as play:
        path = os.environ.get("CHROMIUM") or "/usr/bin/chromium"
        browser = play.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto(report.resolve().as_uri())
        page.wait_for_selector(READY)
        page.wait_for_function("() => !document.querySelector('.hx[data-busy]')")
        page.screenshot(path=TARGET)
        browser.close()


def main() -> None:
    """Draw the picture of the report that is named, or of one that is made."""
    if len(sys.argv) > 1:
        return draw(Path(sys.argv[1]))
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "report.html"
        made.write_text(hs.report(progress=True), encoding="utf-8")
        draw(made)


if __name__ == "__main__":
    main()
