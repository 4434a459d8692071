"""What leaves the layers of a model as it runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from headscope.attention.recording import Hooks, first
from headscope.core.tokens import Tokens
from headscope.errors import RefusedError
from headscope.models import Model
from headscope.runs.forward import self_attention


class States:
    """The layers of a model that hold its self-attention, and what leaves them.

    Args:
        model: the model.
        example: an input, on which they are found.

    Attributes:
        layers: the model's index of each.

    Raises `RefusedError` for a model without layers of their own.
    """

    def __init__(self, model: Model, example: Tokens) -> None:
        parts: Any = model.backbone
        modules: dict[str, nn.Module] = dict(parts.named_modules())
        records = self_attention(model, [example])
        names = [re.match(r"((?:.*\.)?\d+)\.", record.module) for record in records]
        self._modules = [modules[name[1]] for name in names if name is not None]
        self._model = model
        self.layers = [record.layer for record in records]
        if len(set(self._modules)) < len(records):
            raise RefusedError(
                f"{model.name}: expected a layer of its own around each attention, found {len(set(self._modules))} "
                f"around {len(records)}"
            )

    @contextmanager
    def watching(self, reduce: Callable[[Tensor], Tensor]) -> Generator[list[Tensor]]:
        """Within it what `reduce` makes of what leaves each layer, ``[batch token dim]``, is listed, in order."""
        reduced: list[Tensor] = []

        def leaves(module: nn.Module, _: Any, __: Any, output: Any) -> None:
            state = first(output)
            if not isinstance(state, Tensor) or state.ndim != 3:
                raise RefusedError(
                    f"{self._model.name}: expected a hidden state [batch token dim] from each layer, found another "
                    f"from a {type(module).__name__}"
                )
            reduced.append(reduce(state.detach().float()))

        with Hooks() as hooks:
            for module in self._modules:
                hooks.after(module, leaves)
            yield reduced
