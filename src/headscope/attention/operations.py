"""What single operations of PyTorch do to an expression of scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor

from headscope.attention.expression import ScoreExpression, hides, unchanged
from headscope.core.types import AnyDict, AnyMapping

# By name: methods, functions and in-place forms of one operation share their name but for underscores.
_SAME = "to float double half bfloat16 type type_as cpu cuda contiguous clone detach dropout data real"
_RESHAPE = "view reshape flatten unflatten unsqueeze squeeze view_as reshape_as"
_PERMUTE = "permute transpose swapaxes swapdims movedim moveaxis t T mT einsum"
_CLAMP = "clamp clip clamp_min clamp_max max min maximum minimum nan_to_num"
# These say something of a tensor, and nothing of the numbers in it.
_INERT = """
    size dim ndimension stride numel nelement element_size is_contiguous is_floating_point is_complex data_ptr
    get_device storage_offset len requires_grad retain_grad register_hook untyped_storage is_inference get
    repr format zeros_like ones_like empty_like full_like new_zeros new_ones new_empty new_full new_tensor
"""

SAME, RESHAPE, PERMUTE = frozenset(_SAME.split()), frozenset(_RESHAPE.split()), frozenset(_PERMUTE.split())
CLAMP, INERT = frozenset(_CLAMP.split()), frozenset(_INERT.split())
PROPERTIES = frozenset({"T", "mT", "data", "real"})
ADD, SUBTRACT, MULTIPLY = {"add"}, {"sub", "subtract"}, {"mul", "multiply"}
DIVIDE = {"div", "divide", "true_divide"}
ARITHMETIC = ADD | SUBTRACT | MULTIPLY | DIVIDE | {"masked_fill", "where", "nan_to_num", "clamp"}

Operation = Callable[..., Any]


class OperationCall(NamedTuple):
    """One operation: what is called, its name without underscores around it, and with what."""

    func: Operation
    name: str
    args: tuple[Any, ...]
    kwargs: AnyDict

    def run(self, old: Tensor | None = None, new: Tensor | None = None) -> Any:
        """What it gives; with `new` in the place of `old`, where these are given."""
        if old is None:
            return self.func(*self.args, **self.kwargs)
        return self.func(*_replaced(self.args, old, new), **_replaced(self.kwargs, old, new))

    def given(self, *names: str) -> AnyDict:
        """Arguments by name; `names` are those of the positional ones."""
        return dict(zip(names, self.args, strict=False)) | self.kwargs

    def tensors(self) -> list[Tensor]:
        """The tensors among the arguments, those in lists included."""
        return tensors((*self.args, *self.kwargs.values()) if self.kwargs else self.args)

    def permutation(self, x: Tensor) -> list[int]:
        """The order in which an operation that permutes puts the dimensions of `x`."""
        mark = torch.empty(tuple(range(2, x.ndim + 2)), device="meta")
        return [size - 2 for size in self.run(x, mark).shape]

    @property
    def reshapes(self) -> bool:
        """Whether it gives all of a tensor in another shape."""
        return self.name in RESHAPE or (self.name == "getitem" and only_new_axes(self.args[1]))


def followed(
    scores: ScoreExpression,
    call: OperationCall,
    x: Tensor,
    before: Tensor,
    shape: tuple[int, ...],
    out: Tensor,
) -> ScoreExpression | None:
    """The expression of what `call` gave; None where it cannot be said.

    Args:
        scores: the expression of `x`.
        call: the operation; `x` is one of its arguments.
        x: the scores that it was called with (`out` itself, for an operation in place).
        before: `x` as it was, `shape` its shape then.
        out: what it gave.
    """
    name = call.name
    if name in SAME:
        return scores
    if name in PERMUTE:
        return scores.permuted(call.permutation(x))
    if call.reshapes:
        return scores.reshaped(shape, out.shape)
    if name.startswith("expand"):
        return scores.grown(out.shape)
    if name == "tanh":
        return scores.tanh()
    if name in CLAMP and out.shape == shape:
        return scores if unchanged(before, out) else None
    if name in ("cat", "concat"):
        return _joined(scores, call, x)
    combined: ScoreExpression | None = None
    if name == "masked_fill":
        given = call.given("input", "mask", "value")
        combined = scores.hide(given["mask"].bool()) if hides(given["value"]) else None
    elif name == "where":
        combined = _where(scores, call.args, x)
    elif name in ARITHMETIC:
        combined = _combined(scores, call, x)
    return combined and combined.grown(out.shape)


def _joined(scores: ScoreExpression, call: OperationCall, x: Tensor) -> ScoreExpression | None:
    """``cat([x, sinks], dim)`` along the keys."""
    given = call.given("tensors", "dim")
    parts, dim = given.get("tensors", ()), given.get("dim", 0)
    key = scores.layout.key
    if len(parts) == 2 and parts[0] is x and dim % x.ndim == key and parts[1].shape[key] == 1:
        return scores.with_sinks(parts[1])
    return None


def _combined(scores: ScoreExpression, call: OperationCall, x: Tensor) -> ScoreExpression | None:
    name, kwargs = call.name, call.kwargs
    operands = [*call.args, *(kwargs[key] for key in ("input", "other") if key in kwargs)]
    if len(operands) < 2 or kwargs.get("rounding_mode") is not None:
        return None
    first = operands[0] is x
    other: Any = operands[1] if first else operands[0]
    if other is x or (isinstance(other, Tensor) and other.ndim > x.ndim):
        return None
    alpha = kwargs.get("alpha", 1)
    if name in ADD:
        return scores.plus(other, alpha) if first or alpha == 1 else None
    if name in SUBTRACT:
        return scores.plus(other, -alpha) if first else None
    if name in MULTIPLY:
        return scores.times(other)
    if name in DIVIDE and first:
        if isinstance(other, Tensor) and other.numel() > 1:
            return scores.times(other.reciprocal())
        return scores.times(1.0 / float(other))
    return None


def _where(scores: ScoreExpression, args: tuple[Any, ...], x: Tensor) -> ScoreExpression | None:
    """``where(condition, x, number)``, ``where(condition, number, x)`` or ``x.where(condition, number)``."""
    if len(args) != 3:
        return None
    condition, first, second = (args[1], args[0], args[2]) if args[0] is x else args
    if first is x and hides(second):
        return scores.hide(~condition.bool())
    return scores.hide(condition.bool()) if second is x and hides(first) else None


def assigned(scores: ScoreExpression, x: Tensor, index: Any, value: Any) -> ScoreExpression:
    """The expression of scores `x` after ``x[index] = value``."""
    if not hides(value):
        return scores.lost()
    where = torch.zeros(x.shape, dtype=torch.bool, device=x.device)
    where[index] = True
    return scores.hide(where)


def only_new_axes(index: Any) -> bool:
    """Whether an index takes all of a tensor, and at most adds dimensions of size 1."""
    return all(_takes_all(part) or part is None for part in _parts(index))


def cuts_last(index: Any, ndim: int, size: int) -> bool:
    """Whether an index takes all of a tensor but the last of the last dimension."""
    parts = _parts(index)
    if not parts or not isinstance(parts[-1], slice) or not all(_takes_all(part) for part in parts[:-1]):
        return False
    reaches = len(parts) == ndim or any(part is Ellipsis for part in parts)
    return reaches and parts[-1].indices(size) == (0, size - 1, 1)


def _parts(index: Any) -> list[Any]:
    return list(cast("tuple[Any, ...]", index)) if isinstance(index, tuple) else [index]


def _takes_all(part: Any) -> bool:
    return part is Ellipsis or (isinstance(part, slice) and part == slice(None))


def _replaced(values: Any, old: Tensor, new: Tensor | None) -> Any:
    """Arguments (a tuple, list or mapping) with one tensor in the place of another."""
    if values is old:
        return new
    if isinstance(values, Mapping):
        named = cast("AnyMapping", values)
        return {name: _replaced(value, old, new) for name, value in named.items()}
    if type(values) in (tuple, list):
        return type(values)(_replaced(value, old, new) for value in values)
    return values


def tensors(values: Iterable[Any]) -> list[Tensor]:
    """The tensors among some values, those in lists included."""
    given: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            given.append(value)
        elif type(value) in (tuple, list):
            given += [part for part in value if isinstance(part, Tensor)]
    return given
