"""How a run goes through a corpus: the options that all runs share, and the command that was typed."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from headscope.core.types import AnyPath
from headscope.core.validation import Count


@dataclass(frozen=True)
class RunOptions:
    """How a run goes through a corpus.

    Attributes:
        batch_size: inputs in a batch, at most; long ones come in fewer.
        limit: use at most this many inputs.
        resume: a folder of checkpoints: a run that was killed goes on from there, and ends with the same figures to the
            last digit (docs/streams.md).
        shard: such as ``2/8``: work on the second eighth of the corpus' blocks only, for `headscope.merge`.
        part: the ``.nc`` file to which a shard's sums go.
        skip_failures: leave out inputs at which the model fails, and list them under ``failures`` in the description,
            instead of ending the run with an error that names the first.
        engine: where the model runs: devices of local processes, such as ``cpu:4`` or ``cuda:*``, a
            `distributed.Client`, or one of `headscope.engines`; by default this process (docs/streams.md).
        progress: show progress on stderr.
    """

    batch_size: Count = 32
    limit: Count | None = None
    resume: AnyPath | None = None
    shard: str | None = None
    part: AnyPath | None = None
    skip_failures: bool = False
    engine: Any = None
    progress: bool = False


COMMAND: ContextVar[str] = ContextVar("COMMAND", default="")
"""The command line that makes the results; empty in Python."""
