"""What a run over a corpus gives: a dataset that has a table and a figure, and shows itself in a notebook."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec

import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses import tables
from headscope.core.saving import PAGES, check_place
from headscope.core.validation import validated
from headscope.measures import dataset
from headscope.views.charts import Figure, meta_of, model_name
from headscope.views.page import html_text
from headscope.views.still import FORMATS
from headscope.views.view import Showable

ROWS = 8
"""Rows of the table that a notebook shows."""

PICTURES = tuple(f".{kind}" for kind in FORMATS)
P = ParamSpec("P")


class Result(xr.Dataset):
    """An `xarray.Dataset` with what its analysis knows: a tidy table, a figure, files.

    >>> result = headscope.measure(headscope.load(), headscope.corpora.builtin(), measures=["previous"], limit=2)
    >>> result.table().columns.tolist()
    ['layer', 'head', 'paper', 'measure', 'value', 'se', 'n', 'chance', 'ci_low', 'ci_high']
    >>> type(result.sel(layer=0)).__name__
    'Result'
    """

    __slots__ = ()

    @classmethod
    def of(cls, data: xr.Dataset) -> Result:
        """The same data as a result."""
        result = cls(data.data_vars, data.coords, data.attrs)
        result.encoding = data.encoding
        return result

    def table(self) -> pd.DataFrame:
        """The tidy table of the command of the same name, as `headscope.table` gives it."""
        return tables.table(self)

    def figure(self, names: Any = None, **options: Any) -> Figure:
        """A figure; `names` and `options` are those of `headscope.figure`."""
        return tables.figure(self, names, **options)

    def view(self, *args: Any, **options: Any) -> Showable:
        """A page, widget or picture to look into, if its analysis has one (`headscope.why`); else `InputError`."""
        return tables.view(self, *args, **options)

    @validated
    def save(self, path: str | os.PathLike[str], *, raw: bool = False) -> Path:
        """Write it as its suffix says, and return the path.

        The table as ``.csv``, ``.parquet``, ``.json`` or ``.tex``, the dataset as ``.nc``, the figure as ``.svg``,
        ``.pdf`` or ``.png``, a view also as ``.html``. A cell of a ``.csv`` that a spreadsheet might run has a quote
        before it, unless `raw`.

        Raises `InputError` for another suffix, where nothing can be written, and for a figure that it does not have.
        """
        if Path(path).suffix.lower() in PAGES and tables.has_view(self):
            return self.view().save(path)
        with dataset.raw_csv(raw):
            return save(path, self.figure, lambda: dataset.write(self, path, tables.table))

    def _repr_html_(self) -> str:
        full = str(super()._repr_html_())
        if not tables.has_table(self):
            return full
        title = tables.title(self)
        return f"{shown(title, meta_of(self), self.table())}<details><summary>all figures</summary>{full}</details>"


class Shows:
    """What shows itself, printed or in a notebook: the first sentence of its docstring, what was run, and rows."""

    def _meta(self) -> dict[str, Any]:
        raise NotImplementedError

    def _rows(self) -> pd.DataFrame:
        raise NotImplementedError

    def _title(self) -> str:
        return str(self.__doc__).partition(".")[0]

    def __repr__(self) -> str:
        rows: Any = self._rows()
        first = str(rows.head(ROWS).to_string(index=False))
        return "\n".join([self._title(), *_about(self._meta()), "", first, *_more(rows)])

    def _repr_html_(self) -> str:
        return shown(self._title(), self._meta(), self._rows())


class Comparison(Shows):
    """What the results of `headscope.compare` share: each has its ``figures`` and their ``table``."""

    figures: xr.Dataset

    @property
    def table(self) -> pd.DataFrame:
        """The tidy table."""
        raise NotImplementedError

    def _meta(self) -> dict[str, Any]:
        return meta_of(self.figures)

    def _rows(self) -> pd.DataFrame:
        return self.table

    def figure(self) -> Figure:
        """The comparison's figure."""
        return tables.figure(self.figures)

    @validated
    def save(self, path: str | os.PathLike[str], *, raw: bool = False) -> Path:
        """Write it as its suffix says, and return the path.

        The table as ``.csv``, ``.parquet``, ``.json`` or ``.tex``, the figures as ``.nc``, their picture as ``.svg``,
        ``.pdf`` or ``.png``. `raw` is as in `Result.save`.

        Raises `InputError` for another suffix, and where nothing can be written.
        """
        with dataset.raw_csv(raw):
            return save(path, self.figure, lambda: dataset.write(self.figures, path, lambda _: self.table))


def returns_result(function: Callable[P, xr.Dataset]) -> Callable[P, Result]:
    """Let a function that returns a dataset return it as a `Result`."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Result:
        return Result.of(function(*args, **kwargs))

    return call


def save(path: str | os.PathLike[str], figure: Callable[[], Figure], write: Callable[[], None]) -> Path:
    """Save a figure where the suffix is a picture's, else write what is no picture."""
    target = Path(path)
    if target.suffix.lower() in PICTURES:
        return figure().save(target)
    check_place(target)
    dataset.check_suffix(target, (*dataset.SUFFIXES, *PICTURES))
    write()
    return target


def shown(title: str, meta: dict[str, Any], rows: pd.DataFrame) -> str:
    """A title, what was run, and the first rows of a table, as HTML."""
    first: Any = rows.head(ROWS)
    about = "<br>".join(map(html_text, _about(meta)))
    more = "".join(f"<p>{line}</p>" for line in _more(rows))
    return f"<p><b>{html_text(title)}</b><br>{about}</p>{first.to_html(index=False)}{more}"


def _about(meta: dict[str, Any]) -> list[str]:
    """What was run, and what of the models has no attention map, a line each."""
    models = meta.get("models") or [meta[name] for name in ("model", "a", "b") if meta.get(name)]
    corpus = meta.get("corpus", {})
    parts = [" and ".join(dict.fromkeys(map(model_name, models))), str(corpus.get("name", ""))]
    if corpus.get("tokens"):
        parts.append(f"{corpus['tokens']:,} {'words' if meta.get('over') == 'words' else 'tokens'}")
    return [" · ".join(part for part in parts if part), *filter(None, [dataset.unseen(meta)])]


def _more(rows: pd.DataFrame) -> list[str]:
    return [f"{len(rows):,} rows"] if len(rows) > ROWS else []
