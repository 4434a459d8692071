"""Heads while a model trains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from torch.utils.data import Dataset

import headscope as hs
from headscope.analyses.compare.training import callback as module
from headscope.analyses.roles.run import repeated_tokens
from headscope.errors import InputError

SIZE = {"vocab_size": 30, "n_positions": 40, "n_embd": 16, "n_layer": 2, "n_head": 2}


class Rows(Dataset[dict[str, torch.Tensor]]):
    def __len__(self) -> int:
        return 64

    def __getitem__(self, place: int) -> dict[str, torch.Tensor]:
        ids = torch.from_numpy(np.random.default_rng(place).permutation(30)[:12]).repeat(2)
        return {"input_ids": ids, "labels": ids}


def trainer(out: Path, *callbacks: Any, steps: int = 4) -> Any:
    torch.manual_seed(0)
    model = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(**SIZE, bos_token_id=None, eos_token_id=None)
    )
    args = transformers.TrainingArguments(
        str(out), max_steps=steps, logging_steps=1, report_to=[], use_cpu=True, disable_tqdm=True, seed=0
    )
    made = transformers.Trainer(model, args, train_dataset=Rows(), callbacks=list(callbacks))
    made.remove_callback(transformers.PrinterCallback)
    return made


def losses(trained: Any) -> list[float]:
    return [line["loss"] for line in trained.state.log_history if "loss" in line]


@pytest.mark.slow
def test_a_film_of_heads(tmp_path: Path) -> None:
    seen: list[bool] = []
    plain = trainer(tmp_path / "plain")
    plain.train()
    (tmp_path / "out" / "heads").mkdir(parents=True)
    (tmp_path / "out" / "heads" / "step-9000.json").write_text("{}")
    watched = trainer(tmp_path / "out", hs.callback(every=2, share=None))
    watched.model.register_forward_pre_hook(lambda part, _: seen.append(part.training))
    watched.train()
    assert losses(watched) == losses(plain)
    assert len(losses(watched)) == 4
    assert True in seen
    assert False in seen
    logged = [line for line in watched.state.log_history if "heads/share" in line]
    assert [line["step"] for line in logged] == [0, 2, 4]
    assert sorted(path.name for path in (tmp_path / "out" / "heads").iterdir()) == [
        "step-0.json",
        "step-2.json",
        "step-4.json",
    ]
    film = hs.compare.training(tmp_path / "out" / "heads")
    assert film.figures["checkpoint"].values.tolist() == ["step-0", "step-2", "step-4"]
    assert set(film.figures["measure"].values) == {"induction", "duplicate", "previous_token"}
    model = hs.load(watched.model)
    last = hs.measure(model, repeated_tokens(model, sequences=8), measures=["induction"])
    np.testing.assert_allclose(
        film.figures["value"].sel(measure="induction")[2], last["induction"], atol=1e-6
    )
    assert logged[2]["heads/induction/L1H0"] == float(film.figures["value"].sel(measure="induction")[2, 1, 0])
    one = hs.compare.training(tmp_path / "out" / "heads", measures=["duplicate"]).table
    assert one["measure"].unique().tolist() == ["duplicate"]


def test_measuring_keeps_within_its_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(module.time, "perf_counter", lambda: clock[0])
    measured = module.measure

    def slow(*args: Any, **options: Any) -> Any:
        clock[0] += 1.0
        return measured(*args, **options)

    class Tick(transformers.TrainerCallback):
        def on_step_begin(self, *_: Any, **__: Any) -> None:
            clock[0] += 1.0

    monkeypatch.setattr(module, "measure", slow)
    trained = trainer(tmp_path, Tick(), hs.callback(every=1, share=0.25, folder=tmp_path / "film"), steps=16)
    trained.train()
    steps = [line["step"] for line in trained.state.log_history if "heads/share" in line]
    assert steps == [0, 7, 10, 13, 16]  # of step 7: (1 + 1) / (7 + 1) = 0.25
    assert all((tmp_path / "film" / f"step-{step}.json").exists() for step in steps)


def test_what_cannot_be_read_or_measured_is_refused(tmp_path: Path) -> None:
    for step in (1, 2):
        (tmp_path / f"step-{step}.json").write_text("{}")
    with pytest.raises(InputError, match=r"step-1\.json: expected figures that hs\.callback kept"):
        hs.compare.training(tmp_path)
    spread = trainer(tmp_path, hs.callback())
    spread.args.deepspeed = {}
    spread.args.fsdp = "full_shard"
    with pytest.raises(InputError, match="whole on each device"):
        spread.train()
