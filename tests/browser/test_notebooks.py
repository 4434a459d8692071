"""The widget in JupyterLab and Notebook 7: a fresh Run All, a reload, without its kernel, and what it tells Python."""

from __future__ import annotations

import ast
import json
import re
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
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


STEPS = (
    CELLS[0],
    "view = hs.model_view(maps)\nview",
    "print(view.state)",
    "view.state = {**view.state, 'layer': 0, 'heads': [0, 1]}",
)
ASKS = (
    "import headscope as hs\n"
    "view = hs.view(None, 'The cat sat on the mat.', layer=3, heads=[4], quantities=())\nview",
    "import torch\n"
    "slopes = hs.gradients(hs.load(), 'The cat sat on the mat.', lambda out: 0.5 * out[0].mean(1).square().sum())\n"
    "print([float(view.matrix(3, 4)[2, 3]), float(slopes['self'][3][4, 2, 3]), list(view.inputs[0].matrices)])",
)
EXPLORES = (
    "import headscope as hs\n"
    "model = hs.load()\n"
    "found = hs.explore(model, 'The cat sat.', pair='It slept.', layer=5, heads=[11])\nfound",
    "from headscope.attention.objective import objective\n"
    "import torch\n"
    "number = objective(model, 'cosine').prepare([model.encode(found.asked['input']['text'], 'It slept.')])\n"
    "with torch.no_grad(), hs.edit(model, *found.changes):\n"
    "    after = float(number.run()[0])\n"
    "print([found.asked['input'], found.changes, found.state['layer'], after])",
)
KERNEL = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}


@dataclass
class Server:
    """A running JupyterLab or Notebook 7, the folder that it shows, and the address of a notebook in it."""

    url: str
    folder: Path
    place: str

    def write(self, cells: Sequence[str]) -> tuple[Path, str]:
        """A new notebook of these cells: its file and its address."""
        path = self.folder / f"views{time.monotonic_ns()}.ipynb"
        made = [nbformat.v4.new_code_cell(cell) for cell in cells]
        nbformat.write(nbformat.v4.new_notebook(cells=made, metadata=KERNEL), path)
        return path, f"{self.url}/{self.place.format(path.stem)}/{path.name}"

    def end_kernels(self) -> None:
        """Shut every kernel down."""
        for session in json.load(urllib.request.urlopen(f"{self.url}/api/sessions")):
            ask = urllib.request.Request(f"{self.url}/api/sessions/{session['id']}", method="DELETE")
            urllib.request.urlopen(ask).close()


@pytest.fixture(scope="module")
def server(serve: Callable[..., str], tmp_path_factory: Any) -> Server:
    """One server for both: Notebook 7's has JupyterLab under ``/lab``."""
    pytest.importorskip("notebook")
    pytest.importorskip("jupyterlab")
    folder = tmp_path_factory.mktemp("jupyter")
    options = ["--no-browser", "--allow-root", "--ServerApp.port_retries=0", "--IdentityProvider.token="]
    options += ["--ServerApp.disable_check_xsrf=True"]
    env = {"JUPYTER_CONFIG_DIR": str(folder / ".config"), "JUPYTER_DATA_DIR": str(folder / ".data")}
    return Server(serve(folder, "notebook", *options, **env), folder, "notebooks")


@pytest.fixture
def lab(server: Server) -> Server:
    return replace(server, place="lab/workspaces/{}/tree")


@pytest.fixture
def notebook7(server: Server) -> Server:
    return server


@pytest.fixture(params=["lab", "notebook7"])
def jupyter(request: pytest.FixtureRequest) -> Iterator[Server]:
    server = request.getfixturevalue(request.param)
    yield server
    server.end_kernels()


@pytest.fixture
def tab(chromium: Any) -> Iterator[Any]:
    context = chromium.new_context(viewport={"width": 1400, "height": 5000})
    yield context.new_page()
    context.close()


def complaints(tab: Any) -> list[str]:
    """What a page complains of from now on, but for what Notebook 7's own code throws."""
    found: list[str] = []

    def hear(error: Any) -> None:
        at = next((line for line in (error.stack or "").splitlines() if line.lstrip().startswith("at ")), "")
        if "/static/notebook/" not in at:
            found.append(error.stack or str(error))

    tab.on("pageerror", hear)
    return found


def choose_kernel(tab: Any) -> None:
    """Take the notebook's own kernel where JupyterLab asks for one: a cell was run before the kernel was known."""
    asked = tab.locator("dialog.jp-Dialog")
    if asked.count():
        assert "Select Kernel" in asked.inner_text(), asked.inner_text()
        asked.locator(".jp-mod-accept").click()


def run_all(tab: Any) -> None:
    """Run every cell; the menu does nothing before the notebook is ready, so it is asked until it does."""
    tab.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
    for _ in range(20):
        tab.wait_for_timeout(1500)
        choose_kernel(tab)
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


