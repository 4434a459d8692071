"""The widget in JupyterLab and Notebook 7: a fresh Run All, a reload, without its kernel, and what it tells Python."""

from __future__ import annotations

import ast
import json
import re
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.course import VIEWS as VIEWS_OF_COURSE
from tests.helpers.course import course_cells, save_hub
from tests.helpers.patience import PATIENCE, eventually

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("anywidget")

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CELLS = (
    "import headscope as hs\n"
    "import numpy as np\n"
    "import torch\n"
    "from headscope.attention.objective import objective\n"
    "model = hs.load()\n"
    "weights = np.random.default_rng(0).dirichlet(np.full(6, 0.3), (2, 3, 6))\n"
    "maps = hs.wrap(weights, ['[CLS]', 'the', 'cat', 'sat', '.', '[SEP]'])",
    "view = hs.model_view(maps)\nview",
    "print(view.state)",
    "view.state = {**view.state, 'layer': 0, 'heads': [0, 1]}",
    "hs.head_view(maps, layer=1, heads=[2]).keep_page()",
    "hs.neuron_view(None, 'The cat sat.')",
    "hs.view(maps, against=maps)",
    "asked = hs.view(model, 'The cat sat on the mat.', layer=3, heads=[4], quantities=())\nasked",
    "slopes = hs.gradients(model, 'The cat sat on the mat.', lambda out: 0.5 * out[0].mean(1).square().sum())\n"
    "print([float(asked.matrix(3, 4)[2, 3]), float(slopes['self'][3][4, 2, 3]), list(asked.inputs[0].matrices)])",
    "found = hs.explore(model, 'The cat sat.', pair='It slept.', layer=5, heads=[11])\nfound",
    "number = objective(model, 'cosine').prepare([model.encode(found.asked['input']['text'], 'It slept.')])\n"
    "with torch.no_grad(), hs.edit(model, *(found.changes or ['L0H0 temperature 1'])):\n"
    "    after = float(number.run()[0])\n"
    "print([found.asked['input'], found.changes, found.state['layer'], after])",
)
LEADS, SAID, SET, ASKED, FIGURES, EXPLORED, AFTER = 1, 2, 3, 7, 8, 9, 10
"""Places of cells."""
VIEWS = 6
"""So many cells show a view; the last is one that a text can be typed in."""


KERNEL = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}


@dataclass
class Server:
    """A running JupyterLab or Notebook 7, the folder that it shows, the address of a notebook in it, and a kernel."""

    url: str
    folder: Path
    place: str
    kernel: str

    def write(self, book: Any) -> tuple[Path, str]:
        """A new notebook: its file and its address."""
        path = self.folder / f"views{time.monotonic_ns()}.ipynb"
        nbformat.write(book, path)
        return path, f"{self.url}/{self.place.format(path.stem)}/{path.name}"

    def attach(self, path: Path) -> None:
        """Give a notebook the kernel that runs: loading torch takes a kernel longer than all that is tested."""
        post(f"{self.url}/api/sessions", path=path.name, name="", type="notebook", kernel={"id": self.kernel})


