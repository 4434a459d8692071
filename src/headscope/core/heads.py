"""Attention heads and their names."""

from __future__ import annotations

import re
from typing import Annotated, Any, NamedTuple, Self

from headscope.core.validation import Expected, from_zero, validated
from headscope.errors import InputError

_CODE = re.compile(r"L(\d+)\s*H(\d+)", re.IGNORECASE)
_PAPER = re.compile(r"(\d+)\s*[-.:]\s*(\d+)")


class _Head(NamedTuple):
    layer: int
    head: int


class Head(_Head):
    """One attention head. Layers and heads count from 0, as in transformers; anything else is an `InputError`.

    >>> Head(7, 9)
    L7H9
    >>> Head.parse("8-10", base=1)
    L7H9
    >>> Head(7, 9).paper
    '8-10'
    """

    __slots__ = ()

    def __new__(cls, layer: int, head: int) -> Self:
        """A head by its numbers."""
        return super().__new__(cls, from_zero("layer", layer), from_zero("head", head))

    @classmethod
    @validated
    def parse(cls, label: str, *, base: int = 0) -> Head:
        """Read ``"L7H9"`` (always 0-based) or ``"7-9"`` (counted from `base`; papers count from 1).

        Raises `InputError` when the label is not a head's name.
        """
        if base not in (0, 1):
            raise InputError(f"base: expected 0 or 1, found {base!r}")
        if match := _CODE.fullmatch(label.strip()):
            return cls(int(match[1]), int(match[2]))
        if match := _PAPER.fullmatch(label.strip()):
            layer, head = int(match[1]) - base, int(match[2]) - base
            if layer >= 0 and head >= 0:
                return cls(layer, head)
        raise InputError(f"expected a head such as 'L7H9' or '{7 + base}-{9 + base}', found {label!r}")

    @classmethod
    def of(cls, head: AnyHead) -> Head:
        """The head that is named: by itself, by its numbers, or as `parse` reads it."""
        return cls.parse(head) if isinstance(head, str) else cls(*head)

    @classmethod
    def at(cls, row: Any) -> Head:
        """The head of a row of a table, by its `layer` and its `head`."""
        return cls(int(row.layer), int(row.head))

    @property
    def paper(self) -> str:
        """The 1-based label that papers print, such as ``8-10``."""
        return f"{self.layer + 1}-{self.head + 1}"

    def __str__(self) -> str:
        return f"L{self.layer}H{self.head}"

    __repr__ = __str__


AnyHead = Annotated[Head | tuple[int, int] | str, Expected("a head such as Head(7, 9) or 'L7H9'")]
"""How a head may be named."""
