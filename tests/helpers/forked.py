"""Workers of `Processes` that are forked from a process which has imported what they need, so that each comes at once.

Tests that start a process of their own, which has workers, start them as they are.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from types import SimpleNamespace

import pytest

from headscope.runs.engines import processes

NEEDED = [
    "distributed",
    "headscope.analyses.measure.run",
    "headscope.analyses.probes.run",
    "headscope.analyses.roles.run",
    "headscope.runs.engines.child",
    "tests.helpers.run_sample",
    "transformers.models.bert.modeling_bert",
]
"""Also what workers of dask need: a test process forks from one only, with what was asked for first."""


class Forked:
    """What `Processes` needs of `subprocess.Popen`, for a command that is ``python -c CODE WORDS``."""

    def __init__(self, command: Sequence[str], *, stdin: int, stdout: int, env: Mapping[str, str]) -> None:
        assert stdin == stdout == processes.subprocess.PIPE
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(NEEDED)
        asked, self._in = context.Pipe(duplex=False)
        self._out, answers = context.Pipe(duplex=False)
        self._process = context.Process(
            target=_work, args=(command[2:], asked, answers, dict(env)), daemon=True
        )
        self._process.start()
        asked.close()
        answers.close()
        self.stdin, self.stdout = (
            os.fdopen(os.dup(self._in.fileno()), "wb"),
            os.fdopen(os.dup(self._out.fileno()), "rb"),
        )
        self._in.close()
        self._out.close()
        self.pid, self.kill = self._process.pid, self._process.kill

    def wait(self) -> int:
        self._process.join()
        assert self._process.exitcode is not None
        return self._process.exitcode


def _work(words: Sequence[str], asked: Connection, answers: Connection, environment: dict[str, str]) -> None:
    import torch

    os.environ.clear()
    os.environ.update(environment)
    torch.set_num_threads(int(environment["OMP_NUM_THREADS"]))
    os.dup2(asked.fileno(), 0)
    os.dup2(answers.fileno(), 1)
    asked.close()
    answers.close()
    code, *sys.argv[1:] = words
    exec(code, {"__name__": "__main__"})


@contextmanager
def forked() -> Generator[None]:
    """Engines that are made within have such workers, where processes can be forked."""
    with pytest.MonkeyPatch.context() as patch:
        if "forkserver" in multiprocessing.get_all_start_methods():
            started = SimpleNamespace(Popen=Forked, PIPE=processes.subprocess.PIPE)
            patch.setattr(processes, "subprocess", started)
        yield
