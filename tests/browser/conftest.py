"""Real pages in a real Chromium, without a network."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pytest

import headscope as hs
from hatch_build import find_node
from headscope.analyses.reproduce import Typed
from headscope.models import Model
from headscope.runs.options import COMMAND
from tests.helpers import once
from tests.helpers.page_controls import ALL
from tests.helpers.patience import PATIENCE, eventually
from tests.helpers.served import Server
from tests.helpers.tabs import Tab, Tabs

playwright = pytest.importorskip("playwright.sync_api")
# Playwright's own Node.js needs a library, libatomic, that a bare system lacks.
os.environ.setdefault("PLAYWRIGHT_NODEJS_PATH", str(find_node()[0]))

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


SRC = Path(__file__).resolve().parents[2] / "src"


@pytest.fixture(scope="module")
def serve() -> Iterator[Callable[..., str]]:
    """Start ``python -m`` a server in a folder, wait until it answers, and return its address."""
    running: list[subprocess.Popen[bytes]] = []

    def start(folder: Path, module: str, *options: str, **env: str) -> str:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        process = subprocess.Popen(
            [sys.executable, "-m", module, *options, f"--port={port}"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(SRC), "HF_HUB_OFFLINE": "1", **env},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        running.append(process)
        url = f"http://127.0.0.1:{port}"

        def answers() -> bool:
            assert process.poll() is None, f"{module} ended with status {process.returncode}"
            try:
                urllib.request.urlopen(url, timeout=PATIENCE).close()
            except OSError:
                return False
            return True

        eventually(answers, f"{module} answers at {url}")
        return url

    yield start
    for process in running:
        process.terminate()
    for process in running:
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:  # it waits for kernels that do not answer
            process.kill()
            process.wait()


@pytest.fixture(scope="package", autouse=True)
def graphs(built: Path) -> Iterator[None]:
    """Exports are compared with their models in tests/live/test_live_graph.py; here each is made once."""
    with pytest.MonkeyPatch.context() as patch:
        once.share_graphs(built, patch.setattr)
        yield


@pytest.fixture(scope="session")
def program() -> Path:
    """$CHROMIUM, or the system's: that without windows, where there is one."""
    of_system = ("/usr/bin/chromium-headless-shell", "/usr/bin/chromium")
    paths = [path] if (path := os.environ.get("CHROMIUM")) else of_system
    found = next((Path(path) for path in paths if Path(path).is_file()), None)
    if found is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(
            f"no {' or '.join(paths)}: set CHROMIUM to one"
        )
    return found


@pytest.fixture(scope="package")  # then its loop is closed, and tests of other folders may run their own
def chromium(program: Path) -> Iterator[Any]:
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def built_in(demo: Model, build_once: Any) -> str:
    """The report of the demo model on the built-in corpus: what `headscope report` writes, of some of each."""

    def typed() -> str:
        COMMAND.set("headscope report --limit 13 --limit-sentences 60")
        return hs.report(demo, typed=Typed(), limit=13, limit_sentences=60, examples=12)

    return build_once("built-in", lambda: copy_context().run(typed))


@pytest.fixture(scope="package")
def tabs(chromium: Any) -> Tabs:
    return Tabs(chromium)


@pytest.fixture
def open_page(tabs: Tabs, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Open HTML from a file, offline. At the end nothing may have been complained of or asked for.

    It begins with all controls, and a report with all sections in sight; `quiet`: as a browser that remembers nothing.
    """
    opened: list[Tab] = []

    def open_html(
        html: str,
        *,
        width: int = 1400,
        height: int = 900,
        scheme: str = "light",
        fragment: str = "",
        quiet: bool = False,
    ) -> Any:
        path = tmp_path / f"page{len(opened)}.html"
        path.write_text(html, encoding="utf-8")
        opened.append(tabs.take(*([] if quiet else [ALL]), width=width, height=height, scheme=scheme))
        page = opened[-1].ready(f"{path.as_uri()}{fragment}")
        if not quiet:
            page.evaluate(
                "() => document.querySelectorAll('details.more').forEach(each => (each.open = true))"
            )
        return page

    yield open_html
    for tab in opened:
        assert tab.errors == []
        outside = [url for url in tab.requests if not url.startswith(("file:", "data:", "blob:"))]
        assert outside == []
        tabs.give(tab)


@pytest.fixture(scope="module")
def served(demo: Model) -> Iterator[str]:
    """The page of `headscope serve`, of the demo model."""
    server = Server(demo)
    yield server.start()
    server.stop()


@pytest.fixture
def tab(tabs: Tabs) -> Iterator[Callable[..., Any]]:
    """Open an address, after a script of ours; at the end nothing may have been complained of."""
    opened: list[tuple[Tab, bool]] = []

    def open_tab(
        address: str,
        *,
        width: int = 1440,
        height: int = 960,
        dark: bool = False,
        script: str = "",
        errors_allowed: bool = False,
    ) -> Any:
        scheme = "dark" if dark else "light"
        opened.append(
            (tabs.take(script, width=width, height=height, scheme=scheme, offline=False), errors_allowed)
        )
        page = opened[-1][0].page
        page.goto(address)
        return page

    yield open_tab
    errors: list[str] = []
    for tab, allowed in opened:
        if not allowed:
            errors += [each for each in tab.errors if not re.match("(log|info|debug|warning): ", each)]
        tabs.give(tab)
    assert errors == []
