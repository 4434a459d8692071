"""Draw the pictures of the README and the documentation anew: the report's first screen, and the gallery.

python tools/pictures.py                     the report of the demo model on the built-in corpus, and the gallery
python tools/pictures.py --report FILE.html  the picture of a report that is there already
python tools/pictures.py --gallery           the gallery alone
python tools/pictures.py --planted           the pictures of planted heads on a sound, and on a text with its picture
python tools/pictures.py --live              the pictures of the live page alone
python tools/pictures.py --pictures          heads on pictures alone

Needs playwright and a Chromium ($CHROMIUM, else the system's); pngquant, where it is there, makes the files smaller.
Look at each picture before it is committed.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

import headscope as hs

DOCS = Path(__file__).resolve().parent.parent / "docs"
WIDTH, HEIGHT = 1400, 900
READY = "#headscope[data-ready]"

TWINS = (
    "The 2002 second quarter results don't include figures from our friends at Compaq.",
    "The year-ago numbers do not include figures from Compaq Computer.",
)
LOSS = (
    "The company told its friends of a loss in the second quarter.",
    "It told them of a profit a year ago.",
)
PARK = ("He was told to play at the park.", "He was at the play in the park.")
DOG = "The dog chased the cat because it was hungry."
TROPHY = "The trophy does not fit in the suitcase because it is too big."
NEAR = ("The invoice was paid three weeks late.", "Payment of the bill was delayed.")
SHORT = "Astronomers discovered a new planet."
LONG = " ".join(example.text or "" for example in hs.corpora.builtin(pack=None))


def words(count: int) -> str:
    """The first words of the built-in corpus."""
    return " ".join(LONG.split()[:count])


PICTURES: dict[str, tuple[dict[str, Any], tuple[int, int]]] = {
    "head-light": ({"text": TWINS, "layer": 2, "heads": [9], "pin": ["from", 10]}, (WIDTH, HEIGHT)),
    "heads-dark": ({"text": TWINS, "layer": 2, "heads": [5, 7, 9, 10], "pin": ["from", 10]}, (WIDTH, HEIGHT)),
    "neuron-light": (
        {"text": TWINS, "scale": "neuron", "layer": 2, "heads": [9], "pin": ["from", 10]},
        (WIDTH, HEIGHT),
    ),
    "head-phone-dark": ({"text": TWINS, "layer": 2, "heads": [9], "pin": ["from", 10]}, (390, 844)),
    "matrix-zoom-light": (
        {"text": TWINS, "layer": 2, "heads": [9], "picture": "matrix", "zoom": [8, 22, 18, 32]},
        (WIDTH, HEIGHT),
    ),
    "text-light": (
        {"text": TROPHY, "layer": 3, "heads": [1], "picture": "text", "pin": ["from", 10]},
        (WIDTH, HEIGHT),
    ),
    "links-light": (
        {"text": DOG, "layer": 4, "heads": [8], "between": [7, 2], "links": [(7, 2), (9, 7)]},
        (WIDTH, HEIGHT),
    ),
    "against-dark": (
        {"text": TWINS, "against": LOSS, "layer": 2, "heads": [9], "filter": "ab", "side": "both"},
        (WIDTH, HEIGHT),
    ),
    "difference-light": (
        {"text": PARK[0], "against": PARK[1], "side": "difference", "layer": 3, "heads": [4]},
        (WIDTH, HEIGHT),
    ),
    "model-short-light": ({"text": SHORT, "scale": "model"}, (WIDTH, HEIGHT)),
    "model-long-dark": (
        {"text": words(120), "scale": "model", "measure": "entropy", "sort": True},
        (WIDTH, HEIGHT),
    ),
    "matrix-longest-dark": (
        {"text": words(370), "layer": 1, "heads": [2], "picture": "matrix"},
        (WIDTH, HEIGHT),
    ),
    "head-longest-light": ({"text": words(370), "layer": 2, "heads": [1]}, (WIDTH, HEIGHT)),
}
"""Of each picture of the gallery what is viewed, and the size of the window; its name ends in its theme."""


SEEN: dict[str, tuple[dict[str, Any], tuple[int, int]]] = {
    "pictures-light": (
        {"scale": "head", "layer": 6, "heads": [3], "pin": ["from", 96], "rollout": True},
        (WIDTH, 780),
    ),
    "pictures-dark": (
        {"scale": "head", "layer": 0, "heads": [0, 1, 2, 3, 4, 5], "pin": ["from", 103], "smooth": True},
        (WIDTH, 860),
    ),
}
"""The same of heads on a picture of the built-in corpus."""


PLANTED: dict[str, tuple[dict[str, Any], tuple[int, int]]] = {
    "sound-light": ({"layer": 0, "heads": [0], "pin": ["from", 4], "time": 1.74}, (WIDTH, 800)),
    "sound-dark": ({"layer": 0, "heads": [0, 1, 3], "pin": ["from", 4], "span": [1.2, 2.7]}, (WIDTH, 800)),
    "textimage-light": ({"layer": 0, "heads": [0], "pin": ["from", 117]}, (WIDTH, 860)),
    "textimage-dark": ({"layer": 0, "heads": [0], "pin": ["to", 90]}, (WIDTH, 860)),
    "textimage-lines-light": (
        {"layer": 0, "heads": [0], "picture": "lines", "pin": ["from", 117]},
        (WIDTH, 780),
    ),
}
"""The same of planted heads (`planted.py`) on a sound, and on a text with its picture."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser."""
    with sync_playwright() as play:
        path = os.environ.get("CHROMIUM") or "/usr/bin/chromium"
        browser = play.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


