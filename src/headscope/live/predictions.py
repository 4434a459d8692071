"""What a model says of an input: the next token, that of a mask, a class, or how alike two texts are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from headscope.attention.objective import natural_number
from headscope.core.tokens import Tokens
from headscope.errors import InputError
from headscope.models import Model
from headscope.models.pieces import shown_piece
from headscope.views.wire import Candidate, Prediction

TOP = 10
"""How many of the likeliest candidates are given."""

Kind = Literal["next", "mask", "class", "cosine", "none"]


@dataclass(frozen=True)
class Says:
    """What a model said of an input.

    Attributes:
        model: the model.
        tokens: what it read; of an encoder-decoder the decoder's tokens.
        kind: as in `Prediction`.
        logits: ``[token candidate]``, or ``[1 candidate]`` of the whole input; None where there are none.
        number: the cosine, where that is what is said.
    """

    model: Model
    tokens: Tokens | None
    kind: Kind
    logits: Tensor | None
    number: Tensor | None = None

    def place(self, asked: int | None) -> int | None:
        """The token that is asked about, or else the one that a reader asks about first; None for none."""
        if self.logits is None:
            return None
        if self.tokens is None or (self.kind == "class" and len(self.logits) == 1):
            return 0
        if asked is not None and 0 <= asked < len(self.logits):
            return asked
        if self.kind != "mask":
            return len(self.logits) - 1 if self.kind == "next" else 0
        mask = self.model.tokenizer.mask_token_id
        masked = np.flatnonzero(self.tokens.ids == mask)
        return int(masked[0]) if len(masked) else None

    def followed(self, asked: int | None, chosen: int | None) -> Tensor:
        """The number that changes are judged by: a log probability in nats, or the cosine."""
        if self.number is not None:
            return self.number
        place = self.place(asked)
        if self.logits is None or place is None:
            raise InputError("there is no prediction here whose heads could be asked for")
        row = torch.log_softmax(self.logits[place].float(), -1)
        return row.max() if chosen is None or not 0 <= chosen < len(row) else row[chosen]

    def best(self, asked: int | None) -> list[int]:
        """The likeliest candidates at a place."""
        place = self.place(asked)
        if self.logits is None or place is None:
            return []
        row = self.logits[place]
        return [int(number) for number in row.float().topk(min(TOP, len(row))).indices]

    def prediction(self, asked: int | None, chosen: int | None, of: Sequence[int] = ()) -> Prediction:
        """What is said at a place, of a candidate, and of others beside the likeliest."""
        place = self.place(asked)
        prediction = Prediction(
            kind=self.kind,
            place=None if len(self.logits if self.logits is not None else ()) == 1 else place,
            after="",
            entropy=None,
            top=[],
            chosen=None,
            number=None if self.number is None else float(self.number),
        )
        if self.logits is None or place is None:
            return prediction
        if prediction["place"] is not None and self.tokens is not None:
            texts = self.tokens.texts or self.tokens.pieces
            prediction["after"] = texts[place] or self.tokens.pieces[place]
        row = torch.log_softmax(self.logits[place].float(), -1)
        shares = row.exp()
        prediction["entropy"] = float(-(shares * row.clamp(min=-1e9)).sum())
        known = {number for number in (*self.best(asked), *of) if number < len(shares)}
        best = sorted(known, key=lambda number: (-float(shares[number]), number))
        prediction["top"] = [self._candidate(number, float(shares[number])) for number in best]
        if chosen is not None and 0 <= chosen < len(row):
            prediction["chosen"] = self._candidate(chosen, float(shares[chosen]))
        return prediction

    def named(self, number: int) -> str:
        """What a candidate reads."""
        if self.kind == "class":
            named: Mapping[int, Any] = getattr(self.model.config, "id2label", None) or {}
            return str(named.get(number, number))
        if self.model.tokenizer is None:
            return str(number)
        text = str(self.model.tokenizer.decode([number], clean_up_tokenization_spaces=False))
        return text if text.strip("\N{REPLACEMENT CHARACTER}") else shown_piece(self.model.tokenizer, number)

    def _candidate(self, number: int, share: float) -> Candidate:
        return Candidate(id=number, text=self.named(number), p=share)


def says(model: Model, axes: Mapping[str, Tokens], ready: Mapping[str, Tensor], output: Any) -> Says:
    """What a model says, from what it returned for one input."""
    tokens = axes.get("decoder") or axes.get("self")
    logits: Any = getattr(output, "logits", None)
    if isinstance(logits, Tensor) and logits.ndim in (2, 3) and len(logits) == 1:
        rows = logits[0] if logits.ndim == 3 else logits
        words = getattr(model.text_config, "vocab_size", None)
        if logits.ndim == 3 and words is not None and rows.shape[-1] >= int(words):
            follows = model.causal or "decoder" in axes
            can = follows or getattr(model.tokenizer, "mask_token_id", None) is not None
            return Says(
                model, tokens, "next" if follows else "mask" if can else "none", rows if can else None
            )
        return Says(model, tokens, "class", rows)
    number, name = natural_number(output, model, axes, ready)
    if name == "the cosine of the two texts read together":
        return Says(model, tokens, "cosine", None, number)
    return Says(model, tokens, "none", None)


def predictions(
    inputs: Sequence[Says], place: int | None, chosen: int | None, *, shared: bool = True
) -> list[Prediction]:
    """What is said of each input, of the same candidates: the likeliest of each, and the one chosen.

    Where none is chosen it is the likeliest of the first. Inputs whose places and candidates are not those of the first
    (`shared` is false: models with other vocabularies) say what is likeliest at a place of their own.
    """
    if not shared:
        first, *others = inputs
        return [*predictions([first], place, chosen), *(one.prediction(None, None) for one in others)]
    best = [number for one in inputs for number in one.best(place)]
    if chosen is None and best:
        chosen = best[0]
    return [one.prediction(place, chosen, best) for one in inputs]
