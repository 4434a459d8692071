"""Two texts, each whole and without each of its units, and unrelated texts beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from headscope.analyses.similar.reader import ReadText, TextReader, direction
from headscope.analyses.similar.statistics import passing
from headscope.analyses.why.spans import Prompt
from headscope.analyses.why.statistics import agreement
from headscope.core.arrays import Floats

BACKGROUND = 40
"""So many unrelated texts stand beside each text; every second one is read without each of its units too."""


class TextPair:
    """Two texts, each whole and without each of its units.

    Attributes:
        sides: A and B.
        near: how near all vectors of A and B are, the whole ones first, ``[unit of A + 1, unit of B + 1]``.
        pairs: what each two units do.
        others: the same where unrelated texts stand in the place of B, and of A.
    """

    def __init__(
        self, readers: Sequence[TextReader], prompts: Sequence[Prompt], of_a: Tensor, of_b: Tensor | None
    ) -> None:
        self.readers = readers
        alone = readers[0].embedder.vectors == "text"
        second = readers[1].read(prompts[1], of_a, of_b if alone else None)
        self.sides = [readers[0].read(prompts[0], second.vectors[0], of_a), second]
        self.near, self.pairs = self._near(*self.sides)
        self.others: tuple[list[tuple[Floats, Floats]], list[tuple[Floats, Floats]]] = ([], [])

    def _near(self, a: ReadText, b: ReadText) -> tuple[Floats, Floats]:
        near = self.readers[0].near(a.vectors, b.vectors).numpy()
        return near, self.readers[0].together(a, b, near)

    def compare(self, lines: Sequence[str]) -> None:
        """Put unrelated texts of the same length in the place of each text."""
        (a, b), (of_a, of_b) = self.sides, self.readers
        texts: list[list[ReadText]] = []
        for reader, one in ((of_b, b), (of_a, a)):
            some = [reader.text(text, "background") for text in alike(lines, one.prompt)]
            cuts = [reader.cut_of(text) if place % 2 == 0 else [] for place, text in enumerate(some)]
            texts.append(reader.apart(some, cuts))
        self.others = ([self._near(a, one) for one in texts[0]], [self._near(one, b) for one in texts[1]])

    def figures(self, *, delete: bool) -> dict[str, Any]:
        """What each unit does, and each pair of units."""
        near, pairs = self.near, self.pairs
        by_row, by_column = ([both for _, both in some if both.size] for some in self.others)
        p = [_share(pairs, [np.abs(one).max(1)[:, None] for one in by_row])]
        p += [_share(pairs, [np.abs(one).max(0)[None] for one in by_column])]
        q = [_share(pairs, [np.abs(one).max() for one in some]) for some in (by_row, by_column)]
        apart = self.readers[0].embedder.vectors == "text"
        ways = direction(*self.sides) if apart else np.full_like(pairs, np.nan)
        made = {"pairs": [pairs, ways, np.maximum(*p), np.maximum(*q)]}
        bar = passing(pairs, made["pairs"][3])
        hidden = [np.zeros(len(one.prompt.tokens), np.bool_) for one in self.sides]
        deleted: list[Floats] = []
        for side, (one, reader) in enumerate(zip(self.sides, self.readers, strict=True)):
            effects = near[0, 0] - (near[1:, 0] if side == 0 else near[0, 1:])
            others = [one[0, 0] - (one[1:, 0] if side == 0 else one[0, 1:]) for one, _ in self.others[side]]
            any_of = _share(effects, [np.abs(one).max() for one in others])
            figures = [effects, _share(effects, others), np.minimum(2 * any_of, 1.0)]  # there are two texts
            deleted.append(np.full(len(effects), np.nan))
            if delete:
                gone = reader.without([(one.prompt.tokens, unit.tokens) for unit in one.units], delete=True)
                deleted[-1] = near[0, 0] - reader.towards(gone, self.sides[1 - side].vectors[0])
            made["ab"[side]] = [*figures, deleted[-1]]
            for unit in np.flatnonzero(bar.any(1 - side)).tolist():
                hidden[side] |= one.units[unit].tokens
        left = [
            reader.without([(one.prompt.tokens, row)]) if known is None else known
            for reader, one, row in zip(self.readers, self.sides, hidden, strict=True)
            for known in [one.known(row)]
        ]
        unrelated = [one[0, 0] for some in self.others for one, _ in some]
        ranks = [agreement(np.concatenate([made[side][0] for side in "ab"]), np.concatenate(deleted))]
        made["input"] = [
            near[0, 0],
            np.mean(np.array(unrelated) < near[0, 0]) if unrelated else np.nan,
            float(self.readers[0].near(*left)) if bar.any() else np.nan,
            *ranks,
        ]
        return made


def alike(lines: Sequence[str], prompt: Prompt) -> list[str]:
    """Unrelated texts about as long as one: lines that are joined, or cut behind a word."""
    length = len(prompt.text.strip())
    starts: list[int] = np.unique(np.linspace(0, len(lines) - 1, BACKGROUND).round().astype(int)).tolist()
    texts: list[str] = []
    for start in starts:
        text, at = lines[start], start
        while len(text) < 0.8 * length:
            at = (at + 1) % len(lines)
            text = f"{text} {lines[at]}"
        end = text.find(" ", length)
        texts.append(text if end < 0 or len(text) < 1.25 * length else text[:end])
    return texts


def _share(figures: Floats, others: Sequence[Floats]) -> Floats:
    """Of each figure the share of unrelated texts of which one is as large, itself among them; NaN without any."""
    if not others:
        return np.full(figures.shape, np.nan)
    sizes = np.abs(figures)
    return np.mean([np.ones(figures.shape), *(np.abs(one) >= sizes for one in others)], 0)
