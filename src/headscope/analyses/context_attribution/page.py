"""The page of a data set: its figures, and the shaded text of a few of its prompts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import xarray as xr

from headscope.analyses.context_attribution.run import Readable, explain
from headscope.analyses.context_attribution.statistics import FIGURES, table
from headscope.analyses.result import Result
from headscope.core.saving import replacing
from headscope.corpora.example import Example
from headscope.models import Model
from headscope.views.blobs import Blobs
from headscope.views.blocks import rows_of
from headscope.views.charts import meta_of, model_name
from headscope.views.explorer import views_page
from headscope.views.lab import FiguresPayload
from headscope.views.page import plain_text
from headscope.views.terminal import table_texts
from headscope.views.view import Showable

SHADED = 3
"""So many prompts are shaded."""


def shaded(
    model: Model, corpus: Iterable[Example], spans: Any, limit: int = SHADED, **options: Any
) -> list[Showable]:
    """The first prompts of a data set that the model can read, each shaded; `options` are of `headscope.why`."""
    return [one.view() for one in explained(model, corpus, spans, min(limit, SHADED), **options)]


def explained(
    model: Model, corpus: Iterable[Example], spans: Any, limit: int, **options: Any
) -> Iterator[Result]:
    """The same, each explained; of no spans by its messages, tools and documents, or by sentences."""
    for example in islice(Readable(model)(corpus), limit):
        units = spans or ("sentence" if example.messages is None else "part")
        yield explain(model, example, units, **options)


class PromptsPage(NamedTuple):
    """The figures of a data set, and a few of its prompts."""

    result: xr.Dataset
    views: Sequence[Showable]

    def save(self, path: Path) -> None:
        """Write the page."""
        with replacing(path) as file:
            file.write_text(page(self.result, self.views), encoding="utf-8")


def page(result: xr.Dataset, views: Sequence[Showable]) -> str:
    """The figures, what each of them is, and the prompts below."""
    rows: Any = table(result)
    rows["what it is"] = [FIGURES[name] for name in rows["figure"]]
    columns, *texts = table_texts(*rows_of(rows, most=len(rows)))
    title = f"Which part made these answers? · {model_name(meta_of(result)['model'])}"
    figures = FiguresPayload(
        kind="figures",
        version=1,
        title=plain_text(title),
        columns=columns,
        rows=[[plain_text(text) for text in row] for row in texts],
    )
    return views_page([(figures, Blobs()), *((view.payload, view.blobs) for view in views)])
