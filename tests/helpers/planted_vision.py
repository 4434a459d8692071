"""A model of pictures in which it is known where each head looks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import transformers

SIDE, PATCH, WIDTH = 14, 16, 64
"""Patches a side, pixels of a patch, and how wide a state is."""

WAVES = 4
"""A place across is that many waves, each with sine and cosine, and so is a place down."""

X, Y, FLAG, LOUD = range(2 * WAVES), range(2 * WAVES, 4 * WAVES), 4 * WAVES, 4 * WAVES + 1
"""Which numbers of a state say where across, where down, that it is [CLS], and how bright a patch is."""

HEADS = {
    "around": ((X, Y), 0.9),
    "row": ((Y,), 3.0),
    "column": ((X,), 3.0),
    "near": ((X, Y), 0.3),
    "far": ((X, Y), 0.08),
    "cls": ((), 0.0),
    "bright": ((), 0.0),
    "even": ((), 0.0),
}
"""By which places a query finds its keys, and how sharply."""


def planted_vit(looks: list[list[str]], artefacts: Sequence[int] = ()) -> tuple[Any, Any]:
    """A module and its processor of pictures of 224 × 224 pixels, whose heads look as they are named, layer by layer.

    Patches at the places of `artefacts` are so large in the number of brightness that their norm is far above the rest.
    """
    torch.manual_seed(0)
    config = transformers.ViTConfig(
        hidden_size=WIDTH, num_hidden_layers=len(looks), num_attention_heads=4, intermediate_size=32
    )
    module = transformers.ViTModel(config).eval()
    with torch.no_grad():
        embeddings: Any = module.embeddings
        embeddings.position_embeddings.zero_()
        embeddings.position_embeddings[0, 1:] = _places()
        for place in artefacts:
            embeddings.position_embeddings[0, 1 + place, LOUD] = 60.0
        embeddings.cls_token.zero_()
        embeddings.cls_token[..., FLAG] = 3.0
        projection = embeddings.patch_embeddings.projection
        projection.weight.mul_(0.01)
        projection.bias.zero_()
        projection.weight[LOUD] = 1 / (3 * PATCH**2)  # the mean of its pixels, from -1 to 1
        for layer, row in zip(module.layers, looks, strict=True):
            parts: Any = layer
            for name in ("o_proj", "v_proj"):
                getattr(parts.attention, name).weight.mul_(0.01)
            parts.mlp.fc2.weight.mul_(0.01)  # so that states stay what they are
            for each in (parts.attention.q_proj, parts.attention.k_proj):
                each.weight.zero_()
                each.bias.zero_()
            for head, name in enumerate(row):
                _plant(parts.attention.q_proj, parts.attention.k_proj, 16 * head, name)
    return module, transformers.ViTImageProcessor()


def _places() -> torch.Tensor:
    """Where each patch is, in waves of which the longest is twice the picture."""
    down, across = np.divmod(np.arange(SIDE**2), SIDE)
    found = np.zeros((SIDE**2, WIDTH))
    for names, place in ((X, across), (Y, down)):
        for wave in range(WAVES):
            turn = np.pi * (wave + 1) * place / SIDE
            found[:, names[2 * wave]], found[:, names[2 * wave + 1]] = np.cos(turn), np.sin(turn)
    return torch.as_tensor(found, dtype=torch.float32)


def _plant(query: Any, key: Any, start: int, name: str) -> None:
    places, gain = HEADS[name]
    for offset, number in enumerate(number for some in places for number in some):
        query.weight[start + offset, number] = key.weight[start + offset, number] = gain**0.5
    if name in ("cls", "bright"):
        query.bias[start] = 10.0
        key.weight[start, FLAG if name == "cls" else LOUD] = 3.0
