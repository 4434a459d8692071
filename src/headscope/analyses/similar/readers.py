"""What reads two texts, or a text and a picture: apart, or together."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from headscope.analyses.similar.reader import TextReader
from headscope.analyses.similar.statistics import PASSES
from headscope.analyses.why.passes import unseen
from headscope.analyses.why.spans import Prompt, Source, cut
from headscope.attention.one import running
from headscope.attention.record import AttentionRecord
from headscope.attention.recording import recording
from headscope.core.arrays import Ints
from headscope.core.tokens import Tokens
from headscope.errors import RefusedError
from headscope.models import Model
from headscope.models.embedding import Embedder, activation
from headscope.models.encode import encode
from headscope.models.model import uncached
from headscope.models.pictures import looked, prefixed

PATCHES = 64
"""Up to so many patches of a picture are units of their own."""

_DUAL = ("clip", "siglip")


def reader_of(model: Model, *given: Any) -> TextReader:
    """What reads texts as a model was made to; arguments as of `TextReader`.

    Raises `RefusedError` for a cross-encoder that gives no one number.
    """
    kind = type(model.module).__name__
    if kind.endswith("ForSequenceClassification") and model.config.num_labels == 1:
        return PairReader(model, *given)
    if hasattr(model.sentences, "activation_fn"):
        raise RefusedError(f"{model.name}: expected a cross-encoder with one label, found {kind}")
    return (DualReader if model.config.model_type in _DUAL else TextReader)(model, *given)


class PairReader(TextReader):
    """Reads both texts together. The vector of a text is its ids, those that are hidden below 0."""

    def made_by(self, model: Model, side: int) -> Embedder:
        """What is known of the two texts before they are read."""
        self._activation = activation(model)
        about = f"both texts are read together, {type(self._activation).__name__} of the one label"
        return Embedder(model, [], about, similarity="score", most=model.max_length)

    @cached_property
    def _template(self) -> tuple[Tokens, Ints]:
        """Two texts of a token each, as the model reads them, and of which of the two each token is."""
        model = self.embedder.model
        tokens = encode(model.tokenizer, model.sample(), model.sample())
        sides = cast("Ints", tokens.sequence_ids)
        first = (sides < 0) | (np.diff(sides, prepend=-1) != 0)
        return tokens.take(first), sides[first]

    def without(self, inputs: Sequence[tuple[Tokens, Any]], *, delete: bool = False) -> Tensor:
        """The ids of tokens where some are hidden, or are not there."""
        rows: list[Tensor] = []
        for tokens, hidden in inputs:
            assert tokens.ids is not None
            keep = ~tokens.special & ~(hidden & delete)
            rows.append(torch.as_tensor(np.where(hidden, ~tokens.ids, tokens.ids)[keep]).double())
        return pad_sequence(rows, True, torch.nan)

    def near(self, a: Tensor, b: Tensor) -> Tensor:
        """The score of each two; where that takes too many passes, of those of which one is whole."""
        near = torch.full((len(a), len(b)), torch.nan, dtype=torch.float64)
        every = torch.full_like(near, near.numel() <= PASSES, dtype=torch.bool)
        every[0], every[:, 0] = True, True
        places = zip(*every.nonzero(as_tuple=True), strict=True)
        scores = self.run([self._joined(a[i], b[j]) for i, j in places])
        near[every] = torch.stack(scores)
        return near

    def _joined(self, *both: Tensor) -> tuple[Tokens, Any]:
        """Two texts as the model reads them, the longer one cut first."""
        parts = [one[~one.isnan()].long().numpy() for one in both]
        template, sides = self._template
        room = (self.embedder.most or sys.maxsize) - int((sides < 0).sum())
        if room < sum(map(len, parts)):
            self.cut.add("both")
            short = int(len(parts[0]) > len(parts[1]))
            parts[short] = parts[short][: room // 2]
            parts[1 - short] = parts[1 - short][: room - len(parts[short])]
        counts = np.array([*map(len, parts), 1])[sides]  # of what is neither: 1
        tokens = template.take(np.repeat(np.arange(len(sides)), counts))
        ids = cast("Ints", tokens.ids).copy()
        for side, part in enumerate(parts):
            ids[tokens.sequence_ids == side] = part
        hidden = ids < 0
        return replace(tokens, ids=np.where(hidden, ~ids, ids)), hidden

    def outcome(self, ready: dict[str, Tensor], seen: Tensor) -> Tensor:
        """The scores of a batch."""
        module: Any = self.embedder.model.module
        ready["attention_mask"] = seen
        with running(self.embedder.model, ready):
            return self._activation(module(**ready, **uncached(module)).logits[:, 0])


class DualReader(TextReader):
    """Reads texts, and pictures: a file, or what Pillow opened."""

    def made_by(self, model: Model, side: int) -> Embedder:
        """How a text or a picture becomes a vector."""
        most, filler = model.max_length, model.tokenizer.pad_token_id
        filled = most or 0 if model.config.model_type == "siglip" else 0
        about = "that of a text or of a picture"
        return Embedder(model, [], about, most=most, filler=filler, filled=filled)

    def text(self, text: Any, name: str) -> Prompt:
        """A text or a picture, as units are cut of it."""
        if isinstance(text, str) and not os.path.isfile(text):
            return super().text(text, name)
        model = self.embedder.model
        patches = looked(model, text).patches
        tokens = prefixed(patches, model, len(patches) + (model.config.model_type == "clip"))
        assert tokens is not None
        assert tokens.picture is not None
        return Prompt(tokens, [tokens.picture.name or "picture"])

    def cut_of(self, prompt: Prompt) -> list[Source]:
        """The units of a text; of a picture its patches, or where they are many its cells, as in `headscope.why`."""
        boxes = prompt.tokens.boxes
        if boxes is None:
            return super().cut_of(prompt)
        patches = np.flatnonzero(~np.isnan(boxes[:, 0])).tolist()
        if len(patches) > PATCHES and self.units != "token":
            return cut(prompt, "image")
        every = np.arange(len(boxes))
        return [Source("image", every == place, -1, -1, prompt.tokens.pieces[place]) for place in patches]

    def outcome(self, ready: dict[str, Tensor], seen: Tensor) -> Tensor:
        """The vectors of texts, or of pictures, of which each row sees some tokens or patches."""
        model = self.embedder.model
        module: Any = model.module
        if "pixel_values" not in ready:
            ready["attention_mask"] = seen
            with running(model, ready):
                return module.get_text_features(**ready).pooler_output

        def hide(record: AttentionRecord) -> Tensor | None:
            return unseen(record, seen[:, None, None] == 0) if record.shape[3] == seen.shape[1] else None

        def unpooled(_: nn.Module, given: Any, named: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
            return given, {**named, "key_padding_mask": seen == 0}

        head = getattr(module.vision_model, "head", None)
        pool = head.attention.register_forward_pre_hook(unpooled, with_kwargs=True) if head else nullcontext()
        with pool, recording(module, hide, fused=True), running(model, ready):
            return module.get_image_features(**ready).pooler_output
