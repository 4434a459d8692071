"""Through which heads a unit of a text reaches its vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from headscope.analyses.why.asked import AskedPrompt
from headscope.analyses.why.passes import Masked, Passes, Slopes, by_head
from headscope.analyses.why.spans import Prompt, Source
from headscope.core.arrays import Floats
from headscope.core.heads import Head
from headscope.core.types import AnyDict
from headscope.models.embedding import Embedder


class CarryingHead(NamedTuple):
    """A head, the derivative of the similarity by a bias on its attention to a unit, and what is lost without that."""

    layer: int
    head: int
    estimate: float
    effect: float


@dataclass(frozen=True, eq=False)
class AskedVector(AskedPrompt):
    """A text, and how near its vector is to another one, in the place of an answer's log-probability.

    Attributes:
        embedder: makes the vector.
        other: vector, ``[1 dimension]``.
        before: so many of its tokens are those of its prompt.
        read: of the last pass its states, and which tokens it saw.
    """

    embedder: Embedder | None = None
    other: Tensor = field(default_factory=lambda: torch.empty(0))
    before: int = 0
    read: list[Any] = field(default_factory=list[Any])

    @property
    def kept(self) -> AnyDict:
        """What makes a module with a head give its hidden states."""
        return {"output_hidden_states": True}

    def scores(self, output: Any) -> Tensor:
        """The vectors, ``[row 1 dimension]``."""
        assert self.embedder is not None
        states = getattr(output, "last_hidden_state", None)
        states = output.hidden_states[-1] if states is None else states
        features = SimpleNamespace(last_hidden_state=states, hidden_states=output.hidden_states)
        seen = self.ready["attention_mask"].expand(len(states), -1)
        self.read[:] = features, seen
        return self.embedder.pooled(features, seen, self.before)[:, None, : self.other.shape[-1]]

    def log_p(self, scores: Tensor) -> Tensor:
        """How near they are, ``[row 1]``."""
        assert self.embedder is not None
        return self.embedder.near(scores[:, 0].double(), self.other.to(scores.device))


def expected(
    embedder: Embedder, prompt: Prompt, units: Sequence[Source], other: Tensor, before: int
) -> tuple[Tensor, Floats]:
    """The vector of a text, and what its similarity loses without each unit, of one pass and its derivatives.

    To first order by a unit's keys, and as it is not pooled.
    """
    asked, _, slopes = _asked(embedder, prompt, units, other, before)
    features, seen = asked.read
    with torch.no_grad():
        vectors = [
            embedder.pooled(features, seen * torch.as_tensor(~one.tokens).to(seen), before) for one in units
        ]
        left = asked.log_p(torch.stack(vectors)[..., : other.shape[-1]])[:, 0].cpu().numpy()
    return slopes.scores[0].double().cpu(), np.nansum(by_head(slopes), (0, 1)) + float(slopes.log_p[0]) - left


def _asked(
    embedder: Embedder, prompt: Prompt, units: Sequence[Source], other: Tensor, before: int
) -> tuple[AskedVector, Passes, Slopes]:
    """A text and the derivatives by its units."""
    model, one = embedder.model, np.zeros(1, np.int64)
    ready = dict(model.inputs([prompt.tokens]))
    rows = np.ones(len(prompt.tokens), np.bool_)
    asked = AskedVector(
        model, prompt, ready, "class", rows, one, [""], [""], True, None, embedder, other[None], before
    )
    passes = Passes(asked, units)
    return asked, passes, passes.slopes(torch.ones(1, 1, dtype=torch.float64), looks=False)


def carriers(
    embedder: Embedder, prompt: Prompt, unit: Source, other: Tensor, before: int, count: int
) -> Sequence[CarryingHead]:
    """The heads with the largest estimates for a unit; each is confirmed by hiding the unit from it alone."""
    asked, passes, slopes = _asked(embedder, prompt, [unit], other, before)
    estimates = by_head(slopes)[..., 0]
    places: list[int] = np.argsort(-np.nan_to_num(np.abs(estimates)), None, kind="stable")[:count].tolist()
    heads: list[tuple[str, Head]] = []
    columns = len(estimates[0])
    for place in places:
        part, layer = slopes.places[place // columns]
        heads.append((part, Head(layer, place % columns)))
    left = np.empty(len(heads))

    def receive(some: Sequence[int], scores: Tensor) -> None:
        left[list(some)] = asked.log_p(scores)[:, 0].cpu().numpy()

    passes.masked([Masked((0,), frozenset({head})) for head in heads], receive)
    full = float(slopes.log_p[0])
    return [
        CarryingHead(head.layer, head.head, float(estimates.flat[place]), full - float(lost))
        for (_, head), place, lost in zip(heads, places, left, strict=True)
    ]
