"""The weights of a model's own eager attention."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import pytest
import torch

from headscope.models import Model


def of_eager(monkeypatch: pytest.MonkeyPatch, model: Model, ready: Mapping[str, Any]) -> list[torch.Tensor]:
    """The weights that the model's files' own eager attention gives, call by call."""
    weights: list[torch.Tensor] = []
    for file in {type(part).__module__ for part in model.module.modules()}:
        eager = getattr(sys.modules[file], "eager_attention_forward", None)
        if eager is None:
            continue

        def kept(*args: Any, eager: Any = eager, **options: Any) -> Any:
            out = eager(*args, **options)
            weights.append(out[1])
            return out

        monkeypatch.setattr(sys.modules[file], "eager_attention_forward", kept)
    model.module.set_attn_implementation("eager")
    with torch.no_grad():
        model.module(**ready)
    return weights
