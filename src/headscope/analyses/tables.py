"""One call for the tidy table of any result, and one for its figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses import analyses
from headscope.analyses.record import Analysis
from headscope.core import lazy
from headscope.core.validation import validated
from headscope.errors import InputError
from headscope.measures import dataset
from headscope.views.blobs import Blobs
from headscope.views.blocks import Block, paragraph, rows_of
from headscope.views.charts import Figure, Theme
from headscope.views.section import Section
from headscope.views.still import Width, inches


@validated
def table(result: xr.Dataset) -> pd.DataFrame:
    """Convert a result to a tidy table, the one that the command of the same name prints or writes.

    It has a row for a figure of a head (`headscope.measure`), the best head of each relation (`syntax`), the rules and
    best heads (`coreference`), a probe (`probe`), a pair of heads (`distance`), or a head and score (`negation`).

    Raises `InputError` for anything else.

    >>> stats = hs.measure(model, corpus, measures=["previous"])
    >>> hs.table(stats).columns.tolist()
    ['layer', 'head', 'paper', 'measure', 'value', 'se', 'n', 'chance', 'ci_low', 'ci_high']
    """
    analysis = analysis_of(result, "table")
    return analysis.load(analysis.table)(result) if analysis.table else dataset.table(result)


@validated
def figure(
    result: xr.Dataset,
    names: str | Sequence[str] | Mapping[Any, Any] | None = None,
    *,
    theme: Theme = "light",
    width: Width = "page",
    title: str | None = None,
    **options: Any,
) -> Figure:
    """Draw a result, for a paper or slides: measures by layer and as maps, or distances as a map of heads (figure 6).

    Args:
        result: from `headscope.measure`, `distance`, or the ``figures`` of a comparison.
        names: one measure or some, by default all; of distances, what heads do: a mapping from heads to words.
        theme: light or dark ground.
        width: in inches, or that of a paper's ``column`` (3.3) or ``page`` (6.9).
        title: printed above.
        **options: of measures ``together=True`` draws them in one plot, a colour each (figure 3); others are those of
            the analysis' figure, such as ``level`` of groups.

    Raises `InputError` for a measure that is not there, and for a result that has no figure.

    >>> stats = hs.measure(model, corpus, measures=["previous"])
    >>> hs.figure(stats, "previous").save("previous.png").name
    'previous.png'
    """
    analysis = analysis_of(result, "figure")
    if not analysis.figure:
        instead = "a view" if analysis.view else "a table"
        raise InputError(f"figure: a result of {analysis.name} has {instead} and no figure")
    arguments = () if names is None else (names,)
    inches(width)
    drawn: Figure = analysis.load(analysis.figure)(result, *arguments, **options)
    caption = " · ".join(filter(None, [drawn.caption, dataset.unseen(drawn.meta)]))
    return replace(drawn, caption=caption, theme=theme, width=width, title=title)


def blocks_of(
    result: Any, analysis: Analysis | None = None, **options: Any
) -> tuple[list[Block], Sequence[str]]:
    """What there is to say of a result: findings and blocks, as its section has them; and remarks, its first note.

    Where an analysis says nothing of it, the first rows of its table. A table of rows does not tell its `analysis`.
    Of the `options` the section is given those that it takes.
    """
    analysis = _named_by(result) or analysis or analysis_of(result, "blocks")
    if not analysis.section:
        return rows_of(table(result), of=analysis.name), ()
    made: Any = analysis.load(analysis.section)(result, **analysis.taken(analysis.section, options))
    section, remarks = cast("tuple[Any, Sequence[str]]", made if isinstance(made, tuple) else (made, ()))
    if not isinstance(section, Section):
        return [paragraph(one) if isinstance(one, str) else one for one in section], remarks
    info: Any = section.info(Blobs())
    told = [paragraph(*finding) for finding in section.findings()]
    return [*told, *info["blocks"]], [*info["notes"][:1], *remarks]


def title(result: xr.Dataset) -> str:
    """What a result is, in a few words."""
    analysis = analysis_of(result, "title")
    if analysis.table:
        return str(lazy.module(analysis.package).__doc__).strip().rstrip(".")
    titles = [str(result[name].attrs.get("title", name)) for name in dataset.names(result)]
    return ", ".join(titles[:4]) + (f" and {len(titles) - 4} more measures" if len(titles) > 4 else "")


def analysis_of(result: xr.Dataset, purpose: str) -> Analysis:
    """The analysis that made a result, by its axis; measures where no other has it."""
    if not hasattr(result, "data_vars"):
        raise InputError(
            f"{purpose}: expected a result such as that of headscope.measure, found {type(result).__name__}"
        )
    return _named_by(result) or analyses()["measure"]


def _named_by(result: Any) -> Analysis | None:
    """The analysis that has an axis, a variable or a column of its own in a result."""
    names = {*getattr(result, "dims", ()), *result}
    return next((analysis for analysis in analyses().values() if analysis.axis in names), None)
