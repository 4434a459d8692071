"""One call for the table of whatever was found."""

from __future__ import annotations

import importlib

import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.errors import InputError

_MODULES = {
    "relation": "headscope.analyses.syntax.statistics",
    "candidates": "headscope.analyses.coref.statistics",
    "probe": "headscope.analyses.probes.results",
    "head_b": "headscope.analyses.distance.statistics",
    "replicate": "headscope.analyses.negation.statistics",
}
"""Whose table it is, by an axis that only these have."""


def table(found: xr.Dataset) -> pd.DataFrame:
    """The table of what `headscope.measure`, `syntax`, `coreference`, `probe`, `distance` or `negation` found.

    It is what the command of the same name prints or writes: a row a figure of a head (`measure`), the best head of
    each relation (`syntax`), the rules and best heads (`coreference`), a probe, a pair of heads, a head and score.

    Raises `InputError` for anything else.
    """
    if not hasattr(found, "data_vars"):
        raise InputError(
            f"table: expected what headscope.measure or the like gave, found {type(found).__name__}"
        )
    names = [name for axis, name in _MODULES.items() if axis in found.dims]
    return importlib.import_module(names[0] if names else "headscope.measures.dataset").table(found)
