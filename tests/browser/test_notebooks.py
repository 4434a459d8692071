"""The widget where people use it: JupyterLab, a fresh Run All, a reload, a notebook without its kernel."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("anywidget")

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CELLS = (
    "import headscope as hs\n"
    "import numpy as np\n"
    "weights = np.random.default_rng(0).dirichlet(np.full(6, 0.3), (2, 3, 6))\n"
    "maps = hs.wrap(weights, ['[CLS]', 'the', 'cat', 'sat', '.', '[SEP]'])",
    "hs.model_view(maps)",
    "view = hs.head_view(maps, layer=1, heads=[2])\nview",
    "hs.neuron_view(None, 'The cat sat.')",
    "hs.view(maps, against=maps)",
)
VIEWS = 4
SRC = Path(__file__).resolve().parents[2] / "src"


@dataclass
class Server:
    """A running JupyterLab, and the folder that it shows."""

    url: str
    folder: Path

    def end_kernels(self) -> None:
        """Shut every kernel down."""
        for session in json.load(urllib.request.urlopen(f"{self.url}/api/sessions")):
            ask = urllib.request.Request(f"{self.url}/api/sessions/{session['id']}", method="DELETE")
            urllib.request.urlopen(ask).close()


@pytest.fixture(scope="module")
def jupyter(tmp_path_factory) -> Iterator[Server]:
    pytest.importorskip("jupyterlab")
    folder = tmp_path_factory.mktemp("notebooks")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = [f"--port={port}", "--IdentityProvider.token=", "--ServerApp.disable_check_xsrf=True"]
    env = {**os.environ, "JUPYTER_CONFIG_DIR": str(folder / ".config"), "PYTHONPATH": str(SRC)}
    env |= {"JUPYTER_DATA_DIR": str(folder / ".data"), "HF_HUB_OFFLINE": "1"}
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "jupyterlab",
            "--no-browser",
            "--allow-root",
            "--ServerApp.port_retries=0",
            *options,
        ],
        cwd=folder,
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    server = Server(f"http://127.0.0.1:{port}", folder)
    try:
        for _ in range(120):
            try:
                urllib.request.urlopen(f"{server.url}/api", timeout=1).close()
                break
            except OSError:
                time.sleep(0.5)
        yield server
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture
def notebook(jupyter: Server) -> Iterator[Any]:
    name = f"views{time.monotonic_ns()}.ipynb"
    cells = [nbformat.v4.new_code_cell(cell) for cell in CELLS]
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), jupyter.folder / name)
    yield name
    jupyter.end_kernels()


@pytest.fixture
def tab(chromium: Any) -> Iterator[Any]:
    context = chromium.new_context(viewport={"width": 1400, "height": 5000})
    yield context.new_page()
    context.close()


def run_all(tab: Any) -> None:
    """Run every cell; the menu does nothing before the notebook is ready, so it is asked until it does."""
    tab.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
    for _ in range(20):
        tab.wait_for_timeout(1500)
        tab.locator(".jp-Cell .cm-content").first.click()
        tab.get_by_role("menuitem", name="Run", exact=True).click()
        tab.locator(".lm-Menu-item", has_text="Run All Cells").first.click()
        tab.wait_for_timeout(1000)
        if any(text.strip() != "[ ]:" for text in tab.locator(".jp-InputPrompt").all_inner_texts()):
            return
    raise AssertionError("the notebook does not run")


def drawn(tab: Any) -> None:
    """Every view has a canvas with something on it."""
    tab.wait_for_function(
        """count => {
            const views = [...document.querySelectorAll('.jp-OutputArea .inbook')];
            const inked = canvas => {
                if (!canvas.width || !canvas.height) return false;
                const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
                return data.some(byte => byte !== 0);
            };
            return views.length === count && views.every(view => [...view.querySelectorAll('canvas')].some(inked));
        }""",
        arg=VIEWS,
        timeout=120_000,
    )


def test_every_view_renders(jupyter: Server, notebook: str, tab: Any) -> None:
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.goto(f"{jupyter.url}/lab/tree/{notebook}")
    run_all(tab)
    drawn(tab)
    assert not any(each.is_visible() for each in tab.locator(".headscope-reopened").all())
    tab.keyboard.press("Control+s")
    for _ in range(60):
        saved = nbformat.read(jupyter.folder / notebook, as_version=4)
        if sum("image/png" in str(cell.outputs) for cell in saved.cells) == VIEWS:
            break
        time.sleep(0.5)
    tab.reload()  # the kernel still runs
    tab.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
    drawn(tab)
    jupyter.end_kernels()
    tab.goto("about:blank")
    tab.goto(f"{jupyter.url}/lab/tree/{notebook}")
    tab.wait_for_function(
        """count => {
            const frames = [...document.querySelectorAll('.headscope-reopened iframe')];
            return frames.length === count && frames.every(frame => frame.getBoundingClientRect().width > 300);
        }""",
        arg=VIEWS,
        timeout=60_000,
    )
    for frame in tab.locator(".headscope-reopened iframe").all():
        frame.scroll_into_view_if_needed()
        frame.content_frame.locator("#headscope[data-ready]").wait_for(timeout=30_000)
    assert errors == []