def draw(
    browser: Browser, page_file: Path, target: Path, theme: str, size: tuple[int, int], *, whole: bool
) -> None:
    """The first screen of a saved page, or the whole of it."""
    page = browser.new_page(viewport={"width": size[0], "height": size[1]}, color_scheme=theme)  # type: ignore[arg-type]
    page.goto(page_file.resolve().as_uri())
    page.wait_for_selector(READY)
    page.wait_for_function("() => !document.querySelector('.hx[data-busy], .hx[data-drawing]')")
    page.screenshot(path=target, full_page=whole)
    page.close()
    smaller(target)


def smaller(target: Path) -> None:
    """Make a picture's file smaller, where there is something to do it with."""
    if shutil.which("pngquant"):
        subprocess.run(["pngquant", "--force", "--ext", ".png", "--speed", "1", str(target)], check=True)
    print(target)


def report(browser: Browser, folder: Path, made: str | None) -> None:
    """The picture of a report, or of one that is made."""
    place = folder / "report.html" if made is None else Path(made)
    if made is None:
        place.write_text(hs.report(progress=True), encoding="utf-8")
    draw(browser, place, DOCS / "report.png", "light", (WIDTH, HEIGHT), whole=False)


def gallery(browser: Browser, folder: Path) -> None:
    """The pictures of the gallery."""
    model = hs.load()
    for name, (asked, size) in PICTURES.items():
        place = folder / f"{name}.html"
        hs.view(model, neurons=asked.get("scale") == "neuron", **asked).save(place)
        draw(browser, place, DOCS / "gallery" / f"{name}.png", name.rpartition("-")[2], size, whole=True)
    hs.similar(model, *NEAR).view().save(place := folder / "near.html")
    draw(browser, place, DOCS / "gallery" / "near-light.png", "light", (900, 450), whole=False)


def vision() -> Any:
    """A small model of vision whose weights are random and large: its heads tell colours apart."""
    import torch
    import transformers

    torch.manual_seed(1)
    config = transformers.ViTConfig(
        hidden_size=96, num_hidden_layers=12, num_attention_heads=6, intermediate_size=192
    )
    module = transformers.ViTModel(config).eval()
    with torch.no_grad():
        for name, weights in module.named_parameters():
            weights.mul_(
                6.0 if weights.ndim == 2 and "embed" not in name else 3.0 if "position" in name else 1.0
            )
    return hs.load((module, transformers.ViTImageProcessor()))


def seen(browser: Browser, folder: Path) -> None:
    """The pictures of heads on a picture."""
    image = next(each.image for each in hs.corpora.builtin_images() if "harbor" in str(each.image))
    maps = hs.capture(vision(), image=image)
    for name, (asked, size) in SEEN.items():
        place = folder / f"{name}.html"
        hs.view(maps, **asked).save(place)
        theme = "dark" if name.endswith("dark") else "light"
        draw(browser, place, DOCS / "gallery" / f"{name}.png", theme, size, whole=size[0] < 600)


