"""Speech with its words and their times, in JSON lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from headscope import corpora
from headscope.core.link import Link, Span

LINE = {"audio": "sound/a.wav", "words": ["so", "it"], "times": [[0.0, 0.06], [0.4, 0.9]]}


def written(folder: Path, **change: Any) -> Path:
    (folder / "sound").mkdir(exist_ok=True)
    (folder / "sound" / "a.wav").write_bytes(b"RIFF")
    path = folder / "speech.jsonl"
    path.write_text(json.dumps({**LINE, **change}) + "\n")
    return path


def test_words_have_frames(tmp_path: Path) -> None:
    (one,) = corpora.spoken(written(tmp_path, document="lecture"))
    expected = (["so", "it"], [(0.0, 0.06), (0.4, 0.9)], tmp_path / "sound" / "a.wav")
    assert (one.words, one.times, one.audio) == expected
    assert one.document_known
    first, second = one.links or ()
    assert first == Link(
        Span(0, 1, "b"), (Span(0, 3, "a"),), "word", place="word 1", unit="words", target_unit="cells"
    )
    assert second.targets == (Span(20, 45, "a"),)


def test_frames_that_a_word_has_in_part_are_its_own(tmp_path: Path) -> None:
    (one,) = corpora.spoken(written(tmp_path, times=[[0.03, 0.05], [0.405, 0.41]]))
    assert [link.targets for link in one.links or ()] == [(Span(1, 3),), (Span(20, 21),)]
