"""`headscope compare inputs`: two texts or pairs, and what it says of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headscope.analyses.shown import Shown, tabulated


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


def shown(result: Any) -> Shown:
    """The heads that differ most."""

    def viewed(path: Path) -> str:
        result.view().save(path)
        return "the first minus the second"

    rows: Any = result.table
    rows = rows.drop_duplicates(["layer", "head"])
    rows = rows.sort_values("js", ascending=False, kind="stable", ignore_index=True)
    lines = [
        "the heads that differ most (Jensen–Shannon, nats a row; the weight that changed most, A − B)",
        tabulated(rows, dropped=("measure", "a", "b", "difference")),
    ]
    return Shown(result.table, "\n".join(lines), result.figures, drawn=viewed)
