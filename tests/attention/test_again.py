"""Layers that run again on the way back: the same gradients, with less kept."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import Tensor

from headscope.attention.objective import objective
from headscope.attention.recompute import layers_again
from headscope.attention.record import AttentionRecord
from headscope.attention.recording import recording
from headscope.runs import task as passes

TEXTS = ["The keys to the old cabinet were lost.", "Once there was a cat, and it slept."]


@pytest.fixture(params=["demo", "stories"])
def model(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def slopes(model: Any, texts: list[str]) -> tuple[Tensor, list[AttentionRecord], list[Tensor]]:
    return passes.slopes_of(objective(model).prepare([model.encode(text) for text in texts]))


@pytest.mark.parametrize("frozen", [False, True])
def test_gradients_are_the_same_to_the_last_digit(
    model: Any, frozen: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = [weight.requires_grad for weight in model.module.parameters()]
    try:
        model.module.requires_grad_(not frozen)
        numbers, records, expected = slopes(model, TEXTS)
        monkeypatch.setattr(passes, "LARGE", 0)
        again, same, found = slopes(model, TEXTS)
    finally:
        for weight, each in zip(model.module.parameters(), wanted, strict=True):
            weight.requires_grad_(each)
    assert torch.equal(numbers, again)
    assert [one.module for one in records] == [one.module for one in same]
    assert len(found) == len(expected) > 1
    assert all(torch.equal(one, other) for one, other in zip(expected, found, strict=True))
    assert all(bool(one.any()) for one in found)


def test_each_layer_runs_twice_is_seen_once_and_leaves_nothing(demo: Any) -> None:
    ran: list[str] = []
    seen: list[weakref.ref[Tensor]] = []
    weights: list[Tensor] = []

    def keep(record: AttentionRecord) -> None:
        assert record.given is not None
        weights.append(record.given)
        seen.append(weakref.ref(record.given))

    def numbers() -> Tensor:
        ready = objective(demo).prepare([demo.encode(TEXTS[0])])
        with layers_again(demo.module, keep) as hook:

            def count(record: AttentionRecord) -> Tensor | None:
                ran.append(record.module)
                return hook(record)

            with recording(demo.module, count):
                number = ready.run()
                assert len(ran) == 6
                torch.autograd.grad(number.sum(), weights)
        return number

    number = numbers()
    assert ran[6:] == ran[5::-1]
    assert len(seen) == 6
    weights.clear()
    del number
    gc.collect()
    assert not any(each() is not None for each in seen)
    assert not any("forward" in vars(part) for part in demo.module.modules())


def test_who_has_not_asked_for_it_runs_a_layer_as_it_is(demo: Any) -> None:
    ready = demo.inputs([demo.encode(TEXTS[0])])

    def run() -> list[str]:
        found: list[str] = []
        with recording(demo.backbone, lambda record: found.append(record.module)):
            demo.backbone(**ready).last_hidden_state.sum().backward()
        return found

    expected = run()
    with layers_again(demo.module, lambda record: None), ThreadPoolExecutor(1) as other:
        assert other.submit(run).result() == expected
    demo.module.zero_grad()
