"""Explorer pages of a thousand heads and more: bytes, seconds until drawn, milliseconds of interactions.

python benchmarks/thousand_heads.py [L,H,N ...] [--scale 2] [--keep FOLDER]

The maps are made, of the kinds that heads of language models have (previous token, sink, diffuse, induction stripes,
what stands near), with noise, so that they compress and draw like real ones. An interaction is timed from the event to
the first frame after it that is painted, and again until nothing is left to draw.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import re
import statistics
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

SIZES = [(32, 32, 1024), (48, 40, 512)]
BUDGETS = {"drawn s": 2.0, "interaction ms": 100.0}
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
TEXT = Path(__file__).resolve().parents[1] / "src/headscope/corpora/data/builtin.txt"
KINDS = ("hover", "pin", "head", "layer", "grid", "model", "measure", "sort", "filter", "lines", "zoom")
TIMES = 6
PAINTED = """async ([kind, times]) => {
  const root = document.querySelector(".hx");
  const painted = () => new Promise(done => requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = done;
    port2.postMessage(0);
  }));
  const busy = () => root.dataset.busy !== undefined || root.dataset.drawing !== undefined;
  const calm = async () => { do await painted(); while (busy()); };
  const all = selector => [...root.querySelectorAll(selector)].filter(e => e.offsetParent !== null);
  const middle = e => { const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; };
  const fire = (e, type, [clientX, clientY] = middle(e)) =>
    e.dispatchEvent(new PointerEvent(type, { bubbles: true, detail: 1, clientX, clientY }));
  const cell = i => {
    const { x, y, width, height } = root.querySelector(".gridbox canvas").getBoundingClientRect();
    return [x + width * ((i * 7 + 3) % 29) / 29, y + height * ((i * 5 + 2) % 23) / 23];
  };
  const set = change => new Promise(done => {
    window.addEventListener("hashchange", done, { once: true });
    window.location.hash = change;
  });
  const { measures } = JSON.parse(document.getElementById("headscope-payload").textContent).views[0].inputs[0].parts[0];
  const acts = {
    hover: i => fire(all(".toks.l .tok")[3 + i % 12].firstChild, "pointerover"),
    pin: i => fire(all(".toks.l .tok")[3 + i % 12].firstChild, "click"),
    head: i => set(`heads=${3 + i}`),
    layer: i => set(`layer=${i % 2 ? 9 + i : 3 + i}`),
    grid: i => fire(root.querySelector(".gridbox canvas"), "pointermove", cell(i)),
    model: i => set(i % 2 ? "scale=head" : "scale=model"),
    measure: i => set(`scale=model&measure=${measures[i % measures.length].name}`),
    sort: i => set(`scale=model&measure=${measures[0].name}&sort=${i % 2 === 0}`),
    filter: i => set(`special=${i % 2 === 1}`),
    lines: i => set(`draw=${i % 2 ? "heat" : "lines"}`),
    zoom: i => set(`zoom=${10 + i},${60 + i},${10 + i},${60 + i}`),
  };
  const first = [], whole = [];
  for (let i = 0; i < times; i++) {
    await calm();
    const from = performance.now();
    await acts[kind](i);
    await painted();
    first.push(performance.now() - from);
    await calm();
    whole.push(performance.now() - from);
  }
  return [first, whole];
}"""


def head(kind: int, tokens: int, repeat: int, draw: np.random.Generator) -> Any:
    """A causal map ``[query key]`` of one kind of head."""
    at = np.arange(tokens)
    behind = at[:, None] - at[None, :]
    scores = draw.normal(0, 1, (tokens, tokens)).astype(np.float32)
    if kind == 0:  # previous token
        scores += 7 * (behind == 1)
    elif kind == 1:  # sink
        scores[:, 0] += 10
    elif kind == 2:  # induction: what followed this token before
        scores += 8 * (behind % repeat == repeat - 1)
        scores[:, 0] += 5
    elif kind == 3:  # what stands near
        scores -= np.abs(behind) / (4 + 28 * draw.random())
    scores[behind < 0] = -np.inf  # kind 4: diffuse
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    return scores / scores.sum(-1, keepdims=True)


def maps_of(layers: int, heads: int, tokens: int) -> Any:
    """Maps ``[layer head query key]`` in which sinks and induction come more often in later layers."""
    import headscope as hs
    from headscope.core.tokens import Tokens

    draw = np.random.default_rng(0)
    early, late = (0.3, 0.1, 0.02, 0.4, 0.18), (0.06, 0.55, 0.12, 0.15, 0.12)
    weights: list[Any] = []
    for layer in range(layers):
        shares = early if layer < layers / 4 else late
        kinds = draw.choice(5, heads, p=shares)
        weights.append(np.stack([head(kind, tokens, tokens // 4, draw) for kind in kinds]))
    words = (TEXT.read_text(encoding="utf-8").split() * 9)[: tokens - 1]
    axis = Tokens(["<s>", *words], special_mask=np.arange(tokens) == 0)
    return hs.AttentionMaps(weights, axis, axis, causal=True, meta={"model": "made/thousand-heads"})


def build(size: tuple[int, ...], path: Path) -> dict[str, Any]:
    from headscope.views.explorer import Input, explorer_page

    one = Input({"self": maps_of(size[0], size[1], size[2])}, "prose")
    begun = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path.write_text(explorer_page([one]), encoding="utf-8")
    return {"MB": path.stat().st_size / 1e6, "Python s": time.perf_counter() - begun}


def refresh(path: Path) -> dict[str, Any]:
    """Put the front end as it is built now into a page that was kept."""
    from headscope.views.page import bundle_file

    page, script, style = (
        path.read_text(encoding="utf-8"),
        bundle_file("explorer.js"),
        bundle_file("explorer.css"),
    )
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    # The front end stands before the arrays, which are nearly all of the page.
    head, arrays = page[: page.index('id="headscope-data-')], page[page.index('id="headscope-data-') :]
    head = re.sub(r"script-src 'sha256-[^']*'", lambda _: f"script-src 'sha256-{digest}'", head)
    head = re.sub(r"<style>.*?</style>", lambda _: f"<style>{style}</style>", head, flags=re.DOTALL)
    head = re.sub(r"<script>.*?</script>", lambda _: f"<script>{script}</script>", head, flags=re.DOTALL)
    path.write_text(head + arrays, encoding="utf-8")
    return {"MB": path.stat().st_size / 1e6}


def measure(browser: Any, path: Path, scale: float) -> dict[str, Any]:
    context = browser.new_context(
        viewport={"width": 1400, "height": 900}, device_scale_factor=scale, offline=True
    )
    context.set_default_timeout(300_000)
    page = context.new_page()
    page.goto(path.as_uri(), timeout=300_000, wait_until="commit")
    page.wait_for_selector("#headscope[data-ready]")
    row: dict[str, Any] = {"drawn s": int(page.get_attribute("#headscope", "data-drawn")) / 1000}
    page.wait_for_load_state()
    row["loaded s"] = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd") / 1000
    paints = "performance.getEntriesByType('paint').map(paint => paint.startTime)"
    row["first paint s"] = min(page.evaluate(paints), default=float("nan")) / 1000
    page.evaluate("location.hash = 'picture=lines'")  # a long input opens as a matrix
    page.wait_for_selector(".toks.l .tok")
    for kind in KINDS:
        first, whole = page.evaluate(PAINTED, [kind, TIMES])
        row[kind] = f"{statistics.median(first):.0f} ({max(first):.0f}), {statistics.median(whole):.0f}"
    context.close()
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("sizes", nargs="*", help="L,H,N")
    parser.add_argument("--scale", type=float, default=1.0, help="device pixels a CSS pixel")
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="FOLDER",
        help="keep the pages, and put today's front end into those that are there",
    )
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright

    chromium = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    sizes = [tuple(map(int, size.split(","))) for size in options.sizes] or SIZES
    with sync_playwright() as play, tempfile.TemporaryDirectory() as temporary:
        for size in sizes:
            path = Path(options.keep or temporary) / f"{'x'.join(map(str, size))}.html"
            row = refresh(path) if path.exists() else build(size, path)
            browser = play.chromium.launch(executable_path=chromium, args=FLAGS)
            row |= measure(browser, path, options.scale)
            browser.close()
            print(" × ".join(map(str, size)))
            for name, value in row.items():
                print(
                    f"  {name:14} {value:.2f}" if isinstance(value, float) else f"  {name:14} {value}",
                    flush=True,
                )
    print("interactions in ms: to the first frame, median (largest), to the last; " + str(BUDGETS))


if __name__ == "__main__":
    main()