def post(url: str, **content: Any) -> Any:
    ask = urllib.request.Request(url, json.dumps(content).encode(), {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(ask))


@pytest.fixture(scope="module")
def notebook7(serve: Callable[..., str], tmp_path_factory: Any) -> Server:
    pytest.importorskip("notebook")
    pytest.importorskip("jupyterlab")
    folder = tmp_path_factory.mktemp("jupyter")
    options = ["--no-browser", "--allow-root", "--ServerApp.port_retries=0", "--IdentityProvider.token="]
    options += ["--ServerApp.disable_check_xsrf=True", "--KernelManager.shutdown_wait_time=0.1"]
    env = {"JUPYTER_CONFIG_DIR": str(folder / ".config"), "JUPYTER_DATA_DIR": str(folder / ".data")}
    url = serve(folder, "notebook", *options, **env)
    return Server(url, folder, "notebooks", post(f"{url}/api/kernels", name="python3")["id"])


@pytest.fixture(scope="module")
def lab(notebook7: Server) -> Server:
    """Notebook 7's server has JupyterLab under ``/lab``."""
    return replace(notebook7, place="lab/workspaces/{}/tree")


@pytest.fixture(scope="module")
def context(chromium: Any) -> Iterator[Any]:
    """One for all notebooks: it keeps what JupyterLab is made of."""
    context = chromium.new_context(viewport={"width": 1400, "height": 5000})
    context.set_default_timeout(1000 * PATIENCE)
    yield context
    context.close()


@pytest.fixture
def tab(context: Any) -> Iterator[Any]:
    page = context.new_page()
    yield page
    page.close()


def complaints(tab: Any) -> list[str]:
    """What a page complains of from now on, but for what Notebook 7's own code throws."""
    found: list[str] = []

    def hear(error: Any) -> None:
        at = next((line for line in (error.stack or "").splitlines() if line.lstrip().startswith("at ")), "")
        if "/static/notebook/" not in at:
            found.append(error.stack or str(error))

    tab.on("pageerror", hear)
    return found


def run_all(tab: Any) -> None:
    """Run every cell, and wait until the last has run. The menu does nothing before the notebook is ready for it."""
    idle(tab)

    def begun() -> bool:
        if any(text.strip() != "[ ]:" for text in tab.locator(".jp-InputPrompt").all_inner_texts()):
            return True
        tab.locator(".jp-Cell .cm-content").first.click()
        tab.get_by_role("menuitem", name="Run", exact=True).click()
        tab.locator(".lm-Menu-item:not(.lm-mod-disabled)", has_text="Run All Cells").first.click()
        return False

    eventually(begun, "the notebook runs", pause=2)
    prompts = tab.locator(".jp-Notebook .jp-CodeCell .jp-InputPrompt")
    eventually(
        lambda: all(re.fullmatch(r"\[\d+\]:", text.strip()) for text in prompts.all_text_contents()),
        "every cell has run",
        pause=0.5,
    )
    assert tab.locator(".jp-OutputArea-output[data-mime-type*=error]").all_inner_texts() == []


def idle(tab: Any) -> None:
    """Until the kernel is there and does nothing: keys and menus run no cell before."""
    tab.wait_for_selector(".jp-Notebook .jp-Cell")
    tab.locator(".jp-KernelName", has_text="Python 3").first.wait_for(state="attached")
    tab.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status=idle]")


DRAWN = """count => {
    const views = [...document.querySelectorAll('.jp-OutputArea .inbook')];
    const inked = canvas => {
        if (!canvas.width || !canvas.height) return false;
        const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        return data.some(byte => byte !== 0);
    };
    return views.length === count && views.every(view => [...view.querySelectorAll('canvas')].some(inked));
}"""
"""Every view has a canvas with something on it."""
POLLING = 1000
"""Milliseconds: it looks through every canvas."""
LOST = """() => [...document.querySelectorAll('.jupyter-widgets')].some(
    each => each.textContent.includes('model not found'))"""
"""What Jupyter says of a widget whose kernel it did not ask in time."""


def reloaded(tab: Any) -> bool:
    """Load the page again; whether Jupyter found its views in the kernel, which on a busy machine it does not always."""
    tab.reload()
    tab.wait_for_selector(".jp-Notebook .jp-Cell")
    tab.wait_for_function(f"count => ({DRAWN})(count) || ({LOST})()", arg=VIEWS, polling=POLLING)
    return not tab.evaluate(LOST)


def cell_of(tab: Any, place: int) -> Any:
    return tab.locator(".jp-Notebook .jp-Cell").nth(place)


def run_cell(tab: Any, place: int) -> str:
    """Run one cell again and return what it printed."""
    idle(tab)
    cell = cell_of(tab, place)
    cell.scroll_into_view_if_needed()  # one far out of sight has no prompt
    before = cell.locator(".jp-InputPrompt", has_text="[").inner_text().strip()
    cell.locator(".cm-content").click()
    tab.keyboard.press("Control+Enter")
    ran = re.compile(rf"^\s*(?!{re.escape(before)})\[\d+\]:\s*$")
    cell.locator(".jp-InputPrompt").filter(has_text=ran).wait_for()
    return "".join(cell.locator(".jp-OutputArea-output[data-mime-type*=stdout]").all_inner_texts())


