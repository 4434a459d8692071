"""Sound: WAV files and samples, as a model is to hear them."""

from __future__ import annotations

import io
import os
import re
import warnings
from collections.abc import Mapping
from math import gcd
from pathlib import Path
from typing import Any

import numpy as np

from headscope.core.arrays import Floats, Singles
from headscope.core.failures import warn
from headscope.core.lazy import module
from headscope.core.types import AnyMapping
from headscope.errors import InputError

Samples = str | Path | tuple[np.ndarray, int]
"""A file of sound, or its samples ``[sample]`` and their rate."""

Audio = Samples | AnyMapping
"""A WAV file (others with the extra ``sounds``), or samples ``[sample]`` and how many there are in a second, also as
data sets have them: ``{"array": …, "sampling_rate": …}``.

Samples are floats from -1 to 1, or whole numbers.
"""


def samples_of(audio: Audio) -> Samples:
    """A sound as a file, or as samples and their rate."""
    if not isinstance(audio, Mapping):
        return audio
    rate = audio.get("sampling_rate")
    if audio.get("array") is None or not isinstance(rate, int):
        raise InputError(
            f"audio: expected {{'array': …, 'sampling_rate': …}}, found the keys {sorted(audio)}"
        )
    return np.asarray(audio["array"]), rate


