"""Sounds that are longer than a model hears at once."""

from __future__ import annotations

from dataclasses import replace

from headscope.core.audio import heard, windows
from headscope.corpora.example import Example


def parts(example: Example, rate: int, seconds: float) -> list[Example]:
    """A sound that is longer than a model hears at once, as several: cut where it is quiet (`core.audio.windows`).

    Words go, with their times, where their middle is.

    Args:
        example: with `audio`.
        rate: samples in a second that the model hears.
        seconds: how long an input may be.

    Raises `CorpusError` for a sound that is not to be cut: one with links, or with text that has no times.
    """
    assert example.audio is not None
    samples = heard(example.audio, rate)
    if len(samples) <= seconds * rate:
        return [example]
    if example.links is not None or (example.times is None and (example.text or example.words)):
        kind = "with links" if example.links is not None else "with a text that has no times"
        raise example.error(
            f"expected at most {seconds:g} s of a sound {kind}, found {len(samples) / rate:.2f} s"
        )
    cuts: list[Example] = []
    for start, end in windows(samples, rate, seconds):
        begin, after = start / rate, end / rate
        part = replace(
            example, audio=(samples[start:end], rate), source=f"{example.source} from {begin:.2f} s on"
        )
        if example.words is not None and example.times is not None:
            inside = [
                (word, (max(first, begin) - begin, min(last, after) - begin))
                for word, (first, last) in zip(example.words, example.times, strict=True)
                if begin <= (first + last) / 2 < after
            ]
            part = replace(
                part, words=[word for word, _ in inside] or None, times=[times for _, times in inside] or None
            )
        cuts.append(part)
    return cuts
