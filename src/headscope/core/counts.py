"""Numbers with their nouns."""

from __future__ import annotations

from collections.abc import Iterable


def plural(number: int, noun: str) -> str:
    """How many there are.

    >>> plural(1, "head"), plural(1200, "head")
    ('1 head', '1,200 heads')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def layers_by_heads(heads: Iterable[int]) -> str:
    """How many layers there are, and how many heads they have.

    >>> layers_by_heads([12]), layers_by_heads([8, 4, 8])
    ('1 layer × 12 heads', '3 layers × 4/8 heads')
    """
    layers = list(heads)
    sizes = sorted(set(layers))
    return f"{plural(len(layers), 'layer')} × {'/'.join(map(str, sizes))} head{'' if sizes == [1] else 's'}"
