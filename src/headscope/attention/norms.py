"""Norms with the divisor that they have on an input, told by comparing what entered and left them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from headscope.errors import RefusedError
from headscope.models.model import Model
from headscope.models.weights import held


@dataclass(frozen=True, eq=False)
class FrozenNorm:
    """A norm whose divisor stays what it is at one position: ``scale · (x − mean x, where it is centred) + bias``.

    `scale` is `gain`, its own weights, over that divisor: ``[dim]``.
    """

    scale: Tensor
    centred: bool
    bias: Tensor
    gain: Tensor

    def back(self, direction: Tensor) -> Tensor:
        """What has the same product with x as `direction` has with the norm of x, its bias aside."""
        back = direction * self.scale
        return back - back.mean(-1, keepdim=True) if self.centred else back


def frozen_norm(model: Model, module: nn.Module, entered: Tensor, left: Tensor, position: int) -> FrozenNorm:
    """A norm at one position, told by comparing what entered and left it, ``[query dim]``."""
    x, y = entered.to(model.device).double(), left.to(model.device).double()
    weight, shift = (
        value if (value := held(module, name)) is None else value.to(x.device) for name in ("weight", "bias")
    )
    bias = torch.zeros_like(x[0]) if shift is None else shift.detach().double()
    ones = torch.ones_like(x[0])
    gains = [ones] if weight is None else [weight.detach().double(), 1.0 + weight.detach().double()]
    for centred in (False, True):
        inner = x - x.mean(-1, keepdim=True) if centred else x
        for gain in gains:
            if gain.shape != ones.shape or bias.shape != ones.shape:
                continue
            plain, scaled = inner * gain, y - bias
            divisor = (plain * scaled).sum(-1, keepdim=True) / plain.square().sum(-1, keepdim=True).clamp(
                min=1e-300
            )
            error = (plain * divisor - scaled).abs().amax()
            if error <= 1e-5 * scaled.abs().amax().clamp(min=1e-30):
                return FrozenNorm(gain * divisor[position], centred, bias, gain)
    raise no_stream(model, f"a {type(module).__name__} that is no layer norm and no RMS norm")


def no_stream(model: Model, actual: str) -> RefusedError:
    """What is raised for a model whose layers do not add to one residual stream."""
    return RefusedError(
        f"{model.name}: expected layers that add to one residual stream, a final norm and an unembedding (a pre-norm "
        f"decoder), found {actual}"
    )
