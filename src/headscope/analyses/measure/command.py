"""What `headscope measure` says of figures of heads."""

from __future__ import annotations

from functools import partial
from typing import Any

from headscope.analyses.shown import Picture, Shown, drawn, tabulated
from headscope.core.counts import plural


def shown(dataset: Any, *, figure: Picture | None = None) -> Shown:
    """The figures of heads.

    Args:
        dataset: from `headscope.measure`.
        figure: also a figure: .svg, .pdf or .png.
    """
    from headscope.analyses import tables
    from headscope.measures.dataset import names, table

    measures, rows = names(dataset), table(dataset)
    save = drawn(
        partial(tables.figure, dataset, measures),
        f"a figure of {plural(len(measures), 'measure')}",
    )
    return Shown(rows, _wide(rows), dataset, drawn=save, files=[(figure, save)])


def _wide(tidy: Any) -> str:
    """A row a head, a column a measure: for reading on a screen."""
    wide = tidy.pivot(index=["layer", "head", "paper"], columns="measure", values="value")
    return tabulated(wide[list(dict.fromkeys(tidy["measure"]))].reset_index(), most=len(wide))
