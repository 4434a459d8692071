"""`headscope compare inputs`: two texts or pairs."""

from __future__ import annotations

from typing import Any


def run(
    model: Any, first: str, second: str, *, pair1: str | None = None, pair2: str | None = None, **options: Any
) -> Any:
    """What every head does on two texts, or two pairs.

    Args:
        model: from `headscope.load`.
        first, second: the texts.
        pair1: text B of the first.
        pair2: text B of the second.
        **options: of `headscope.compare.inputs`.
    """
    from headscope.analyses.compare.inputs.run import inputs

    a, b = ((text if pair is None else (text, pair)) for text, pair in ((first, pair1), (second, pair2)))
    return inputs(model, a, b, **options)
