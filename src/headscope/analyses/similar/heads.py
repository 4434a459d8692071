"""Through which heads a unit of a text reaches its vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

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


@dataclass(frozen=True, eq=False, kw_only=True)
class AskedVector(AskedPrompt):
    """A text, and how near its vector is to another one, in the place of an answer's log-probability.

    Attributes:
        embedder: makes the vector.
        other: vector, ``[1 dimension]``.
        before: so many of its tokens are those of its prompt.
        read: of the last pass its states, and which tokens it saw.
    """

    embedder: Embedder
    other: Tensor
    before: int
    read: list[Any]

    @property
    def kept(self) -> AnyDict:
        """What makes a module with a head give its hidden states."""
        return {"output_hidden_states": True}

    def scores(self, output: Any) -> Tensor:
        """The vectors, ``[row 1 dimension]``."""
        states = getattr(output, "last_hidden_state", None)
        states = output.hidden_states[-1] if states is None else states
        features = SimpleNamespace(last_hidden_state=states, hidden_states=output.hidden_states)
        seen = self.ready["attention_mask"].expand(len(states), -1)
        self.read[:] = features, seen
        return self.embedder.pooled(features, seen, self.before)[:, None, : self.other.shape[-1]]

    def log_p(self, scores: Tensor) -> Tensor:
        """How near they are, ``[row 1]``."""
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
    common = (model, prompt, ready, "class", rows, one, [""], [""], True)
    asked = AskedVector(*common, embedder=embedder, other=other[None], before=before, read=[])
    passes = Passes(asked, units)
    return asked, passes, passes.slopes(torch.ones(1, 1, dtype=torch.float64), looks=False)


def carriers(
    embedder: Embedder, prompt: Prompt, unit: Source, other: Tensor, before: int, count: int
) -> list[tuple[int, int, float, float]]:
    """The heads with the largest estimates for a unit; each is confirmed by hiding the unit from it alone.

    Layer, head, the derivative of the similarity by a bias on its attention to the unit, and what is lost without that.
    """
    asked, passes, slopes = _asked(embedder, prompt, [unit], other, before)
    estimates = by_head(slopes)[..., 0]
    order: list[int] = np.argsort(-np.nan_to_num(np.abs(estimates)), None, kind="stable")[:count].tolist()
    at = [divmod(place, len(estimates[0])) for place in order]
    heads = [(slopes.places[row][0], Head(slopes.places[row][1], column)) for row, column in at]
    left = np.empty(len(heads))

    def receive(some: Sequence[int], scores: Tensor) -> None:
        left[list(some)] = asked.log_p(scores)[:, 0].cpu().numpy()

    passes.masked([Masked((0,), frozenset({head})) for head in heads], receive)
    full = float(slopes.log_p[0])
    return [
        (head.layer, head.head, float(estimates[place]), full - float(left[n]))
        for n, ((_, head), place) in enumerate(zip(heads, at, strict=True))
    ]
