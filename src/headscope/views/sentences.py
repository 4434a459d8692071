"""Parts of sentences: text, and names of heads that open them."""

from __future__ import annotations

from headscope.heads import Head
from headscope.views.payload import Part


def text(words: str) -> Part:
    """A stretch of text."""
    return Part(text=words, layer=None, head=None)


def head_name(head: Head, example: int | None = None) -> Part:
    """The name of a head, which opens it: on the example that is open, or on this one."""
    part = Part(text=str(head), layer=head.layer, head=head.head)
    if example is not None:
        part["example"] = example
    return part


def comma(position: int) -> list[Part]:
    """Before all entries of a list but the first."""
    return [text(", ")] if position else []
