"""One call for the tidy table of any result."""

from __future__ import annotations

import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses import analyses
from headscope.errors import InputError
from headscope.measures import dataset


def table(result: xr.Dataset) -> pd.DataFrame:
    """Convert a result to a tidy table, the one that the command of the same name prints or writes.

    It has a row for a figure of a head (`headscope.measure`), the best head of each relation (`syntax`), the rules and
    best heads (`coreference`), a probe (`probe`), a pair of heads (`distance`), or a head and score (`negation`).

    Raises `InputError` for anything else.

    >>> stats = hs.measure(model, corpus, measures=["previous"])
    >>> hs.table(stats).columns.tolist()
    ['layer', 'head', 'paper', 'measure', 'value', 'se', 'n', 'chance']
    """
    if not hasattr(result, "data_vars"):
        raise InputError(
            f"table: expected a result such as that of headscope.measure, found {type(result).__name__}"
        )
    for analysis in analyses().values():
        if analysis.axis and analysis.axis in result.dims:
            return analysis.load(analysis.table)(result)
    return dataset.table(result)
