"""What `headscope measure` says of figures of heads."""

from __future__ import annotations

from functools import partial
from typing import Any

from headscope.analyses.shown import Picture, Shown, drawn, printed
from headscope.core.counts import plural
from headscope.core.heads import Head


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
    names = list(dict.fromkeys(tidy["measure"]))
    wide = tidy.pivot(index=["layer", "head", "paper"], columns="measure", values="value")[
        names
    ].reset_index()
    wide.insert(0, "name", [str(Head(*head)) for head in zip(wide["layer"], wide["head"], strict=True)])
    return printed(wide.drop(columns=["layer", "head"]))
