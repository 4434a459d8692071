"""Runs on a Dask cluster: the figures of one process, to the last digit, whoever comes and goes."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.analyses.measure.run import measure
from headscope.engines import Dask
from headscope.errors import HeadscopeWarning, InputError, ModelError
from headscope.measures.measure import Measure
from headscope.models import Model
from headscope.runs.engines.dispatch import Dispatch
from tests.helpers.forked import NEEDED
from tests.helpers.run_sample import WANTED, as_a_worker, bert, corpus, even, first, same, slow

distributed: Any = pytest.importorskip("distributed")

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="signals")]

LIMIT = 300  # seconds, for what hangs


@pytest.fixture(autouse=True)
def small_blocks() -> Generator[None]:
    with as_a_worker(4, LIMIT):
        yield


@pytest.fixture(scope="module")
def model() -> Model:
    return bert()


@pytest.fixture(scope="module", autouse=True)
def forked() -> Generator[None]:
    """Workers are forked from a process that has imported all that they need, so that new ones come soon."""
    dask = pytest.importorskip("dask")
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        distributed.utils.get_mp_context().set_forkserver_preload(NEEDED)  # instead of its own
        yield


def cluster_of(workers: int, **more: Any) -> Any:
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    return distributed.LocalCluster(n_workers=workers, **{**options, **more})


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with cluster_of(2) as own:
        yield own


@pytest.fixture(scope="module")
def client(cluster: Any) -> Iterator[Any]:
    with distributed.Client(cluster) as own:
        yield own


def who(folder: Path, seconds: float) -> Measure:
    """A slow measure that notes which processes it runs in."""

    @hs.pair_measure("who", "Mass on even places.")
    def who(tokens: Any, queries: Any) -> Any:
        (folder / str(os.getpid())).touch()
        time.sleep(seconds)
        return np.broadcast_to(np.arange(len(tokens)) % 2 == 0, (len(queries), len(tokens)))

    return who


def until(told: Callable[[], bool]) -> None:
    while not told():
        time.sleep(0.05)


# --- the same digits


def test_the_figures_of_one_process(model: Model, client: Any, cluster: Any) -> None:
    """By a client, an engine or an address; again without loading the model again."""
    measures = [*WANTED, "same_word", even, slow(0.0)]
    plain = measure(model, corpus(), measures=measures)
    same(measure(model, corpus(), measures=measures, engine=client), plain)
    with Dask(client) as engine:
        for _ in range(2):
            same(measure(model, corpus(), measures=measures, engine=engine), plain)
    by_address = Dask(cluster.scheduler_address)
    same(measure(model, corpus(), measures=measures, engine=by_address), plain)
    by_address.close()


@pytest.mark.filterwarnings("ignore:worker tcp:headscope.errors.HeadscopeWarning")
def test_a_model_by_its_folder_and_one_that_is_sent(client: Any, tmp_path: Path) -> None:
    bert().module.save_pretrained(tmp_path / "here")
    loaded = hs.load(tmp_path / "here")
    plain = measure(loaded, corpus(), measures=WANTED)
    same(measure(loaded, corpus(), measures=WANTED, engine=client), plain)
    (tmp_path / "here").rename(tmp_path / "elsewhere")
    same(measure(loaded, corpus(), measures=WANTED, engine=Dask(client, send=True)), plain)
    with pytest.raises(
        ModelError, match=r"^no worker takes part: worker tcp://\S+: \S+here: no such folder; worker tcp"
    ):
        measure(loaded, corpus(), measures=WANTED, engine=client)


def test_other_threads_are_said(model: Model, client: Any, tmp_path: Path) -> None:
    """A run that went on a cluster and goes on with other threads."""
    measure(model, corpus(), measures=WANTED, engine=client, resume=tmp_path)
    same(
        measure(model, corpus(), measures=WANTED, resume=tmp_path), measure(model, corpus(), measures=WANTED)
    )
    with pytest.warns(HeadscopeWarning, match="the last digits may differ: threads: expected 2, found 1"):
        measure(model, corpus(), measures=WANTED, engine=Dask(client, threads=2), resume=tmp_path)


def test_what_is_no_cluster() -> None:
    with pytest.raises(InputError, match=r"^dask: expected a distributed.Client or an address, found int$"):
        Dask(3)
    with pytest.raises(InputError, match=r"^dask: no address: expected the address of a scheduler \("):
        Dask("no address")


# --- whoever comes and goes


@pytest.mark.parametrize("at", [-1, 7], ids=["as it loads", "in the midst"])
@pytest.mark.filterwarnings("ignore:worker tcp:headscope.errors.HeadscopeWarning")
def test_a_worker_killed_at_a_block(
    model: Model, client: Any, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = measure(model, corpus(90), measures=["previous", "entropy"])
    client.wait_for_workers(2)
    killed: list[str] = []
    submit = Dispatch._submit

    def given(self: Any, slot: Any, unit: int, *work: Any) -> None:
        address = slot.name.removeprefix("worker ")
        pid = client.run(os.getpid, workers=[address])[address] if unit == at and not killed else None
        submit(self, slot, unit, *work)
        if pid is not None:
            killed.append(address)
            os.kill(pid, signal.SIGKILL)

    monkeypatch.setattr(Dispatch, "_submit", given)
    same(measure(model, corpus(90), measures=["previous", "entropy"], engine=client), plain)
    assert killed


@pytest.mark.filterwarnings("ignore:worker tcp:headscope.errors.HeadscopeWarning")
def test_a_worker_killed_when_its_result_is_to_be_fetched(
    model: Model, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is given up when it is seen to be gone, and nobody waits for the result."""
    client.wait_for_workers(2)
    pids = client.run(os.getpid)
    killed: list[str] = []
    gather = distributed.Client._gather

    async def kill_first(self: Any, futures: Any, *more: Any, **options: Any) -> Any:
        for key in [each.key for each in futures if str(each.key).startswith("work-")]:
            holders = await self.scheduler.who_has(keys=[key]) if not killed else {}
            for address in holders.get(key, ()):
                killed.append(address)
                os.kill(pids[address], signal.SIGKILL)
        return await gather(self, futures, *more, **options)

    monkeypatch.setattr(distributed.Client, "_gather", kill_first)
    plain = measure(model, corpus(90), measures=["previous"])
    same(measure(model, corpus(90), measures=["previous"], engine=client), plain)
    assert killed


