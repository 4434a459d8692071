"""Two texts that a model of sentences reads apart, each as an index reads it, and why they are near."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from torch import Tensor

import headscope
from headscope.analyses.similar.reader import TextReader
from headscope.analyses.why.spans import Prompt
from headscope.attention.whatif import WhatIf
from headscope.core.arrays import Bools
from headscope.core.validation import expect
from headscope.errors import HeadscopeError, InputError
from headscope.live.reading import Asked, LiveReading, units_of
from headscope.models import Model
from headscope.models.embedding import SIMILARITIES
from headscope.views.sources import SimilarPayload
from headscope.views.widget import whole_number
from headscope.views.wire import LiveInput, NearAnswer, WithoutAnswer

CARRIERS = 4
"""So many heads are given through which a word reaches the vector of its text."""

AT_ONCE = 16
"""So few texts run at once that a key which is pressed meanwhile can wait for them."""


class Apart:
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
        self._readers: list[TextReader] = []
        self.kind: str | None = None
        if len(models) > 1 or model.encoder_decoder or "For" in type(model.module).__name__:
            return
        try:
            self._readers = [TextReader(model, "word", None, None, AT_ONCE, side) for side in (0, 1)]
            self.kind = SIMILARITIES[self._readers[0].embedder.similarity]
        except HeadscopeError:
            return

    def reads(self, given: LiveInput) -> bool:
        """Whether two texts are given that are each read alone."""
        return bool(self.kind and given.get("pair")) and not given.get("together")

    def alone(self, given: LiveInput, changes: Sequence[WhatIf]) -> list[LiveReading]:
        """Both texts, as an index reads them."""
        model = self._model
        every = [prompt.tokens for prompt in self._prompts(given)]
        return [LiveReading(model, {"self": tokens}, model.inputs([tokens]), changes) for tokens in every]

    def near(self, given: LiveInput, asked: Asked, changes: Sequence[WhatIf]) -> NearAnswer:
        """Why they are near with these changes, and how near they are without them."""
        a, b = (prompt.text for prompt in self._prompts(given))
        through = CARRIERS if asked.get("heads") else 0
        chance = None if asked.get("chance") else False
        found = self._similar(changes, a, b, units_of(asked), chance=chance, through=through)
        return NearAnswer(
            kind="near",
            id=whole_number(asked, "id"),
            before=float(self._similar((), [a], [b])["similarity"].values[0]) if changes else None,
            changes=[*map(str, changes)],
            sources=cast("SimilarPayload", found.view().payload),
        )

    def without(self, given: LiveInput, asked: Asked, changes: Sequence[WhatIf]) -> WithoutAnswer:
        """How near they are without some units of A and of B, which are hidden or deleted."""
        struck: Any = asked.get("struck")
        expect("struck", struck, list[list[int]])
        if len(struck) != 2:
            raise InputError(f"struck: expected units of A and of B, found {len(struck)} lists")
        vectors: list[Tensor] = []
        with LiveReading(self._model, {}, {}, changes).within():
            for label, reader, prompt, places in zip(
                "AB", self._readers, self._prompts(given), struck, strict=True
            ):
                reader.units = units_of(asked)
                units: list[Any] = [unit.tokens for unit in reader.cut_of(prompt)]
                if not all(0 <= place < len(units) for place in places):
                    raise InputError(f"struck: {label} has {len(units)} units, found {places}")
                hidden: Bools = np.any([np.zeros_like(units[0]), *(units[place] for place in places)], 0)
                if hidden.all():
                    raise InputError(f"struck: nothing is left of {label}")
                delete = asked.get("delete") is True
                vectors.append(reader.without([(prompt.tokens, hidden)], delete=delete))
        near = float(self._readers[0].near(*vectors))
        return WithoutAnswer(kind="without", id=whole_number(asked, "id"), number=near)

    def _prompts(self, given: LiveInput) -> list[Prompt]:
        texts = given.get("text", ""), given.get("pair", "")
        return [reader.text(*one) for reader, *one in zip(self._readers, texts, "AB", strict=True)]

    def _looks(self, *_: Any) -> None:
        self._look()

    def _similar(self, changes: Sequence[WhatIf], *pair: Any, **options: Any) -> Any:
        with LiveReading(self._model, {}, {}, changes).within() as stack:
            looked = self._model.backbone.register_forward_pre_hook(self._looks)
            stack.callback(looked.remove)
            return headscope.similar(self._model, *pair, batch_size=AT_ONCE, **options)
