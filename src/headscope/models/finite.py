"""Weights that are no numbers: a damaged checkpoint, or training that ran away."""

from __future__ import annotations

import re
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from headscope.errors import RefusedError, RunError
from headscope.models.weights import parameters

_LAYER = re.compile(r"\.(\d+)\.")
_QUERY = re.compile(r"(^|[._])(q|query|q_lin|q_proj)$")
_KEY = re.compile(r"(^|[._])(k|v|key|value|[kv]_lin|[kv]_proj)$")


def expect_finite(name: str, module: nn.Module) -> None:
    """Refuse a model with a weight that is NaN or infinite.

    Attention before that weight looks sound, and so does all attention of inputs that do not use it.

    Raises `RefusedError` that names the first such weight, with its layer and head where its name tells them.
    """
    for of, values in _values(module):
        low, high = (float(bound) for bound in torch.aminmax(values))
        if not (low - low == 0 == high - high):
            place = tuple(int(axis) for axis in torch.nonzero(~torch.isfinite(values))[0])
            where = ", ".join(map(str, place))
            raise RefusedError(
                f"{name}: expected finite weights, found {float(values[place])} in {of}[{where}]"
                f"{_head(module, of, place)}"
            )


def not_finite(name: str, module: nn.Module, what: str) -> RunError:
    """The error of a run in which `what` is not finite: it names the weight that is to blame, where one is."""
    try:
        expect_finite(name, module)
    except RefusedError as error:
        return RunError(f"{what} is not finite: {error}")
    return RunError(f"{what} is not finite, though all weights of {name} are: try --dtype float32")


def _values(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """The weights that are numbers, each once."""
    for of, values in parameters(module):
        if values.is_floating_point() and not values.is_meta and values.numel():
            yield of, values if values.element_size() > 1 else values.float()


def _head(module: nn.Module, of: str, place: tuple[int, ...]) -> str:
    """The layer and head of a weight, as far as its name tells them."""
    layer = _LAYER.search(f".{of}")
    if layer is None:
        return ""
    path = of.rpartition(".")[0]
    config = getattr(module, "config", None)
    heads = getattr(config, "num_attention_heads", None)
    if _KEY.search(path):
        heads = getattr(config, "num_key_value_heads", None) or heads
    elif not _QUERY.search(path):
        heads = None
    rows = module.get_parameter(of).shape[0]
    if not isinstance(heads, int) or rows % heads:
        return f" (layer {layer[1]})"
    return f" (layer {layer[1]}, head {place[0] * heads // rows})"
