"""The built-in sounds: what is heard in each, and when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

RATE = 16_000


class Part(NamedTuple):
    """A stretch of a sound: what it is called, and its samples."""

    name: str
    samples: Array


def clock(seconds: float) -> Array:
    """The time of each sample."""
    return np.arange(round(seconds * RATE)) / RATE


def faded(samples: Array, rise: float = 0.01, fall: float = 0.02) -> Array:
    """A sound that begins and ends softly, in so many seconds."""
    time = clock(len(samples) / RATE)
    return samples * np.clip(time / rise, 0, 1) * np.clip((time[-1] - time) / fall, 0, 1)


def pause(seconds: float) -> Part:
    return Part("pause", np.zeros(round(seconds * RATE)))


VOWELS = {
    "a": (730, 1090, 2440),
    "e": (530, 1840, 2480),
    "i": (270, 2290, 3010),
    "o": (570, 840, 2410),
    "u": (300, 870, 2240),
}
"""The first three formants in Hz (Peterson and Barney 1952, table II, men; e and o stand for their nearest vowels)."""

_NASAL = (250, 1100, 2200)


def voiced(pitch: Array, formants: Array, loud: Array) -> Array:
    """A voice: harmonics of a pitch in Hz ``[sample]``, as loud as its formants ``[sample 3]`` let them be."""
    phase = 2 * np.pi * np.cumsum(pitch) / RATE
    widths, gains = (90, 110, 160), (1.0, 0.55, 0.3)
    total = np.zeros(len(pitch))
    for number in range(1, 40):
        frequency = number * pitch
        heard = sum(
            gain / (1 + ((frequency - formants[:, place]) / width) ** 2)
            for place, (width, gain) in enumerate(zip(widths, gains, strict=True))
        )
        total += np.where(frequency < 0.45 * RATE, heard, 0) / number**0.35 * np.sin(number * phase)
    return total * loud


def hissed(draw: np.random.Generator, seconds: float, low: float, high: float) -> Array:
    """Noise between two frequencies in Hz, as loud as 1 at most."""
    count = round(seconds * RATE)
    spectrum = np.fft.rfft(draw.normal(size=count))
    frequency = np.fft.rfftfreq(count, 1 / RATE)
    spectrum *= 1 / (1 + np.exp(-(frequency - low) / 60)) / (1 + np.exp((frequency - high) / 60))
    made = np.fft.irfft(spectrum, count)
    return made / np.abs(made).max()


def syllable(draw: np.random.Generator, text: str, seconds: float, pitch: tuple[float, float]) -> Part:
    """A consonant and a vowel: ``m``, ``n`` and ``l`` hum, ``s`` hisses, ``t`` and ``k`` burst."""
    consonant, vowel = text[0], np.array(VOWELS[text[1]], np.float64)
    time = clock(seconds)
    share = time / seconds
    turn = np.clip((time - 0.07) / 0.06, 0, 1)[:, None]
    start = {"m": _NASAL, "n": (250, 1500, 2400), "l": (360, 1200, 2700)}.get(consonant)
    formants = vowel + (1 - turn) * ((np.array(start) - vowel) if start else vowel * (-0.12, 0.08, 0.02))
    hum = 1 - 0.55 * (1 - turn[:, 0]) if start else np.clip((time - 0.09) / 0.03, 0, 1)
    loud = hum * np.clip(time / 0.02, 0, 1) * np.clip((seconds - time) / 0.09, 0, 1) ** 0.8
    line = pitch[0] + (pitch[1] - pitch[0]) * share + 2.5 * np.sin(2 * np.pi * 5.2 * time)
    made = voiced(line, formants, loud)
    made /= np.abs(made).max()
    if consonant == "s":
        made[: round(0.12 * RATE)] += 0.3 * faded(hissed(draw, 0.12, 4200, 7400), 0.03, 0.04)
    if consonant in "tk":
        low, high = (2500, 6500) if consonant == "t" else (1200, 3200)
        at = round(0.05 * RATE)
        burst = hissed(draw, 0.04, low, high) * np.exp(-clock(0.04) / 0.012)
        made[at : at + len(burst)] += 0.5 * burst
    return Part(text, 0.6 * made)


def syllables() -> list[Part]:
    """Seven syllables in two phrases, as if somebody spoke."""
    draw = np.random.default_rng(21)
    first = [("ma", 0.36, (118, 132)), ("si", 0.34, (134, 146)), ("lo", 0.42, (140, 108))]
    second = [
        ("ta", 0.32, (126, 138)),
        ("nu", 0.34, (140, 128)),
        ("ke", 0.32, (130, 118)),
        ("mo", 0.46, (116, 88)),
    ]
    parts = [pause(0.12)]
    for phrase in (first, second):
        parts += [syllable(draw, text, seconds, pitch) for text, seconds, pitch in phrase]
        parts.append(pause(0.34 if phrase is first else 0.18))
    return parts


def tones() -> list[Part]:
    """Long and short tones of one pitch: a rhythm, twice."""
    parts = [pause(0.1)]
    for high in (660.0, 880.0):
        for seconds, rest in ((0.4, 0.1), (0.15, 0.1), (0.15, 0.1), (0.4, 0.25)):
            time = clock(seconds)
            made = np.sin(2 * np.pi * high * time) + 0.25 * np.sin(4 * np.pi * high * time)
            parts += [Part("tone", 0.4 * faded(made, 0.008, 0.03)), pause(rest)]
    return parts


def bursts() -> list[Part]:
    """Bursts of noise: low, high, and all of it."""
    draw = np.random.default_rng(8)
    kinds = {"rumble": (60, 500, 0.5), "hiss": (4000, 7600, 0.4), "noise": (100, 7800, 0.45)}
    parts = [pause(0.15)]
    for name, seconds in (("rumble", 0.5), ("hiss", 0.3), ("noise", 0.4), ("hiss", 0.3), ("rumble", 0.5)):
        low, high, loud = kinds[name]
        parts += [Part(name, loud * faded(hissed(draw, seconds, low, high), 0.02, 0.12)), pause(0.2)]
    return parts


NOTES = {"C": 261.63, "D": 293.66, "E": 329.63, "F": 349.23, "G": 392.0, "A": 440.0}


def melody() -> list[Part]:
    """Nine plucked notes that rise and fall."""
    parts = [pause(0.08)]
    for note, seconds in zip("CDEFGAGEC", (0.3, 0.3, 0.3, 0.3, 0.4, 0.4, 0.4, 0.3, 0.6), strict=True):
        time = clock(seconds)
        made = sum(
            np.sin(2 * np.pi * number * NOTES[note] * time) * np.exp(-time * (2.2 + 1.6 * number)) / number
            for number in range(1, 8)
        )
        parts.append(Part(note, 0.42 * faded(np.asarray(made), 0.006, 0.03)))
    return parts


def samples_of(parts: Sequence[Part]) -> npt.NDArray[np.int16]:
    """The whole sound, in 16 bits."""
    whole = np.concatenate([part.samples for part in parts])
    return np.rint(np.clip(whole, -0.999, 0.999) * 32767).astype(np.int16)


def times_of(parts: Sequence[Part]) -> list[tuple[float, float]]:
    """When each part begins and ends, in seconds."""
    ends = np.cumsum([len(part.samples) for part in parts]) / RATE
    starts = np.concatenate([[0.0], ends[:-1]])
    return [(round(float(start), 4), round(float(end), 4)) for start, end in zip(starts, ends, strict=True)]


SOUNDS = {"syllables": syllables, "tones": tones, "bursts": bursts, "melody": melody}
"""The sounds, by their names."""

WITH_PAUSES = ("tones", "bursts")
"""Those whose pauses are parts as well."""
