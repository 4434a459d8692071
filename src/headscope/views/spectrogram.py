"""A sound as a picture: its spectrogram, and the words that are heard."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from headscope.core.arrays import Bytes, Floats
from headscope.core.media import Sound
from headscope.core.tokens import Tokens
from headscope.core.words import joined
from headscope.views.blobs import Blobs
from headscope.views.inputs import Input
from headscope.views.payload import LinkInfo, SoundInfo, SpokenInfo

HEIGHT = 168
"""Of a spectrogram, in pixels: from 0 to half the sampling rate."""

NARROWEST, WIDEST = 960, 3000
"""Of a spectrogram, in pixels: across all that the model hears; between them each has a hundredth of a second."""

RANGE = 70.0
"""Decibels below the loudest that are told apart."""

PAPER, INK = np.array([251, 251, 250]), np.array([22, 25, 29])


def spectrogram(sound: Sound, seconds: float) -> Bytes:
    """The pixels of a sound ``[row column 3]``, over so many seconds: what lies behind the sound is silence."""
    width = int(np.clip(round(100 * seconds), NARROWEST, WIDEST))
    pixels = np.broadcast_to(PAPER, (HEIGHT, width, 3)).copy()
    if len(sound.samples):
        wide = max(1, min(width, round(width * sound.seconds / seconds)))
        loud = loudness(sound)
        rows = np.arange(HEIGHT) * loud.shape[1] // HEIGHT
        columns = np.arange(wide) * len(loud) // wide
        strength = np.clip(1 + (loud[columns][:, rows] - loud.max()) / RANGE, 0, 1).T[::-1, :, None]
        pixels[:, :wide] = np.rint(PAPER + (INK - PAPER) * strength)
    return pixels.astype(np.uint8)


def loudness(sound: Sound) -> Floats:
    """Decibels ``[time frequency]``: 25 ms at a time under a Hann window, 10 ms apart."""
    size, step = max(8, sound.rate // 40), max(1, sound.rate // 100)
    samples = np.pad(sound.samples.astype(np.float64), (0, max(0, size - len(sound.samples))))
    starts = np.arange(0, len(samples) - size + 1, step)
    windows = np.lib.stride_tricks.sliding_window_view(samples, size)[starts] * np.hanning(size)
    return 20 * np.log10(np.abs(np.fft.rfft(windows, axis=-1)) + 1e-6)


def seconds(tokens: Tokens) -> float:
    """How much a model hears, in seconds: to the end of the last frame."""
    assert tokens.times is not None
    return float(np.nanmax(tokens.times[:, 1]))


def sound_info(one: Input, blobs: Blobs | None) -> SoundInfo | None:
    """The sound of an input, for the page; None where it has none. `blobs` takes the samples (None: left out)."""
    axes = [
        (axis, maps.query, one.links.get(name, ()) if axis is maps.key else ())
        for name, maps in one.parts.items()
        for axis in (maps.key, maps.query)
        if axis.sound is not None and axis.times is not None
    ]
    if not axes:
        return None
    # Of several parts the one with links to its frames knows the words.
    tokens, queries, links = max(axes, key=lambda axis: len(axis[2]))
    sound = tokens.sound
    assert sound is not None
    samples = None
    if blobs is not None:
        codes = np.rint(np.clip(sound.samples, -1, 1) * 32767).astype("<i2")
        samples = blobs.plain(np.frombuffer(codes.tobytes(), np.uint8), "uint8")
    all_of_it = seconds(tokens)
    return SoundInfo(
        rate=sound.rate,
        seconds=round(all_of_it, 6),
        heard=round(min(sound.seconds, all_of_it), 6),
        samples=samples,
        words=words(tokens) or linked(tokens, links, queries),
    )


def words(tokens: Tokens) -> list[SpokenInfo]:
    """The words of an axis of frames, where it knows them."""
    if tokens.word_ids is None or tokens.times is None or tokens.texts is None:
        return []
    spoken: list[SpokenInfo] = []
    for number, places in groupby(range(len(tokens)), tokens.word_ids.tolist().__getitem__):
        frames = list(places)
        text = "".join(tokens.texts[place] for place in frames).strip()
        if number >= 0 and text:
            spoken.append(_spoken(tokens, text, frames))
    return spoken


def linked(tokens: Tokens, links: Sequence[LinkInfo], queries: Tokens) -> list[SpokenInfo]:
    """The words that links lead from, each to one stretch of frames, in the order in which they are heard."""
    spoken: list[SpokenInfo] = []
    for link in links:
        if link["side"] != "from" or len(link["targets"]) != 1:
            continue
        frames = link["targets"][0]
        source = link["source"]
        texts = None if queries.texts is None else [queries.texts[place] for place in source]
        text = (
            joined([queries.pieces[place] for place in source]) if texts is None else "".join(texts).strip()
        )
        if text and frames == list(range(frames[0], frames[-1] + 1)):
            spoken.append(_spoken(tokens, text, frames))
    return sorted(spoken, key=lambda word: word["begin"])


def _spoken(tokens: Tokens, text: str, places: Sequence[int]) -> SpokenInfo:
    assert tokens.times is not None
    begin, end = float(tokens.times[places[0], 0]), float(tokens.times[places[-1], 1])
    return SpokenInfo(text=text, begin=round(begin, 6), end=round(end, 6))
