"""Sounds of a tone for each word, and heads that listen where they are told to."""

from __future__ import annotations

import numpy as np

import headscope as hs

RATE = 8000
SECONDS = 2.0
FRAME = 0.02
WORDS = [("so", 0.1, 0.4), ("it", 0.5, 0.9), ("was", 1.1, 1.7)]


def sound(seconds: float = SECONDS) -> hs.Sound:
    """A tone for each word, higher from word to word, and silence between them."""
    time = np.arange(int(seconds * RATE)) / RATE
    samples = np.zeros(len(time), np.float32)
    for number, (_, begin, end) in enumerate(WORDS):
        within = (time >= begin) & (time < end)
        samples[within] = 0.5 * np.sin(2 * np.pi * (400 + 600 * number) * time[within])
    return hs.Sound(samples, RATE, "tones.wav")


def frames(window: float = SECONDS, heard: float = SECONDS) -> hs.Tokens:
    return hs.Frames(round(window / FRAME), FRAME, sound(heard), words=WORDS)


def peaked(axis: hs.Tokens, *times: float) -> np.ndarray:
    """Rows that give .6 to the frame at a time, and share out the rest."""
    rows = np.full((len(times), len(axis)), 0.4 / len(axis))
    for row, time in zip(rows, times, strict=True):
        row[round(time / FRAME)] += 0.6
    return rows


def middle(time: float) -> float:
    """The middle of the frame that `peaked` chooses for a time."""
    return (round(time / FRAME) + 0.5) * FRAME


def cross(window: float = SECONDS, heard: float = SECONDS) -> hs.AttentionMaps:
    """Words that look at frames: head 0 where they are said, head 1 at the beginning, head 2 behind the sound."""
    axis = frames(window, heard)
    text = hs.Tokens(
        ["<s>", "Ġso", "Ġit", "Ġw", "as"],
        special_mask=np.array([True, False, False, False, False]),
        word_ids=np.array([-1, 0, 1, 2, 2]),
        texts=["", " so", " it", " w", "as"],
    )
    middles = [(begin + end) / 2 for _, begin, end in WORDS]
    heads = [
        peaked(axis, 0.0, middles[0], middles[1], middles[2], middles[2]),
        peaked(axis, *[0.04] * 5),
        peaked(axis, *[window - 0.02] * 5),
    ]
    return hs.AttentionMaps([np.stack(heads)], text, axis, kind="cross")


def alike() -> hs.AttentionMaps:
    """Frames that look at the frame a quarter of a second later (head 0), or all at one (head 1)."""
    axis = frames()
    rows = np.stack([peaked(axis, min(SECONDS - FRAME, at * FRAME + 0.24))[0] for at in range(len(axis))])
    same = np.repeat(peaked(axis, 1.0), len(axis), 0)
    return hs.wrap([np.stack([rows, same])], axis)
