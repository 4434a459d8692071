"""Runs in several local processes: the figures of one process, to the last digit, whatever dies."""

from __future__ import annotations

import functools
import importlib
import io
import json
import os
import pickle
import random
import re
import signal
import subprocess
import sys
import threading
import time
import types
from collections.abc import Callable, Generator, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, cast

import cloudpickle
import numpy as np
import pytest
import torch

import headscope as hs
from headscope.analyses.distance import run as distances
from headscope.analyses.measure.run import measure
from headscope.engines import Here, Processes
from headscope.errors import HeadscopeWarning, InputError, ModelError, RunError
from headscope.models import Model
from headscope.runs.engines import engine_of, processes
from headscope.runs.engines.dispatch import Dispatch
from headscope.runs.engines.processes import parse
from headscope.runs.engines.worker import Setup, answer, answered, packed, prepare, save
from headscope.runs.identity import installed
from headscope.runs.task import Task
from tests.helpers.forked import forked
from tests.helpers.run_sample import (
    WANTED,
    Fails,
    LoadsOnce,
    as_a_worker,
    bert,
    corpus,
    deadly,
    even,
    first,
    same,
    slow,
)

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals")

LIMIT = 300  # seconds, for what hangs


@pytest.fixture(autouse=True)
def small_blocks() -> Generator[None]:
    with as_a_worker(4, LIMIT):
        yield


@pytest.fixture(scope="module", autouse=True)
def forks() -> Generator[None]:
    with forked():
        yield


@pytest.fixture(scope="module")
def model() -> Model:
    return bert()


@pytest.fixture(scope="module")
def pair(forks: None) -> Iterator[Processes]:
    """Two processes, kept for all runs."""
    with Processes("cpu:2") as engine:
        yield engine


def pids(engine: Processes) -> list[int]:
    return [slot.process.pid for slot in engine._slots.values() if slot.process and slot.process.pid]


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


# --- what is asked for


def test_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse("cpu:3") == ["cpu"] * 3
    assert parse("cpu") == ["cpu"]
    assert parse(["cpu:1", "cpu:2"]) == ["cpu"] * 3
    assert parse("cpu:*") == ["cpu"] * (os.cpu_count() or 1)
    monkeypatch.setattr(processes, "check_device", lambda _: None)
    with pytest.raises(
        InputError, match=r"devices of one kind, as others move last digits, found cpu and cuda$"
    ):
        parse("cpu,cuda:0")
    monkeypatch.undo()
    for bad, message in (
        ("", "devices: expected such as cpu:4, cuda:0,cuda:1 or cuda:"),
        ("cpu:0", "expected at least one process, found cpu:0"),
        ("cpu:x", "found 'cpu:x'"),
        ("warp:1", "device: expected one that is here"),
    ):
        with pytest.raises(InputError, match=message):
            parse(bad)


def test_what_stands_for_an_engine() -> None:
    assert isinstance(engine_of(None), Here)
    two = engine_of("cpu:2")
    assert isinstance(two, Processes)
    assert engine_of(two) is two
    with pytest.raises(
        InputError, match=r"engine: expected one of hs.engines, devices such as .*, found int"
    ):
        engine_of(2)
    with pytest.raises(InputError, match="threads: expected at least 1, found 0"):
        Processes("cpu:2", threads=0)


# --- the same digits


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{"preset": "clark2019"}, {"by": "document", "limit": 17, "batch_size": 3}], ids=str
)
def test_the_figures_of_one_process(model: Model, pair: Processes, options: dict[str, Any]) -> None:
    plain = measure(model, corpus(), measures=WANTED, **options)
    same(measure(model, corpus(), measures=WANTED, engine=pair, **options), plain)


