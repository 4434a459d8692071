"""Pictures of squares with a sentence each, and a head that looks from each noun to its square."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

import headscope as hs
from headscope.attention.record import AttentionRecord
from headscope.core.heads import Head
from headscope.core.link import located
from headscope.corpora import Corpus, Example
from headscope.models import Model

NOUNS = ("ball", "box", "cup", "lamp", "hat", "star")
PLANTED = Head(1, 2)
SIDE, CELL = 56, 14
"""Pixels of a picture and of a patch of it, in `small_models.llava_parts` and where a model makes pictures that large."""


def squares(count: int, seed: int = 0) -> tuple[list[str], list[list[Any]], list[np.ndarray]]:
    """Sentences of two nouns, the characters of each with the box of its square, and the pictures."""
    draw = np.random.default_rng(seed)
    texts: list[str] = []
    links: list[list[Any]] = []
    pictures: list[np.ndarray] = []
    for number in range(count):
        picture = np.full((SIDE, SIDE, 3), 255, np.uint8)
        cells = draw.choice((SIDE // CELL) ** 2, 2, replace=False)
        nouns = draw.choice(NOUNS, 2, replace=False)
        text = f"{number}: the {nouns[0]} is beside the {nouns[1]}."
        own: list[Any] = []
        for noun, cell in zip(nouns, cells, strict=True):
            row, column = divmod(int(cell), SIDE // CELL)
            left, top, right, bottom = column * CELL + 1, row * CELL + 1, column * CELL + 13, row * CELL + 13
            picture[top:bottom, left:right] = draw.integers(0, 200, 3)
            start = text.index(f" {noun}") + 1
            own.append(((start, start + len(noun)), hs.Region((left, top, right, bottom))))
        texts.append(text)
        links.append(own)
        pictures.append(picture)
    return texts, links, pictures


def corpus_of(count: int, seed: int = 0) -> Corpus:
    """The same as a corpus."""
    texts, links, pictures = squares(count, seed)
    return hs.corpora.linked(texts, links, images=pictures)


@contextmanager
def planted(model: Model, examples: Sequence[Example]) -> Generator[None]:
    """Within it one head looks from the tokens of each link's source to the patches of its targets."""
    maps: dict[tuple[int, ...], torch.Tensor] = {}
    for example in examples:
        tokens = model.see(example.image, example.text)
        weights = np.full((len(tokens), len(tokens)), 1e-4)
        for link in example.links or ():
            source, _ = located(link.source, link.unit, tokens)
            for target in link.targets:
                weights[np.ix_(source, located(target, link.unit, tokens)[0])] = 1.0
        weights = np.tril(weights)
        own = torch.as_tensor(weights / weights.sum(1, keepdims=True), dtype=torch.float32)
        maps[tuple(tokens.ids.tolist())] = own
    read: list[list[int]] = []

    def note(_: Any, __: Any, given: dict[str, Any]) -> None:
        read[:] = [
            ids[mask].tolist()
            for ids, mask in zip(given["input_ids"], given["attention_mask"].bool(), strict=True)
        ]

    def change(record: AttentionRecord) -> torch.Tensor | None:
        if "vision" in record.module or record.layer != PLANTED.layer:
            return None
        weights = record.weights().clone()
        for row, ids in enumerate(read):
            weights[row, PLANTED.head, : len(ids), : len(ids)] = maps[tuple(ids)]
        return weights

    backbone: Any = model.backbone
    handle = backbone.register_forward_pre_hook(note, with_kwargs=True)
    try:
        with hs.edit(model, change):
            yield
    finally:
        handle.remove()
