"""What runs say they will take: counts that are right, times that grow with the corpus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from headscope import corpora
from headscope.analyses.compare.groups import run as compare_groups
from headscope.analyses.probes import run as probes
from headscope.corpora import Corpus, Example
from headscope.errors import InputError
from headscope.models import Model
from headscope.runs import estimate


def counted(shared: Path, count: int) -> Corpus:
    """The first sentences of a treebank, in memory."""
    trees = shared / "data" / "ud_ewt" / "en_ewt-ud-test.conllu"
    kept = [example for example, _ in zip(corpora.conllu(trees), range(count), strict=False)]
    return Corpus("some", lambda: iter(kept))


@pytest.mark.slow
def test_what_lies_ahead_is_counted_or_told_from_the_size_of_files(demo: Model, tmp_path: Path) -> None:
    three = corpora.texts(["One.", "Two words.", "Three."])
    found = estimate.ahead(three, three.encoded(demo), None)
    assert (found.inputs, found.tokens, found.exact) == (3, 13, True)
    assert found.text("line") == "3 lines, 13 tokens"
    assert estimate.ahead(three, three.encoded(demo), 1).text("line") == "1 line, 4 tokens"
    more = corpora.texts(["Two words."] * 600)
    assert estimate.ahead(more, more.encoded(demo), None).text("line") == "600 lines, 3,000 tokens"
    path = tmp_path / "long.txt"
    path.write_text("Two words.\n" * 4000)
    long = corpora.text(path, pack=None, documents="line")
    found = estimate.ahead(long, long.encoded(demo), None)
    assert not found.exact
    assert found.inputs == pytest.approx(4000, rel=0.2)
    assert found.text("line").startswith("about ")
    assert len(found.sample) == estimate.READ
    assert long.bytes_read < 0.3 * path.stat().st_size
    assert estimate.ahead(long, long.encoded(demo), 1000).inputs == 1000
    with pytest.raises(InputError, match="expected at least one input, found none"):
        estimate.ahead(three, iter(()), None)


def told(
    monkeypatch: pytest.MonkeyPatch, ahead: estimate.Ahead, cost: Any, **options: Any
) -> tuple[str, list[int]]:
    """The line for a run that takes `cost(tokens)` seconds, and how many inputs were run."""
    clock, sizes = [0.0], list[int]()

    def work(sample: Sequence[Example]) -> None:
        sizes.append(len(sample))
        clock[0] += cost(sum(len(one.tokens or ()) for one in sample))

    class Device:
        type = "cpu"

        def __str__(self) -> str:
            return "cpu"

    class Still:
        device = Device()

    monkeypatch.setattr(estimate.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(estimate, "peak_memory", lambda model: 1e9)
    return estimate.line(Still(), ahead, work, "input", **options), sizes  # type: ignore[arg-type]


def of(demo: Model, count: int, inputs: int, tokens: int) -> estimate.Ahead:
    sample = [Example(text="x", tokens=demo.encode("one two"))] * count
    return estimate.Ahead(sample, inputs, tokens, exact=False)


def test_time_and_memory_by_hand(demo: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """10 s whatever the size and 0.01 s a token; 1 GB, and 1 MB for each further input."""
    line, sizes = told(
        monkeypatch, of(demo, 512, 100_064, 400_000), lambda tokens: 10 + tokens / 100, grows=1_000_000
    )
    assert line == "about 100,064 inputs, 400,000 tokens: about 66.8 min on cpu and 101.0 GB of memory"
    assert sizes == [16, 16, 64]
    line, _ = told(
        monkeypatch, of(demo, 512, 100_064, 400_000), lambda tokens: tokens / 100, grows=1_000_000, most=1000
    )
    assert "2.0 GB" in line
    line, sizes = told(monkeypatch, of(demo, 3, 3, 12), lambda tokens: 7.0)
    assert line.endswith("about 7 s on cpu and 1.0 GB of memory")
    assert sizes == [3, 3]


def test_sentences_from_here_and_there_or_together(demo: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long sentences at the end count, but where they must follow one another."""
    long = Example(text="x", tokens=demo.encode("one two " * 50))
    sample = [*of(demo, 256, 1, 1).sample, *[long] * 256]
    ahead = estimate.Ahead(sample, 512, sum(len(one.tokens or ()) for one in sample), exact=True)
    seen: list[int] = []
    for together in (False, True):
        told(monkeypatch, ahead, lambda tokens: seen.append(tokens) or 1.0, together=together)
    assert seen[2] > 10 * seen[5]
    assert seen[5] == 64 * 4


def test_groups_are_told_with_their_permutations_whatever_the_order(demo: Model, tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    rows = [f"{label}\tThe cat {word}." for label in "abc" for word in ("sat", "ran", "ate")]
    path.write_text("label\ttext\n" + "\n".join(rows))
    pairs = corpora.pairs(path, text_a="text")
    line = compare_groups.estimate(demo, pairs, groups=["a", "c"], measures=["previous"])
    assert line.startswith("6 inputs, 36 tokens: about ")
    with pytest.raises(InputError, match="expected two groups, found 3"):
        compare_groups.estimate(demo, pairs)
    with pytest.raises(InputError, match="expected at least 2 inputs in each"):
        compare_groups.estimate(demo, pairs, groups=["a", "c"], limit=3)


@pytest.mark.slow
def test_probes_tell_their_disk_and_that_it_is_at_most(
    demo: Model, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1 s of maps, 3 s an epoch, 2 s for the rest: at most 1 + 20 × 3 + 2 s for as many sentences as are run."""
    from headscope.analyses.probes import run as module

    clock, runs = [0.0], list[tuple[int, bool]]()
    own = module.probe

    def timed(*args: Any, epochs: int, resume: str, **options: Any) -> Any:
        first = not Path(resume).exists()
        runs.append((epochs, first))
        clock[0] += (1 if first else 0) + (0 if runs[-2:-1] == [(epochs, False)] else 3) + 2
        return own(*args, epochs=epochs, resume=resume, **options)

    monkeypatch.setattr(module, "probe", timed)
    monkeypatch.setattr(estimate.time, "perf_counter", lambda: clock[0])
    trees = counted(shared, 12)
    line = probes.estimate(demo, trees, trees, kinds=["attention"], epochs=20)
    assert [epochs for epochs, _ in runs] == [1, 1, 2, 2]
    assert line.startswith("12 sentences, ")
    assert "at most about 63 s on cpu (20 epochs; " in line
    words = [len(example.words or ()) for example in trees]
    disk = 2 * 72 * sum(count * (count + 2) for count in words)
    assert line.endswith(f"and {round(disk / 1e6)} MB on disk")


def test_nothing_is_said_of_short_runs(capsys: pytest.CaptureFixture[str]) -> None:
    from headscope.console.options import LONG, foreseen

    lines: Iterator[str] = iter(["one", "two"])
    assert foreseen(True, None, lambda: next(lines))
    assert not foreseen(False, LONG, lambda: next(lines))
    assert not foreseen(False, LONG + 1, lambda: next(lines), limit=999)
    assert not foreseen(False, LONG + 1, lambda: next(lines), limit=1000)
    found = capsys.readouterr()
    assert (found.out, found.err) == ("one\n", "two\n")
