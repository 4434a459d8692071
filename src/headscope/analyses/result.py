"""What a run over a corpus gives: a dataset that has a table and a figure, and shows itself in a notebook."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ParamSpec

import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses import tables
from headscope.core.saving import PAGES, PICTURES, check_place
from headscope.core.validation import validated
from headscope.errors import InputError
from headscope.measures import dataset
from headscope.views.blocks import Block
from headscope.views.charts import Figure, meta_of, model_name
from headscope.views.page import html_text
from headscope.views.terminal import as_html, written
from headscope.views.view import Showable

P = ParamSpec("P")


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
        return tables.table(self)

    def figure(self, names: Any = None, **options: Any) -> Figure:
        """A figure; `names` and `options` are those of `headscope.figure`."""
        return tables.figure(self, names, **options)

    def view(self, *args: Any, **options: Any) -> Showable:
        """A page, widget or picture to look into, if its analysis has one (`headscope.why`); else `InputError`."""
        analysis = tables.analysis_of(self, "view")
        if not analysis.view:
            raise InputError(f"view: a result of {analysis.name} has a table and no view")
        return analysis.load(analysis.view)(self, *args, **options)

    @validated
    def save(self, path: str | os.PathLike[str], *, raw: bool = False) -> Path:
        """Write it as its suffix says, and return the path.

        The table as ``.csv``, ``.parquet``, ``.json`` or ``.tex``, the dataset as ``.nc``, the figure as ``.svg``,
        ``.pdf`` or ``.png``, a view also as ``.html``. A cell of a ``.csv`` that a spreadsheet might run has a quote
        before it, unless `raw`.

        Raises `InputError` for another suffix, where nothing can be written, and for a figure that it does not have.
        """
        target = Path(path)
        shown = getattr(self, "_shown", None) or (tables.analysis_of(self, "view").view and self.view)
        if shown and target.suffix.lower() in PAGES:
            return shown().save(target)
        if target.suffix.lower() in PICTURES:
            return self.figure().save(target)
        check_place(target)
        dataset.check_suffix(target, (*dataset.SUFFIXES, *PICTURES))
        with dataset.raw_csv(raw):
            dataset.write(self, target, tables.table)
        return target

    def _repr_html_(self) -> str:
        full = str(super()._repr_html_())
        if not tables.analysis_of(self, "table").table and not {"layer", "head"} <= {*self.dims}:
            return full  # a part that was taken of a result may lack its axes
        page = shown(tables.title(self), meta_of(self), tables.blocks_of(self)[0])
        return f"{page}<details><summary>all figures</summary>{full}</details>"


class Shows:
    """What shows itself, printed or in a notebook: the first sentence of its docstring, what was run, and blocks."""

    def _meta(self) -> dict[str, Any]:
        raise NotImplementedError

    def _blocks(self) -> Sequence[Block]:
        raise NotImplementedError

    def _title(self) -> str:
        return str(self.__doc__).partition(".")[0]

    def __repr__(self) -> str:
        return "\n".join([self._title(), *_about(self._meta()), "", written(self._blocks())])

    def _repr_html_(self) -> str:
        return shown(self._title(), self._meta(), self._blocks())


class Comparison(Shows):
    """What the results of `headscope.compare` share: each has its ``figures`` and their ``table``."""

    figures: xr.Dataset

    @property
    def table(self) -> pd.DataFrame:
        """The tidy table, as `headscope.table` gives it of the figures."""
        return tables.table(self.figures)

    def _meta(self) -> dict[str, Any]:
        return meta_of(self.figures)

    def _blocks(self) -> Sequence[Block]:
        return tables.blocks_of(self.figures)[0]

    def figure(self, names: Any = None, **options: Any) -> Figure:
        """The comparison's figure; `names` (of measures) and `options` are those of `headscope.figure`.

        It shows itself in a notebook, and has ``save("models.svg")``.
        """
        return tables.figure(self.figures, names, **options)

    @validated
    def save(self, path: str | os.PathLike[str], *, raw: bool = False) -> Path:
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


def shown(title: str, meta: dict[str, Any], blocks: Sequence[Block]) -> str:
    """A title, what was run, and blocks, as HTML."""
    about = "<br>".join(map(html_text, _about(meta)))
    scrolled = f'<div style="max-height:30em;overflow:auto">{as_html(blocks)}</div>'
    return f"<p><b>{html_text(title)}</b><br>{about}</p>{scrolled}"


def _about(meta: dict[str, Any]) -> list[str]:
    """What was run, and what of the models has no attention map, a line each."""
    models = meta.get("models") or [meta[name] for name in ("model", "a", "b") if meta.get(name)]
    corpus = meta.get("corpus", {})
    parts = [" and ".join(dict.fromkeys(map(model_name, models))), str(corpus.get("name", ""))]
    if corpus.get("tokens"):
        parts.append(f"{corpus['tokens']:,} {'words' if meta.get('over') == 'words' else 'tokens'}")
    return [" · ".join(part for part in parts if part), *filter(None, [dataset.unseen(meta)])]
