"""Read docstrings for the site: an extension of Griffe, which reads code without running it.

Examples are shown as code, and functions with the options that they take (`headscope.analyses.options`).
"""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

import griffe


class Examples(griffe.Extension):
    """Fence each paragraph that begins with ``>>>``; as Markdown it would be a quotation within quotations."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of every module, class, function and attribute that is read."""
        if isinstance(obj, griffe.Function):
            with_options(obj)
        if obj.docstring:
            paragraphs = re.split(r"\n[ \t]*\n", obj.docstring.value)
            obj.docstring.value = "\n\n".join(map(fenced, paragraphs))


def with_options(function: griffe.Function) -> None:
    """Put in the place of ``**options`` what these are, as the function itself says."""
    rest = next(
        (
            each
            for each in function.parameters
            if each.name == "options" and "Unpack[" in str(each.annotation)
        ),
        None,
    )
    own = None if rest is None else getattr(importlib.import_module(function.module.path), function.name)
    if rest is None or function.docstring is None or rest.name in inspect.signature(own).parameters:
        return
    signature = inspect.signature(own)
    for each in signature.parameters.values():
        if each.name not in function.parameters:
            kind, default = griffe.ParameterKind.keyword_only, repr(each.default)
            parameter = griffe.Parameter(
                each.name, annotation=written(each.annotation), kind=kind, default=default
            )
            function.parameters.add(parameter)
    del function.parameters[rest.name]
    function.docstring.value = inspect.getdoc(own) or ""
    function.returns = written(signature.return_annotation)


def written(annotation: Any) -> str:
    """An annotation as it is written, whether its module keeps it so or as a type."""
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def fenced(paragraph: str) -> str:
    """A paragraph, as a block of code if it is an example."""
    if not paragraph.lstrip().startswith(">>> "):
        return paragraph
    indent = paragraph[: len(paragraph) - len(paragraph.lstrip())]
    return f"{indent}```pycon\n{paragraph}\n{indent}```"
