"""What does a model do differently on two inputs?"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.compare.inputs import statistics
from headscope.analyses.compare.inputs.statistics import Align
from headscope.analyses.result import PICTURES, Comparison
from headscope.attention.one import capture
from headscope.core.maps import AttentionMaps
from headscope.core.validation import validated
from headscope.errors import InputError
from headscope.live.view import Text, view
from headscope.measures.measure import Measure
from headscope.models import Model
from headscope.runs.long import described
from headscope.runs.provenance import COMMAND
from headscope.views.view import View


@dataclass(frozen=True, eq=False, repr=False)
class Inputs(Comparison):
    """Two inputs of one model, compared.

    Attributes:
        figures: see `headscope.analyses.compare.inputs.statistics.compare`.
        a, b: the maps of the tokens or words that stand for each other.
        model: that made them.
        texts: the two inputs.
    """

    figures: xr.Dataset
    a: AttentionMaps
    b: AttentionMaps
    model: Model
    texts: tuple[Text, Text]

    @property
    def table(self) -> pd.DataFrame:
        """One row a measure and head, with `headscope.analyses.compare.inputs.statistics.COLUMNS`."""
        return statistics.table(self.figures)

    def save(self, path: str | os.PathLike[str], *, raw: bool = False) -> Path:
        """Write it as its suffix says, and return the path: the explorer of A − B as ``.html``, ``.svg``, ``.pdf`` or
        ``.png``, the table as ``.csv``, ``.parquet``, ``.json`` or ``.tex``, the figures as ``.nc``.

        Raises `InputError` for another suffix, and where nothing can be written.
        """
        if Path(path).suffix.lower() in (".html", *PICTURES):
            return Path(self.view().save(path))
        return super().save(path, raw=raw)

    def view(self, **state: Any) -> View:
        """The explorer of A, of B and of A − B, which comes first, opened at the head that differs most.

        `state` is as in `headscope.view`.
        """
        js = self.figures["js"].stack(place=("layer", "head"))
        layer, head = js.dropna("place").idxmax("place").item()
        state = {"side": "difference", "layer": int(layer), "heads": [int(head)], **state}
        if self.a.partial or self.b.partial:
            return view(self.a, against=self.b, **state)
        return view(self.model, self.texts[0], against=self.texts[1], **state)


@validated
def inputs(
    model: Model,
    a: Text,
    b: Text,
    *,
    align: Align = "position",
    measures: Sequence[str | Measure] | None = None,
) -> Inputs:
    """Compare what every head does on two texts, or two pairs of texts.

    Args:
        model: from `headscope.load`: a model of one part.
        a, b: strings, ``(A, B)`` tuples or `Tokens`, as in `headscope.capture`; A is the first of the difference.
        align: which tokens stand for each other: those at the same ``position``, or the same ``word``. See
            `headscope.analyses.compare.inputs.statistics.aligned`.
        measures: which measures, by names or definitions; by default the groups ``surface`` and ``patterns``.

    Raises:
        InputError: inputs that cannot be aligned, or an encoder-decoder.

    >>> float(hs.compare.inputs(model, "The cat sat.", "The cat sat.").table["js"].max())
    0.0
    """
    first, second = capture(model, a), capture(model, b)
    if not isinstance(first, AttentionMaps) or not isinstance(second, AttentionMaps):
        raise InputError(f"{model.name}: expected a model of one part, found one of several")
    meta = {"model": described(model, ())["model"], "command": COMMAND.get()}
    figures = statistics.compare(first, second, align=align, measures=measures, meta=meta)
    return Inputs(figures, *statistics.aligned(first, second, align), model, (a, b))
