"""A sound as a picture: its spectrogram, and the stretches of it that tokens stand for."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from headscope.senses import Picture, Sound
from headscope.tokens import Tokens

WIDTH, HEIGHT = 960, 168
"""Of a spectrogram, in pixels: across all that the model hears, upwards from 0 to half the sampling rate."""

RANGE = 70.0
"""Decibels below the loudest that are told apart."""

PAPER, INK = np.array([250, 251, 251]), np.array([12, 84, 92])


def stretches(tokens: Tokens) -> npt.NDArray[np.float64] | None:
    """The area of the spectrogram that each token stands for, ``[token 4]``; None where there is no sound."""
    if tokens.sound is None or tokens.times is None:
        return None
    across = tokens.times / _seconds(tokens) * WIDTH
    return np.stack(
        [across[:, 0], np.zeros(len(tokens)), across[:, 1], np.full(len(tokens), float(HEIGHT))], -1
    )


def spectrogram(tokens: Tokens) -> Picture:
    """The sound of an axis of frames, over all that the model hears: what lies behind the sound is silence."""
    sound = tokens.sound
    assert sound is not None
    pixels = np.broadcast_to(PAPER, (HEIGHT, WIDTH, 3)).copy()
    wide = max(1, min(WIDTH, round(WIDTH * sound.seconds / _seconds(tokens))))
    loud = loudness(sound)
    rows = np.arange(HEIGHT) * loud.shape[1] // HEIGHT
    columns = np.arange(wide) * len(loud) // wide
    strength = np.clip(1 + (loud[columns][:, rows] - loud.max()) / RANGE, 0, 1).T[::-1, :, None]
    pixels[:, :wide] = np.rint(PAPER + (INK - PAPER) * strength)
    return Picture(pixels.astype(np.uint8), sound.name or "a sound")


def loudness(sound: Sound) -> npt.NDArray[np.float64]:
    """Decibels ``[time frequency]``: 25 ms at a time under a Hann window, 10 ms apart."""
    size, step = max(8, sound.rate // 40), max(1, sound.rate // 100)
    samples = np.pad(sound.samples.astype(np.float64), (0, max(0, size - len(sound.samples))))
    starts = np.arange(0, len(samples) - size + 1, step)
    windows = np.lib.stride_tricks.sliding_window_view(samples, size)[starts] * np.hanning(size)
    return 20 * np.log10(np.abs(np.fft.rfft(windows, axis=-1)) + 1e-6)


def _seconds(tokens: Tokens) -> float:
    assert tokens.times is not None
    return float(tokens.times[:, 1].max())
