"""The recipe of the documentation keeps what heads do while Lightning trains; where it is not installed, by its hooks."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

import headscope as hs
from headscope.analyses.roles.run import repeated_tokens
from tests.analyses.compare.training.test_callback import Rows, trainer
from tests.helpers.docs_blocks import blocks

PAGE = Path(__file__).parents[4] / "docs" / "compare.md"


def fit(module: Any, callback: Any, folder: Path, steps: int) -> None:
    """Run the hooks that Lightning 2.6 calls, with what they are given."""
    running = SimpleNamespace(default_root_dir=str(folder), is_global_zero=True, global_step=0)
    callback.on_train_start(running, module)
    optimizer = module.configure_optimizers()
    for place, batch in zip(range(steps), DataLoader(Rows(), batch_size=8), strict=False):
        optimizer.zero_grad()
        loss = module.training_step(batch, place)
        loss.backward()
        optimizer.step()
        running.global_step += 1
        callback.on_train_batch_end(running, module, loss, batch, place)
    callback.on_train_end(running, module)


def test_lightning_keeps_the_same_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        import lightning
    except ImportError:
        lightning = SimpleNamespace(Callback=object, LightningModule=torch.nn.Module)
        monkeypatch.setitem(sys.modules, "lightning", lightning)
    (code,) = [block.code for block in blocks(PAGE, PAGE.parents[1]) if "class Heads" in block.code]
    names: dict[str, Any] = {"hs": hs}
    exec(code, names)

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.model = trainer(tmp_path).model

        def training_step(self, batch: Any, _: int) -> Any:
            return self.model(**batch).loss

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    module, callback = Module(), names["Heads"](every=2, share=None)
    if hasattr(lightning, "Trainer"):
        lightning.Trainer(
            max_steps=3, default_root_dir=tmp_path, callbacks=[callback], accelerator="cpu", logger=False,
            enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
        ).fit(module, DataLoader(Rows(), batch_size=8))  # fmt: skip
    else:
        fit(module, callback, tmp_path, 3)
    film = hs.compare.training(tmp_path / "heads").figures
    assert film["checkpoint"].values.tolist() == ["step-0", "step-2", "step-3"]
    model = hs.load(module.model)
    last = hs.measure(model, repeated_tokens(model, sequences=8), measures=["induction"])
    np.testing.assert_allclose(film["value"].sel(measure="induction")[2], last["induction"], atol=1e-6)
