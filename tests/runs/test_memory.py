"""When freed memory is handed back to the system."""

from __future__ import annotations

import pytest
from torch import nn

from headscope.runs import forward as memory


def test_freed_memory_is_handed_back_beside_a_large_model_and_not_all_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []
    now = [100.0]
    monkeypatch.setattr(memory, "_trim", asked.append)
    monkeypatch.setattr(memory, "_last", 0.0)
    monkeypatch.setattr(memory, "LARGE", 1_000)
    monkeypatch.setattr(memory.time, "monotonic", lambda: now[0])
    memory.hand_back(nn.Linear(10, 10))
    assert asked == []
    large = nn.Linear(100, 100)
    memory.hand_back(large)
    memory.hand_back(large)
    assert asked == [0]
    now[0] += 2 * memory.EVERY
    memory.hand_back(large)
    assert asked == [0, 0]
