"""Passes of which only the attention is wanted: they see all of it, and leave the model as it was."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from headscope.attention.record import AttentionRecord
from headscope.runs.forward import RunPasses
from tests.helpers.families import build, family


def seen(passes: RunPasses, ids: Tensor) -> tuple[list[tuple[int, Tensor]], bool]:
    """The layers and weights of one pass, and whether it ran to its end."""
    found: list[tuple[int, Tensor]] = []
    ended = False

    def keep(record: AttentionRecord) -> None:
        found.append((record.layer, record.weights().clone()))

    with passes.recording(keep):
        passes.module(input_ids=ids)
        ended = True
    return found, ended


@pytest.mark.parametrize("name", ["BERT", "GPT-2", "Llama", "ALBERT", "BLOOM"])
def test_later_passes_see_all_attention_and_no_more(name: str) -> None:
    module: Any = build(family(name)).base_model
    first, later = torch.arange(5, 17).reshape(2, 6), torch.arange(20, 36).reshape(2, 8)
    whole, _ = seen(RunPasses(module), later)
    passes = RunPasses(module)
    assert seen(passes, first)[1]
    before = {name: tuple(part._forward_hooks) for name, part in module.named_modules()}
    found, ended = seen(passes, later)
    assert not ended
    assert [layer for layer, _ in found] == [layer for layer, _ in whole]
    assert len(found) > 1
    for (_, one), (_, other) in zip(found, whole, strict=True):
        assert torch.equal(one, other)
    assert {name: tuple(part._forward_hooks) for name, part in module.named_modules()} == before
    assert module(input_ids=later).last_hidden_state.isfinite().all()


def test_a_model_whose_weights_are_moved_runs_to_its_end() -> None:
    module: Any = build(family("BERT")).base_model
    module.encoder._hf_hook = object()  # accelerate's, which moves weights away after a module has run
    passes = RunPasses(module)
    ids = torch.arange(5, 17).reshape(2, 6)
    assert [seen(passes, ids)[1] for _ in range(2)] == [True, True]


def test_an_error_of_the_hook_is_raised() -> None:
    module: Any = build(family("BERT")).base_model
    passes = RunPasses(module)

    def fail(_: AttentionRecord) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), passes.recording(fail):
        module(input_ids=torch.arange(5, 17).reshape(2, 6))
