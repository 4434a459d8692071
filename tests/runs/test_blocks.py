"""Blocks of files and of what is in memory: each is tokenized by whoever works on it, and by nobody else."""

from __future__ import annotations

import functools
import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import headscope as hs
from headscope import corpora
from headscope.analyses.measure.run import measure
from headscope.corpora import Corpus
from headscope.errors import HeadscopeWarning, InputError, UnknownError
from headscope.models import Model
from headscope.runs.task import Task
from tests.helpers.run_sample import same, stopped
from tests.helpers.small_models import small_bert
from tests.helpers.small_tokenizers import demo

SIZE, BYTES = 2, 160
"""Inputs of a window, and bytes that count as one of packed text: a block of it has about 320."""

WANTED = ["previous", "entropy"]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headscope.runs.batches.BLOCK", SIZE)
    monkeypatch.setattr("headscope.runs.blocks.BYTES", BYTES)


@pytest.fixture(scope="module")
def model() -> Model:
    return small_bert(demo())


def lines(count: int = 60, every: int = 3) -> str:
    """A text of so many lines, with a blank one after each third."""
    written = [f"The cat number {number} sat on mat {number * 7}." for number in range(count)]
    return "".join(f"{line}\n{'' if (place + 1) % every else chr(10)}" for place, line in enumerate(written))


def text(path: Path, **options: Any) -> Corpus:
    path.write_text(lines(), encoding="utf-8")
    return corpora.text(path, pack=32, **options)


def long_text(path: Path) -> Corpus:
    """One document of several blocks between short ones."""
    path.write_text(lines(6) + "\n" + lines(50, every=1000) + "\n\n" + lines(9), encoding="utf-8")
    return corpora.text(path, pack=32)


def objects(path: Path) -> Corpus:
    """Some lines are broken, some too long; documents of several lines."""
    rows = [
        json.dumps({"text": f"The dog {place} barked at it.", "document": f"d{place // 4}"})
        for place in range(80)
    ]
    rows[7], rows[40], rows[60] = (
        "{",
        "[]",
        json.dumps({"text": "word " * 600, "pair": "a", "document": "d15"}),
    )
    path.write_text("\n".join(rows), encoding="utf-8")
    return corpora.jsonl(path)