@pytest.mark.slow
def test_measures_by_name_by_file_and_by_function(model: Model, pair: Processes, tmp_path: Path) -> None:
    """Also of a function that is hidden by its measure, and of one in a function."""
    file = tmp_path / "mine.py"
    file.write_text(
        "import numpy as np\nfrom headscope import pair_measure\n\nSTEP = 3\n\n"
        '@pair_measure("third", "Mass on every third place.")\n'
        "def third(tokens, queries):\n"
        "    return np.broadcast_to(np.arange(len(tokens)) % STEP == 0, (len(queries), len(tokens)))\n",
        encoding="utf-8",
    )
    measures = ["entropy", "same_word", f"{file}:third", even, slow(0.0)]
    found = measure(model, corpus(), measures=measures, engine=pair)
    same(found, measure(model, corpus(), measures=measures))
    assert {"third", "even", "slow"} <= {str(name) for name in found.data_vars}


@pytest.mark.slow
def test_spans_of_distances(
    model: Model, pair: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Folded here, or by a worker, or in shards: the same digits."""
    run = functools.partial(distances.distance, model, corpus(90), precision="float64")
    whole = run()
    kind = functools.partial(
        type(distances.KIND), "distance", distances.PairSums.from_arrays, distances._figures
    )
    monkeypatch.setattr(distances, "BLOCK", 3)
    monkeypatch.setattr(distances, "KIND", kind(5))
    plain = run()
    sent: list[int] = []
    crew = Processes.results

    def results(self: Processes, models: Any, work: Any, units: Any, shown: Any = None) -> Any:
        def counted() -> Any:
            for unit in units:
                sent.append(len(unit))
                yield unit

        return crew(self, models, work, counted(), shown)

    monkeypatch.setattr(Processes, "results", results)
    same(run(engine=pair), plain)
    assert sent == [1] * 20 + [5, 5]
    for number, engine in ((1, pair), (2, None), (3, pair)):
        run(shard=f"{number}/3", part=tmp_path / f"{number}.nc", engine=engine)
    same(hs.distance.merge([tmp_path / f"{number}.nc" for number in (3, 1, 2)]), plain)
    # Other blocks make other batches, which round otherwise: float32 has a unit of 1.2e-7.
    np.testing.assert_allclose(plain["distance"], whole["distance"], rtol=1e-6)


@pytest.mark.slow
def test_a_model_by_its_folder_and_one_in_memory(pair: Processes, tmp_path: Path) -> None:
    """One that was changed since it was loaded is sent as it is."""
    torch.manual_seed(1)
    bert().module.save_pretrained(tmp_path)
    loaded = hs.load(tmp_path)
    same(measure(loaded, corpus(), measures=WANTED, engine=pair), measure(loaded, corpus(), measures=WANTED))
    before = measure(loaded, corpus(), measures=WANTED)
    with torch.no_grad():
        for weight in loaded.module.parameters():
            weight.mul_(1.5)
    changed = measure(loaded, corpus(), measures=WANTED)
    assert not changed["entropy"].equals(before["entropy"])
    same(measure(loaded, corpus(), measures=WANTED, engine=pair), changed)


@pytest.mark.slow
def test_another_model_in_the_folder_is_refused(tmp_path: Path) -> None:
    bert(0).module.save_pretrained(tmp_path)
    loaded = hs.load(tmp_path)
    bert(1).module.save_pretrained(tmp_path)
    with pytest.raises(
        ModelError,
        match=r"^no worker takes part: process 1 \(cpu\): \S+: expected the weights \w+, found \w+$",
    ):
        measure(loaded, corpus(), measures=WANTED, engine="cpu:1")


@pytest.mark.slow
def test_gradients_say_what_they_are_of(pair: Processes, demo: Model) -> None:
    """Also where nothing is left to do."""
    model = demo
    texts = hs.corpora.builtin(pack=None)
    options: dict[str, Any] = {"measures": ["gradient_previous"], "limit": 6}
    plain = measure(model, texts, **options)
    assert json.loads(plain.attrs["meta"])["objective"] == "half the squared norm of the mean hidden state"
    same(measure(model, texts, engine=pair, **options), plain)


@pytest.mark.slow
def test_failures_are_left_out_and_said(model: Model, pair: Processes) -> None:
    broken = Model(Fails(model.module), name="fails")
    options: dict[str, Any] = {"measures": WANTED, "skip_failures": True}
    with pytest.warns(HeadscopeWarning, match=r"left out: corpus.txt:14: the model failed .*no such token"):
        plain = measure(broken, corpus(bad=[13]), **options)
    with pytest.warns(HeadscopeWarning) as said:
        same(measure(broken, corpus(bad=[13]), **options, engine=pair), plain)
    assert [str(each.message)[:24] for each in said] == ["left out: corpus.txt:14:"]
    with pytest.raises(RunError, match=r"^corpus.txt:14: the model failed \(RuntimeError: no such token\)$"):
        measure(broken, corpus(bad=[13]), measures=WANTED, engine=pair)


# --- whatever dies


@pytest.mark.slow
@pytest.mark.parametrize("unit", [-1, 7], ids=["as it loads", "in the midst"])
@pytest.mark.filterwarnings("ignore:process:headscope.errors.HeadscopeWarning")
def test_a_worker_killed_at_a_block(
    model: Model, pair: Processes, unit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    measures = ["previous", "entropy"]
    plain = measure(model, corpus(90), measures=measures)
    measure(model, corpus(4), measures=measures, engine=pair)  # somebody is ready
    killed: list[int] = []
    submit = Dispatch._submit

    def submitted(self: Any, slot: Any, number: int, *work: Any) -> None:
        submit(self, slot, number, *work)
        if number == unit and not killed:
            killed.append(slot.process.pid)
            os.kill(killed[0], signal.SIGKILL)

    monkeypatch.setattr(Dispatch, "_submit", submitted)
    same(measure(model, corpus(90), measures=measures, engine=pair), plain)
    assert len(killed) == 1


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.filterwarnings("ignore:process:headscope.errors.HeadscopeWarning")
def test_a_worker_killed_at_a_random_moment(model: Model, pair: Processes, seed: int) -> None:
    draw = random.Random(seed)
    measures = ["previous", "entropy", slow(0.003)]
    plain = measure(model, corpus(90), measures=["previous", "entropy", slow(0.0)])
    measure(model, corpus(4), measures=measures, engine=pair)  # somebody is ready
    killed: list[int] = []

    def kill() -> None:
        killed.append(draw.choice(pids(pair)))
        os.kill(killed[0], signal.SIGKILL)

    timer = threading.Timer(draw.uniform(0.0, 0.3), kill)
    timer.start()
    found = measure(model, corpus(90), measures=measures, engine=pair)
    timer.join()
    assert killed
    same(found, plain)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:process:headscope.errors.HeadscopeWarning")
def test_a_worker_that_ends_is_replaced_and_its_block_done_again(
    model: Model, pair: Processes, tmp_path: Path
) -> None:
    measures = ["entropy", deadly(13, tmp_path / "once")]
    measure(model, corpus(4), measures=["entropy"], engine=pair)  # both are there
    before = {
        pid for pid in pids(pair) if alive(pid)
    }  # one may have been killed at the end of the test before
    with pytest.warns(
        HeadscopeWarning,
        match=r"^process \d \(cpu\) ended \(SIGKILL: killed, or out of memory\); what it was working on, block \d+ "
        r"\(\d inputs, corpus.txt:\d+ to corpus.txt:\d+\), is done again$",
    ):
        found = measure(model, corpus(90), measures=measures, engine=pair)
    same(found, measure(model, corpus(90), measures=measures))
    assert len(before - set(pids(pair))) == 1
    assert len(pids(pair)) == 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:process:headscope.errors.HeadscopeWarning")
def test_a_worker_killed_in_the_midst_of_its_answer(model: Model, pair: Processes, tmp_path: Path) -> None:
    """What it has sent of it is no answer, and nobody waits for the rest."""
    home, write = os.getpid(), os.write

    @hs.pair_measure("cut", "Mass on even places, once not told whole.")
    def cut(tokens: Any, queries: Any) -> Any:
        def half(handle: int, data: Any) -> int:
            if len(data) > 200 and first(tmp_path / "once"):
                write(handle, bytes(data[: len(data) // 2]))
                os.kill(os.getpid(), signal.SIGKILL)
            return write(handle, data)

        if os.getpid() != home:
            cast(Any, Connection)._send.__defaults__ = (half,)
        return np.broadcast_to(np.arange(len(tokens)) % 2 == 0, (len(queries), len(tokens)))

    found = measure(model, corpus(), measures=["entropy", cut], engine=pair)
    assert (tmp_path / "once").exists()
    same(found, measure(model, corpus(), measures=["entropy", cut]))


@pytest.mark.slow
def test_a_block_at_which_workers_end_ends_the_run(model: Model, pair: Processes, tmp_path: Path) -> None:
    """With its name, and what was done before is kept."""
    inputs = corpus(60)
    lengths = [len(each.tokens or ()) for each in inputs]
    at = max(map(lengths.index, lengths))  # of a length that is met late
    with (
        pytest.warns(HeadscopeWarning, match="is done again"),
        pytest.raises(
            RunError,
            match=r"^block \d+ \(\d inputs, corpus.txt:\d+ to corpus.txt:\d+\): ended the worker 3 times, the last time "
            r"process \d \(cpu\) \(SIGKILL: killed, or out of memory\); what was done before is kept in \S+$",
        ) as told,
    ):
        measure(model, inputs, measures=["entropy", deadly(lengths[at])], engine=pair, resume=tmp_path)
    ends = [int(line) for line in re.findall(r"corpus.txt:(\d+)", str(told.value))]
    assert ends[0] <= at + 1 <= ends[1]
    kept = len([*tmp_path.glob("span-*")])
    assert kept == int(str(told.value).split()[1])


@pytest.mark.slow
def test_a_model_that_only_some_can_load(pair: Processes, tmp_path: Path) -> None:
    """Is said by name, and the others go on."""
    model = Model(LoadsOnce(bert().module, tmp_path / "first"), name="heavy")
    plain = measure(model, corpus(), measures=[*WANTED, slow(0.0)])
    with pytest.warns(
        HeadscopeWarning, match=r"^process \d \(cpu\) takes no part: OSError: no room for the weights$"
    ):
        same(measure(model, corpus(), measures=[*WANTED, slow(0.05)], engine=pair), plain)


@pytest.mark.slow
def test_memory_that_is_full_names_the_input(model: Model, pair: Processes) -> None:
    home = os.getpid()

    @hs.row_measure("greedy", "More than there is.")
    def greedy(weights: Any, tokens: Any, queries: Any) -> Any:
        if os.getpid() != home:
            np.zeros(1 << 58, np.uint8)
        return weights.max(-1)

    with pytest.raises(RunError, match=r"^corpus.txt:\d+: not enough memory \(Unable to allocate"):
        measure(model, corpus(), measures=[greedy], engine=pair)
    same(measure(model, corpus(), measures=WANTED, engine=pair), measure(model, corpus(), measures=WANTED))


SCRIPT = """
import signal, sys, headscope.runs.batches
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where this was started in the background
sys.path[:0] = {path!r}
from tests.helpers.run_sample import bert, corpus, slow, WANTED
from headscope.analyses.measure.run import measure
from headscope.engines import Processes
from headscope.runs.checkpoint import Folder
headscope.runs.batches.BLOCK = 4
Folder.__init__.__kwdefaults__["every"] = 0.0
with Processes("cpu:1") as engine:  # no guard: a script as anybody writes it
    measure(bert(), corpus(4), measures=["entropy"], engine=engine)
    print(*[slot.process.pid for slot in engine._slots.values()], flush=True)
    measure(bert(), corpus(120), measures=[*WANTED, slow(0.0, {place!r})], resume={place!r}, engine=engine)
print("done", flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "Ctrl-C"])
def test_a_client_that_ends_leaves_nobody_and_one_process_goes_on(
    tmp_path: Path, how: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is ended in the midst of a block, once two checkpoints are kept."""
    script = SCRIPT.format(path=sys.path, place=str(tmp_path / "run"))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )
    children = [int(word) for word in process.stdout.readline().split()]
    assert len(children) == 1
    while len(list((tmp_path / "run").glob("span-*.safetensors"))) < 2:
        time.sleep(0.02)
    os.killpg(process.pid, how) if how == signal.SIGINT else process.send_signal(how)
    out, err = process.communicate()
    assert out == ""
    assert process.returncode == -how, err
    assert "KeyboardInterrupt" in err or how == signal.SIGKILL
    while any(map(alive, children)):
        time.sleep(0.05)
    done = len([*(tmp_path / "run").glob("span-*.safetensors")])
    assert 1 < done < 20
    measures = [*WANTED, slow(0.0)]
    worked: list[int] = []
    monkeypatch.setattr(
        "headscope.runs.task.Task.block", lambda *args, own=Task.block: worked.append(1) or own(*args)
    )
    found = measure(bert(), corpus(120), measures=measures, resume=tmp_path / "run")
    assert len(worked) == 20 - done
    same(found, measure(bert(), corpus(120), measures=measures))


PLACES = """
import sys
sys.path[:0] = {path!r}
{before}
import os, headscope
{after}
from headscope.runs.engines import processes
slot = processes._start("process 1", "cpu", 1)
found = slot.executor.submit(eval, "__import__('headscope').__file__").result()
assert found == headscope.__file__, found
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "before", "after"),
    [
        (["-I"], "", ""),
        (["-S"], "", ""),
        (
            [],
            "sys.path.remove('')\nimport loky.backend.spawn",
            "os.chdir('other')\nsys.path[:] = [place for place in sys.path if place != SOURCE]",
        ),
    ],
    ids=["isolated", "bare", "script in another folder, path put back"],
)
def test_a_process_finds_the_modules_of_this_one(
    flags: list[str], before: str, after: str, tmp_path: Path
) -> None:
    """In a folder that has files of their names, and when only this process knows where they are."""
    (tmp_path / "other").mkdir()
    for name in ("headscope", "loky", "torch", "signal", "threading"):
        for folder in (tmp_path, tmp_path / "other"):
            (folder / f"{name}.py").write_text("raise SystemExit('another module')")
    path = [str(Path(hs.__file__).parents[1]), *filter(None, sys.path)]
    code = f"SOURCE = {path[0]!r}\n" + PLACES.format(path=path, before=before, after=after)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [sys.executable, *flags, "-c", code], capture_output=True, text=True, env=environment, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "another module" not in done.stderr
    assert "resource_tracker" not in done.stderr


