"""Sound: WAV files and samples, as a model is to hear them."""

from __future__ import annotations

import warnings
from math import gcd
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from headscope.errors import InputError
from headscope.lazy import module

Audio = str | Path | tuple[npt.NDArray[Any], int]
"""A WAV file (others with the extra ``sounds``), or samples ``[sample]`` and how many there are in a second.

Samples are floats from -1 to 1, or whole numbers.
"""


def heard(audio: Audio, rate: int) -> npt.NDArray[np.float32]:
    """Samples ``[sample]`` from -1 to 1, `rate` of them in a second: channels averaged, another rate resampled.

    Raises `InputError` for what is no WAV file, and for samples that are none.
    """
    if isinstance(audio, tuple):
        samples, found = audio
        name = "audio"
        if samples.ndim != 1:
            raise InputError(f"audio: expected samples of one channel [sample], found shape {samples.shape}")
    else:
        name = str(audio)
        found, samples = _read(name)
    if not samples.size:
        raise InputError(f"{name}: expected samples, found none")
    if samples.dtype.kind not in "iuf":
        raise InputError(f"{name}: expected samples that are numbers, found {samples.dtype}")
    if found < 1:
        raise InputError(f"{name}: expected a sampling rate of at least 1, found {found}")
    scaled = _scaled(samples)
    mono = scaled if scaled.ndim == 1 else scaled.mean(1)
    if not np.isfinite(mono).all():
        raise InputError(f"{name}: expected finite samples, found NaN or infinity")
    if found != rate:
        common = gcd(found, rate)
        mono = module("scipy.signal").resample_poly(mono, rate // common, found // common)
    return mono.astype(np.float32)


def _read(name: str) -> tuple[int, npt.NDArray[Any]]:
    """The rate and the samples ``[sample]`` or ``[sample channel]`` of a file: of WAV, or what soundfile reads."""
    if not name.lower().endswith((".wav", ".wave")) and Path(name).is_file():
        return _other(name)
    wavfile = module("scipy.io.wavfile")

    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", wavfile.WavFileWarning
            )  # of what is in the file beside its samples
            rate, samples = wavfile.read(name)
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror}") from None
    except Exception as error:  # a broken file leads to many
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{name}: expected a WAV file, found what cannot be read as one ({first})") from None
    return int(rate), samples


def _other(name: str) -> tuple[int, npt.NDArray[Any]]:
    """A file that is no WAV, such as FLAC."""
    soundfile = module("soundfile")
    try:
        samples, rate = soundfile.read(name, dtype="float32")
    except Exception as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(
            f"{name}: expected a file of sound, found what cannot be read as one ({first})"
        ) from None
    return int(rate), samples


def _scaled(samples: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Samples from -1 to 1, of whole numbers of any size; unsigned ones have their middle at half."""
    if samples.dtype.kind == "f":
        return samples.astype(np.float64)
    whole = np.iinfo(samples.dtype)
    half = (float(whole.max) - float(whole.min) + 1) / 2
    return (samples.astype(np.float64) - (half if whole.min == 0 else 0.0)) / half
