"""Sounds of folders, lists, JSON lines and data sets, and long ones in parts."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.io import wavfile

import headscope as hs
from headscope import corpora
from headscope.core.audio import heard
from headscope.core.link import Link, Span
from headscope.corpora import Corpus, Example
from headscope.corpora.links import links_of
from headscope.corpora.long_sounds import parts
from headscope.errors import CorpusError, HeadscopeWarning

RATE = 16_000
TONE = (np.sin(np.arange(1600) / 10) * 0.5).astype(np.float32)


def wav(samples: np.ndarray = TONE, rate: int = RATE) -> bytes:
    file = io.BytesIO()
    wavfile.write(file, rate, samples)
    return file.getvalue()


def put(folder: Path, name: str, what: bytes | None = None) -> Path:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(wav() if what is None else what)
    return folder / name


def read(corpus: Corpus) -> list[Example]:
    """The examples of a corpus, without its warnings."""
    return list(corpus.examples())


def test_a_folder_of_sounds(tmp_path: Path) -> None:
    put(tmp_path, "b.wav")
    put(tmp_path, "ann/a.WAV")
    pytest.importorskip("soundfile").write(tmp_path / "ann" / "c.flac", TONE, RATE)
    put(tmp_path, "words.txt", b"x")
    corpus = corpora.sounds(tmp_path)
    found = read(corpus)
    assert [(each.source, each.label) for each in found] == [
        (str(tmp_path / "b.wav"), None),
        (str(tmp_path / "ann/a.WAV"), "ann"),
        (str(tmp_path / "ann/c.flac"), "ann"),
    ]
    assert (corpus.kind, corpus.documents) == ("sounds", "each sound")
    for each in found:
        assert each.audio is not None
        np.testing.assert_allclose(heard(each.audio, RATE), TONE, atol=1e-4)
    with pytest.warns(HeadscopeWarning, match=r"did not read 1 other file \(1 \.txt\), which are no sounds"):
        corpus.tell()


def test_json_lines_with_words_and_times(tmp_path: Path) -> None:
    put(tmp_path, "far/a.wav")
    lines: list[dict[str, Any]] = [
        {"audio": "far/a.wav", "words": ["so", "it"], "times": [[0.0, 0.04], [0.05, 0.1]]},
        {"audio": "far/a.wav", "text": "so it"},
        {"audio": "far/a.wav", "words": ["so"], "times": [[0.1, 0.05]]},
        {"audio": "far/none.wav"},
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    corpus = corpora.sounds(path)
    first, second = read(corpus)
    assert (first.audio, first.words) == (tmp_path / "far" / "a.wav", ["so", "it"])
    assert first.times == [(0.0, 0.04), (0.05, 0.1)]
    assert (second.text, second.links) == ("so it", None)
    assert [str(error) for error in corpus.broken] == [
        f"{path}:3: 'times'[0]: expected a begin from 0 and an end after it, found [0.1, 0.05]",
        f"{path}:4: {tmp_path / 'far' / 'none.wav'}: cannot be read: No such file or directory",
    ]


def test_sounds_in_memory_and_of_data_sets(tmp_path: Path) -> None:
    decoder = SimpleNamespace(
        get_all_samples=lambda: SimpleNamespace(data=np.stack([TONE, TONE]), sample_rate=RATE)
    )
    given = [
        (TONE, RATE),
        put(tmp_path, "a.wav"),
        hs.Sound(TONE, RATE),
        wav(),
        {"audio": {"array": TONE.tolist(), "sampling_rate": RATE, "path": "far/b.wav"}, "text": "hm"},
        {"audio": {"bytes": wav(), "path": None}},
        {"audio": str(tmp_path / "a.wav")},
        {"array": TONE, "sampling_rate": RATE},
        {"audio": decoder},
    ]
    found = read(corpora.sounds(given))
    assert len(found) == len(given)
    for each in found:
        assert each.audio is not None
        np.testing.assert_allclose(heard(each.audio, RATE), TONE, atol=1e-4)
    assert found[4].text == "hm"
    assert len(read(corpora.sounds((TONE, RATE)))) == 1
    assert [each.document for each in found] == list(range(len(given)))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ((np.zeros((2, 5)), RATE), "expected samples of one channel [sample], found shape (2, 5)"),
        ((TONE, None), "expected a sampling rate, a whole number, found None"),
        ((TONE, RATE, 1), "expected a path, or samples and their rate, found tuple"),
        (({"array": TONE}), "expected a sampling rate, a whole number, found None"),
        (TONE, "expected a path, or samples and their rate, found ndarray"),
        (b"RIFF", "expected a WAV file, found what cannot be read as one"),
        (None, "expected a path, or samples and their rate, found NoneType"),
    ],
)
def test_sounds_that_are_broken_are_left_out(value: Any, said: str) -> None:
    corpus = corpora.sounds([{"audio": value}, (TONE, RATE)])
    assert len(read(corpus)) == 1
    (error,) = corpus.broken
    assert str(error).startswith(f"sounds[0]: {said}")
    with pytest.raises(CorpusError, match=r"sounds\[0\]: "):
        read(corpora.sounds([{"audio": value}], strict=True))


@pytest.mark.parametrize(
    ("name", "what", "said"),
    [
        ("stereo.wav", wav(np.stack([TONE, TONE], 1)), ""),
        ("none.wav", wav(TONE[:0]), "expected samples, found none"),
        ("broken.flac", b"fLaC", "expected a file of sound, found what cannot be read as one"),
    ],
)
def test_files_of_every_state_are_read_or_told(tmp_path: Path, name: str, what: bytes, said: str) -> None:
    put(tmp_path, name, what)
    put(tmp_path, "z.wav")
    corpus = corpora.sounds(tmp_path)
    found = read(corpus)
    assert len(found) == 1 + (not said)
    assert [str(error).startswith(f"{tmp_path / name}: {said}") for error in corpus.broken] == [True] * bool(
        said
    )
    if not said:
        assert found[0].audio is not None
        assert len(heard(found[0].audio, RATE)) == len(TONE)


def test_words_go_where_they_are_spoken() -> None:
    loud, quiet = np.ones(100, np.float32) * 0.5, np.zeros(40, np.float32)
    sound = np.concatenate([loud, quiet, loud, quiet, loud])
    words, times = ["a", "b", "c", "d"], [(0.0, 0.5), (0.5, 1.0), (1.4, 2.4), (2.8, 3.8)]
    example = Example(audio=(sound, 100), words=words, times=times, source="a.wav", document=4, label="x")
    found = parts(example, 100, 2.0)
    assert [(each.document, each.label) for each in found] == [(4, "x")] * 3
    assert found[1].source == f"a.wav from {len(found[0].audio[0]) / 100:.2f} s on"  # pyright: ignore[reportOptionalSubscript, reportArgumentType]
    np.testing.assert_array_equal(np.concatenate([each.audio[0] for each in found]), sound)  # pyright: ignore[reportOptionalSubscript, reportArgumentType]
    starts = np.cumsum([0, *(len(each.audio[0]) for each in found)])[:-1] / 100  # pyright: ignore[reportOptionalSubscript, reportArgumentType]
    assert [each.words for each in found] == [["a", "b"], ["c"], ["d"]]
    again = [
        (start + first, start + last)
        for start, each in zip(starts, found, strict=True)
        for first, last in each.times or ()
    ]
    np.testing.assert_allclose(again, times, atol=1e-9)
    first, *others = parts(Example(audio=(sound, 100), words=["a"], times=[(0.0, 0.5)]), 100, 2.0)
    assert (first.words, first.times) == (["a"], [(0.0, 0.5)])
    assert [(each.words, each.times) for each in others] == [(None, None)] * 2


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"text": "so it was"}, "with a text that has no times"),
        ({"words": ["so"]}, "with a text that has no times"),
        ({"words": ["so"], "times": [(0, 1)], "links": [Link(Span(0, 1), (Span(1, 2),))]}, "with links"),
    ],
)
def test_what_is_not_to_be_cut_is_refused(more: dict[str, Any], said: str) -> None:
    example = Example(audio=(np.zeros(400), 100), source="a.wav", **more)
    with pytest.raises(CorpusError, match=rf"^a\.wav: expected at most 2 s of a sound {said}, found 4\.00 s"):
        parts(example, 100, 2.0)
    assert parts(example, 100, 4.0) == [example]


def test_words_with_times_have_links_as_in_speech(tmp_path: Path) -> None:
    put(tmp_path, "a.wav")
    path = tmp_path / "a.jsonl"
    path.write_text(
        json.dumps({"audio": "a.wav", "words": ["so", "it"], "times": [[0.0, 0.04], [0.05, 0.1]]})
    )
    (one,), (spoken,) = corpora.sounds(path), corpora.spoken(path)
    assert one.links is None
    assert links_of(one) == spoken.links


def test_the_built_in_sounds() -> None:
    found = list(corpora.builtin_sounds())
    assert [each.source for each in found] == ["syllables.wav", "tones.wav", "bursts.wav", "melody.wav"]
    for each in found:
        assert each.audio is not None
        seconds = len(heard(each.audio, RATE)) / RATE
        assert 3 <= seconds <= 4
        assert each.times[-1][1] <= seconds
