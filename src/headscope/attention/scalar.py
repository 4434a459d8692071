"""One number of a model's output, for gradients where the caller names none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn import functional

from headscope.core.failures import asked_of
from headscope.core.tokens import Tokens
from headscope.errors import InputError
from headscope.models.model import Model

Scalar = Callable[[Any], Tensor]


def asked(function: Scalar, output: Any) -> Tensor:
    """The number that a caller's function makes of what a module returned. Raises `InputError` for anything else."""
    with asked_of("objective", "a function of what the module returns"):
        number = function(output)
    if not isinstance(number, Tensor):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(f"objective: expected a tensor with one number, found {type(number).__name__}")
    if number.numel() != 1:
        raise InputError(f"objective: expected a scalar, found shape {tuple(number.shape)}")
    if torch.is_grad_enabled() and not number.requires_grad:
        raise InputError(
            "objective: expected a number that depends on the weights, found one without a gradient"
        )
    return number


def natural(
    model: Model, axes: Mapping[str, Tokens], ready: Mapping[str, Tensor], names: list[str] | None = None
) -> Scalar:
    """What gradients are of unless the caller says otherwise; `names` is given a few words that name it.

    - a language model: its loss on the input, in nats a token (of the next token where the model is causal or
      an encoder-decoder, else of each token at its own place);
    - a model with another kind of logits (a classifier): the largest one;
    - an encoder that reads a pair: the cosine of the mean hidden states of A and B, read together, special tokens
      left out;
    - any other: half the squared norm of the mean hidden state.

    Args:
        model: the model that gives the output.
        axes, ready: its input, as `headscope.attention.one.prepare` gives it.
        names: the name is appended when the output is there.
    """

    def of(output: Any) -> Tensor:
        number, name = natural_number(output, model, axes, ready)
        if names is not None:
            names.append(name)
        return number

    return of


def natural_number(
    output: Any, model: Model, axes: Mapping[str, Tokens], ready: Mapping[str, Tensor]
) -> tuple[Tensor, str]:
    """The number that `natural` says, and what it is."""
    given = (getattr(output, name, None) for name in ("logits", "logits_per_image", "start_logits"))
    logits = next((value for value in given if isinstance(value, Tensor)), None)
    if logits is not None:
        loss = _loss(logits, model, ready)
        return (logits.max(), "the largest logit") if loss is None else (loss, "the loss on the input")
    hidden: Any = getattr(output, "last_hidden_state", None)
    hidden = cast(Tensor, hidden if isinstance(hidden, Tensor) else output[0])
    if hidden.ndim != 3:
        return hidden.float().square().sum() / 2, "half the squared norm of the output"
    sides = _sides(axes.get("self"), hidden)
    if sides is not None:
        first, second = (hidden[0, side].float().mean(0) for side in sides)
        return functional.cosine_similarity(first, second, dim=0), "the cosine of the two texts read together"
    return hidden.float().mean(1).square().sum() / 2, "half the squared norm of the mean hidden state"


def _loss(logits: Tensor, model: Model, ready: Mapping[str, Tensor]) -> Tensor | None:
    """Cross-entropy in nats a token; None where the logits are not over the vocabulary at each token."""
    prefix = "decoder_" if "decoder_input_ids" in ready else ""
    ids, mask = ready.get(f"{prefix}input_ids"), ready.get(f"{prefix}attention_mask")
    words = getattr(model.text_config, "vocab_size", None)
    if ids is None or logits.ndim != 3 or logits.shape[:2] != ids.shape or words is None:
        return None
    if logits.shape[2] < int(words):
        return None
    seen = torch.ones_like(ids) if mask is None or mask.shape != ids.shape else mask
    if prefix or model.causal:
        if ids.shape[1] < 2:
            return None
        logits, ids, seen = logits[:, :-1], ids[:, 1:], seen[:, 1:]
    losses = functional.cross_entropy(logits[0].float(), ids[0], reduction="none")
    return (losses * seen[0]).sum() / seen[0].sum().clamp(min=1)


def _sides(tokens: Tokens | None, hidden: Tensor) -> tuple[Tensor, Tensor] | None:
    """Which positions belong to A and to B; None where there is no pair."""
    if tokens is None or tokens.sequence_ids is None or len(tokens) != hidden.shape[1]:
        return None
    known = torch.tensor(tokens.sequence_ids.tolist(), device=hidden.device)
    first, second = known == 0, known == 1
    return (first, second) if bool(first.any()) and bool(second.any()) else None
