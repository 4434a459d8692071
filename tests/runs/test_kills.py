"""Workers and clients that are killed at random moments, again and again: what an undisturbed run gives, bit by bit.

`HEADSCOPE_KILLS` are killed of each kind (40 where nothing is said), of three analyses in turn; the seed is printed.
"""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import xarray as xr

import headscope as hs
from headscope.engines import Processes
from tests.helpers import kills
from tests.helpers.kills import found, resumes
from tests.helpers.run_sample import as_a_worker

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(os.name == "nt", reason="signals"),
    pytest.mark.filterwarnings("ignore::headscope.errors.HeadscopeWarning"),
]

NAMES = ("measure", "links", "roles", "why")
KILLS = int(os.environ.get("HEADSCOPE_KILLS", "40"))
SEED = int(os.environ.get("HEADSCOPE_KILLS_SEED", "0"))
LIMIT = 120  # seconds a run, for what hangs


@pytest.fixture(autouse=True)
def small_blocks() -> Generator[None]:
    with as_a_worker(kills.BLOCK, LIMIT * KILLS):
        yield


@cache
def plain(name: str) -> Any:
    """Without an engine, and without a kill."""
    return found(name)


def same(name: str, result: Any) -> None:
    """Bit by bit, but for what tells one run from another."""
    whole = plain(name)
    if isinstance(whole, pd.DataFrame):
        pd.testing.assert_frame_equal(result, whole, check_exact=True)
        return
    xr.testing.assert_identical(result.drop_attrs(), whole.drop_attrs())
    mine, theirs = (json.loads(each.attrs["meta"]) for each in (result, whole))
    for meta in (mine, theirs):
        for key in ("created", "seconds", "command"):
            meta.pop(key, None)
    assert mine == theirs


def of_workers(engine: Any, pids: Callable[[], list[int]]) -> None:
    """Kill a worker in each of many runs; one that came too late for its run does not count."""
    draw, done, tries = random.Random(SEED), 0, 0
    long: dict[str, float] = {}
    for name in (NAMES[0], *NAMES):  # the first run is longer: workers start in it
        plain(name)
        begun = time.monotonic()
        same(name, found(name, engine, pause=0.002))
        long[name] = time.monotonic() - begun
    while done < KILLS:
        assert tries < 3 * KILLS, f"{done} of {tries} kills came in time"
        name, tries = NAMES[done % len(NAMES)], tries + 1
        over, killed = threading.Event(), threading.Event()

        def kill(wait: float, over: threading.Event = over, killed: threading.Event = killed) -> None:
            if not over.wait(wait):
                own = pids()
                if own and not over.is_set():
                    with suppress(ProcessLookupError):  # it has ended by itself
                        os.kill(draw.choice(own), signal.SIGKILL)
                        killed.set()

        killing = threading.Thread(target=kill, args=(draw.uniform(0, long[name]),))
        killing.start()
        result = found(name, engine, pause=0.002)
        over.set()
        killing.join()
        same(name, result)
        done += killed.is_set()
    print(f"seed {SEED}: {done} workers killed in {tries} runs, all bit-equal")


def of_clients(where: str, folder: Path) -> None:
    """Kill clients at random moments of their runs; one process goes on from what each kept."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.helpers.kills", "headscope.analyses.roles.run"])
    draw, done, tries, went_on = random.Random(SEED), 0, 0, 0
    while done < KILLS:
        assert tries < 2 * KILLS, f"{done} of {tries} clients were killed in time"
        name, place, tries = NAMES[done % len(NAMES)], folder / str(tries), tries + 1
        at_work = context.Event()
        client = context.Process(target=kills.client, args=(name, where, str(place), at_work))
        client.start()
        assert at_work.wait(LIMIT)
        most = draw.uniform(0, 2)
        if resumes(name) and draw.random() < 0.7:  # most of them as they have something to go on from
            while client.is_alive() and not kept(place):
                time.sleep(0.01)
            most /= 4
        client.join(most)
        if client.is_alive():
            assert client.pid is not None
            os.kill(client.pid, signal.SIGKILL)
            done += 1
        client.join()
        went_on += kept(place)
        same(name, found(name, resume=place))
    print(f"seed {SEED}: {done} clients killed in {tries} runs, {went_on} with checkpoints, all bit-equal")


def kept(folder: Path) -> bool:
    return next(folder.glob("**/span-*.safetensors"), None) is not None


def test_workers_of_devices() -> None:
    with Processes("cpu:2") as engine:

        def pids() -> list[int]:
            slots: Any = engine._slots  # pyright: ignore[reportPrivateUsage]
            return [slot.process.pid for slot in list(slots.values())]

        of_workers(engine, pids)


def test_clients_of_devices(tmp_path: Path) -> None:
    of_clients("cpu:1", tmp_path)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    dask, distributed = pytest.importorskip("dask"), pytest.importorskip("distributed")
    needed = ["distributed", "tests.helpers.kills", "headscope.analyses.roles.run"]
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        distributed.utils.get_mp_context().set_forkserver_preload(needed)
        options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.CRITICAL}
        with distributed.LocalCluster(n_workers=2, **options) as own:
            yield own


def test_workers_of_dask(cluster: Any) -> None:
    def pids() -> list[int]:
        nannies = list(cluster.workers.values())
        return [nanny.pid for nanny in nannies if getattr(nanny, "pid", None)]

    of_workers(hs.engines.Dask(cluster.scheduler_address), pids)


def test_clients_of_dask(cluster: Any, tmp_path: Path) -> None:
    of_clients(cluster.scheduler_address, tmp_path)