def heard(audio: Audio, rate: int) -> Singles:
    """Samples ``[sample]`` from -1 to 1, `rate` of them in a second: channels averaged, another rate resampled.

    Raises `InputError` for what is no WAV file, and for samples that are none.
    """
    audio = samples_of(audio)
    mono, actual = _of_one_channel(audio)
    if actual != rate:
        lowest, highest = RATES
        if not lowest <= actual <= highest:
            name = "audio" if isinstance(audio, tuple) else audio
            raise InputError(f"{name}: expected a rate from {lowest:,} to {highest:,}, found {actual:,}")
        common = gcd(actual, rate)
        mono = module("scipy.signal").resample_poly(mono, rate // common, actual // common)
    return mono.astype(np.float32)


def decoded(audio: Samples | bytes) -> tuple[Singles, int]:
    """Read a sound, or the bytes of its file, at its own rate: the samples ``[sample]``, and that rate."""
    mono, rate = _of_one_channel(audio)
    return mono.astype(np.float32), rate


def need(audio: Samples | bytes) -> None:
    """Raise `InputError` where the library that reads a sound is not installed."""
    if not isinstance(audio, tuple):
        module("scipy.io.wavfile" if _is_wav(audio) else "soundfile")


RATES = 1_000, 1_000_000
"""The lowest and the highest sampling rate that is resampled: far from a model's own that takes gigabytes."""

MOST = 400_000_000
"""Samples of a compressed file at most, over its channels: two and a half hours of CD sound, of one channel."""

QUIET = 0.3
"""Seconds over which the loudness of a sound is taken where it is to be cut."""

_STEP = 0.01  # seconds from one place where it may be cut to the next


def windows(samples: np.ndarray, rate: int, seconds: float) -> list[tuple[int, int]]:
    """Where to cut a sound that is longer than a model hears at once: at its quietest places.

    Each window but the last is half as long as it may be at least, and ends where the `QUIET` seconds around have the
    least energy, or up to twice that (3 dB), if that is later; the last window is a quarter as long as it may be at
    least, unless it is the only one.

    Args:
        samples: ``[sample]`` of one channel.
        rate: samples in a second.
        seconds: how long a window may be.

    Returns the first sample of each window and the one after its last; together they are all samples, in order.

    >>> sound = np.ones(10)
    >>> sound[6] = 0
    >>> windows(sound, 1, 8)
    [(0, 6), (6, 10)]
    """
    most = int(seconds * rate)
    if most < 1:
        raise InputError(f"seconds: expected at least one sample, {1 / rate:g} s, found {seconds:g}")
    step = max(1, int(_STEP * rate))
    energy = _energy(samples, step, max(1, round(QUIET * rate / step)))
    parts: list[tuple[int, int]] = []
    start = 0
    while (rest := len(samples) - start) > most:
        first, last = start + -(-most // 2), start + min(most, rest - most // 4)
        places = np.arange(-(-first // step), last // step + 1)
        end = last
        if len(places):
            loud = energy[places]
            end = int(places[np.flatnonzero(loud <= 2 * loud.min())[-1]]) * step
        parts.append((start, end))
        start = end
    return [*parts, (start, len(samples))]


def _energy(samples: np.ndarray, step: int, width: int) -> Floats:
    """The energy around each `step`-th sample, over `width` steps."""
    squares = np.add.reduceat(np.square(samples, dtype=np.float64), np.arange(0, len(samples), step))
    total = np.concatenate([[0.0], np.cumsum(squares)])
    middles = np.arange(len(total))
    left, right = (np.clip(middles + shift, 0, len(squares)) for shift in (-(width // 2), width - width // 2))
    return total[right] - total[left]


def _of_one_channel(audio: Samples | bytes) -> tuple[Floats, int]:
    """Samples ``[sample]`` from -1 to 1, and their rate."""
    if isinstance(audio, tuple):
        samples, rate = audio
        name = "audio"
        if samples.ndim != 1:
            raise InputError(f"audio: expected samples of one channel [sample], found shape {samples.shape}")
    else:
        name = "audio" if isinstance(audio, bytes) else str(audio)
        source = io.BytesIO(audio) if isinstance(audio, bytes) else name
        rate, samples = _read(source, name) if _is_wav(audio) else _other(source, name)
    if not samples.size:
        raise InputError(f"{name}: expected samples, found none")
    if samples.dtype.kind not in "iuf":
        raise InputError(f"{name}: expected samples that are numbers, found {samples.dtype}")
    if rate < 1:
        raise InputError(f"{name}: expected a sampling rate of at least 1, found {rate}")
    mono = np.empty(len(samples))
    for start in range(0, len(samples), _PART):
        part = _scaled(samples[start : start + _PART])
        mono[start : start + _PART] = part if part.ndim == 1 else sum(part.T) / part.shape[1]
    if not np.isfinite(mono).all():
        raise InputError(f"{name}: expected finite samples, found NaN or infinity")
    return mono, rate


_PART = 1 << 20  # samples that are averaged at once: an hour in stereo is never held in numbers of 64 bits


def _is_wav(audio: str | Path | bytes) -> bool:
    """Whether scipy reads a file: it reads WAV, and it says of a missing file that it is missing."""
    if isinstance(audio, bytes):
        return audio[:4] in (b"RIFF", b"RIFX", b"RF64")
    return str(audio).lower().endswith((".wav", ".wave")) or not os.path.isfile(audio)


def _read(source: Any, name: str) -> tuple[int, np.ndarray]:
    """The rate and the samples ``[sample]`` or ``[sample channel]`` of a WAV file."""
    wavfile = module("scipy.io.wavfile")
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            rate, samples = wavfile.read(source)
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror}") from None
    except Exception as error:  # a broken file leads to many
        first = str(error).splitlines()[0] if isinstance(error, ValueError) else "its header is broken"
        raise InputError(f"{name}: expected a WAV file, found what cannot be read as one ({first})") from None
    for warning in caught:  # the others are of what is in the file beside its samples
        size = re.search(r"finished at (\d+) bytes, expected (\d+)", str(warning.message))
        if size and int(size[2]) < _UNKNOWN and int(size[2]) > int(size[1]) + _HEAD:
            warn(f"{name}: breaks off at byte {int(size[1]):,} of {int(size[2]):,}; what is there is taken")
    return int(rate), samples


_UNKNOWN = 1 << 31  # a size from here on stands in the header of what was written as it came
_HEAD = 8  # bytes of the header, which some count as well


def _other(source: Any, name: str) -> tuple[int, np.ndarray]:
    """The rate and the samples of a file that is no WAV, such as FLAC."""
    soundfile = module("soundfile")
    try:
        with soundfile.SoundFile(source) as file:
            if (count := file.frames * file.channels) > MOST:
                raise InputError(f"{name}: expected at most {MOST:,} samples, found {count:,}; cut the sound")
            samples, rate = file.read(dtype="float32"), file.samplerate
    except InputError:
        raise
    except Exception as error:
        message: str = getattr(error, "error_string", str(error) or type(error).__name__)
        raise InputError(
            f"{name}: expected a file of sound, found what cannot be read as one ({message.splitlines()[0]})"
        ) from None
    return int(rate), samples


def _scaled(samples: np.ndarray) -> Floats:
    """Samples from -1 to 1, of whole numbers of any size; unsigned ones have their middle at half."""
    if samples.dtype.kind == "f":
        return samples.astype(np.float64)
    limits = np.iinfo(samples.dtype)
    half = (float(limits.max) - float(limits.min) + 1) / 2
    return (samples.astype(np.float64) - (half if limits.min == 0 else 0.0)) / half
