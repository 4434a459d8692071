"""Texts that are read apart, whole and without each of their units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from headscope.analyses.similar.heads import CarryingHead, carriers
from headscope.analyses.why.given import read
from headscope.analyses.why.spans import Prompt, Source, Spans, Stretch, cut
from headscope.attention.one import running
from headscope.attention.recording import evaluating
from headscope.core.arrays import Floats
from headscope.core.tokens import Tokens
from headscope.errors import InputError
from headscope.models import Model
from headscope.models.embedding import Embedder, embedder
from headscope.models.model import uncached

FEW = 3
"""Of units in one another, those in so many of the largest are measured."""


@dataclass(frozen=True, eq=False)
class ReadText:
    """A text that was read whole, and once without each of its units.

    Attributes:
        prompt: as units are cut of it.
        units: of the text.
        vectors: its vector, and those without each unit, ``[unit + 1, dimension]``.
    """

    prompt: Prompt
    units: Sequence[Source]
    vectors: Tensor


class TextReader:
    """Reads texts whole and without parts.

    Args:
        model: that reads.
        units: what texts are cut into.
        prompt: what stands before each text, or its name.
        dimensions: of the vector that are kept.
        batch_size: inputs that run at once.
    """

    def __init__(
        self, model: Model, units: Spans, prompt: str | None, dimensions: int | None, batch_size: int
    ) -> None:
        self.embedder: Embedder = embedder(model)
        self.before = self.embedder.before(prompt)
        self._units, self._dimensions, self._size = units, dimensions, batch_size
        self._prompt, self.cut = 0, 0
        if self.before:
            special = self.embedder.read(self.before).special
            self._prompt = len(special) - int(np.argmin(special[::-1]))

    def text(self, text: str, name: str) -> Prompt:
        """A text, as units are cut of it. `InputError` where it is empty."""
        if not text.strip():
            raise InputError(f"{name}: expected a text, found {text!r}")
        tokens, text = self.embedder.read(text, self.before), self.before + text
        last = 0 if tokens.offsets is None else int(tokens.offsets.max())
        self.cut += bool(last and text[last:].strip())
        prompt, _, _ = read(self.embedder.model, tokens, None, None, None, None, None)
        first = len(self.before)
        if tokens.offsets is not None:
            ends = np.maximum.accumulate(tokens.offsets[:, 1]).tolist()
            texts = [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]
            at = ends[-1]
        else:
            texts, at = prompt.texts, len(prompt.text)
        return replace(prompt, texts=texts, parts={"part": [Stretch(first, at)]})

    def read(self, prompts: Sequence[Prompt], near: Tensor | None = None) -> list[ReadText]:
        """Each text whole, and without each of its units.

        Of units in one another the smaller are read in those alone that change most how `near` a vector it is.
        """
        try:
            cuts = [cut(prompt, self._units) for prompt in prompts]
        except InputError as error:
            raise InputError(str(error).replace("spans", "units", 1)) from None
        first = [[unit for unit in units if unit.parent < 0] for units in cuts]
        made = self.apart(prompts, first)
        while near is not None and len(first[0]) < len(cuts[0]):
            (all_of,), (known,), (one,) = cuts, first, made
            effects = self.embedder.near(one.vectors, near[None])[:, 0]
            sizes = (effects[0] - effects[1:]).abs()
            last = [n for n, unit in enumerate(known) if unit.level == known[-1].level]
            largest = {id(known[n]) for n in sorted(last, key=lambda n: -float(sizes[n]))[:FEW]}
            inner = [unit for unit in all_of if unit.parent >= 0 and id(all_of[unit.parent]) in largest]
            if not inner:
                break
            (more,) = self.apart(prompts, [inner])
            first = [[*known, *inner]]
            made = [ReadText(one.prompt, first[0], torch.cat([one.vectors, more.vectors[1:]]))]
        return made

    def apart(self, prompts: Sequence[Prompt], cuts: Sequence[Sequence[Source]]) -> list[ReadText]:
        """Each text whole, and without each of these units."""
        hidden = [
            [np.zeros(len(prompt.tokens), np.bool_), *(unit.tokens for unit in units)]
            for prompt, units in zip(prompts, cuts, strict=True)
        ]
        vectors = self.without(
            [(one.tokens, row) for one, rows in zip(prompts, hidden, strict=True) for row in rows]
        )
        parts = torch.split(vectors, [len(rows) for rows in hidden])
        return [ReadText(*one) for one in zip(prompts, cuts, parts, strict=True)]

    def carriers(self, one: ReadText, unit: int, other: Tensor, count: int) -> Sequence[CarryingHead]:
        """The heads through which a unit reaches the vector, as that is near the `other` one."""
        return carriers(self.embedder, one.prompt, one.units[unit], other, self._prompt, count)

    def vectors(self, prompts: Sequence[Prompt]) -> Tensor:
        """The vector of each text."""
        return self.without([(one.tokens, np.zeros(len(one.tokens), np.bool_)) for one in prompts])

    def without(self, inputs: Sequence[tuple[Tokens, Any]], *, delete: bool = False) -> Tensor:
        """The vectors of tokens where some are hidden from all others and not pooled, or are not there."""
        if delete:
            inputs = [
                (tokens.take(~hidden), np.zeros(int((~hidden).sum()), np.bool_)) for tokens, hidden in inputs
            ]
        order = sorted(range(len(inputs)), key=lambda place: len(inputs[place][0]))
        made: dict[int, Tensor] = {}
        model, reader = self.embedder.model, self.embedder.model.backbone
        more = {**uncached(reader), "output_hidden_states": True}
        with torch.no_grad(), evaluating(model.module):
            for start in range(0, len(order), self._size):
                some = order[start : start + self._size]
                ready = dict(model.inputs([inputs[place][0] for place in some]))
                seen = torch.zeros_like(ready["input_ids"])
                for row, place in enumerate(some):
                    seen[row, : len(inputs[place][1])] = torch.as_tensor(~inputs[place][1]).to(seen)
                ready["attention_mask"] = seen
                with running(model, ready):
                    vectors = self.embedder.pooled(reader(**ready, **more), seen, self._prompt)
                made |= dict(zip(some, vectors.double().cpu(), strict=True))
        return torch.stack([made[place] for place in range(len(inputs))])[:, : self._dimensions]


def together(near: Floats) -> Floats:
    """What each unit of A and each of B give only together, of how near all vectors are."""
    return near[0, 0] - near[1:, :1] - near[:1, 1:] + near[1:, 1:]


def direction(a: ReadText, b: ReadText) -> Floats:
    """The cosine of what the absence of each unit does to its own text's vector."""
    lost = [functional.normalize(one.vectors[:1] - one.vectors[1:], dim=-1) for one in (a, b)]
    return (lost[0] @ lost[1].mT).numpy()