def planted(browser: Browser, folder: Path) -> None:
    """The pictures of planted heads on a sound, and on a text with its picture."""
    from planted import heard, talked

    made = {"sound": heard(), "textimage": talked()}
    for name, (asked, size) in PLANTED.items():
        place = folder / f"{name}.html"
        hs.view(made[name.partition("-")[0]], scale="head", **asked).save(place)
        theme = "dark" if name.endswith("dark") else "light"
        draw(browser, place, DOCS / "gallery" / f"{name}.png", theme, size, whole=size[0] < 600)


LIVE: dict[str, tuple[str | None, str, tuple[int, int]]] = {
    "live": (
        "demo-lm",
        "text=The capital of France is&change=L23H4 off&layer=23&heads=4&pin=from,4&side=one",
        (1440, 940),
    ),
    "gallery/live-pair-dark": (
        None,
        f"text={DOG}&pair=It wanted food.&together=1&change=all hide >0&layer=4&heads=8&side=difference",
        (1440, 940),
    ),
}
"""Of each picture of a live model: the model (None: the demo model), the fragment of its address, the window's size."""


UNFOLD = "() => document.querySelectorAll('.tells details').forEach((panel) => { panel.open = true; })"


def live(browser: Browser) -> None:
    """The pictures of the page of `headscope serve`."""
    for name, (model, fragment, size) in LIVE.items():
        named = [] if model is None else ["-m", model]
        served = subprocess.Popen(
            [sys.executable, "-c", "from headscope.cli import main; main()", "serve", "--no-browser", *named],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert served.stdout is not None
        theme: Any = "dark" if name.endswith("dark") else "light"
        page = browser.new_page(viewport={"width": size[0], "height": size[1]}, color_scheme=theme)
        page.goto(f"{served.stdout.readline().strip()}#{fragment}")
        page.wait_for_selector(".live .tells:not([hidden])", timeout=60_000)
        page.evaluate(UNFOLD)
        page.get_by_role("button", name="Rank the heads").click()
        page.wait_for_function(
            "() => document.querySelector('.who tbody tr') && !document.querySelector('.who .link:disabled')",
            timeout=60_000,
        )
        page.mouse.move(0, 0)
        page.evaluate("() => { document.activeElement.blur(); scrollTo(0, 0); }")
        page.wait_for_function("() => !document.querySelector('.hx[data-busy], .hx[data-drawing]')")
        target = DOCS / f"{name}.png"
        page.screenshot(path=target, full_page=size[0] < 600)
        page.close()
        served.send_signal(signal.SIGINT)
        served.wait()
        smaller(target)


def inside(browser: Browser, folder: Path) -> None:
    """The picture of a page that carries its model, with every head ranked by what it adds."""
    place, target = folder / "inside.html", DOCS / "gallery" / "live-inside-light.png"
    exploration = hs.explore(None, DOG, pair="It wanted food.", changes=["L4H8 previous"], layer=4, heads=[8])
    exploration.save(place)
    page = browser.new_page(viewport={"width": 1440, "height": 900}, color_scheme="light")
    page.goto(place.as_uri())
    page.wait_for_selector(".live .tells:not([hidden])", timeout=60_000)
    page.evaluate(UNFOLD)
    page.get_by_role("button", name="Rank the heads").click()
    page.wait_for_function(
        "() => document.querySelector('.who tbody tr:nth-child(10)')"
        " && !document.querySelector('.who .about').textContent.includes(' of 72 heads')",
        timeout=60_000,
    )
    page.evaluate("() => document.activeElement.blur()")
    page.wait_for_function("() => !document.querySelector('.hx[data-busy], .hx[data-drawing]')")
    page.screenshot(path=target, full_page=True)
    page.close()
    smaller(target)


def main(given: list[str]) -> None:
    """Draw what is asked for."""
    with tempfile.TemporaryDirectory() as name, chromium() as browser:
        if given[:1] in ([], ["--live"]):
            live(browser)
            inside(browser, Path(name))
        if given[:1] in ([], ["--report"]):
            report(browser, Path(name), given[1] if given[:1] == ["--report"] else None)
        if given[:1] in ([], ["--gallery"]):
            gallery(browser, Path(name))
        if given[:1] in ([], ["--gallery"], ["--pictures"]):
            seen(browser, Path(name))
        if given[:1] in ([], ["--gallery"], ["--planted"]):
            planted(browser, Path(name))


if __name__ == "__main__":
    main(sys.argv[1:])
