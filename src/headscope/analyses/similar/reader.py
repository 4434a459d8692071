"""Texts that are read apart, whole and without each of their units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from headscope.analyses.similar.heads import expected
from headscope.analyses.why.spans import Prompt, Source, Spans, Stretch, cut
from headscope.attention.generate import written_texts
from headscope.attention.one import running
from headscope.attention.recording import evaluating
from headscope.core.arrays import Bools, Floats
from headscope.core.tokens import Tokens
from headscope.errors import InputError
from headscope.models import Model
from headscope.models.embedding import Embedder, embedder
from headscope.models.model import uncached
from headscope.runs.progress import bar_of

PADDING = 32
"""No text runs beside one that has more tokens than twice its own and so many."""

FEW = 3
"""Of units in one another, those in so many of the largest are measured."""


@dataclass(frozen=True, eq=False)
class ReadText:
    """A text that was read whole, and once without each of its units.

    Attributes:
        prompt: as units are cut of it.
        units: of the text.
        vectors: its vector, and those without each unit, ``[unit + 1, dimension]``; or those of its tokens,
            ``[unit + 1, token, dimension]``.
    """

    prompt: Prompt
    units: Sequence[Source]
    vectors: Tensor

    def known(self, hidden: Bools) -> Tensor | None:
        """The vector without these tokens, where they are those of a unit."""
        same = [place for place, unit in enumerate(self.units, 1) if (unit.tokens == hidden).all()]
        return self.vectors[same[:1]] if same else None


class TextReader:
    """Reads texts whole and without parts.

    Args:
        model: that reads.
        units: what texts are cut into.
        prompt: what stands before each text, or its name.
        dimensions: of the vector that are kept.
        batch_size: inputs that run at once.
        side: 0 for A, 1 for B.
        most: of the smallest units so many are measured.
    """

    def __init__(
        self,
        model: Model,
        units: Spans = "word",
        prompt: str | None = None,
        dimensions: int | None = None,
        batch_size: int = 32,
        side: int = 0,
        most: int | None = None,
    ) -> None:
        self.embedder, self._side = self.made_by(model, side), side
        self.before = self.embedder.before(prompt)
        self.units, self._dimensions, self._size = units, dimensions, batch_size
        self.prompt_length, self.cut = 0, set[str]()
        self.progress, self.most, self.passed_over = False, most, 0
        if self.before:
            special = self.embedder.read(self.before).special
            self.prompt_length = len(special) - int(np.argmin(special[::-1]))

    def made_by(self, model: Model, side: int) -> Embedder:
        """How a text of a side becomes a vector."""
        return embedder(model, "document" if side else "query")

    def near(self, a: Tensor, b: Tensor) -> Tensor:
        """How near vectors of A and of B are, ``[a b]``. `InputError` where two towers do not end in one space."""
        if (wide := a.shape[-1]) != b.shape[-1]:
            raise InputError(f"second: expected vectors of {wide} dimensions, as of A, found {b.shape[-1]}")
        return self.embedder.near(a, b)

    def towards(self, vectors: Tensor, other: Tensor) -> Floats:
        """How near vectors of this side are to one of the other."""
        both = (vectors, other[None])
        return (self.near(*both[::-1])[0] if self._side else self.near(*both)[:, 0]).numpy()

    def text(self, text: Any, name: str) -> Prompt:
        """A text, as units are cut of it. `InputError` where it is empty."""
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"{name}: expected a text, found {text!r:.60}")
        tokens, text = self.embedder.read(text, self.before), self.before + text
        tokenizer = self.embedder.model.tokenizer
        texts = tokens.texts or written_texts(tokenizer, np.asarray(tokens.ids).tolist(), 0)
        prompt = Prompt(tokens, texts, {"part": [Stretch(len(self.before), len("".join(texts)))]})
        if tokens.texts and text[len(prompt.text) :].strip():
            self.cut.add(name)
        return prompt

    def read(self, prompt: Prompt, near: Tensor, vector: Tensor | None = None) -> ReadText:
        """A text whole, and without each of its units; `vector` is that of the whole text where it is known.

        Of units in one another the smaller are read in those alone that change most how `near` a vector it is. Where
        there are more than `most`, those alone are read that are expected to change it most.
        """
        units, outer, sizes = self.cut_of(prompt), {-1}, np.zeros(0)
        if few := bool(self.most) and len(units) > self.most:
            made, sizes = expected(self.embedder, prompt, units, near, self.prompt_length)
            vector = made if vector is None else vector
        known: list[int] = []
        rows = [np.zeros(len(prompt.tokens), np.bool_)] if vector is None else []
        vectors = torch.empty(0) if vector is None else vector[None]
        while inner := [place for place, unit in enumerate(units) if unit.parent in outer]:
            if few:
                count = self.most if units[inner[0]].level == units[-1].level else FEW
                kept = sorted(inner, key=lambda place: -abs(sizes[place]))[:count]
                self.passed_over += len(inner) - len(kept)
                inner = sorted(kept)
            known += inner
            rows += [units[place].tokens for place in inner]
            vectors = torch.cat([vectors, self.without([(prompt.tokens, row) for row in rows])])
            if len(known) == len(units):
                break
            left, rows = self.towards(vectors, near), []
            changed = np.abs(left[0] - left[-len(inner) :])
            largest: list[int] = np.argsort(-changed, kind="stable")[:FEW].tolist()
            outer = {inner[place] for place in largest}
        return ReadText(prompt, [units[place] for place in known], vectors)

    def cut_of(self, prompt: Prompt) -> list[Source]:
        """The units of a text."""
        try:
            return cut(prompt, self.units)
        except InputError as error:
            raise InputError(str(error).replace("spans", "units", 1)) from None

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

    def words(self, words: Sequence[str], name: str, spaces: Sequence[bool] | None = None) -> ReadText:
        """A text of words, whole and without each of them. `InputError` where one has no token of its own."""
        parts = [word + " " * gap for word, gap in zip(words, spaces or [True] * len(words), strict=True)]
        prompt = self.text("".join(parts).rstrip(), name)
        starts = len(self.before) + np.cumsum([0, *map(len, parts[:-1])])
        spans = [(int(start), int(start) + len(word)) for start, word in zip(starts, words, strict=True)]
        return self.apart([prompt], [cut(prompt, spans)])[0]

    @property
    def about(self) -> list[Any]:
        """What else than the model decides about a vector."""
        return [self.embedder.about, self.embedder.most, self.before, self._dimensions]

    def vectors(self, prompts: Sequence[Prompt]) -> Tensor:
        """The vector of each text."""
        return self.without(unhidden(prompts))

    def without(self, inputs: Sequence[tuple[Tokens, Any]], *, delete: bool = False) -> Tensor:
        """The vectors of tokens where some are hidden from all others and not pooled, or are not there."""
        if delete:
            inputs = [
                (tokens.take(~hidden), np.zeros(int((~hidden).sum()), np.bool_)) for tokens, hidden in inputs
            ]
        return pad_sequence(self.run(inputs), True, torch.nan)[..., : self._dimensions]

    def run(self, inputs: Sequence[tuple[Tokens, Any]]) -> list[Tensor]:
        """What the model makes of tokens of which some are hidden."""
        order = sorted(range(len(inputs)), key=lambda place: len(inputs[place][0]))
        made: dict[int, Tensor] = {}
        model = self.embedder.model
        with (
            torch.no_grad(),
            evaluating(model.module),
            bar_of(self.progress, total=len(order), desc="reading", unit=" texts") as done,
        ):
            while order:
                longest = 2 * len(inputs[order[0]][0]) + PADDING
                places = [place for place in order[: self._size] if len(inputs[place][0]) <= longest]
                order = order[len(places) :]
                some = [inputs[place] for place in places]
                batch = {id(tokens): tokens for tokens, _ in some}
                rows = [[*batch].index(id(tokens)) for tokens, _ in some]
                read = model.inputs([*batch.values()])  # a picture once
                ready = {name: value[rows] for name, value in read.items()}
                seen = pad_sequence([torch.as_tensor(~hidden) for _, hidden in some], True).long()
                made |= dict(
                    zip(places, self.outcome(ready, seen.to(model.device)).double().cpu(), strict=True)
                )
                done.update(len(places))
        return [made[place] for place in range(len(inputs))]

    def outcome(self, ready: dict[str, Tensor], seen: Tensor) -> Tensor:
        """What the model makes of a batch, of which each row sees some tokens."""
        model, ids = self.embedder.model, ready["input_ids"]
        ready["attention_mask"] = seen if self.embedder.attended else seen * (ids != self.embedder.filler)
        with running(model, ready):
            output = model.backbone(**ready, **uncached(model.backbone), output_hidden_states=True)
            return self.embedder.pooled(output, seen, self.prompt_length, ids)

    def together(self, a: ReadText, b: ReadText, near: Floats) -> Floats:
        """What each unit of A and each of B give only together, or their terms of how near the two are."""
        terms = self.embedder.terms(a.vectors[0], b.vectors[0])
        if terms is None:
            return together(near)
        of_a, of_b = (np.array([unit.tokens for unit in one.units], float) for one in (a, b))
        return of_a @ terms.numpy()[: of_a.shape[1], : of_b.shape[1]] @ of_b.T


def unhidden(prompts: Sequence[Prompt]) -> list[tuple[Tokens, Any]]:
    """Texts of which no token is hidden."""
    return [(one.tokens, np.zeros(len(one.tokens), np.bool_)) for one in prompts]


def of_both(
    readers: Sequence[TextReader], inputs: Sequence[Sequence[tuple[Tokens, Any]]]
) -> Sequence[Tensor]:
    """The vectors of A and of B, of tokens of which some are hidden: in one run where one model reads both alike."""
    a, b = readers
    alike = type(a) is type(b) is TextReader and a.embedder.model is b.embedder.model
    if alike and a.embedder.vectors == "text" and a.embedder.pools_prompt:
        return torch.split(a.without([*inputs[0], *inputs[1]]), [*map(len, inputs)])
    return [reader.without(some) for reader, some in zip(readers, inputs, strict=True)]


def together(near: Floats) -> Floats:
    """What each unit of A and each of B give only together, of how near all vectors are."""
    return near[0, 0] - near[1:, :1] - near[:1, 1:] + near[1:, 1:]


def direction(a: ReadText, b: ReadText) -> Floats:
    """The cosine of what the absence of each unit does to its own text's vector."""
    lost = [functional.normalize(one.vectors[:1] - one.vectors[1:], dim=-1) for one in (a, b)]
    return (lost[0] @ lost[1].mT).numpy()
