"""Size and speed of explorer pages: bytes, Python seconds, memory, seconds until drawn, milliseconds of interactions.

python benchmarks/pages.py [L,H,N ...] [--neurons] [--scale 2]
python benchmarks/pages.py --report report.html [--scale 2]    a report: bytes, seconds until drawn and printed

The maps are those of the demo model on prose (layers and heads beyond its own are those of other passages), because
uniform or random maps compress and draw like nothing real. Interactions are timed from the event to the second
animation frame after it: at 60 frames a second the floor is 33.3 ms, and one missed frame makes 50.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
import time
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import numpy as np

os.environ["HF_HUB_OFFLINE"] = "1"
SIZES = [(6, 12, 16), (12, 12, 32), (12, 12, 64), (12, 12, 128), (12, 12, 256), (24, 16, 128), (24, 16, 512)]
LONGEST = 512
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
TEXT = Path(__file__).resolve().parents[1] / "src/headscope/corpora/data/builtin.txt"
LATENCY = """async ([kind, times]) => {
  const root = document.querySelector(".hx");
  const two = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  const all = selector => [...root.querySelectorAll(selector)].filter(e => e.offsetParent !== null);
  const middle = e => { const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; };
  const fire = (e, type, [clientX, clientY] = middle(e)) =>
    e.dispatchEvent(new PointerEvent(type, { bubbles: true, detail: 1, clientX, clientY }));
  const cell = (layer, head) =>
    [middle(all(".collabels span")[head])[0], middle(all(".rowlabels span")[layer])[1]];
  const acts = {
    hover: i => fire(all(".toks.l .tok")[3 + i % 12].firstChild, "pointerover"),
    hover_key: i => fire(all(".toks.r .tok")[3 + i % 12].firstChild, "pointerover"),
    toggle: i => fire(all(".chips button")[1 + i % 5], "click"),
    layer: i => fire(all(".stepper button")[i % 8 < 4 ? 1 : 0], "click"),
    click: i => fire(root.querySelector(".gridbox canvas"), "click", cell(1 + (i * 2) % 5, i % 10)),
    filter: i => fire(all(".tools .switch")[0], "click"),
    heat_lines: i => fire(all(".seg.small button")[i % 2 ? 0 : 1], "click"),
  };
  const found = [];
  for (let i = 0; i < times; i++) {
    await two();
    const from = performance.now();
    acts[kind](i);
    await two();
    while (root.dataset.busy) await two();
    found.push(performance.now() - from);
    await new Promise(done => setTimeout(done, 60));
  }
  return found;
}"""


def maps_of(model: Any, layers: int, heads: int, tokens: int) -> tuple[Any, Any]:
    """Maps and neurons of the demo model, its passages stacked to more layers and heads than it has."""
    from headscope.attention.neurons import capture_with_neurons

    words = TEXT.read_text(encoding="utf-8").split() * 4
    stacks: list[Any] = []
    for passage in range(-(-layers // 6) * -(-heads // 12)):
        text = " ".join(words[passage * 7 : passage * 7 + tokens])
        cut = model.tokenizer(text, truncation=True, max_length=tokens, return_tensors="pt")
        stacks.append(capture_with_neurons(model, inputs=dict(cut)))
    across = -(-heads // 12)
    maps = stacks[0][0]

    def tiled(pick: Any) -> list[Any]:
        rows = []
        for layer in range(layers):
            group = stacks[(layer // 6) * across : (layer // 6 + 1) * across]
            rows.append(np.concatenate([pick(one, layer % 6) for one in group])[:heads])
        return rows

    def doubled(array: Any) -> Any:  # 64 neurons a head, as in larger models
        return np.concatenate([array, array[..., ::-1]], -1)

    from headscope.core.maps import AttentionMaps
    from headscope.core.neurons import Neurons

    whole = AttentionMaps(tiled(lambda one, layer: one[0].layers[layer]), maps.query, maps.key)
    data = Neurons(
        q=[doubled(q) for q in tiled(lambda one, layer: one[1]["self"].q[layer])],
        k=[doubled(k) for k in tiled(lambda one, layer: one[1]["self"].k[layer])],
        scaling=[64**-0.5] * layers,
        bias=[None] * layers,
        softcap=[None] * layers,
        sinks=[None] * layers,
    )
    return whole, data


def build(model: Any, size: tuple[int, int, int], neurons: bool) -> dict[str, Any]:
    from headscope.views.explorer import Input, explorer_page

    maps, data = maps_of(model, *size)
    one = Input({"self": maps}, "prose", neurons={"self": data} if neurons else {})
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        begun = time.perf_counter()
        html = explorer_page([one])
        seconds = time.perf_counter() - begun
        tracemalloc.start()
        explorer_page([one])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return {
        "html": html,
        "MB": len(html) / 1e6,
        "Python s": seconds,
        "peak MB": peak / 1e6,
        "says": str(said[0].message)[:60] if said else "",
    }


def measure(browser: Any, path: Path, scale: float) -> dict[str, Any]:
    context = browser.new_context(
        viewport={"width": 1400, "height": 900}, device_scale_factor=scale, offline=True
    )
    context.add_init_script("try { localStorage.setItem('headscope.controls', 'all') } catch {}")
    page = context.new_page()
    drawn = []
    for _ in range(3):
        page.goto("about:blank")
        page.goto(path.as_uri())
        page.wait_for_selector("#headscope[data-ready]", timeout=60000)
        drawn.append(int(page.get_attribute("#headscope", "data-drawn")) / 1000)
    row: dict[str, Any] = {"drawn s": statistics.median(drawn)}
    page.evaluate("location.hash = 'picture=lines'")  # a long input opens as a matrix
    page.wait_for_selector(".toks.l .tok")
    row["DOM"] = page.evaluate("document.querySelectorAll('*').length")
    for kind in ("hover", "hover_key", "toggle", "layer", "click", "filter", "heat_lines"):
        found = page.evaluate(LATENCY, [kind, 12])
        row[kind] = f"{statistics.median(found):.0f} ({max(found):.0f})"
    row["renderer MB"] = renderer()
    context.close()
    return row


def measure_report(browser: Any, path: Path, scale: float) -> dict[str, Any]:
    """Medians of five openings: until the sections are drawn (the load event), and until all is settled."""
    context = browser.new_context(
        viewport={"width": 1400, "height": 900}, device_scale_factor=scale, offline=True
    )
    page = context.new_page()
    drawn: list[float] = []
    settled: list[float] = []
    for _ in range(5):
        page.goto("about:blank")
        begun = time.perf_counter()
        page.goto(path.as_uri())
        page.wait_for_selector("#headscope[data-ready]", timeout=60000)
        settled.append(time.perf_counter() - begun)
        drawn.append(page.evaluate("performance.getEntriesByType('navigation')[0].loadEventStart") / 1000)
    begun = time.perf_counter()
    page.pdf(prefer_css_page_size=True)
    printed = time.perf_counter() - begun
    row: dict[str, Any] = {"MB": path.stat().st_size / 1e6, "drawn s": statistics.median(drawn)}
    row |= {"settled s": statistics.median(settled), "printed s": printed}
    row["DOM"] = page.evaluate("document.querySelectorAll('*').length")
    row["renderer MB"] = renderer()
    context.close()
    return row


def renderer() -> int:
    """Resident memory of the largest renderer that this process began."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid=,rss=,args="], capture_output=True, text=True).stdout
    found = [line.split(maxsplit=3) for line in listed.splitlines()]
    mine = {str(os.getpid())}
    while more := {pid for pid, parent, *_ in found if parent in mine} - mine:
        mine |= more
    return max(int(size) for pid, _, size, name in found if pid in mine and "type=renderer" in name) // 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("sizes", nargs="*", help="L,H,N")
    parser.add_argument("--neurons", action="store_true", help="with q and k of 64 neurons a head")
    parser.add_argument("--scale", type=float, default=1.0, help="device pixels a CSS pixel")
    parser.add_argument("--report", type=Path, metavar="FILE", help="a report instead")
    options = parser.parse_args()
    sizes = [tuple(map(int, size.split(","))) for size in options.sizes] or SIZES
    if any(tokens > LONGEST for *_, tokens in sizes):
        parser.error(
            f"the demo model reads {LONGEST} tokens: benchmarks/thousand_heads.py makes longer pages"
        )
    from playwright.sync_api import sync_playwright

    chromium = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    if options.report:
        with sync_playwright() as play:
            browser = play.chromium.launch(executable_path=chromium, args=FLAGS)
            for name, value in measure_report(browser, options.report.resolve(), options.scale).items():
                print(f"{name:12} {value:.2f}" if isinstance(value, float) else f"{name:12} {value}")
            browser.close()
        return
    import torch

    import headscope

    torch.set_num_threads(2)
    model = headscope.load()
    printed = False
    with sync_playwright() as play, tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            # A browser of its own: the memory of one page is not that of the pages before it.
            browser = play.chromium.launch(executable_path=chromium, args=FLAGS)
            row = build(model, size, options.neurons)
            path = Path(folder) / "page.html"
            path.write_text(row.pop("html"), encoding="utf-8")
            says = row.pop("says")
            row |= measure(browser, path, options.scale)
            browser.close()
            if not printed:
                names = ["L × H × N", *row]
                print("|", " | ".join(names), "|")
                print("|" + "---|" * len(names))
                printed = True
            cells = [f"{value:.2f}" if isinstance(value, float) else str(value) for value in row.values()]
            print("|", " | ".join([" × ".join(map(str, size)), *cells]), "|", says, flush=True)


if __name__ == "__main__":
    main()
