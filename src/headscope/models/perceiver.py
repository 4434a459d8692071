"""What reading pictures and sounds needs of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from headscope.core.tokens import Tokens


class Perceiver(Protocol):
    """What reading pictures and sounds needs of a model (`headscope.models.Model` is one)."""

    module: nn.Module
    name: str
    tokenizer: Any
    feature_extractor: Any
    image_processor: Any
    processor: Any
    checked: Any

    @property
    def config(self) -> Any:
        """The model's configuration."""
        ...

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        ...

    @property
    def dtype(self) -> torch.dtype:
        """The type of the weights."""
        ...

    @property
    def reads(self) -> str:
        """What the module takes first."""
        ...

    @property
    def encoder_decoder(self) -> bool:
        """Whether the model has an encoder and a decoder that looks at it."""
        ...

    def from_words(self, words: Sequence[str], pair_words: Sequence[str] | None = None) -> Tokens:
        """Tokens of a text that is split into words."""
        ...

    def from_ids(self, ids: Sequence[int], written: Sequence[int] = ()) -> Tokens:
        """Tokens of vocabulary ids taken as they are."""
        ...


def moved(model: Perceiver, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors where a model is, numbers of its type."""
    return {
        name: tensor.to(model.device, model.dtype if tensor.is_floating_point() else tensor.dtype)
        for name, tensor in tensors.items()
    }