@pytest.mark.parametrize("server", ["lab", pytest.param("notebook7", marks=pytest.mark.deep)])
def test_a_notebook_runs_is_reloaded_and_read_without_its_kernel(
    server: str, request: pytest.FixtureRequest, tab: Any
) -> None:
    """One notebook, run once: each part asks another of its cells."""
    jupyter: Server = request.getfixturevalue(server)
    errors = complaints(tab)
    book = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, CELLS)), metadata=KERNEL)
    path, url = jupyter.write(book)
    jupyter.attach(path)
    tab.goto(url)
    run_all(tab)
    tab.wait_for_function(DRAWN, arg=VIEWS, polling=POLLING)
    assert not any(each.is_visible() for each in tab.locator(".headscope-reopened").all())
    python_follows_the_widget_and_leads_it(tab)
    if server == "lab":
        python_gives_what_is_asked_for(tab)
    one_types_and_looks(tab)
    cell_of(tab, LEADS).locator(".inbook canvas[tabindex='0']").first.focus()
    tab.keyboard.press("Control+s")  # the view has the focus, and the notebook is saved
    eventually(lambda: is_saved(path, "'L5H11 off'"), "Ctrl+S does not save what the last cell said")
    saved = nbformat.read(path, as_version=4)
    assert sum("image/png" in str(cell.outputs) for cell in saved.cells) == VIEWS
    eventually(lambda: reloaded(tab), "the kernel still runs: the views are there, and what was added")
    if server == "lab":
        gradients_are_drawn(tab)
    tab.goto("about:blank")
    tab.goto(jupyter.write(saved)[1])  # the same in another file has a kernel that knows nothing of its views
    tab.wait_for_function(
        """count => {
            const kept = [...document.querySelectorAll('.headscope-reopened :is(iframe, img)')];
            const seen = each => each.getBoundingClientRect().width > 300 && (each.naturalWidth ?? 1) > 0;
            return kept.length === count && kept.every(seen);
        }""",
        arg=VIEWS,
    )
    frame = tab.locator(".headscope-reopened iframe")
    frame.scroll_into_view_if_needed()
    frame.content_frame.locator("#headscope[data-ready]").wait_for()
    assert errors == []


def is_saved(path: Path, wanted: str) -> bool:
    """Whether a file holds this, and is written to its end."""
    text = path.read_text(encoding="utf-8")
    return wanted in text and text.rstrip().endswith("}")


def python_follows_the_widget_and_leads_it(tab: Any) -> None:
    view = cell_of(tab, LEADS).locator(".inbook")
    across = view.locator(".collabels span").nth(2).bounding_box()
    down = view.locator(".rowlabels span").nth(1).bounding_box()
    tab.mouse.click(across["x"] + across["width"] / 2, down["y"] + down["height"] / 2)
    said = ast.literal_eval(run_cell(tab, SAID))
    assert (said["layer"], said["heads"]) == (1, [2])
    run_cell(tab, SET)
    view.locator("h2", has_text="Layer 0, 2 heads").wait_for()
    said = ast.literal_eval(run_cell(tab, SAID))
    assert (said["layer"], said["heads"]) == (0, [0, 1])


def python_gives_what_is_asked_for(tab: Any) -> None:
    view = cell_of(tab, ASKED).locator(".inbook")
    view.locator(".hv .toks.l .tok .t").nth(2).click()
    pair = view.locator(".hv .toks.r .tok .t").nth(3)
    pair.hover()
    exact, slope, rough = ast.literal_eval(run_cell(tab, FIGURES))
    assert f"{exact:.3g}" != f"{exact:.6g}", "a byte could not say this"
    pair.hover()
    told = tab.locator(".inbook .tip.on td.n")
    told.filter(has_text=shown_as(exact)).wait_for()
    assert rough == []
    view.get_by_role("button", name="More").click()
    view.locator("[aria-label=Draw] button[data-v=gradient]").click()
    gradients_are_drawn(tab)

    def pointed() -> bool:
        tab.mouse.move(0, 0)  # so that the pointer comes anew, after the redrawing
        pair.hover()
        return told.filter(has_text=shown_as(slope)).is_visible()

    eventually(pointed, "the gradient of a pair", pause=0.2)
    assert ast.literal_eval(run_cell(tab, FIGURES))[2] == ["gradient"]


def gradients_are_drawn(tab: Any) -> None:
    told = cell_of(tab, ASKED).locator(".inbook .status")
    told.filter(has_text="gradient of half the squared norm of the mean").wait_for()


def one_types_and_looks(tab: Any) -> None:
    view = cell_of(tab, EXPLORED).locator(".inbook.live")
    box = view.get_by_label("Text", exact=True)
    box.wait_for()
    assert box.input_value() == "The cat sat."
    box.click()
    box.press("End")
    box.press_sequentially(" Then it ate")  # keys that the notebook would take for commands
    view.locator(".hv .toks.r .tok", has_text="ate").wait_for()
    view.locator(".whatif summary").click()
    view.locator(".offers").get_by_role("button", name="off", exact=True).click()
    view.locator(".which .whose", has_text="changed").wait_for()
    said = [float(text) for text in view.locator(".says td.number").all_text_contents()]
    asked, changes, layer, after = ast.literal_eval(run_cell(tab, AFTER))
    assert asked == {"text": "The cat sat. Then it ate", "pair": "It slept.", "together": True}
    assert (changes, layer) == (["L5H11 off"], 5)
    assert said[1] == pytest.approx(after, abs=0.0006)
    assert said[0] != said[1]


