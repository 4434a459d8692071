"""Speech of noise with words at random times, and a head that knows them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from headscope.attention.record import AttentionRecord
from headscope.core.heads import Head
from headscope.corpora import Example
from headscope.corpora.readers import heard_in
from headscope.models import Model
from headscope.models.perceive import spoken

VOCABULARY = [
    "The", "cat", "sat", "on", "a", "mat", "and", "it", "was", "late", "so", "she", "opened", "bridge",
]  # fmt: skip
FRAME, RATE = 0.02, 16_000
PLANTED = Head(1, 2)


def recordings(model: Model, count: int, *, seed: int = 0, documents: int = 10) -> list[Example]:
    """Recordings of noise; their words follow one another from 0 s on, six to nine frames a token."""
    rng = np.random.default_rng(seed)
    examples: list[Example] = []
    for number in range(count):
        words = rng.choice(VOCABULARY, rng.integers(3, 6)).tolist()
        tokens = model.from_words(words).word_ids
        assert tokens is not None
        frames = [int((tokens == word).sum() * rng.integers(6, 10)) for word in range(len(words))]
        ends = np.cumsum(frames) * FRAME
        times = list(zip([0.0, *ends[:-1].tolist()], ends.tolist(), strict=True))
        noise = rng.normal(0, 0.1, int((ends[-1] + 0.2) * RATE)).astype(np.float32)
        examples.append(
            Example(
                words=words,
                audio=(noise, RATE),
                times=times,
                links=[heard_in(word, *each) for word, each in enumerate(times)],
                document=number * documents // count,
                source=f"noise:{number}",
            )
        )
    return examples


def knowing(model: Model, example: Example) -> np.ndarray[Any, Any]:
    """A map ``[token frame]`` on which each token looks at its part of its word's frames, the end at what follows."""
    assert example.words is not None
    assert example.audio is not None
    said = spoken(model, example.audio, example.words)
    assert said.tokens.word_ids is not None
    positions = said.inputs["input_features"].shape[-1] // 2
    planted = np.full((len(said.tokens), positions), 1e-3)
    for word, (begin, end) in enumerate(example.times):
        rows = np.flatnonzero(said.tokens.word_ids == word)
        borders = np.linspace(begin / FRAME, end / FRAME, len(rows) + 1).round().astype(int)
        for row, first, after in zip(rows, borders, borders[1:], strict=False):
            planted[row, first:after] = 1.0
    planted[-1, round(example.times[-1][1] / FRAME) : said.frames] = 1.0
    return planted / planted.sum(1, keepdims=True)


def planting(model: Model, examples: Sequence[Example]) -> Callable[[AttentionRecord], torch.Tensor | None]:
    """A change for `hs.edit` that gives one head these maps, one run after the other, and again from the first."""
    maps = [torch.as_tensor(knowing(model, example), dtype=torch.float32) for example in examples]
    runs = iter(range(10**9))

    def change(record: AttentionRecord) -> torch.Tensor | None:
        if record.kind != "cross" or record.layer != PLANTED.layer:
            return None
        weights = record.weights().clone()
        weights[:, PLANTED.head] = maps[next(runs) % len(maps)]
        return weights

    return change
