"""The first ten seconds of a live page, by the clock: open it, type, switch a head off, see the answer change.

python benchmarks/first_seconds.py [-m MODEL]           behind a server
python benchmarks/first_seconds.py [-m MODEL] --page    a page that carries the model, from a file

Reports when, since the address was opened, the boxes stand there, the picture, the answer to a text that was typed, and
the answer without the open head, what both say, and how much the page moved by itself. Needs playwright and a
Chromium ($CHROMIUM, else the system's).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

import headscope as hs

SHIFTS = """window.shifts = 0;
new PerformanceObserver((list) => { for (const each of list.getEntries()) window.shifts += each.value; })
  .observe({ type: "layout-shift", buffered: true });"""
ANSWERED = """() => {
  const live = document.querySelector(".live.told"), hx = document.querySelector(".stage .hx");
  return live && hx && !live.dataset.reading && !hx.dataset.busy && !hx.dataset.drawing;
}"""
LONGEST = 120_000


def says(page: Any) -> str:
    """What the model says of each input."""
    return str(page.locator(".line").text_content()).removeprefix("The model says ")


def watch(page: Any, address: str) -> None:
    """Do what a reader does, and print when each step is seen."""
    began = time.perf_counter()

    def at(step: str) -> None:
        print(f"{time.perf_counter() - began:6.1f} s  {step}", flush=True)

    page.goto(address, wait_until="commit")
    page.wait_for_selector(".box textarea", timeout=LONGEST)
    at(f"boxes, and {page.locator('.examples button').count()} texts to try")
    page.wait_for_selector(".stage .hv .toks", timeout=LONGEST)
    at("a picture")
    page.wait_for_function(ANSWERED, timeout=LONGEST)
    at(f"says {says(page)}")
    moved = page.evaluate("() => window.shifts")
    box = page.get_by_label("Text", exact=True)
    box.click()
    page.keyboard.press("Control+End")
    page.keyboard.type(" the")
    page.evaluate("() => new Promise(requestAnimationFrame)")
    page.wait_for_function(ANSWERED, timeout=LONGEST)
    before = says(page)
    at(f"typed: says {before}")
    page.locator(".offers").get_by_role("button", name="off", exact=True).click()
    page.wait_for_function(
        "before => document.querySelector('.line').textContent !== `The model says ${before}`", arg=before
    )
    page.wait_for_function(ANSWERED, timeout=LONGEST)
    at(f"a head is off: says {says(page)}")
    print(f"moved by itself: {moved:.4f}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("-m", "--model")
    parser.add_argument("--page", action="store_true", help="a page that carries the model")
    options = parser.parse_args()
    program = os.environ.get("CHROMIUM") or next(
        path for path in ("/usr/bin/chromium-headless-shell", "/usr/bin/chromium") if Path(path).is_file()
    )
    named = [] if options.model is None else ["-m", options.model]
    call = [sys.executable, "-m", "headscope"]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        process = None
        if options.page:
            path = Path(folder) / "page.html"
            hs.explore(options.model).save(path)
            address = path.as_uri()
        else:
            process = subprocess.Popen(
                [*call, "serve", *named, "--no-browser"], stdout=subprocess.PIPE, text=True
            )
            assert process.stdout is not None
            address = process.stdout.readline().strip()
        browser = play.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.add_init_script(SHIFTS)
        watch(page, address)
        browser.close()
        if process is not None:
            process.terminate()


if __name__ == "__main__":
    main()
