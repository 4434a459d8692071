"""Sounds as they are read: files of all kinds and states, and where a long one is cut."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import numpy as np
import pytest
from scipy.io import wavfile

from headscope.core import audio
from headscope.core.audio import decoded, heard, windows
from headscope.errors import HeadscopeWarning, InputError

RATE = 16_000
TONE = (np.sin(np.arange(1600) / 10) * 20_000).astype(np.int16)


def wav(samples: np.ndarray = TONE, rate: int = RATE) -> bytes:
    file = io.BytesIO()
    wavfile.write(file, rate, samples)
    return file.getvalue()


def with_sizes(riff: int, data: int) -> bytes:
    """A WAV file whose header says other sizes."""
    whole = wav()
    return whole[:4] + struct.pack("<I", riff) + whole[8:40] + struct.pack("<I", data) + whole[44:]


def test_another_rate_keeps_the_pitch() -> None:
    """A tone of 440 Hz at 8 kHz is one of 440 Hz at 16 kHz."""
    low = np.sin(2 * np.pi * 440 * np.arange(8_000) / 8_000)
    made = heard((low, 8_000), RATE)
    assert len(made) == RATE
    expected = np.sin(2 * np.pi * 440 * np.arange(RATE) / RATE)
    np.testing.assert_allclose(made[200:-200], expected[200:-200], atol=2e-3)


def test_channels_are_averaged_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = np.random.default_rng(0).integers(-9_000, 9_000, (1_000, 2)).astype(np.int16)
    (tmp_path / "both.wav").write_bytes(wav(both))
    expected = (both.astype(float) / 2**15).mean(1).astype(np.float32)
    np.testing.assert_array_equal(heard(tmp_path / "both.wav", RATE), expected)
    monkeypatch.setattr(audio, "_PART", 7)
    np.testing.assert_array_equal(heard(tmp_path / "both.wav", RATE), expected)


@pytest.mark.parametrize("ends", ["wav", "flac"])
def test_bytes_are_read_as_their_file_is(ends: str, tmp_path: Path) -> None:
    pytest.importorskip("soundfile").write(tmp_path / f"a.{ends}", TONE, 8_000)
    from_file, from_bytes = decoded(tmp_path / f"a.{ends}"), decoded((tmp_path / f"a.{ends}").read_bytes())
    assert from_file[1] == from_bytes[1] == 8_000
    np.testing.assert_array_equal(from_file[0], from_bytes[0])
    np.testing.assert_allclose(from_file[0], TONE / 2**15, atol=1e-6)


@pytest.mark.parametrize("riff", [len(wav()) - 8, 0xFFFFFFFF])
def test_a_header_written_before_the_end_was_known_is_no_fault(riff: int) -> None:
    assert len(decoded(with_sizes(riff, 0xFFFFFFFF))[0]) == len(TONE)


def test_a_file_that_breaks_off_is_said(tmp_path: Path) -> None:
    (tmp_path / "part.wav").write_bytes(wav()[:1044])
    with pytest.warns(HeadscopeWarning, match=r"part\.wav: breaks off at byte 1,044 of 3,244; what is there"):
        assert len(heard(tmp_path / "part.wav", RATE)) == 500


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "expected a WAV file, found what cannot be read as one"),
        (wav()[:30], "found what cannot be read as one .its header is broken"),
        (with_sizes(0, 0), "found what cannot be read as one .its header is broken"),
        (with_sizes(len(wav()) - 8, 0), "expected samples, found none"),
        (wav(TONE[:0]), "expected samples, found none"),
        (wav(np.array([0, np.nan, 0], np.float32)), "expected finite samples, found NaN or infinity"),
    ],
)
def test_a_broken_file_is_told_in_one_line(content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_bytes(content)
    with pytest.raises(InputError, match=rf"a\.wav: .*{said}") as told:
        heard(tmp_path / "a.wav", RATE)
    assert "\n" not in str(told.value)


def test_any_damage_is_told_in_one_line() -> None:
    """Bytes of headers changed at random: each file is read, or refused."""
    random = np.random.default_rng(0)
    told: list[str] = []
    for _ in range(200):
        damaged = bytearray(wav())
        for place in random.integers(60, size=3):
            damaged[place] = random.integers(256)
        try:
            decoded(bytes(damaged))
        except (InputError, HeadscopeWarning) as error:
            told.append(str(error))
    assert 0 < len(told) < 200
    assert not any("\n" in each for each in told)


def test_a_long_sound_is_cut_where_it_is_quiet() -> None:
    """Noise with pauses: every cut is in a pause, and the windows are all of the sound."""
    random = np.random.default_rng(0)
    rate, pauses = 1_000, [3.2, 7.0, 11.5, 14.9, 19.0, 23.4, 27.5]
    sound = random.normal(0, 0.3, 30 * rate)
    for pause in pauses:
        sound[int((pause - 0.2) * rate) : int((pause + 0.2) * rate)] *= 0.01
    found = windows(sound, rate, 10.0)
    assert [start for start, _ in found] == [0, *(end for _, end in found[:-1])]
    assert found[-1][1] == len(sound)
    assert all(end - start <= 10 * rate for start, end in found)
    assert all(end - start >= 5 * rate for start, end in found[:-1])
    assert found[-1][1] - found[-1][0] >= 2.5 * rate
    for _, end in found[:-1]:
        assert min(abs(end / rate - pause) for pause in pauses) < 0.1


def test_windows_are_as_long_as_they_may_be_where_nothing_is_quieter() -> None:
    assert windows(np.zeros(75), 1, 30) == [(0, 30), (30, 60), (60, 75)]
    assert windows(np.zeros(31), 1, 30) == [(0, 24), (24, 31)]
    assert windows(np.zeros(30), 1, 30) == [(0, 30)]
    assert len(windows(np.random.default_rng(0).normal(size=600 * 100), 100, 30)) <= 21


def test_windows_of_any_size_cover_a_sound() -> None:
    random = np.random.default_rng(1)
    for _ in range(200):
        count, rate, seconds = random.integers(1, 3_000), random.integers(1, 500), random.uniform(0.01, 9)
        if seconds * rate < 1:
            continue
        found = windows(random.normal(size=count), int(rate), float(seconds))
        assert np.concatenate([np.arange(*each) for each in found]).tolist() == list(range(count))
        assert max(end - start for start, end in found) <= int(seconds * rate)
    with pytest.raises(InputError, match=r"seconds: expected at least one sample, 0.1 s, found 0.05"):
        windows(np.zeros(9), 10, 0.05)


@pytest.mark.parametrize("rate", [1, 999, 1_000_001, 99_999_989])
def test_a_rate_that_is_far_from_any_is_not_resampled(rate: int, tmp_path: Path) -> None:
    """Some of these would take 6 to 60 GB."""
    (tmp_path / "a.wav").write_bytes(wav(rate=rate))
    for given in ((TONE, rate), tmp_path / "a.wav"):
        with pytest.raises(InputError, match=f"expected a rate from 1,000 to 1,000,000, found {rate:,}"):
            heard(given, RATE)
    assert len(heard((TONE, rate), rate)) == len(TONE)


@pytest.mark.parametrize("rate", [1_000, 1_000_000, 99_991])
def test_the_lowest_and_the_highest_rates_are_resampled(rate: int) -> None:
    assert len(heard((TONE, rate), RATE)) == -(-len(TONE) * RATE // rate)


def test_a_small_file_of_many_samples_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Silence is compressed to a thousandth."""
    library = pytest.importorskip("soundfile")
    monkeypatch.setattr(audio, "MOST", 2_000)
    library.write(tmp_path / "a.flac", np.zeros((1_001, 2), np.int16), RATE)
    with pytest.raises(
        InputError, match=r"a\.flac: expected at most 2,000 samples, found 2,002; cut the sound"
    ):
        decoded(tmp_path / "a.flac")
    library.write(tmp_path / "a.flac", np.zeros((1_000, 2), np.int16), RATE)
    assert len(decoded(tmp_path / "a.flac")[0]) == 1_000