def test_a_worker_with_other_code_of_the_same_version_takes_no_part() -> None:
    setup = Setup((), b"", {**installed(), "headscope's code": "another"}, "cpu", 1, "highest")
    with pytest.raises(ModelError, match=r"^expected headscope's code another, found [0-9a-f]{16}$"):
        prepare(pickle.dumps(setup), None, [])


@pytest.mark.slow
def test_a_process_that_grows_goes_on() -> None:
    """As it does when it loads a model of half a gigabyte, which is no leak."""

    def grow(size: int) -> int:
        sys.modules[f"of {size}"] = bytearray(b"1" * size)
        time.sleep(1.1)  # it measures itself once a second
        return os.getpid()

    with Processes("cpu:1") as engine:
        (slot,) = engine.look(())
        assert len({slot.executor.submit(grow, size).result() for size in (1, 400_000_000, 1)}) == 1


@pytest.mark.slow
def test_processes_end_with_the_run(model: Model) -> None:
    engine = Processes("cpu:1")
    with engine:
        measure(model, corpus(), measures=WANTED, engine=engine)
        own = pids(engine)
        measure(model, corpus(), measures=WANTED, engine=engine)
        assert pids(engine) == own
        assert all(map(alive, own))
    assert not any(map(alive, own))


def test_what_cannot_travel_back_is_an_error_and_no_end_of_the_worker(tmp_path: Path) -> None:
    with (tmp_path / "open").open("wb") as file:
        value, error, _ = answered(answer(lambda: file))
    assert value is None
    assert re.fullmatch(r"a worker failed \(TypeError: cannot pickle .*\)", str(error))


