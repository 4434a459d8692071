"""What a run over a corpus gives: a dataset that has a table and a figure, and shows itself in a notebook.

Of any result there is one call for its tidy table, one for its figure, and one for what there is to say of it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ParamSpec, cast

import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses import analyses
from headscope.analyses.record import Analysis
from headscope.core import lazy
from headscope.core.saving import PAGES, PICTURES, check_place
from headscope.core.types import AnyDict, AnyPath
from headscope.core.validation import validated
from headscope.errors import InputError
from headscope.measures import dataset
from headscope.views.blobs import Blobs
from headscope.views.blocks import Block, paragraph, rows_of
from headscope.views.charts import Figure, Theme, meta_of, model_name
from headscope.views.page import html_text
from headscope.views.section import Section
from headscope.views.still import Width, inches
from headscope.views.terminal import as_html, written
from headscope.views.view import Showable

P = ParamSpec("P")


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
    findings = [paragraph(*finding) for finding in section.findings()]
    return [*findings, *info["blocks"]], [*info["notes"][:1], *remarks]


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


class Result(xr.Dataset):
    """An `xarray.Dataset` with what its analysis knows: a tidy table, a figure, files.

    >>> result = headscope.measure(headscope.load(), headscope.corpora.builtin(), measures=["previous"], limit=2)
    >>> result.table().columns.tolist()
    ['layer', 'head', 'paper', 'measure', 'value', 'se', 'n', 'chance', 'ci_low', 'ci_high']
    >>> type(result.sel(layer=0)).__name__
    'Result'
    """

    __slots__ = ("_shown",)

    @classmethod
    def of(cls, data: xr.Dataset, shown: Callable[[], Any] | None = None) -> Result:
        """The same data as a result; `shown` makes what stands for its view, and is saved as a page or picture."""
        result = cls(data.data_vars, data.coords, data.attrs)
        result.encoding = data.encoding
        result._shown = shown
        return result

    def table(self) -> pd.DataFrame:
        """The tidy table of the command of the same name, as `headscope.table` gives it."""
        return table(self)

    def figure(self, names: Any = None, **options: Any) -> Figure:
        """A figure; `names` and `options` are those of `headscope.figure`."""
        return figure(self, names, **options)

    def view(self, *args: Any, **options: Any) -> Showable:
        """A page, widget or picture to look into, if its analysis has one (`headscope.why`); else `InputError`."""
        analysis = analysis_of(self, "view")
        if not analysis.view:
            raise InputError(f"view: a result of {analysis.name} has a table and no view")
        return analysis.load(analysis.view)(self, *args, **options)

    @validated
    def save(self, path: AnyPath, *, raw: bool = False) -> Path:
        """Write it as its suffix says, and return the path.

        The table as ``.csv``, ``.parquet``, ``.json`` or ``.tex``, the dataset as ``.nc``, the figure as ``.svg``,
        ``.pdf`` or ``.png``, a view also as ``.html``. A cell of a ``.csv`` that a spreadsheet might run has a quote
        before it, unless `raw`.

        Raises `InputError` for another suffix, where nothing can be written, and for a figure that it does not have.
        """
        target = Path(path)
        shown = getattr(self, "_shown", None) or (analysis_of(self, "view").view and self.view)
        if shown and target.suffix.lower() in PAGES:
            return shown().save(target)
        if target.suffix.lower() in PICTURES:
            return self.figure().save(target)
        check_place(target)
        dataset.check_suffix(target, (*dataset.SUFFIXES, *PICTURES))
        with dataset.raw_csv(raw):
            dataset.write(self, target, table)
        return target

    def _repr_html_(self) -> str:
        full = str(super()._repr_html_())
        if not analysis_of(self, "table").table and not {"layer", "head"} <= {*self.dims}:
            return full  # a part that was taken of a result may lack its axes
        page = shown(title(self), meta_of(self), blocks_of(self)[0])
        return f"{page}<details><summary>all figures</summary>{full}</details>"


class Shows:
    """What shows itself, printed or in a notebook: the first sentence of its docstring, what was run, and blocks."""

    def _meta(self) -> AnyDict:
        raise NotImplementedError

    def _blocks(self) -> Sequence[Block]:
        raise NotImplementedError

    def _title(self) -> str:
        return str(self.__doc__).partition(".")[0]

    def __repr__(self) -> str:
        return "\n".join([self._title(), *about(self._meta()), "", written(self._blocks())])

    def _repr_html_(self) -> str:
        return shown(self._title(), self._meta(), self._blocks())


class Comparison(Shows):
    """What the results of `headscope.compare` share: each has its ``figures`` and their ``table``."""

    figures: xr.Dataset

    @property
    def table(self) -> pd.DataFrame:
        """The tidy table, as `headscope.table` gives it of the figures."""
        return table(self.figures)

    def _meta(self) -> AnyDict:
        return meta_of(self.figures)

    def _blocks(self) -> Sequence[Block]:
        return blocks_of(self.figures)[0]

    def figure(self, names: Any = None, **options: Any) -> Figure:
        """The comparison's figure; `names` (of measures) and `options` are those of `headscope.figure`.

        It shows itself in a notebook, and has ``save("models.svg")``.
        """
        return figure(self.figures, names, **options)

    @validated
    def save(self, path: AnyPath, *, raw: bool = False) -> Path:
        """Write it as its suffix says, and return the path.

        The table as ``.csv``, ``.parquet``, ``.json`` or ``.tex``, the figures as ``.nc``, their picture as ``.svg``,
        ``.pdf`` or ``.png``. `raw` is as in `Result.save`.

        Raises `InputError` for another suffix, and where nothing can be written.
        """
        return Result.of(self.figures).save(path, raw=raw)


def returns_result(function: Callable[P, xr.Dataset]) -> Callable[P, Result]:
    """Let a function that returns a dataset return it as a `Result`."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Result:
        return Result.of(function(*args, **kwargs))

    return call


def shown(title: str, meta: AnyDict, blocks: Sequence[Block]) -> str:
    """A title, what was run, and blocks, as HTML."""
    lines = "<br>".join(map(html_text, about(meta)))
    scrolled = f'<div style="max-height:30em;overflow:auto">{as_html(blocks)}</div>'
    return f"<p><b>{html_text(title)}</b><br>{lines}</p>{scrolled}"


def about(meta: AnyDict) -> list[str]:
    """What was run, and what of the models has no attention map, a line each."""
    models = meta.get("models") or [meta[name] for name in ("model", "a", "b") if meta.get(name)]
    corpus = meta.get("corpus", {})
    parts = [" and ".join(dict.fromkeys(map(model_name, models))), str(corpus.get("name", ""))]
    if corpus.get("tokens"):
        parts.append(f"{corpus['tokens']:,} {'words' if meta.get('over') == 'words' else 'tokens'}")
    return [" · ".join(part for part in parts if part), *filter(None, [dataset.unseen(meta)])]
