"""The parts of sharded runs of any kind put together."""

from __future__ import annotations

import os
from collections.abc import Sequence

import xarray as xr

from headscope.analyses import analyses
from headscope.analyses.record import Analysis
from headscope.analyses.result import returns_result
from headscope.core.types import AnyPath
from headscope.core.validation import validated
from headscope.errors import InputError
from headscope.runs.parts import kind_of


@returns_result
@validated
def merge(parts: Sequence[AnyPath]) -> xr.Dataset:
    """The figures of a whole corpus from the parts of all its shards: those of one run, to the last digit.

    Args:
        parts: files that one of the functions which take ``shard`` and ``part`` wrote, in any order.

    Raises `InputError` for a file that is broken or no part, and for parts that are not one corpus: of different
    runs or inputs, with blocks that are missing or there twice.

    >>> for number in (1, 2):
    ...     _ = hs.measure(model, corpus, measures=["entropy"], shard=f"{number}/2", part=f"{number}.nc")
    >>> merged = hs.merge(["1.nc", "2.nc"])
    >>> merged["entropy"].equals(hs.measure(model, corpus, measures=["entropy"])["entropy"])
    True
    """
    analysis = analysis_of(parts)
    return analysis.load(analysis.merge)(parts)


def analysis_of(parts: Sequence[AnyPath]) -> Analysis:
    """Whose parts these are, told from the first. Raises `InputError` where no analysis merges them."""
    if not parts:
        raise InputError("parts: expected at least one file, found none")
    kinds = {name: analysis for name, analysis in analyses().items() if analysis.merge}
    kind = kind_of(parts[0])
    if kind not in kinds:
        raise InputError(
            f"{os.fspath(parts[0])}: expected a part of {' or '.join(kinds)}, found one of {kind}"
        )
    return kinds[kind]
