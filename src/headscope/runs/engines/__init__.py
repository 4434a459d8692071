"""Where the blocks of a run are worked on: in this process, in several processes, or on a cluster.

Every function that goes over a corpus takes one as ``engine``: an engine of this module, or what stands for one: the
devices of local processes (``"cpu:4"``, ``"cuda:*"``) or a `distributed.Client`. The figures are the same to the last
digit, with as many threads on machines of one kind (docs/streams.md).
"""

from __future__ import annotations

from typing import Any

from headscope.errors import InputError
from headscope.runs.engines.here import Engine, Here
from headscope.runs.engines.processes import Dask, Processes

__all__ = ["Dask", "Here", "Processes"]


def engine_of(given: Any) -> Engine:
    """The engine that is meant. Raises `InputError` for what stands for none."""
    if given is None:
        return Here()
    if isinstance(given, Engine):
        return given
    if isinstance(given, str):
        return Processes(given)
    if any(kind.__module__.split(".")[0] == "distributed" for kind in type(given).__mro__):
        return Dask(given)
    type_name = type(given).__name__
    raise InputError(
        f'engine: expected one of hs.engines, devices such as "cpu:4" or a distributed.Client, found {type_name}'
    )
