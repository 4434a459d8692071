"""Runs of steps that are ended and go on: the figures of a plain run, to the last digit."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import headscope as hs
from headscope.analyses.align import heads
from headscope.analyses.links.combine import run as combine
from headscope.analyses.patching import run as patching
from headscope.analyses.roles import run as roles
from headscope.analyses.roles.retrieval import run as retrieval
from headscope.errors import InputError, RunError
from headscope.models import Model
from headscope.runs.checkpoint import Folder
from headscope.runs.long import Kind
from headscope.runs.options import RunOptions
from headscope.runs.steps import StepRows, Steps
from headscope.runs.task import Task
from tests.analyses.links.combine.test_run import proteins
from tests.helpers.forked import forked
from tests.helpers.planted_alignment import recordings
from tests.helpers.planted_induction import circuit
from tests.helpers.planted_needles import HAY
from tests.helpers.run_sample import as_a_worker, same
from tests.helpers.small_models import small_bert, whisper_parts
from tests.helpers.small_tokenizers import listed

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::headscope.errors.HeadscopeWarning")]

ACIDS = "ACDEFGHIKLMNPQRSTVWY"


@contextmanager
def ended(owner: Any, name: str, at: int, error: BaseException | None = None) -> Generator[None]:
    """Ctrl-C, or an error, at so many-th call."""
    calls, work = 0, getattr(owner, name)

    def stop(*given: Any, **more: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == at:
            raise error or KeyboardInterrupt
        return work(*given, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, stop)
        with pytest.raises(type(error) if error else KeyboardInterrupt):
            yield


@contextmanager
def counted(owner: Any, name: str) -> Generator[list[int]]:
    """How often it is called."""
    calls, work = [0], getattr(owner, name)

    def count(*given: Any, **more: Any) -> Any:
        calls[0] += 1
        return work(*given, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, count)
        yield calls


def goes_on(run: Callable[..., Any], place: Path, owner: Any, name: str, *ends: int) -> None:
    """Ended at each of these calls and started again, it gives what a plain run gives and does nothing twice."""
    with counted(owner, name) as all_calls:
        plain = run()
    done = 0
    for at in ends:
        with ended(owner, name, at):
            run(resume=place)
        done += at - 1
    with counted(owner, name) as rest:
        same(run(resume=place), plain)
    assert done + rest[0] == all_calls[0]
    with counted(owner, name) as again:
        same(run(resume=place), plain)
    assert again[0] == 0


def needles(model: Model, **more: Any) -> Any:
    return hs.retrieval(
        model, hs.corpora.texts([" ".join([HAY] * 4)]), needles=12, lengths=(48, 60), k=1, **more
    )


def test_needles(planted: Model, tmp_path: Path) -> None:
    goes_on(lambda **more: needles(planted, **more), tmp_path, retrieval, "looked_at", 5, 3)
    goes_on(lambda **more: needles(planted, seed=1, **more), tmp_path / "b", retrieval, "produced", 4, 9)


def test_a_folder_of_other_needles_is_refused(planted: Model, tmp_path: Path) -> None:
    needles(planted, resume=tmp_path)
    with pytest.raises(InputError, match=r"another run: options\.seed: expected 2, found 0"):
        needles(planted, seed=2, resume=tmp_path)
    with pytest.raises(InputError, match=r"a checkpoint of other inputs: block"):
        hs.retrieval(
            planted,
            hs.corpora.texts(["The cat sat on the mat. " * 40]),
            needles=12,
            lengths=(48, 60),
            k=1,
            resume=tmp_path,
        )


def test_an_error_says_where_the_rest_is(
    planted: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ended(retrieval, "looked_at", 3, RunError("it failed")):
        needles(planted, resume=tmp_path)

    def fails(*_: object) -> None:
        raise RunError("it failed")

    said = re.escape(f"it failed; what was done before is kept in {tmp_path}")
    monkeypatch.setattr(retrieval, "looked_at", fails)
    with pytest.raises(RunError, match=said):
        needles(planted, resume=tmp_path)


def test_pairs_of_prompts(tmp_path: Path) -> None:
    model, rows = paired()

    def run(**more: Any) -> Any:
        return hs.patching(model, rows, exact="all", edges=2, batch_size=2, **more)

    for name in ("estimate", "patched", "passed"):
        goes_on(run, tmp_path / name, patching._PairRuns, name, 2, 2)  # pyright: ignore[reportPrivateUsage]


def paired() -> tuple[Model, list[dict[str, Any]]]:
    """A model, and pairs of prompts of two lengths."""
    draw = np.random.default_rng(0)
    rows: list[dict[str, Any]] = []
    for length in (7, 9, 7, 7, 9):
        clean = draw.integers(3, 30, length)
        corrupted = (clean + np.eye(length, dtype=int)[2]) % 30
        both = (hs.Tokens([str(each) for each in ids], ids=ids) for ids in (clean, corrupted))
        rows.append({**dict(zip(("clean", "corrupted"), both, strict=True)), "answer": 5, "wrong": 6})
    return circuit(), rows


def test_the_first_pairs(tmp_path: Path) -> None:
    model, rows = paired()
    few = hs.patching(model, rows[:3], exact=2, batch_size=2)
    same(hs.patching(model, rows, exact=2, batch_size=2, limit=3), few)
    hs.patching(model, rows, exact=2, batch_size=2, limit=4, resume=tmp_path)
    with pytest.raises(InputError, match="a checkpoint of other inputs"):
        hs.patching(model, rows[1:], exact=2, batch_size=2, resume=tmp_path)


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("of", ["needles", "pairs", "recordings"])
def test_in_processes(planted: Model, tmp_path: Path, of: str) -> None:
    """In two processes, ended there and gone on here, the figures are those of one to the last digit."""
    if of == "needles":
        run: Callable[..., Any] = partial(needles, planted)
    elif of == "pairs":
        run = partial(hs.patching, *paired(), exact="all", edges=2, batch_size=2)
    else:
        whisper = hs.load(whisper_parts(4))
        speech = recordings(whisper, 6)
        speech[3] = speech[3].but(times=[(0.0, 0.1)])
        corpus = hs.corpora.Corpus("speech", lambda: iter(speech))
        run = partial(hs.alignment_heads, whisper, corpus)
    with as_a_worker(4, 300), forked():
        plain = run()
        same(run(engine="cpu:2"), plain)
        with ended(Folder, "keep", 3):
            run(engine="cpu:2", resume=tmp_path)
        with counted(Folder, "keep") as kept:
            same(run(resume=tmp_path), plain)
        with counted(Folder, "keep") as every:
            same(run(resume=tmp_path / "all"), plain)
    assert kept[0] == every[0] - 2


def test_recordings(tmp_path: Path) -> None:
    whisper = hs.load(whisper_parts(4))
    speech = recordings(whisper, 8)
    speech[3] = speech[3].but(times=[(0.0, 0.1)])
    corpus = hs.corpora.Corpus("speech", lambda: iter(speech))

    def run(**more: Any) -> Any:
        found = hs.alignment_heads(whisper, corpus, **more)
        assert len(corpus.broken) == 1
        return found

    goes_on(run, tmp_path / "a", heads, "_heard", 5, 2)
    goes_on(run, tmp_path / "b", heads, "listen", 10, 2)


def test_heads_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(Folder.__init__.__kwdefaults__ or {}, "every", 0.0)
    monkeypatch.setattr("headscope.runs.batches.BLOCK", 4)
    model = small_bert(listed(tuple(ACIDS), letters=True))
    for name, more in (("a", {"symmetrise": True}), ("b", {"sources": 40})):

        def run(more: dict[str, Any] = more, **resume: Any) -> Any:
            return hs.combine_heads(model, proteins(), batch_size=4, **more, **resume)

        plain = run()
        for at in (3, 4, 5):  # of 6 blocks of choosing and 6 of scoring
            with ended(combine._CombineRun, "_block", at):
                run(resume=tmp_path / name)
        with counted(combine._CombineRun, "_block") as rest:
            same(run(resume=tmp_path / name), plain)
        assert rest[0] == 12 - 2 - 3 - 4


def test_roles(planted: Model, tmp_path: Path) -> None:
    corpus = hs.corpora.texts([f"{HAY} {word} {HAY}" for word in HAY.split()[:12]])

    def run(**more: Any) -> Any:
        return hs.roles(planted, corpus, **more)

    plain = run()
    for place in range(1, 4):
        with ended(Task, "block", 2 if place < 3 else 1):
            run(resume=tmp_path)
    with counted(retrieval, "looked_at") as looked, counted(Task, "block") as blocks:
        found = run(resume=tmp_path)
    assert found.equals(plain)
    assert (looked[0], blocks[0]) == (roles.NEEDLES, 1)
    with counted(retrieval, "looked_at") as looked, counted(Task, "block") as blocks:
        assert run(resume=tmp_path).equals(plain)
    assert (looked[0], blocks[0]) == (0, 0)


def test_of_several_stages_each_is_kept(planted: Model, tmp_path: Path) -> None:
    def each(work: Callable[[int], Any]) -> list[Any]:
        kind = Kind("test", StepRows.from_arrays, lambda *_: xr.Dataset())
        with Steps(kind, planted, range(5), {}, RunOptions(resume=tmp_path), digest=str) as steps:
            steps.through("stage", "", lambda item, _: work(item))
        return [row["a"].tolist() for row in steps.rows]

    def fails(number: int) -> Any:
        if number == 3:
            raise ZeroDivisionError
        return {"a": np.full(number, number), "b": np.array(["x"])}

    with pytest.raises(ZeroDivisionError):
        each(fails)
    assert each(lambda number: {"a": np.array(number)}) == [[], [1], [2, 2], 3, 4]
