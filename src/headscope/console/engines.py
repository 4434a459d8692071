"""Where a command runs the model: options of all that go over a corpus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

if TYPE_CHECKING:
    from headscope.runs.engines.here import Engine


@dataclass(frozen=True)
class EngineOptions:
    """In which processes the model runs; see docs/streams.md."""

    rules: ClassVar = {"devices": "-dask"}

    devices: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Run in local processes, with one thread each: cpu:4, cuda:0,cuda:1 or cuda:*.",
        ),
    ] = None
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Run on the workers of a Dask cluster, such as tcp://10.0.0.1:8786; needs headscope[cluster].",
        ),
    ] = None

    def engine(self) -> Engine | None:
        """The engine that was asked for; None for this process."""
        if self.devices is None and self.dask is None:
            return None
        from headscope.runs.engines import Dask, Processes

        return Processes(self.devices) if self.devices is not None else Dask(self.dask)
