"""Explorer pages of large models of vision: bytes, seconds until drawn, milliseconds of interactions.

python benchmarks/picture_page.py [L,H,SIDE ...] [--prefix 1] [--scale 2] [--keep FOLDER]

SIDE × SIDE patches: 24,16,37 is DINOv2-L at 518 pixels. The maps are made on a drawn picture, of the kinds that heads
of models of vision have (what stands near, what looks alike, rows and columns, [CLS] as a sink, diffuse), with
noise, so
that they compress and draw like real ones. An interaction is timed from the event to the first frame after it that is
painted, and again until nothing is left to draw.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from thousand_heads import FLAGS, refresh

SIZES = [(24, 16, 37), (12, 12, 14), (24, 16, 24)]
BUDGETS = {"drawn s": 2.0, "interaction ms": 100.0}
KINDS = (
    "hover", "patch", "token", "mean", "head", "layer", "strip", "heads", "smooth", "opacity", "rollout", "grid",
    "model",
)  # fmt: skip
TIMES = 8
DISTINCT = 4
"""So many layers are made; the others are these with their heads in another order, and weigh as much in a page."""
PAINTED = """async ([kind, times]) => {
  const root = document.querySelector(".hx");
  const painted = () => new Promise(done => requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = done;
    port2.postMessage(0);
  }));
  const busy = () => root.dataset.busy !== undefined || root.dataset.drawing !== undefined;
  const calm = async () => { do await painted(); while (busy()); };
  const from = root.querySelector('.board[data-end="from"] canvas');
  const at = (canvas, i) => {
    const { x, y, width, height } = canvas.getBoundingClientRect();
    return [x + width * (((i * 7 + 3) % 29) + 0.5) / 29, y + height * (((i * 5 + 2) % 23) + 0.5) / 23];
  };
  const fire = (element, type, [clientX, clientY] = [0, 0]) =>
    element.dispatchEvent(new PointerEvent(type, { bubbles: true, detail: 1, clientX, clientY }));
  const set = change => new Promise(done => {
    window.addEventListener("hashchange", done, { once: true });
    window.location.hash = change;
  });
  const press = selector => fire([...root.querySelectorAll(selector)].find(e => e.offsetParent !== null), "click");
  const slide = (selector, value) => {
    const input = root.querySelector(selector);
    input.value = value;
    input.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const layers = [...root.querySelectorAll(".layers button")];
  const acts = {
    hover: i => fire(from, "pointermove", at(from, i)),
    patch: i => fire(from, "click", at(from, i)),
    token: i => press(`.board[data-end="from"] .others [data-place="0"]`),
    mean: i => press(`.board[data-end="from"] .mean:nth-child(${1 + i % 2})`),
    head: i => set(`pin=from,${3 + i}&heads=${3 + i}`),
    layer: i => set(`pin=from,7&layer=${i % 2 ? Math.min(layers.length - 1, 3 + i) : i}&heads=2`),
    strip: i => fire(layers[(i * 5 + 1) % layers.length], "click"),
    heads: i => set(`heads=${[...Array(i % 2 ? 6 : 16).keys()].join()}`),
    smooth: i => press(".looks .switch"),
    opacity: i => slide(".looks input[type=range]", 10 + i),
    rollout: i => press(".looks .switch:last-of-type"),
    grid: i => fire(root.querySelector(".gridbox canvas"), "pointermove", at(root.querySelector(".gridbox canvas"), i)),
    model: i => set(i % 2 ? "scale=head" : "scale=model"),
  };
  const first = [], whole = [];
  for (let i = 0; i < times; i++) {
    await calm();
    const begun = performance.now();
    await acts[kind](i);
    await painted();
    first.push(performance.now() - begun);
    await calm();
    whole.push(performance.now() - begun);
  }
  return [first, whole];
}"""


def scene(size: int = 518) -> Any:
    """A picture ``[row column 3]``: sky, hills, a sun and a tree, with grain."""
    draw = np.random.default_rng(0)
    down, across = np.mgrid[0:size, 0:size] / size
    pixels = np.stack([0.45 + 0.3 * down, 0.65 + 0.2 * down, 0.92 - 0.1 * down], -1)
    ground = down > 0.6 + 0.06 * np.sin(7 * across)
    pixels[ground] = (0.45, 0.62, 0.34)
    for x, y, radius, colour in (
        (0.8, 0.2, 0.09, (0.98, 0.86, 0.4)),
        (0.3, 0.45, 0.16, (0.2, 0.42, 0.22)),
        (0.62, 0.78, 0.08, (0.75, 0.2, 0.2)),
    ):
        pixels[(across - x) ** 2 + (down - y) ** 2 < radius**2] = colour
    grain = draw.normal(0, 0.02, pixels.shape)
    return np.clip(255 * (pixels + grain), 0, 255).astype(np.uint8)


def head(kind: int, side: int, prefix: int, seen: Any, draw: np.random.Generator) -> Any:
    """A map ``[query key]`` of one kind of head; `seen` is ``[patch feature]``."""
    tokens = prefix + side * side
    row, column = np.divmod(np.arange(side * side), side)
    scores = draw.normal(0, 0.7, (tokens, tokens)).astype(np.float32)
    inner = scores[prefix:, prefix:]
    if kind == 0:  # what stands near, perhaps a step away
        step = draw.integers(-2, 3, 2)
        apart = (row[:, None] - row + step[0]) ** 2 + (column[:, None] - column + step[1]) ** 2
        inner -= apart / draw.uniform(2, 60)
    elif kind == 1:  # what looks alike
        mixed = seen @ draw.normal(0, 1, (seen.shape[1], 8))
        inner += draw.uniform(0.5, 3) * mixed @ mixed.T / 8
    elif kind == 2:  # the same row or column
        inner += 3 * (row[:, None] == row) if draw.random() < 0.5 else 3 * (column[:, None] == column)
    elif kind == 3:  # a sink
        scores[:, 0] += 9
    scores = np.exp(scores - scores.max(-1, keepdims=True))  # kind 4: diffuse
    return scores / scores.sum(-1, keepdims=True)


def maps_of(layers: int, heads: int, side: int, prefix: int) -> Any:
    """Maps in which heads that look near come early, and sinks late."""
    import headscope as hs

    draw = np.random.default_rng(0)
    pixels = scene()
    at = np.linspace(0, len(pixels) - 1, side).astype(int)
    seen = pixels[np.ix_(at, at)].reshape(-1, 3) / 255 - 0.5
    seen = np.concatenate([seen, np.abs(seen)], -1)
    made: list[Any] = []
    for place in range(min(DISTINCT, layers)):
        late = place / DISTINCT
        shares = np.array([0.5 - 0.3 * late, 0.2, 0.1, 0.05 + 0.3 * late, 0.15])
        kinds = draw.choice(5, heads, p=shares / shares.sum())
        made.append(np.stack([head(kind, side, prefix, seen, draw) for kind in kinds]))
    whole = [np.roll(made[layer * DISTINCT // layers], layer, 0) for layer in range(layers)]
    names = ["[CLS]", *(f"register {number}" for number in range(prefix - 1))]
    axis = hs.Grid(side, side, names, hs.Picture(pixels, "a picture"))
    return hs.AttentionMaps(whole, axis, axis, meta={"model": "made/picture-page"})


def build(size: tuple[int, ...], prefix: int, path: Path) -> dict[str, Any]:
    import headscope as hs

    maps = maps_of(size[0], size[1], size[2], prefix)
    begun = time.perf_counter()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        hs.view(maps, scale="head").save(path)
    for each in said:
        print(f"  {each.message}")
    return {"MB": path.stat().st_size / 1e6, "Python s": time.perf_counter() - begun}


def measure(browser: Any, path: Path, scale: float) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for begins in ("model", "head"):
        context = browser.new_context(
            viewport={"width": 1400, "height": 900}, device_scale_factor=scale, offline=True
        )
        context.set_default_timeout(300_000)
        page = context.new_page()
        page.goto(f"{path.as_uri()}#scale={begins}", timeout=300_000, wait_until="commit")
        page.wait_for_selector("#headscope[data-ready]")
        row[f"drawn s ({begins})"] = int(page.get_attribute("#headscope", "data-drawn")) / 1000
        page.wait_for_load_state()
        row["loaded s"] = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd") / 1000
        if begins == "model":
            context.close()
    for kind in KINDS:
        first, whole = page.evaluate(PAINTED, [kind, TIMES])
        row[kind] = (
            f"{statistics.median(first):.0f} ({max(first):.0f}), {statistics.median(whole):.0f} ({max(whole):.0f})"
        )
    context.close()
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("sizes", nargs="*", help="L,H,SIDE")
    parser.add_argument(
        "--prefix", type=int, default=1, help="tokens before the patches: [CLS] and registers"
    )
    parser.add_argument("--scale", type=float, default=1.0, help="device pixels a CSS pixel")
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER",
        help="keep the pages, and put today's front end into those that are there",
    )  # fmt: skip
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright

    chromium = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    sizes = [tuple(map(int, size.split(","))) for size in options.sizes] or SIZES
    with sync_playwright() as play, tempfile.TemporaryDirectory() as temporary:
        for size in sizes:
            print(" × ".join(map(str, size)))
            path = Path(options.keep or temporary) / f"picture-{'x'.join(map(str, size))}.html"
            row = refresh(path) if path.exists() else build(size, options.prefix, path)
            browser = play.chromium.launch(executable_path=chromium, args=FLAGS)
            row |= measure(browser, path, options.scale)
            browser.close()
            for name, value in row.items():
                shown = f"{value:.2f}" if isinstance(value, float) else value
                print(f"  {name:16} {shown}", flush=True)
    print("interactions in ms: to the first frame, median (largest), to the last; " + str(BUDGETS))


if __name__ == "__main__":
    main()
