"""Show the examples in docstrings as code: an extension of Griffe, which reads docstrings for the site."""

from __future__ import annotations

import re
from typing import Any

import griffe


class Examples(griffe.Extension):
    """Fence each paragraph that begins with ``>>>``; as Markdown it would be a quotation within quotations."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of every module, class, function and attribute that is read."""
        if obj.docstring:
            paragraphs = re.split(r"\n[ \t]*\n", obj.docstring.value)
            obj.docstring.value = "\n\n".join(map(fenced, paragraphs))


def fenced(paragraph: str) -> str:
    """A paragraph, as a block of code if it is an example."""
    if not paragraph.lstrip().startswith(">>> "):
        return paragraph
    indent = paragraph[: len(paragraph) - len(paragraph.lstrip())]
    return f"{indent}```pycon\n{paragraph}\n{indent}```"
