"""What generators of pictures are made of: which of a denoiser's tokens are text and which are of the picture.

A denoiser takes noisy latents, a text (``encoder_hidden_states``) and a ``timestep``, as diffusers has it. It attends
from latents to text in layers of their own (UNet, PixArt), or on one axis of both (SD3, FLUX).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any

from torch import Tensor, nn

from headscope.core.grid import Axis, Grid
from headscope.core.media import Picture
from headscope.core.tokens import Tokens

TEXT = "encoder_hidden_states"

_NEAR = 0.1
"""How far the shape of a grid may be from that of the latents, as a share: sides are rounded where they are halved."""


def denoises(module: nn.Module) -> bool:
    """Whether a module makes a picture of noise and a text, step by step."""
    return {TEXT, "timestep"} <= signature(module.forward).parameters.keys()


def crosses(module: nn.Module) -> bool:
    """Whether an attention module of diffusers looks from latents to text alone."""
    return bool(getattr(module, "is_cross_attention", False))


@dataclass(frozen=True)
class Canvas:
    """What a denoiser's axes are of.

    Attributes:
        text: how many tokens of text there are.
        size: rows and columns of the latents.
        joint: it attends on axes of latents and text.
        text_first: on these the text stands first; None where that is not known.
    """

    text: int
    size: tuple[float, float]
    joint: bool
    text_first: bool | None = None

    @classmethod
    def of(
        cls, module: nn.Module, inputs: Mapping[str, Any], text_first: bool | None = None
    ) -> Canvas | None:
        """That of what a module takes; None where it is no denoiser of pictures."""
        if not denoises(module) or not isinstance(states := inputs.get(TEXT), Tensor) or states.ndim != 3:
            return None
        latents, ids = inputs.get("sample", inputs.get("hidden_states")), inputs.get("img_ids")
        if not isinstance(latents, Tensor):
            return None
        if isinstance(ids, Tensor):  # patches in a row, and where each of them is
            rows, columns = (int(ids[..., axis].max()) + 1 for axis in (-2, -1))
        else:
            rows, columns = latents.shape[2:] if latents.ndim == 4 else [math.isqrt(latents.shape[1])] * 2
        joint = not any(map(crosses, module.modules()))
        return cls(states.shape[1], (rows, columns), joint, text_first)

    def grid(self, count: int) -> tuple[int, int] | None:
        """Rows and columns of so many latents; None where they are no grid of the picture's shape."""
        ratio = self.size[0] / self.size[1]
        rows = round(math.sqrt(max(count, 0) * ratio))
        if rows == 0 or count % rows or abs(rows * rows / count / ratio - 1) > _NEAR:
            return None
        return rows, count // rows

    def area(self, queries: int, keys: int) -> str:
        """What a call of attention is called that has so many queries and keys."""
        if queries == keys and self._both(keys):
            return "joint"
        if queries == keys == self.text and self.grid(keys) is None:
            return "text"
        grid = self.grid(queries)
        shape = str(queries) if grid is None else f"{grid[0]} × {grid[1]}"
        return f"{'latent' if queries == keys else 'cross'} {shape}"

    def axis(
        self, count: int, text: Tokens | None = None, picture: Picture | None = None, *, key: bool = False
    ) -> Tokens:
        """The tokens of one axis: text (the class ``text``), places on the picture (``latent``), or both.

        Args:
            count: how many there are.
            text: the tokens of the text; None where they are not known.
            picture: what is made; None before it is.
            key: they are the keys of latents.
        """
        blocks = {"text": (self.text if text is None else text)}
        if self._both(count) and self.text_first is not None and not key:
            latent = {"latent": self._latents(count - self.text, picture)}
            return Axis({**blocks, **latent} if self.text_first else {**latent, **blocks})
        if count == self.text and (key or self.grid(count) is None):
            return Axis(blocks)
        return (
            Axis({"latent": self._latents(count, picture)}) if self.grid(count) else Axis({"position": count})
        )

    def columns(self, queries: int, keys: int) -> tuple[slice, slice] | None:
        """The rows of the latents and the columns of the text; None of a call in which they do not meet."""
        if queries != keys:
            return (slice(None), slice(None)) if keys == self.text and self.grid(queries) else None
        if not self._both(keys) or self.text_first is None:
            return None
        text, latent = slice(0, self.text), slice(self.text, None)
        return (latent, text) if self.text_first else (slice(0, -self.text), slice(-self.text, None))

    def _both(self, count: int) -> bool:
        grid = self.grid(count - self.text)
        return self.joint and grid is not None and not any(map(math.fmod, self.size, grid))

    def _latents(self, count: int, picture: Picture | None) -> Tokens:
        grid = self.grid(count)
        assert grid is not None
        return Grid(*grid, picture=picture)
