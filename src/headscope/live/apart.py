"""Two texts that a model of sentences reads apart, each as an index reads it, and why they are near."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

import headscope
from headscope.attention.one import running
from headscope.attention.whatif import WhatIf
from headscope.core.tokens import Tokens
from headscope.core.validation import expect
from headscope.errors import HeadscopeError, InputError
from headscope.live.reading import Asked, LiveReading, units_of
from headscope.models import Model
from headscope.models.embedding import SIMILARITIES, Embedder, embedder
from headscope.models.model import uncached
from headscope.views.sources import SimilarPayload
from headscope.views.widget import whole_number
from headscope.views.wire import LiveInput, NearAnswer, WithoutAnswer

CARRIERS = 4
"""So many heads are given through which a word reaches the vector of its text."""

AT_ONCE = 16
"""So few texts run at once that a key which is pressed meanwhile can wait for them."""


class TextsApart:
    """Two texts that a model reads apart.

    Args:
        models: one from `headscope.load`; two are not asked this way.
        look: raises where nobody waits for the answer any more.

    Attributes:
        kind: how near two vectors are, by name; None: the model makes none, or says something else of a text.
    """

    def __init__(self, models: Sequence[Model], look: Callable[[], None]) -> None:
        model = self._model = models[0]
        self._look = look
        self._embedders: list[Embedder] = []
        self.kind: str | None = None
        if (
            len(models) > 1
            or model.tokenizer is None
            or model.encoder_decoder
            or "For" in type(model.module).__name__
        ):
            return
        with suppress(HeadscopeError):
            self._embedders = [embedder(model, side) for side in ("query", "document")]
            self.kind = SIMILARITIES[self._embedders[0].similarity]

    def reads(self, given: LiveInput) -> bool:
        """Whether two texts are given that are each read alone."""
        return bool(self.kind and given.get("pair")) and not given.get("together")

    def alone(self, given: LiveInput, changes: Sequence[WhatIf]) -> list[LiveReading]:
        """Both texts, as an index reads them."""
        model = self._model
        return [
            LiveReading(model, {"self": tokens}, model.inputs([tokens]), changes)
            for _, _, tokens in self._both(given)
        ]

    def near(self, given: LiveInput, asked: Asked, changes: Sequence[WhatIf]) -> NearAnswer:
        """Why they are near with these changes, and how near they are without them."""
        (_, a, _), (_, b, _) = self._both(given)
        through = CARRIERS if asked.get("heads") else 0
        chance = None if asked.get("chance") else False
        result = self._similar(changes, a, b, units_of(asked), chance=chance, through=through)
        return NearAnswer(
            kind="near",
            id=whole_number(asked, "id"),
            before=float(self._similar((), [a], [b])["similarity"].values[0]) if changes else None,
            changes=[*map(str, changes)],
            sources=cast("SimilarPayload", result.view().payload),
        )

    def without(self, given: LiveInput, asked: Asked, changes: Sequence[WhatIf]) -> WithoutAnswer:
        """How near they are without some tokens of A and of B, which are hidden or deleted."""
        struck: Any = asked.get("struck")
        expect("struck", struck, list[list[int]])
        if len(struck) != 2:
            raise InputError(f"struck: expected tokens of A and of B, found {len(struck)} lists")
        vectors: list[Tensor] = []
        with LiveReading(self._model, {}, {}, changes).within(), torch.no_grad():
            for (reads, _, tokens), places in zip(self._both(given), struck, strict=True):
                if not all(0 <= place < len(tokens) for place in places):
                    raise InputError(f"struck: expected tokens from 0 to {len(tokens) - 1}, found {places}")
                seen = np.isin(np.arange(len(tokens)), places, invert=True)
                if not seen.any():
                    raise InputError("struck: expected a token that is left, found none")
                if asked.get("delete") is True:
                    tokens, seen = tokens.take(seen), seen[seen]
                vectors.append(self._vector(reads, tokens, torch.as_tensor(seen)[None].long()))
        near = float(self._embedders[0].near(*vectors))
        return WithoutAnswer(kind="without", id=whole_number(asked, "id"), number=near)

    def _vector(self, reads: Embedder, tokens: Tokens, seen: Tensor) -> Tensor:
        """The vector of tokens of which some are hidden."""
        module, ready = self._model.backbone, self._model.inputs([tokens])
        length = 0
        if before := reads.before(None):
            special = reads.read(before).special
            length = len(special) - int(np.argmin(special[::-1]))
        ready["attention_mask"] = seen if reads.attended else seen * (ready["input_ids"] != reads.filler)
        with running(self._model, ready):
            output = module(**ready, **uncached(module), output_hidden_states=True)
        return reads.pooled(output, seen, length, ready["input_ids"]).double()

    def _both(self, given: LiveInput) -> list[tuple[Embedder, str, Tokens]]:
        """What reads A and B, their texts and tokens."""
        texts = given.get("text", ""), given.get("pair", "")
        for text, label in zip(texts, "AB", strict=True):
            if not text.strip():
                raise InputError(f"{label}: type something; there is nothing to read")
        return [
            (one, text, one.read(text, one.before(None)))
            for one, text in zip(self._embedders, texts, strict=True)
        ]

    def _looks(self, *_: Any) -> None:
        self._look()

    def _similar(self, changes: Sequence[WhatIf], *pair: Any, **options: Any) -> Any:
        with LiveReading(self._model, {}, {}, changes).within() as stack:
            looked = self._model.backbone.register_forward_pre_hook(self._looks)
            stack.callback(looked.remove)
            return headscope.similar(self._model, *pair, batch_size=AT_ONCE, **options)
