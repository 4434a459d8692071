"""Hooks see what their thread runs alone, and are gone behind it."""

from __future__ import annotations

import threading
from typing import Any

import torch
from torch import nn

from headscope.attention.recording import Hooks, entered, entering


def test_a_pass_of_another_thread_is_left_alone() -> None:
    layer, x, seen = nn.Identity(), torch.ones(1, 2, 3), list[str]()

    def before(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        seen.append("before")
        return entering(entered(args, kwargs) * 2, args, kwargs)

    def after(_: nn.Module, __: Any, ___: Any, output: torch.Tensor) -> torch.Tensor:
        seen.append("after")
        return output + 1

    others: list[torch.Tensor] = []
    with Hooks() as hooks:
        hooks.before(layer, before)
        hooks.after(layer, after)
        thread = threading.Thread(target=lambda: others.append(layer(x)))
        thread.start()
        thread.join()
        assert others[0].equal(x)
        assert not seen
        assert layer(x).equal(2 * x + 1)
        assert seen == ["before", "after"]
    assert layer(x).equal(x)
