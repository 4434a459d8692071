"""The notebooks of examples/ run, cell by cell, and leave pictures for readers without JavaScript."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from small_tokenizers import byte_level

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
WIDGET = "application/vnd.jupyter.widget-view+json"
VIEWS = {"tutorial": 15, "tutorial_bertviz": 15}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory) -> Path:
    """A small GPT-2, for want of a large one."""
    folder = tmp_path_factory.mktemp("gpt2")
    tokenizer = byte_level()
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer), n_embd=32, n_layer=2, n_head=4, n_positions=128
    )
    transformers.GPT2LMHeadModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("name", sorted(VIEWS))
def test_a_notebook_runs(name, gpt2, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("CAUSAL_MODEL", str(gpt2))
    notebook: Any = nbformat.read(EXAMPLES / f"{name}.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "commit notebooks without their outputs"
    nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    ).execute()
    shown = [
        output.data
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {})
    ]
    assert len(shown) == VIEWS[name]
    assert all(WIDGET in data for data in shown)
    convert = pytest.importorskip("nbconvert")
    del notebook.metadata["widgets"]
    page, _ = convert.HTMLExporter().from_notebook_node(notebook)
    assert page.count('src="data:image/png') == VIEWS[name]
