"""Where what convolutions make of a picture has its middle: strided ones that overlap move it from the cell's own.

Output i of a convolution of kernel k, stride s and padding p has its middle at ``s i + (k - 1) / 2 - p`` of its input;
the middle of the i-th of equal cells is at ``s i + (s - 1) / 2``. A patch embedding (k = s, p = 0) moves nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from headscope.attention.record import AttentionRecord, Hook
from headscope.core.types import AnyDict
from headscope.models.within import modules_of

Moved = tuple[float, float]
"""By how much middles are moved, down and across."""

_STRIDED = (nn.Conv2d, nn.MaxPool2d, nn.AvgPool2d)


def _off(module: nn.Module) -> Moved:
    """By how many pixels of its input what a strided convolution gives is moved; 0 for any other module."""
    if not isinstance(module, _STRIDED) or isinstance(module.padding, str):
        return 0.0, 0.0
    kernel, stride, padding = (
        (size, size) if isinstance(size, int) else tuple(size)
        for size in (module.kernel_size, module.stride, module.padding)
    )
    down, across = (
        (k - 1) / 2 - p - (s - 1) / 2 if s > 1 else 0.0
        for k, s, p in zip(kernel, stride, padding, strict=True)
    )
    return down, across


class Middles:
    """By how many pixels of a picture the tokens of each attention call are moved, from the convolutions before it.

    Args:
        model: that runs.
        hook: is shown each call with what it is moved by (`AttentionRecord.moved`). Convolutions of the attention
            module itself (CvT) move the keys alone.
    """

    def __init__(self, model: nn.Module, hook: Hook) -> None:
        self._model = model
        self._hook = hook
        self._uneven = {
            part: (name, off) for name, part in modules_of(model).items() if any(off := _off(part))
        }
        self._picture: tuple[int, ...] = ()
        self._before: dict[str, tuple[tuple[int, ...], Moved]] = {}

    def watch(self, before: Callable[[nn.Module, Callable[..., None]], None]) -> Hook:
        """Have what each module is given shown `before` it runs; the hook that is to see the calls."""
        if not self._uneven:
            return self._hook
        before(self._model, self._begin)
        for module in self._uneven:
            before(module, self._note)
        return self._shown

    def _begin(self, _: nn.Module, args: tuple[Any, ...], kwargs: AnyDict) -> None:
        self._before.clear()
        given = (value for value in (*args, *kwargs.values()) if isinstance(value, Tensor))
        self._picture = next((tuple(value.shape[2:]) for value in given if value.ndim == 4), ())

    def _note(self, module: nn.Module, args: tuple[Any, ...], _: AnyDict) -> None:
        name, off = self._uneven[module]
        size = tuple(args[0].shape[2:])
        if self._picture:
            down, across = (
                one * pixels / here for one, pixels, here in zip(off, self._picture, size, strict=True)
            )
            self._before[name] = size, (down, across)

    def _shown(self, record: AttentionRecord) -> Tensor | None:
        within = [name for name in self._before if name.startswith(f"{record.module}.")]
        inside = [self._before.pop(name)[1] for name in within]
        moves = dict(
            self._before.values()
        ).values()  # of branches side by side, as around a block, one counts
        down, across = sum(one for one, _ in moves), sum(one for _, one in moves)
        more = inside[-1] if inside else (0.0, 0.0)
        record.moved = (down, across), (down + more[0], across + more[1])
        return self._hook(record)
