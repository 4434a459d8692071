"""What an agent is answered: a few rows and sentences, and whether they show anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]

from headscope.analyses.study import LEVEL
from headscope.core.escapes import beginning, printable

ROWS, LETTERS, CELL = 20, 6_000, 80
"""The most rows and characters of an answer, and characters of a cell."""

_CLAIMED = (
    "label relation role measure system side text layer head direction from to value score accuracy effect weight "
    "split_accuracy chance baseline_accuracy threshold ci_low ci_high p q n"
)


def cell(value: Any) -> str:
    """A value in few characters: four digits, or the beginning of a text in one line."""
    if value is None or value is pd.NA or value != value:
        return ""
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    return beginning(printable(str(value)[: 4 * CELL]), CELL)


def figures(row: Any) -> str:
    """The figures of a row that a claim hangs on."""
    return ", ".join(f"{name} {text}" for name in _CLAIMED.split() if (text := cell(row.get(name))))


def unshown(rows: Any, least: float = 0.0, *, lowest: bool = False) -> str:
    """Why none of some rows is shown, by their own statistics; empty where one is.

    A row is shown by its q (else p) of at most .05 or, where no row has either, by an interval (else a weight) beyond
    chance, or below it where the `lowest` are asked for; and where it is an effect in nats by at `least` so many.
    """

    def of(*names: str) -> Any:
        return rows.reindex(columns=names).astype(float).bfill(axis=1).iloc[:, 0]

    if rows.empty:
        return "nothing has it"
    test, chance, low, high = of("q", "p"), of("chance", "baseline_accuracy"), *map(of, ("ci_low", "ci_high"))
    if test.notna().any():
        why, known = f"no q (else p) is at most {LEVEL}", test <= LEVEL
    elif (low := low.fillna(of("weight", "moved"))).notna().any():
        high, chance = high.fillna(of("weight", "moved")), chance.fillna(0.0)
        why, known = "none lies beyond chance", high < chance if lowest else low > chance
    else:
        why, known = "too few documents or instances for a test or an interval", low.notna() | bool(least)
    if least:
        why, known = (
            f"{why}, with an effect of at least {least:.2f} nats",
            known & (of("effect").abs() >= least),
        )
    return "" if known.any() else f"{why}; the first: {figures(rows.iloc[0])}"


def reply(rows: Any, says: Sequence[str], *, missing: str = "", **about: str) -> str:
    """An answer of at most `ROWS` rows and `LETTERS` characters.

    Args:
        rows: the table.
        says: sentences of the result.
        missing: why it shows nothing; empty: it shows something.
        about: what was run and where files are, by what is written before it.
    """
    sentences = [*([f"Not shown: {missing}"] if missing else []), *says]
    text = "\n".join(beginning(printable(line), 700) for line in sentences)[:2400]
    text += "".join(f"\n{name}: {printable(what)[:600]}" for name, what in about.items() if what)
    shown = rows.head(ROWS).dropna(axis="columns", how="all").map(cell)
    shown.columns = [*map(cell, shown.columns)]
    lines: list[str] = shown.to_csv(index=False).splitlines() if len(shown.columns) else []
    while sum(map(len, lines)) + len(lines) > LETTERS - len(text) - 80:
        lines.pop()
    left = len(rows) - max(0, len(lines) - 1)
    more = [f"{left:,} more rows: in the first file"] if left else []
    return "\n".join([text, *(lines if len(lines) > 1 else []), *more])