def test_course_notebooks_are_done_as_they_say(lab: Server, tab: Any) -> None:
    """Nothing changed but where `bertviz` is imported from: what they tell a reader to do is where they say.

    Filter, layer, head, hover, +; and what was given back to transformers is said once.
    """
    errors = complaints(tab)
    tab.set_viewport_size({"width": 1400, "height": 14_000})  # JupyterLab draws what is in sight
    save_hub(lab.folder)
    cells = course_cells(nbformat)
    path, url = lab.write(nbformat.v4.new_notebook(cells=cells, metadata=KERNEL))
    lab.attach(path)
    tab.goto(url)
    run_all(tab)
    tab.wait_for_function(DRAWN, arg=sum(VIEWS_OF_COURSE.values()), polling=POLLING)
    places = {
        name: [at for at, cell in enumerate(cells) if cell.metadata["of"] == name] for name in VIEWS_OF_COURSE
    }

    def views(name: str) -> list[Any]:
        """The views of a notebook, one after another."""
        return [each for at in places[name] for each in cell_of(tab, at).locator(".inbook").all()]

    def said(stream: str) -> str:
        return "\n".join(tab.locator(f".jp-OutputArea-output[data-mime-type*={stream}]").all_inner_texts())

    def choose(view: Any, name: str, option: str) -> None:
        view.locator(".bertviz").get_by_label(name, exact=True).select_option(option)

    assert {name: len(views(name)) for name in places} == VIEWS_OF_COURSE
    assert said("stdout").count("headscope.bertviz: gave back to transformers") == 1
    assert "headscope" not in said("stderr")  # a red box
    dark = views("pair")[0]
    assert dark.evaluate("view => getComputedStyle(view).backgroundColor") == "rgb(0, 0, 0)"
    assert dark.locator("[aria-label=Thumbnails] [data-v=lines]").get_attribute("aria-checked") == "true"
    choose(dark, "Attention", "Sentence A -> Sentence B")
    across = dark.locator(".collabels span").nth(1).bounding_box()
    down = dark.locator(".rowlabels span").nth(2).bounding_box()
    tab.mouse.click(across["x"] + across["width"] / 2, down["y"] + down["height"] / 2)
    dark.locator("h2", has_text="Layer 2, head 1").wait_for()
    assert "boat" in dark.locator(".hv .toks.l").inner_text()
    assert "late" not in dark.locator(".hv .toks.l").inner_text()  # queries are of A
    head = views("column")[-1]
    head.locator("h2", has_text="Layer 1, 2 heads").wait_for()
    choose(head, "Layer", "2")
    choose(head, "Head", "3")
    head.locator("h2", has_text="Layer 2, head 3").wait_for()
    token = head.locator(".hv .toks.l .tok", has_text="quiet")
    token.hover()
    head.locator(".hv .toks.l .tok.on", has_text="quiet").wait_for()
    assert not head.locator(".plus").is_visible()  # these are maps without a model
    neurons = views("exercise")[-1]
    neurons.locator("h2", has_text="Layer 1, head 2").wait_for()
    neurons.locator(".hv .toks.l .tok", has_text="slept").hover()
    neurons.get_by_role("button", name="Open the neurons of this token").click()
    neurons.locator(".nv .toks.l .tok.pin", has_text="slept").wait_for()
    choose(neurons, "Layer", "0")
    neurons.locator("h2", has_text="Layer 0, head 2").wait_for()
    neurons.locator(".nv .toks.l .tok", has_text="slept").hover()
    neurons.get_by_role("button", name="Close the neurons").click()
    neurons.locator(".hv .toks.l").wait_for()
    assert errors == []


def shown_as(number: float) -> str:
    """Six digits, as the tip writes them."""
    return f"{number:.6g}".replace("-", "−")


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
    context.set_default_timeout(1000 * PATIENCE)
    tab = context.new_page()
    tab.goto(path.as_uri(), wait_until="domcontentloaded")
    pictures = [each for each in tab.locator(".output img").all() if each.is_visible()]
    assert len(pictures) == 1
    assert pictures[0].evaluate("(image) => image.naturalWidth") > 300
    context.close()


def test_an_untrusted_notebook_shows_a_picture(
    lab: Server, tab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tab.goto(lab.write(shown(monkeypatch)[0])[1])
    picture = tab.locator(".jp-OutputArea img:visible")
    picture.wait_for()
    assert picture.evaluate("(image) => image.naturalWidth") > 300
    assert tab.locator(".jp-OutputArea-output", has_text="Error").count() == 0
