"""The corpora that ship in the package, by what they are of."""

from __future__ import annotations

from headscope.core.tokens import Kind
from headscope.corpora.corpus import Corpus
from headscope.corpora.perceived import builtin_images, builtin_sounds
from headscope.corpora.readers import builtin


def shipped(kind: Kind) -> Corpus:
    """The built-in corpus of texts, pictures or sounds."""
    return {"text": builtin, "images": builtin_images, "sounds": builtin_sounds}[kind]()
