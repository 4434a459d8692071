"""The bar: how far, and a rate of what this run does, not of what an earlier one did."""

from __future__ import annotations

import io
from pathlib import Path

from tqdm import tqdm

from headscope import corpora
from headscope.stream.progress import Progress, bar


def test_what_was_done_before_does_not_count_for_the_rate() -> None:
    out = io.StringIO()
    shown = tqdm(total=100, file=out, mininterval=0, desc="measuring", unit=" inputs")
    progress = Progress(shown, None, "measuring")
    progress.passed(progress.place(40))
    assert "passing over what is done:  40%" in out.getvalue()
    assert shown.initial == shown.n == 40
    progress.begin()
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
        progress.begin()
        progress(3)
        assert progress._bar.total == 20
        assert progress._bar.disable