def run_cell(tab: Any, place: int) -> str:
    """Run one cell and return what it printed; the keys do nothing before the kernel is there."""
    cell = tab.locator(".jp-Notebook .jp-Cell").nth(place)
    prompt = cell.locator(".jp-InputPrompt")
    before = prompt.inner_text()
    end = time.monotonic() + 120
    while (now := prompt.inner_text()) == before or not re.fullmatch(r"\[\d+\]:", now.strip()):
        assert time.monotonic() < end, f"cell {place} does not run"
        if "*" not in now:
            choose_kernel(tab)
            cell.locator(".cm-content").click()
            tab.keyboard.press("Control+Enter")
        tab.wait_for_timeout(500)
    return "".join(cell.locator(".jp-OutputArea-output[data-mime-type*=stdout]").all_inner_texts())


def test_python_follows_the_widget_and_leads_it(jupyter: Server, tab: Any) -> None:
    errors = complaints(tab)
    tab.goto(jupyter.write(STEPS)[1])
    tab.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
    run_cell(tab, 0)
    run_cell(tab, 1)
    tab.wait_for_selector(".inbook .gridbox canvas", timeout=60_000)
    tab.wait_for_selector(".inbook[data-busy]", state="detached")
    across = tab.locator(".inbook .collabels span").nth(2).bounding_box()
    down = tab.locator(".inbook .rowlabels span").nth(1).bounding_box()
    tab.mouse.click(across["x"] + across["width"] / 2, down["y"] + down["height"] / 2)
    said = ast.literal_eval(run_cell(tab, 2))
    assert (said["layer"], said["heads"]) == (1, [2])
    run_cell(tab, 3)
    tab.locator(".inbook h2", has_text="Layer 0, 2 heads").wait_for(timeout=60_000)
    said = ast.literal_eval(run_cell(tab, 2))
    assert (said["layer"], said["heads"]) == (0, [0, 1])
    assert errors == []


def test_python_gives_what_is_asked_for(jupyter: Server, tab: Any) -> None:
    errors = complaints(tab)
    path, url = jupyter.write(ASKS)
    tab.goto(url)
    tab.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
    run_cell(tab, 0)
    tab.wait_for_selector(".inbook .gridbox canvas", timeout=60_000)
    tab.wait_for_selector(".inbook[data-busy]", state="detached")
    tab.locator(".inbook .hv .toks.l .tok .t").nth(2).click()
    pair = tab.locator(".inbook .hv .toks.r .tok .t").nth(3)
    pair.hover()
    exact, slope, rough = ast.literal_eval(run_cell(tab, 1))
    assert f"{exact:.3g}" != f"{exact:.6g}", "a byte could not say this"
    pair.hover()
    tab.locator(".inbook .tip.on td.n", has_text=shown_as(exact)).wait_for(timeout=30_000)
    assert rough == []
    tab.locator(".inbook").get_by_role("button", name="More").click()
    tab.locator(".inbook [aria-label=Draw] button[data-v=gradient]").click()
    tab.locator(".inbook .status", has_text="gradient of half the squared norm of the mean").wait_for(
        timeout=60_000
    )
    told = tab.locator(".inbook .tip.on td.n", has_text=shown_as(slope))
    for _ in range(10):
        tab.mouse.move(0, 0)  # so that the pointer comes anew, after the redrawing
        pair.hover()
        tab.wait_for_timeout(3_000)
        if told.is_visible():
            break
    assert told.is_visible()
    assert ast.literal_eval(run_cell(tab, 1))[2] == ["gradient"]
    tab.keyboard.press("Control+s")
    for _ in range(60):
        if "['gradient']" in str(nbformat.read(path, as_version=4)):
            break
        time.sleep(0.5)
    tab.reload()  # the kernel still runs: what was added is there
    tab.wait_for_selector(".inbook .gridbox canvas", timeout=60_000)
    tab.locator(".inbook .status", has_text="gradient of half the squared norm of the mean").wait_for(
        timeout=60_000
    )
    assert errors == []


def test_one_types_and_looks(jupyter: Server, tab: Any) -> None:
    errors = complaints(tab)
    tab.goto(jupyter.write(EXPLORES)[1])
    tab.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
    run_cell(tab, 0)
    box = tab.locator(".inbook.live").get_by_label("Text", exact=True)
    box.wait_for(timeout=60_000)
    assert box.input_value() == "The cat sat."
    box.click()
    box.press("End")
    box.press_sequentially(" Then it ate", delay=20)  # keys that the notebook would take for commands
    tab.locator(".inbook .hv .toks.r .tok", has_text="ate").wait_for(timeout=60_000)
    tab.locator(".inbook .offers").get_by_role("button", name="off", exact=True).click()
    tab.locator(".inbook .which .whose", has_text="changed").wait_for(timeout=60_000)
    said = [float(text) for text in tab.locator(".inbook .says td.number").all_text_contents()]
    tab.keyboard.press("Control+s")
    asked, changes, layer, after = ast.literal_eval(run_cell(tab, 1))
    assert asked == {"text": "The cat sat. Then it ate", "pair": "It slept."}
    assert (changes, layer) == (["L5H11 off"], 5)
    assert said[1] == pytest.approx(after, abs=0.0006)
    assert said[0] != said[1]
    assert errors == []


