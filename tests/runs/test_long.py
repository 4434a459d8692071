"""Runs that are resumed, sharded, merged, or go on past failures: the figures of one plain run, to the last digit."""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr

import headscope as hs
from headscope.analyses.measure.run import measure
from headscope.analyses.result import Result
from headscope.core.tokens import Tokens
from headscope.corpora import Example
from headscope.errors import HeadscopeWarning, InputError, RunError
from headscope.measures.dataset import read, write
from headscope.measures.measure import pair_measure
from headscope.models import Model
from headscope.runs.checkpoint import Folder
from headscope.runs.task import Task
from tests.helpers import run_sample
from tests.helpers.run_sample import WANTED, Fails, bert, even, same, stopped
from tests.helpers.typed import Typed

corpus = functools.partial(run_sample.corpus, each=2)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headscope.runs.batches.BLOCK", 4)


@pytest.fixture(scope="module")
def model() -> Model:
    return bert()


def failing(model: Model) -> Model:
    return Model(Fails(model.module), name="fails")


# --- the same digits


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"preset": "clark2019"}, {"by": "document", "limit": 17}], ids=str)
def test_resumed_and_merged_runs_are_the_plain_run(
    model: Model, tmp_path: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = measure(model, corpus(), measures=WANTED, batch_size=3, **options)
    run = functools.partial(measure, model, measures=WANTED, batch_size=3, **options)
    with stopped(Task, 4):
        run(corpus(), resume=tmp_path / "run")
    assert len([*(tmp_path / "run").glob("span-*")]) == 3
    same(run(corpus(), resume=tmp_path / "run"), plain)
    paths = [tmp_path / f"{number}.nc" for number in (1, 2, 3)]
    for number, path in enumerate(paths, 1):
        more = {"resume": tmp_path / "shard"} if number == 2 else {}
        run(corpus(), shard=f"{number}/3", part=path, **more)
    whole = measure.merge(paths[::-1])
    same(whole, plain)
    write(whole, tmp_path / "whole.nc")
    same(read(tmp_path / "whole.nc"), plain)
    expected = ["1.nc", "2.nc", "3.nc", "run", "shard", "whole.nc"]
    assert sorted(path.name for path in tmp_path.iterdir()) == expected


def long_documents() -> list[Example]:
    """One short document, one of 22 inputs, and two short ones: blocks of 8 inputs end in the midst of the second."""
    number = [0] + [1] * 22 + [2] * 3 + [3] * 4
    return [
        replace(example, document=each) for example, each in zip(corpus(len(number)), number, strict=True)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"by": "document", "skip_failures": True}], ids=str)
