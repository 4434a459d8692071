"""Wrong calls and values in Python: each ends at once in one sentence that says what was expected."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import headscope as hs
from headscope import bertviz
from headscope.bertviz import neuron_view
from headscope.console.sources import ReadingOptions, linked
from headscope.core.audio import heard
from headscope.core.link import Link, Named, Span, as_links
from headscope.core.pictures import picture_of
from headscope.core.region import Region, Runs
from headscope.errors import RunError
from headscope.runs.checkpoint import Shard
from tests.helpers import golden, workspace
from tests.helpers.small_models import save_gpt2, small_roberta

TEXT = "The cat sat."


class Odd:
    """Nothing that anything takes."""


@cache
def scene() -> SimpleNamespace:
    """What the calls of golden/wrong_calls.txt name."""
    model = small_roberta(cls=transformers.RobertaForMaskedLM)
    corpus = hs.corpora.texts([TEXT, "A dog barked at the cat.", "She opened the door."] * 3)
    maps, stats = hs.capture(model, TEXT), hs.measure(model, corpus, measures=["previous"])

    def edited(change: Any) -> None:
        with hs.edit(model, change):
            hs.capture(model, TEXT)

    def ablated(*heads: Any) -> None:
        with hs.ablate(model, *heads):
            hs.capture(model, TEXT)

    def shown(**given: Any) -> None:
        even = [torch.full((1, 2, 3, 3), 1 / 3)] * 2
        bertviz.head_view(**{"attention": even, "tokens": list("abc"), **given})

    def neurons(**given: Any) -> None:
        options: dict[str, Any] = {"model": model.module, "tokenizer": model.tokenizer, "model_type": ""}
        neuron_view.show(**{**options, "sentence_a": "a b", "html_action": "return", **given})

    def qk(**given: Any) -> None:
        q, k = np.zeros((2, 4, 3, 8)), np.zeros((2, 2, 3, 8))
        hs.from_qk(**{"query": q, "key": k, **given})

    return SimpleNamespace(
        hs=hs, np=np, torch=torch, Odd=Odd, TEXT=TEXT, NAN=float("nan"), HUGE=10**30, EVEN=np.full((1, 1, 2, 2), 0.5),
        model=model, corpus=corpus, trees=hs.corpora.builtin_trees(), maps=maps, stats=stats,
        Link=Link, Named=Named, Span=Span, Region=Region, Runs=Runs, ReadingOptions=ReadingOptions, linked=linked, as_links=as_links, qk=qk,
        Shard=Shard, picture_of=picture_of, heard=heard, paths=lambda *names: [Path(name) for name in names], edited=edited, ablated=ablated, shown=shown, neurons=neurons,
    )  # fmt: skip


@pytest.mark.slow
def test_calls_that_cannot_be_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of golden/wrong_calls.txt: each ends in the error below it."""
    workspace.write_corpora(tmp_path)
    save_gpt2(tmp_path / "gpt2", n_positions=64, bos_token_id=0, eos_token_id=0)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)

    golden.refusals("wrong_calls.txt", **vars(scene()))


def test_what_a_callers_function_raises_is_the_callers() -> None:
    """A hook may end a pass by an error of its own."""

    class EnoughError(Exception):
        pass

    def stop(_: Any) -> Any:
        raise EnoughError

    for run in (hs.capture, hs.gradients, hs.contribution.norms):
        with pytest.raises(EnoughError), hs.edit(scene().model, stop):
            run(scene().model, TEXT)


@pytest.mark.parametrize(
    "error",
    [MemoryError("Unable to allocate 5.8 TiB"), RuntimeError("DefaultCPUAllocator: not enough memory")],
)
def test_no_memory_is_said_in_one_sentence(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    model, corpus = scene().model, scene().corpus
    monkeypatch.setattr(model.module.roberta.encoder, "forward", fail)
    said = f"not enough memory ({error}); use smaller batches, fewer inputs or a smaller model"
    with pytest.raises(RunError, match=re.escape(f"RobertaForMaskedLM: {said}")):
        hs.capture(model, TEXT)
    with pytest.raises(RunError, match=re.escape(f"texts[1]: {said}")):
        hs.measure(model, corpus, measures=["previous"])
