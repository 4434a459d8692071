"""The live page: from a key press to the picture, and the memory of the server over many inputs.

python benchmarks/live.py [-m MODEL] [--inputs 2000]
python benchmarks/live.py [-m MODEL] --page          a page that carries the model, from a file, in place of the server

A key is pressed in a real Chromium; the clock stops when the picture of the new text is drawn, every layer of it.
Reports the median and the 90th percentile over 40 keys, up to some 25 and 128 tokens, and the resident memory of the
server as inputs go by. Needs playwright and a Chromium ($CHROMIUM, else the system's).
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

TEXT = (
    "The old house on the hill was sold last spring to a family from the city, who wanted a garden for the children "
    "and a quiet room in which to work, and who had looked at it twice before in the rain. "
)
KEYS = 40
TYPE = """async (letter) => {
  const box = document.querySelector(".box textarea");
  const count = document.querySelector(".count");
  const live = document.querySelector(".live");
  const before = document.querySelector(".hv .toks.r");
  const began = performance.now();
  box.value += letter;
  box.dispatchEvent(new Event("input", { bubbles: true }));
  while (true) {
    await new Promise(requestAnimationFrame);
    const hx = document.querySelector(".hx");
    const now = document.querySelector(".hv .toks.r");
    if (now !== before && !live.dataset.reading && !hx.dataset.busy && !hx.dataset.drawing) break;
    if (performance.now() - began > 20000) throw new Error("nothing is drawn");
  }
  return [performance.now() - began, parseInt(count.textContent)];
}"""


def resident(process: subprocess.Popen[str]) -> float:
    """The memory of a process in MB."""
    text = Path(f"/proc/{process.pid}/status").read_text()
    return int(text.split("VmRSS:")[1].split()[0]) / 1024


def typed(page: Any, address: str, text: str) -> None:
    """Time keys at the end of a text."""
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector(".box textarea", timeout=120_000)
    page.get_by_label("Text", exact=True).fill(text)
    page.wait_for_selector(".live.told", timeout=120_000)
    page.wait_for_function(
        "() => !document.querySelector('.hx[data-busy], .hx[data-drawing], .live[data-reading]')"
    )
    times: list[float] = []
    tokens = 0
    for number in range(KEYS):
        milliseconds, tokens = page.evaluate(TYPE, "abcdefgh "[number % 9])
        times.append(milliseconds)
    times.sort()
    print(
        f"{tokens} tokens: key press to picture {statistics.median(times):.0f} ms (median), "
        f"{times[int(0.9 * KEYS)]:.0f} ms (90th percentile)"
    )


def standalone(call: list[str]) -> None:
    """The same of a page that carries its model, and how long it takes until it can be typed in."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        path = Path(folder) / "page.html"
        began = time.perf_counter()
        subprocess.run([*call, "-o", str(path)], check=True, stdout=subprocess.DEVNULL)
        print(f"written in {time.perf_counter() - began:.0f} s: {path.stat().st_size / 1e6:.1f} MB")
        browser = play.chromium.launch(
            executable_path=os.environ.get("CHROMIUM") or "/usr/bin/chromium",
            args=["--no-sandbox", "--disable-gpu"],
        )
        page = browser.new_page(viewport={"width": 1440, "height": 940})
        began = time.perf_counter()
        page.goto(path.as_uri())
        page.wait_for_selector(".hx .toks.r", timeout=120_000)
        print(f"first picture after {time.perf_counter() - began:.1f} s", end=", ")
        page.wait_for_selector(".live.told", timeout=120_000)
        print(f"model ready after {time.perf_counter() - began:.1f} s")
        for repeated, cut in ((1, 36), (1, 90), (3, 500)):
            typed(page, path.as_uri(), (TEXT * repeated)[:cut])
        browser.close()


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-m", "--model")
    parser.add_argument("--inputs", type=int, default=2000)
    parser.add_argument("--page", action="store_true")
    given = parser.parse_args()
    named = ["-m", given.model] if given.model else []
    command = [sys.executable, "-c", "from headscope.cli import main; main()"]
    if given.page:
        standalone([*command, "view", "The cat sat.", "--live", *named])
        return
    call = [*command, "serve", "--no-browser", *named]
    served = subprocess.Popen(call, stdout=subprocess.PIPE, text=True)
    assert served.stdout is not None
    address = served.stdout.readline().strip()
    with sync_playwright() as play:
        path = os.environ.get("CHROMIUM") or "/usr/bin/chromium"
        browser = play.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1440, "height": 940})
        for repeated, cut in ((1, 36), (3, 500)):
            typed(page, address, (TEXT * repeated)[:cut])
        sizes: list[float] = []
        steps = 10
        for step in range(steps + 1):
            sizes.append(resident(served))
            if step < steps:
                page.evaluate(
                    f"async () => {{ const type = {TYPE}; const box = document.querySelector('.box textarea');"
                    f" for (let k = 0; k < {given.inputs // steps}; k++)"
                    " { if (box.value.length > 300) box.value = 'Again'; await type('abc '[k % 4]); } }"
                )
        print(
            f"memory of the server over {given.inputs} inputs: {', '.join(f'{size:.0f}' for size in sizes)} MB"
        )
        browser.close()
    served.send_signal(signal.SIGINT)
    served.wait()


if __name__ == "__main__":
    main()