def shown_as(number: float) -> str:
    """Six digits, as the tip writes them."""
    return f"{number:.6g}".replace("-", "−")


def test_every_view_renders(jupyter: Server, tab: Any) -> None:
    errors = complaints(tab)
    path, url = jupyter.write(CELLS)
    tab.goto(url)
    run_all(tab)
    drawn(tab)
    assert not any(each.is_visible() for each in tab.locator(".headscope-reopened").all())
    tab.locator(".inbook canvas[tabindex='0']").first.focus()
    tab.keyboard.press("Control+s")  # the view has the focus, and the notebook is saved
    for _ in range(60):
        saved = nbformat.read(path, as_version=4)
        if sum("image/png" in str(cell.outputs) for cell in saved.cells) == VIEWS:
            break
        time.sleep(0.5)
    else:
        raise AssertionError("Ctrl+S does not save")
    tab.reload()  # the kernel still runs
    tab.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
    drawn(tab)
    jupyter.end_kernels()
    tab.goto("about:blank")
    tab.goto(url)
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


def test_a_notebook_without_widgets_has_its_picture(tmp_path: Path) -> None:
    """What nbconvert makes of a notebook whose widgets' state was not kept."""
    exporter = pytest.importorskip("nbconvert").HTMLExporter()
    import headscope as hs

    maps = hs.wrap([[[[1.0, 0.0], [0.5, 0.5]]]], ["a", "b"])
    data = hs.head_view(maps)._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    cell = nbformat.v4.new_code_cell("view", outputs=[nbformat.v4.new_output("display_data", data=data)])
    page, _ = exporter.from_notebook_node(nbformat.v4.new_notebook(cells=[cell]))
    assert re.findall(r'<img[^>]*src="data:image/png;base64,(\S{40})', page) == [data["image/png"][:40]]


def shown(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, str]:
    """A notebook with the outputs of a view, as a kernel leaves them, and the widget's identifier."""
    import headscope as hs

    display = pytest.importorskip("IPython.display")
    outputs: list[Any] = []
    monkeypatch.setattr(
        display,
        "display",
        lambda data, raw: outputs.append(nbformat.v4.new_output("display_data", data=data)),
    )
    maps = hs.wrap([[[[1.0, 0.0], [0.5, 0.5]]]], ["a", "b"])
    hs.head_view(maps)._ipython_display_()
    cell = nbformat.v4.new_code_cell("view", outputs=outputs, execution_count=1)
    book = nbformat.v4.new_notebook(cells=[cell], metadata=KERNEL)
    return book, outputs[0].data["application/vnd.jupyter.widget-view+json"]["model_id"]


@pytest.mark.parametrize("kept", [True, False])
def test_nbconverts_classic_template_shows_the_view(
    kept: bool, chromium: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a network, whether the notebook kept its widgets' state or not: once."""
    nbconvert = pytest.importorskip("nbconvert")
    book, identifier = shown(monkeypatch)
    if kept:
        state = {identifier: {"model_name": "AnyModel", "model_module": "anywidget", "state": {}}}
        kind = "application/vnd.jupyter.widget-state+json"
        book.metadata["widgets"] = {kind: {"version_major": 2, "version_minor": 0, "state": state}}
    page, _ = nbconvert.HTMLExporter(template_name="classic").from_notebook_node(book)
    path = tmp_path / "classic.html"
    path.write_text(page, encoding="utf-8")
    context = chromium.new_context(offline=True)
    tab = context.new_page()
    tab.goto(path.as_uri(), wait_until="domcontentloaded")
    frames = [each for each in tab.locator(".output iframe").all() if each.is_visible()]
    pictures = [each for each in tab.locator(".output img").all() if each.is_visible()]
    assert (len(frames), len(pictures)) == ((1, 0) if kept else (0, 1))
    if kept:
        frames[0].content_frame.locator("#headscope[data-ready]").wait_for(timeout=30_000)
    context.close()


def test_an_untrusted_notebook_shows_a_picture(
    jupyter: Server, tab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    book, _ = shown(monkeypatch)
    path = jupyter.folder / f"untrusted{time.monotonic_ns()}.ipynb"
    nbformat.write(book, path)
    tab.goto(f"{jupyter.url}/{jupyter.place.format(path.stem)}/{path.name}")
    tab.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
    picture = tab.locator(".jp-OutputArea img:visible")
    picture.wait_for(timeout=30_000)
    assert picture.evaluate("(image) => image.naturalWidth") > 300
    assert tab.locator(".jp-OutputArea-output", has_text="Error").count() == 0
