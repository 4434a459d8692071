"""`headscope compare training`: the checkpoints that it is given, and what it says of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from headscope.analyses.shown import Picture, Shown, drawn
from headscope.errors import InputError


def read(items: Sequence[str], *, files: Sequence[Path] | None = None, reading: Any) -> tuple[Any, Any]:
    """Checkpoints and a corpus of what was typed.

    Args:
        items: checkpoints, then files.
        files: files of texts, as CORPUS.
        reading: how they are read.
    """
    start = next((index for index, item in enumerate(items) if reading.is_text(Path(item))), len(items))
    checkpoints, texts = items[:start], [*(files or ()), *map(Path, items[start:])]
    if not checkpoints:
        raise InputError(f"training: expected a checkpoint before the texts, found {items[0]}")
    return checkpoints[0] if len(checkpoints) == 1 else checkpoints, reading.of(texts)


def shown(result: Any, *, measures: Any = None, figure: Picture | None = None) -> Shown:
    """The largest value of a head at each checkpoint.

    Args:
        result: from `headscope.compare.training`.
        figure: also a figure: .svg, .pdf or .png.
    """
    rows: Any = result.table
    best = rows.loc[rows.groupby(["measure", "checkpoint"], sort=False)["value"].idxmax()]
    wide = best.pivot(index="measure", columns="checkpoint", values="value")
    wide = wide.loc[list(result.figures["measure"].values), list(result.figures["checkpoint"].values)]
    text = f"the largest value of a head at each checkpoint\n{wide.round(3).to_string()}"
    save = drawn(partial(result.figure, measures))
    return Shown(rows, text, result.figures, files=[(figure, save)])
