"""Maps with heads that are planted, on a picture and a sound of the built-in corpus: what the gallery shows of them."""

from __future__ import annotations

import numpy as np

import headscope as hs
from headscope.core.maps import AttentionMaps
from headscope.core.pictures import picture_of

LAYERS, HEADS = 4, 6
QUESTION = "What stands beside the book ?"


def _shares(layers: list[np.ndarray]) -> list[np.ndarray]:
    return [(layer / layer.sum(-1, keepdims=True)).astype(np.float32) for layer in layers]


def heard() -> AttentionMaps:
    """Cross attention from syllables to the frames of their sound.

    One head in three listens where a syllable is said (or a little later), the others to the beginning, to the end, or
    to all of it.
    """
    example = next(iter(hs.corpora.builtin_sounds()))
    words, times = list(example.words or ()), list(example.times or ())
    sound = hs.Sound(*_samples(example.audio), "syllables.wav")
    frames = hs.Frames(
        round(sound.seconds / 0.02),
        0.02,
        sound,
        [(word, *span) for word, span in zip(words, times, strict=True)],
    )
    text = hs.Tokens(
        ["<|startoftranscript|>", *(f"Ġ{word}" for word in words), "<|endoftext|>"],
        special_mask=np.array([True, *[False] * len(words), True]),
        word_ids=np.array([-1, *range(len(words)), -1]),
        texts=["", *(f" {word}" for word in words), ""],
    )
    dice = np.random.default_rng(0)
    middles = np.asarray(frames.times).mean(1)
    layers: list[np.ndarray] = []
    for layer in range(LAYERS):
        heads = dice.gamma(0.6, 0.02, (HEADS, len(text), len(frames)))
        for head in range(HEADS):
            kind = (layer * HEADS + head) % 5
            for query in range(len(text)):
                begin, end = times[min(max(query - 1, 0), len(words) - 1)]
                at, wide = {
                    0: ((begin + end) / 2, (end - begin) / 3),
                    1: (0.1, 0.08),
                    2: (sound.seconds - 0.1, 0.1),
                    3: (end, (end - begin) / 2),
                }.get(kind, (sound.seconds / 2, 9.0))
                heads[head, query] += np.exp(-0.5 * ((middles - at) / wide) ** 2)
        layers.append(heads)
    return AttentionMaps(_shares(layers), text, frames, kind="cross", meta={"model": "planted heads"})


def _samples(audio: object) -> tuple[np.ndarray, int]:
    from scipy.io import wavfile

    rate, samples = wavfile.read(str(audio))
    return (samples / 32768).astype(np.float32), int(rate)


def talked() -> AttentionMaps:
    """A question about a picture, and its answer, in one row.

    One head in two looks from a word at the thing that it names; the others at the first token, or at three patches
    that all words look at.
    """
    example = next(each for each in hs.corpora.builtin_images() if "table" in str(each.image))
    answer = str(example.text)
    grid = hs.Grid(9, 12, picture=picture_of(example.image))
    words = QUESTION.split() + answer.rstrip(".").split()
    named = _things(example.links or (), answer, len(QUESTION.split()))
    pieces = ["<s>", *grid.pieces, *(f"▁{word}" for word in words)]
    count, patches = len(pieces), len(grid)
    boxes = np.full((count, 4), np.nan)
    boxes[1 : 1 + patches] = grid.boxes
    written = np.arange(count) >= 1 + patches + len(QUESTION.split())
    axis = hs.Tokens(
        pieces,
        special_mask=np.arange(count) == 0,
        word_ids=np.array([-1] * (1 + patches) + list(range(len(words)))),
        picture=grid.picture,
        boxes=boxes,
        classes={"generated": written},
    )
    centres = (boxes[:, :2] + boxes[:, 2:]) / 2
    dice = np.random.default_rng(3)
    layers: list[np.ndarray] = []
    for layer in range(LAYERS):
        heads = dice.gamma(0.4, 0.03, (HEADS, count, count)) + 0.004
        for head in range(HEADS):
            kind = (layer + head) % 4
            heads[head, :, 0] += 2.5 if kind in (1, 3) else 0.5
            if kind == 3:
                heads[head][:, [14, 55, 80]] += 0.8
            for query in range(1 + patches, count):
                heads[head, query, max(0, query - 2) : query + 1] += 0.3
                thing = named.get(query - 1 - patches)
                if kind in (0, 2) and thing is not None:
                    left, top, right, bottom = thing
                    inside = (
                        (centres[:, 0] > left)
                        & (centres[:, 0] < right)
                        & (centres[:, 1] > top)
                        & (centres[:, 1] < bottom)
                    )
                    heads[head, query, inside] += dice.uniform(0.6, 1.4, int(inside.sum()))
        layers.append(np.tril(heads))
    return AttentionMaps(_shares(layers), axis, axis, causal=True, meta={"model": "planted heads"})


def _things(links: object, answer: str, before: int) -> dict[int, tuple[float, ...]]:
    """The box of the thing that each word names, by the word's number; the question's "book" names one, too."""
    starts = np.cumsum([0, *(len(word) + 1 for word in answer.split())])
    found: dict[int, tuple[float, ...]] = {}
    for link in links:  # type: ignore[attr-defined]
        for number, start in enumerate(starts[:-1]):
            if link.source.start <= start < link.source.end:
                found[before + number] = link.targets[0].box
                if answer[start:].startswith("book"):
                    found[QUESTION.split().index("book")] = link.targets[0].box
    return found