def test_a_long_document_is_kept_on_the_way(
    model: Model, tmp_path: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupted in the midst of it, and in shards: the digits of a plain run, and the figures of one block."""
    monkeypatch.setattr("headscope.runs.long.WINDOWS", 2)
    run = functools.partial(measure, model, long_documents(), measures=WANTED, batch_size=3, **options)
    plain = run()
    assert json.loads(plain.attrs["meta"])["corpus"]["documents"] == 4
    for first in (1, 2, 3):
        place = tmp_path / f"run{first}"
        with stopped(Task, first + 1):
            run(resume=place)
        assert len([*place.glob("span-*")]) == first
        same(run(resume=place), plain)
    for count in (2, 3):
        paths = [tmp_path / f"{number}-{count}.nc" for number in range(1, count + 1)]
        for number, path in enumerate(paths, 1):
            own = run(shard=f"{number}/{count}", part=path)
            assert json.loads(own.attrs["meta"])["shard"]["of_blocks"] == 4
        same(measure.merge(paths), plain)
    monkeypatch.setattr("headscope.runs.long.WINDOWS", None)
    whole = run()
    for name in whole.data_vars:
        np.testing.assert_allclose(plain[name], whole[name], rtol=1e-6, atol=1e-9, err_msg=str(name))


def test_a_corpus_that_has_grown_goes_on_where_its_last_block_is_the_same(
    model: Model, tmp_path: Path
) -> None:
    """What was its last document may go on now; then it is another corpus."""
    run = functools.partial(measure, model, measures=WANTED)
    run(corpus(9), resume=tmp_path / "cut")
    with pytest.raises(InputError, match="a checkpoint of other inputs: block 2 of the corpus"):
        run(corpus(15), resume=tmp_path / "cut")
    run(corpus(8), resume=tmp_path / "whole")
    same(run(corpus(14), resume=tmp_path / "whole"), run(corpus(14)))


def test_a_part_is_the_result_of_its_blocks(model: Model, tmp_path: Path) -> None:
    found = measure(model, corpus(8), measures=["entropy"], shard="2/2", part=tmp_path / "part.nc")
    xr.testing.assert_identical(Result.of(read(tmp_path / "part.nc")), found)
    alone = measure(model, corpus(8)[4:], measures=["entropy"])
    np.testing.assert_array_equal(found["entropy"], alone["entropy"])
    meta = json.loads(found.attrs["meta"])
    assert meta["shard"] == {"shard": "2/2", "of_blocks": 2}
    assert meta["corpus"]["examples"] == 4


def test_more_shards_than_blocks(model: Model, tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.nc" for number in (1, 2, 3)]
    for number, path in enumerate(paths, 1):
        measure(model, corpus(8), measures=["entropy"], shard=f"{number}/3", part=path)
    assert not read(paths[2]).data_vars
    same(measure.merge(paths), measure(model, corpus(8), measures=["entropy"]))


@pytest.mark.slow
def test_a_measure_of_ones_own_merges(model: Model, tmp_path: Path) -> None:
    for number in (1, 2):
        measure(
            model, corpus(), measures=[even, "entropy"], shard=f"{number}/2", part=tmp_path / f"{number}.nc"
        )
    plain = measure(model, corpus(), measures=[even, "entropy"])
    same(measure.merge([tmp_path / "1.nc", tmp_path / "2.nc"]), plain)

    @pair_measure("even", "Mass on even places.")
    def odd(tokens: Tokens, queries: Any) -> Any:
        return np.broadcast_to(np.arange(len(tokens)) % 2 == 1, (len(queries), len(tokens)))

    measure(model, corpus(), measures=[odd, "entropy"], shard="2/2", part=tmp_path / "2.nc")
    with pytest.raises(
        InputError, match=r"2.nc: not of the same run as \S*1.nc: options.definitions: expected"
    ):
        measure.merge([tmp_path / "1.nc", tmp_path / "2.nc"])


# --- inputs that fail


def test_what_shards_that_were_killed_left_goes(model: Model, tmp_path: Path) -> None:
    def left(name: str, *, age: float = 0, lock: bool = True) -> Path:
        place = tmp_path / name
        place.mkdir()
        if lock:
            (place / "lock").touch()
            os.utime(place / "lock", (time.time() - age,) * 2)
        (place / "span-00000000.safetensors").touch()
        return place

    killed, begins = left(".headscope-a", age=999), left(".headscope-b")
    others = [left(".headscope-c", lock=False), left("headscope-d", age=999)]
    part = tmp_path / "1.nc"
    with Folder[Any](tmp_path / ".headscope-e", {}, lambda _: None) as held:
        os.utime(held.path / "lock", (time.time() - 999,) * 2)
        measure(model, corpus(), measures=WANTED, shard="1/2", part=part)
    assert {*tmp_path.iterdir()} == {part, begins, *others, held.path}
    assert not killed.exists()


def test_what_is_not_kept_is_not_said_to_be(model: Model, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"^corpus.txt:1: the model failed") as error:
        measure(failing(model), corpus(bad=[0]), measures=WANTED, resume=tmp_path / "run")
    assert "kept" not in str(error.value)


def test_a_failure_keeps_what_was_before(model: Model, tmp_path: Path) -> None:
    broken = failing(model)
    with pytest.raises(
        RunError, match=r"^corpus.txt:14: the model failed .*; what was done before is kept in \S*run$"
    ):
        measure(broken, corpus(bad=[13]), measures=WANTED, resume=tmp_path / "run")
    with pytest.warns(HeadscopeWarning, match="left out: corpus.txt:14: the model failed"):
        found = measure(
            broken, corpus(bad=[13]), measures=WANTED, resume=tmp_path / "run", skip_failures=True
        )
    with pytest.warns(HeadscopeWarning):
        same(found, measure(broken, corpus(bad=[13]), measures=WANTED, skip_failures=True))
    with pytest.raises(
        InputError, match=r"left out 1 input that failed, first corpus.txt:14: resume with --skip-failures"
    ):
        measure(broken, corpus(bad=[13]), measures=WANTED, resume=tmp_path / "run")


@pytest.mark.slow
def test_failures_are_left_out_counted_and_listed(model: Model, tmp_path: Path) -> None:
    """Alone, two in a batch, a whole block, the last input: the others' figures stay."""
    bad = [1, 2, *range(8, 12), 29]
    broken = failing(model)
    with pytest.warns(HeadscopeWarning) as said:
        found = measure(broken, corpus(bad=bad), measures=WANTED, skip_failures=True, batch_size=3)
    assert len(said) == len(bad)
    meta = json.loads(found.attrs["meta"])
    assert meta["failures"]["count"] == len(bad)
    assert sorted(each["input"] for each in meta["failures"]["inputs"]) == sorted(
        f"corpus.txt:{place + 1}" for place in bad
    )
    assert meta["failures"]["inputs"][-1]["error"] == (
        "corpus.txt:30: the model failed (RuntimeError: no such token)"
    )
    assert meta["corpus"]["examples"] == 30 - len(bad)
    kept = [example for place, example in enumerate(corpus(bad=bad)) if place not in bad]
    truth = measure(broken, kept, measures=WANTED)
    for name in truth.data_vars:
        np.testing.assert_allclose(found[name], truth[name], atol=1e-6, rtol=0, err_msg=str(name))
    paths = [tmp_path / f"{number}.nc" for number in (1, 2)]
    more: dict[str, Any] = {"measures": WANTED, "skip_failures": True, "batch_size": 3}
    for number, path in enumerate(paths, 1):
        with pytest.warns(HeadscopeWarning):
            measure(broken, corpus(bad=bad), **more, shard=f"{number}/2", part=path)
    same(measure.merge(paths), found)


def test_when_every_input_fails(model: Model) -> None:
    with (
        pytest.warns(HeadscopeWarning),
        pytest.raises(RunError, match=r"every input failed, the first with: corpus"),
    ):
        measure(failing(model), corpus(6, bad=range(6)), measures=WANTED, skip_failures=True)


def test_a_batch_that_fails_as_a_whole_ends_the_run(model: Model) -> None:
    """Such as for memory: no input is to blame, so none is left out."""

    class Small(Fails):
        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> Any:
            if len(input_ids) > 2:
                raise RuntimeError("out of memory")
            return self.inner(input_ids=input_ids, attention_mask=attention_mask)

    with pytest.raises(RunError, match="out of memory"):
        measure(Model(Small(model.module), name="small"), corpus(), measures=WANTED, skip_failures=True)


# --- the command line


@pytest.mark.slow
def test_shards_and_merge_on_the_command_line(typed: Typed, tmp_path: Path) -> None:
    common = ["measure", "--pack", 24, "--measures", "previous,entropy", "--limit", 24]
    typed(*common, "-o", tmp_path / "plain.nc")
    parts = [tmp_path / "a.nc", tmp_path / "b.nc"]
    for number, part in enumerate(parts, 1):
        found = typed(*common, "--shard", f"{number}/2", "-o", part, "--resume", tmp_path / str(number))
        assert found.out == ""
        assert f"{part}: shard {number}/2 of " in found.err
    typed.refuses("expected all ", "merge", parts[1], "-o", tmp_path / "merged.nc")
    typed("merge", *parts, "-o", tmp_path / "merged.nc")
    same(read(tmp_path / "merged.nc"), read(tmp_path / "plain.nc"))
    typed.refuses("--shard: expected -o PART.nc", *common, "--shard", "1/2")
    err = typed(*common[:-1], 20, "--resume", tmp_path / "1", code=2).err
    assert len(err.splitlines()) == 1
    assert (
        "a checkpoint of another run: options.limit: expected 20, found 24; shard: expected none, found 1/2"
        in err
    )


ENDS = """
import os, signal
import headscope.runs.batches, headscope.runs.blocks
import headscope.core.saving as files
from headscope.runs.checkpoint import Folder
headscope.runs.batches.BLOCK, headscope.runs.blocks.BYTES = 4, 160
Folder.__init__.__kwdefaults__["every"] = 0.0  # a checkpoint after every block
left, synced = 3, files._synced
def end(path):  # each checkpoint is synced when it is written, and its folder when it has its name
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    synced(path)
files._synced = end
from headscope.cli import main
main()
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="kill -9")
def test_the_command_line_killed_and_started_again(typed: Typed, tmp_path: Path, shared: Path) -> None:
    """In the midst of writing its second checkpoint."""
    lines = [f"Line {number} says that the cat number {number * 7} sat on the mat." for number in range(64)]
    text, place = tmp_path / "text.txt", tmp_path / "run"
    text.write_text("\n\n".join(map("\n".join, zip(lines[::2], lines[1::2], strict=True))), encoding="utf-8")
    command = ["measure", str(text), "--pack", "0", "-m", str(shared / "models" / "stories260K")]
    command += ["--measures", "previous,entropy"]
    resumed = ["-o", str(tmp_path / "resumed.nc"), "--resume", str(place)]
    typed(*command, "-o", tmp_path / "plain.nc")
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    process = subprocess.run(
        [sys.executable, "-c", ENDS, *command, *resumed], env=environment, capture_output=True, text=True
    )
    assert process.returncode == -signal.SIGKILL, process.stderr
    assert [file.stem[-8:] for file in place.glob("span-*.safetensors")] == ["00000000"]
    assert not (tmp_path / "resumed.nc").exists()
    typed(*command, *resumed)
    same(read(tmp_path / "resumed.nc"), read(tmp_path / "plain.nc"))
    assert hs.table(read(tmp_path / "plain.nc")).shape[0] == 80