def test_a_model_that_was_asked_for_its_states_travels() -> None:
    """transformers leaves hooks in it for good."""
    asked = bert()
    inputs = torch.tensor([[5, 6, 7]])
    states = asked.module(inputs, output_hidden_states=True).hidden_states
    file = io.BytesIO()
    save(asked, file)
    file.seek(0)
    there = torch.load(file, weights_only=False)
    for own, other in zip(states, there.module(inputs, output_hidden_states=True).hidden_states, strict=True):
        torch.testing.assert_close(own, other, atol=0, rtol=0)


# --- what travels as code


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Write a module to a folder that PYTHONPATH names, as clusters have them, and import it."""

    def write(place: str) -> Any:
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("def double(x):\n    return 2 * x\n")
        package = path.name == "__init__.py"
        root = path.parents[package]
        monkeypatch.syspath_prepend(str(root))
        name = path.parent.name if package else path.stem
        module = importlib.import_module(name)
        monkeypatch.setitem(sys.modules, name, module)
        return module

    return write


def by_value(module: Any) -> bool:
    """Whether its function travels as its code."""
    return b"co_code" in packed(module.double, []) or b"_make_function" in packed(module.double, [])


@pytest.mark.parametrize("place", ["own_script.py", "own_project/__init__.py", "own-1.0/src/own_nested.py"])
def test_code_of_ones_own_travels_as_it_is(place: str, imported: Callable[[str], Any]) -> None:
    assert by_value(imported(place))


def test_a_project_that_says_what_it_is_is_still_ones_own(
    imported: Callable[[str], Any], tmp_path: Path
) -> None:
    """The metadata of a checkout that was built in place."""
    module = imported("own_checkout.py")
    (tmp_path / "own_checkout.egg-info").mkdir()
    (tmp_path / "own_checkout.egg-info" / "PKG-INFO").write_text(
        "Metadata-Version: 2.1\nName: own-checkout\nVersion: 1\n"
    )
    (tmp_path / "own_checkout.egg-info" / "SOURCES.txt").write_text("own_checkout.py\n")
    (tmp_path / "own_checkout.egg-info" / "top_level.txt").write_text("own_checkout\n")
    assert by_value(module)


@pytest.mark.parametrize(
    "place",
    [
        "apps/bundle/lib/python3.11/site-packages/lib_module.py",
        "apps/bundle/lib/python3.11/site-packages/lib_package/__init__.py",
        "usr/lib/python3/dist-packages/lib_debian.py",
        "target/lib_target.py",
        "target2/lib_target_package/__init__.py",
    ],
)
def test_a_library_is_sent_by_its_name_wherever_it_is(
    place: str, imported: Callable[[str], Any], tmp_path: Path
) -> None:
    """As modules of a cluster, Spack, Debian, and ``pip install --target`` have them."""
    if place.startswith("target"):
        folder, _, rest = place.partition("/")
        about = tmp_path / folder / "some_name-1.0.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: some-name\nVersion: 1.0\n")
        (about / "RECORD").write_text(
            f"{rest},,\nsome_name-1.0.dist-info/METADATA,,\nsome_name-1.0.dist-info/RECORD,,\n"
        )
    assert not by_value(imported(place))


def test_what_is_registered_is_undone(
    imported: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also beside modules that are called otherwise than they are found, where packing fails, and not what was before."""
    own, kept = imported("own_one.py"), imported("own_two.py")
    odd = types.ModuleType("own_odd")
    odd.__file__ = own.__file__
    monkeypatch.setitem(sys.modules, "another_name", odd)
    nameless = types.SimpleNamespace(__file__=own.__file__)
    monkeypatch.setitem(sys.modules, "nameless", nameless)
    cloudpickle.register_pickle_by_value(kept)
    try:
        assert by_value(own)
        with pytest.raises(InputError, match="that can be sent to other processes"):
            packed(cast(Any, threading.Lock()), [])
        assert cloudpickle.list_registry_pickle_by_value() == {"own_two"}
    finally:
        cloudpickle.unregister_pickle_by_value(kept)