@pytest.mark.filterwarnings("ignore:worker tcp:headscope.errors.HeadscopeWarning")
def test_a_cluster_that_grows_and_shrinks(model: Model, tmp_path: Path) -> None:
    """From nobody to three by itself, and down again when the work is done."""
    count = 120
    plain = measure(model, corpus(count), measures=["entropy", who(tmp_path, 0.0)])
    for file in tmp_path.iterdir():
        file.unlink()
    with cluster_of(0) as own, distributed.Client(own) as client:
        own.adapt(minimum=0, maximum=3, interval="100ms", target_duration="50ms", wait_count=2)
        most = 0

        def watch() -> None:
            nonlocal most
            while not done.wait(0.05):
                most = max(most, len(own.scheduler.workers))

        done = threading.Event()
        watching = threading.Thread(target=watch)
        watching.start()
        try:
            measures = ["entropy", who(tmp_path, 0.02)]
            same(measure(model, corpus(count), measures=measures, engine=client), plain)
        finally:
            done.set()
            watching.join()
        assert most >= 2
        assert len(list(tmp_path.iterdir())) >= 2
        until(lambda: len(own.scheduler.workers) == 0)


def test_a_worker_that_runs_out_of_memory(model: Model, tmp_path: Path) -> None:
    """Dask's nanny ends it; its block is done again by the next."""
    home = os.getpid()

    @hs.pair_measure("greedy", "Mass on even places, with much memory once.")
    def greedy(tokens: Any, queries: Any) -> Any:
        if os.getpid() != home and first(tmp_path / "once"):
            held = np.ones(1 << 28)  # 2 GB
            time.sleep(30)
            del held
        return np.broadcast_to(np.arange(len(tokens)) % 2 == 0, (len(queries), len(tokens)))

    with (
        cluster_of(1, memory_limit="1.5 GB") as own,
        distributed.Client(own) as client,
        pytest.warns(
            HeadscopeWarning, match=r"^worker tcp://\S+ ended \(left the cluster\); what it was working on"
        ),
    ):
        found = measure(model, corpus(), measures=["entropy", greedy], engine=client)
    assert (tmp_path / "once").exists()
    same(found, measure(model, corpus(), measures=["entropy", greedy]))
