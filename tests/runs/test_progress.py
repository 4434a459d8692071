"""The bar: how far, and a rate of what this run does, not of what an earlier one did."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from tqdm import tqdm

from headscope import corpora
from headscope.runs.progress import CorpusPlace, Progress, bar, bar_of


def test_what_was_done_before_does_not_count_for_the_rate() -> None:
    out = io.StringIO()
    shown = tqdm(total=100, file=out, mininterval=0, desc="measuring", unit=" inputs")
    progress = Progress(shown, None, "measuring")
    progress.passed(progress.place(40))
    assert "passing over what is done:  40%" in out.getvalue()
    assert shown.initial == shown.n == 40
    next(progress.begun(iter([None])))
    progress(10)
    assert shown.n == 50
    assert "measuring:  50%" in out.getvalue()
    progress.reached(60)
    assert shown.n == 60
    assert shown.format_dict["initial"] == 40


def test_files_count_by_bytes(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("a line\n" * 100, encoding="utf-8")
    corpus = corpora.text(path, pack=None, documents="file")
    lines = iter(corpus)
    with bar(corpus, None, True) as progress:
        for _ in range(30):
            next(lines)
        progress(30)
        shown = progress._bar
        assert (shown.n, shown.total, shown.unit) == (210, 700, "B")
        assert shown.postfix == "30 inputs"


def test_a_limit_counts_by_inputs_and_silence_is_silent(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("a line\n" * 100, encoding="utf-8")
    with bar(corpora.text(path), 20, False) as progress:
        progress.passed(progress.place(5))
        next(progress.begun(iter([None])))
        progress(3)
        assert progress._bar.total == 20
        assert progress._bar.disable


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def worked(
    monkeypatch: pytest.MonkeyPatch, err: io.StringIO, seconds: int, limit: int | None = 600
) -> list[str]:
    """What stderr has of a run of an input a second, in its lines."""
    now = [1000.0]
    monkeypatch.setattr("sys.stderr", err)
    for clock in ("time.time", "tqdm.std.time"):
        monkeypatch.setattr(clock, lambda: now[0])
    with bar([], limit, True, "measuring") as shown:
        for _ in range(seconds):
            now[0] += 1
            shown(1)
    return err.getvalue().split("\n")


def test_in_a_log_there_is_a_line_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = worked(monkeypatch, io.StringIO(), 150)
    assert lines == [
        "measuring: 10%, 60 of 600 [01:00<09:00,  1.00 inputs/s]",
        "measuring: 20%, 120 of 600 [02:00<08:00,  1.00 inputs/s]",
        "",
    ]


def test_of_an_unknown_length_too_and_a_short_run_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert worked(monkeypatch, io.StringIO(), 70, None) == ["measuring: 60 [01:00,  1.00 inputs/s]", ""]
    assert worked(monkeypatch, io.StringIO(), 59) == [""]


def test_what_an_earlier_run_did_does_not_count_for_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    err, now = io.StringIO(), [1000.0]
    monkeypatch.setattr("sys.stderr", err)
    for clock in ("time.time", "tqdm.std.time"):
        monkeypatch.setattr(clock, lambda: now[0])
    with bar([], 600, True, "measuring") as shown:
        for inputs in range(0, 300, 100):
            now[0] += 30
            shown.passed(CorpusPlace(inputs, inputs))
        next(shown.begun(iter([None])))
        now[0] += 60
        shown.at(CorpusPlace(260, 260))
    assert err.getvalue().split("\n") == [
        "passing over what is done: 17%, 100 of 600 [00:00<?, ? inputs/s]",
        "measuring: 43%, 260 of 600 [01:00<05:40,  1.00 inputs/s]",
        "",
    ]


def test_on_a_terminal_there_is_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", Terminal())
    with bar_of(True, total=3, desc="measuring", unit=" inputs") as shown:
        assert isinstance(shown, tqdm)


def test_nothing_is_shown_where_nothing_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    err = io.StringIO()
    monkeypatch.setattr("sys.stderr", err)
    with bar([], 10, False) as shown:
        shown(10)
    assert err.getvalue() == ""
