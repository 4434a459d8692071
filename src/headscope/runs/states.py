"""What leaves the layers of a model as it runs."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, cast

from torch import Tensor, nn

from headscope.core.tokens import Tokens
from headscope.errors import RefusedError
from headscope.models import Model
from headscope.runs.forward import self_attention


class States:
    """The layers of a model that hold its self-attention, and what leaves them.

    Args:
        model: the model.
        first: an input, on which they are found.

    Attributes:
        layers: the model's index of each.

    Raises `RefusedError` for a model without layers of their own.
    """

    def __init__(self, model: Model, first: Tokens) -> None:
        parts: Any = model.backbone
        modules: dict[str, nn.Module] = dict(parts.named_modules())
        records = self_attention(model, [first])
        names = [re.match(r"((?:.*\.)?\d+)\.", record.module) for record in records]
        self._modules = [modules[name[1]] for name in names if name is not None]
        self._model, self._thread = model, threading.get_ident()
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

        def leaves(module: nn.Module, _: Any, output: Any) -> None:
            if threading.get_ident() != self._thread:
                return
            state: Any = cast("tuple[Any, ...]", output)[0] if isinstance(output, tuple) else output
            if not isinstance(state, Tensor) or state.ndim != 3:
                raise RefusedError(
                    f"{self._model.name}: expected a hidden state [batch token dim] from each layer, found another "
                    f"from a {type(module).__name__}"
                )
            reduced.append(reduce(state.detach().float()))

        hooks = [module.register_forward_hook(leaves) for module in self._modules]
        try:
            yield reduced
        finally:
            for hook in hooks:
                hook.remove()
