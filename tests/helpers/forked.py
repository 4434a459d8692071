"""Workers of `Processes` that are forked from a process which has imported what they need, so that each comes at once.

Tests that start a process of their own, which has workers, start them as they are.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from headscope.runs.engines import processes

NEEDED = [
    "distributed",
    "loky.process_executor",
    "headscope.analyses.measure.run",
    "headscope.analyses.probes.run",
    "headscope.analyses.roles.run",
    "headscope.runs.engines.processes",
    "tests.helpers.run_sample",
    "transformers.models.bert.modeling_bert",
]
"""Also what workers of dask need: a test process forks from one only, with what was asked for first."""


@contextmanager
def forked() -> Generator[None]:
    """Engines that are made within have such workers, where processes can be forked."""
    with pytest.MonkeyPatch.context() as patch:
        if "forkserver" in multiprocessing.get_all_start_methods():
            context = multiprocessing.get_context("forkserver")
            context.set_forkserver_preload(NEEDED)
            patch.setattr(processes, "_CONTEXT", context)
        yield
