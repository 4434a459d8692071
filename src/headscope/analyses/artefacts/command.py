"""`headscope artefacts`: the pictures that it reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def read(images: list[Path] | None = None, *, text: str | None = None, strict: bool = False) -> Any:
    """The pictures of these files, or the built-in ones.

    Args:
        images: folders, pictures, or JSON lines of pictures.
        text: what a model of texts and pictures is asked of each that has no text.
        strict: refuse what is broken.
    """
    from headscope import corpora

    if not images:
        return corpora.builtin_images()
    return corpora.images(images if len(images) > 1 else images[0], text=text, strict=strict)