def in_memory(_: Path) -> Corpus:
    return corpora.texts(
        [f"It rained on day {day}." for day in range(30)], documents=[d // 5 for d in range(30)]
    )


CORPORA: dict[str, Callable[[Path], Corpus]] = {
    "text": text,
    "long.txt": long_text,
    "objects.jsonl": objects,
    "memory": in_memory,
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:left out")
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("text", {}),
        ("long.txt", {}),
        ("objects.jsonl", {}),
        ("memory", {"limit": 17}),
    ],
    ids=str,
)
def test_resumed_and_merged_runs_are_the_plain_run(
    name: str, options: dict[str, Any], model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = CORPORA[name]
    run = functools.partial(measure, model, measures=WANTED, batch_size=3, **options)
    plain = run(given(tmp_path / name))
    with stopped(Task):
        run(given(tmp_path / name), resume=tmp_path / "run")
    same(run(given(tmp_path / name), resume=tmp_path / "run"), plain)
    parts = [tmp_path / f"{number}.nc" for number in (1, 2, 3)]
    for number, part in enumerate(parts, 1):
        run(given(tmp_path / name), shard=f"{number}/3", part=part)
    same(measure.merge(parts[::-1]), plain)


@pytest.fixture
def tokenized(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that were tokenized for inputs."""
    found: list[str] = []
    encoded = Corpus.encoded

    def encode(self: Corpus, *arguments: Any, **options: Any) -> Iterator[Any]:
        for example in encoded(self, *arguments, **options):
            found.append(example.source)
            yield example

    monkeypatch.setattr(Corpus, "encoded", encode)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", ["text", "long.txt", "memory"])
def test_a_shard_tokenizes_its_own_blocks_only(
    name: str, model: Model, tmp_path: Path, tokenized: list[str]
) -> None:
    given = CORPORA[name]
    measure(model, given(tmp_path / name), measures=WANTED)
    whole = list(tokenized)
    assert len(whole) == len(set(whole)) > 8
    apart: list[str] = []
    for number in (1, 2, 3):
        tokenized.clear()
        measure(
            model, given(tmp_path / name), measures=WANTED, shard=f"{number}/3", part=tmp_path / "part.nc"
        )
        assert 0 < len(tokenized) < 0.7 * len(whole)
        apart += tokenized
    assert sorted(apart) == sorted(whole)


def test_a_resumed_run_tokenizes_the_rest_only(
    model: Model, tmp_path: Path, tokenized: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with stopped(Task):
        measure(model, text(tmp_path / "a.txt"), measures=WANTED, resume=tmp_path / "run")
    first = list(tokenized)
    tokenized.clear()
    measure(model, text(tmp_path / "a.txt"), measures=WANTED, resume=tmp_path / "run")
    assert len(tokenized) > 2
    assert not {*first[: -SIZE * 4]} & {*tokenized}


@pytest.mark.slow
def test_what_reading_tells_is_that_of_the_whole(model: Model, tmp_path: Path) -> None:
    """Counts, and what was left out, with file and line, however the corpus is read."""
    corpus = objects(tmp_path / "a.jsonl")
    with pytest.warns(HeadscopeWarning, match="left out 3 inputs of a.jsonl:"):
        found = measure(model, corpus, measures=WANTED)
    meta = json.loads(found.attrs["meta"])
    counted = objects(tmp_path / "a.jsonl")
    inputs = list(counted.encoded(model))
    assert corpus.counts == counted.counts
    assert list(map(str, corpus.broken)) == list(map(str, counted.broken)) == meta["broken"]
    assert [error.line for error in corpus.broken] == [8, 41, 61]
    assert meta["corpus"]["left_out"] == 3
    assert meta["corpus"]["examples"] == len(inputs) == 77
    assert meta["corpus"]["documents"] == 20


def test_unknown_pieces_end_a_run_wherever_they_are(model: Model, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(lines(12) + "\n" + "\n".join(["\U0001f9ff " * 12] * 30), encoding="utf-8")
    with pytest.raises(UnknownError, match=r"a.txt: 360 of \d+ pieces .* unknown to the tokenizer"):
        measure(model, corpora.text(path, pack=32), measures=WANTED)


@pytest.mark.parametrize("change", ["inside", "longer"])
def test_other_files_are_refused(change: str, model: Model, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    measure(model, text(path), measures=WANTED, resume=tmp_path / "run")
    content = path.read_text(encoding="utf-8")
    new = content.replace("mat 7.", "hat 7.") if change == "inside" else content.rstrip() + "\nOne more.\n"
    path.write_text(new, encoding="utf-8")
    with pytest.raises(InputError, match="a checkpoint of other inputs: block"):
        measure(model, corpora.text(path, pack=32), measures=WANTED, resume=tmp_path / "run")


def test_what_documents_look_like_is_said_once(model: Model, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(lines(30, every=1000), encoding="utf-8")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        measure(model, corpora.text(path, pack=32), measures=WANTED)
    told = [str(each.message) for each in said if "blank line" in str(each.message)]
    assert len(told) == 1
    assert "no blank line among 30 lines" in told[0]


@pytest.mark.slow
def test_links_tell_of_all_blocks(model: Model, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    row = {"text": "The cat sat because it was tired.", "links": [{"from": [20, 22], "to": [4, 6]}]}
    path.write_text("\n".join([json.dumps(row)] * 12), encoding="utf-8")
    with pytest.warns(HeadscopeWarning, match="12 spans part a piece:") as said:
        plain = hs.links(model, corpora.links(path), least=1)
    assert sum("part a piece" in str(each.message) for each in said) == 1
    parts = [tmp_path / f"{number}.nc" for number in (1, 2)]
    for number, part in enumerate(parts, 1):
        with pytest.warns(HeadscopeWarning, match="spans part a piece:"):
            hs.links(model, corpora.links(path), least=1, shard=f"{number}/2", part=part)
    same(hs.merge(parts), plain)
