"""Examples in docstrings give what they say. Those that say nothing of what they give only show a call.

Examples of public functions all run: tests/test_public_api.py.
"""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import numpy as np
import pytest

import headscope
from tests.test_public_api import FUNCTIONS, PUBLIC

ROOT = Path(headscope.__file__).parent
ELSEWHERE = {f"{PUBLIC[name].__module__}.{PUBLIC[name].__qualname__}" for name in FUNCTIONS}


def examples() -> list[doctest.DocTest]:
    found: list[doctest.DocTest] = []
    for path in sorted(ROOT.rglob("*.py")):
        if ">>> " in path.read_text("utf-8"):
            name = ".".join(("headscope", *path.relative_to(ROOT).with_suffix("").parts))
            module = importlib.import_module(name.removesuffix(".__init__"))
            known = {**vars(module), "headscope": headscope, "hs": headscope, "np": np}
            found += doctest.DocTestFinder().find(module, globs=known)
    return [
        one for one in found if one.name not in ELSEWHERE and any(example.want for example in one.examples)
    ]


@pytest.mark.parametrize("example", examples(), ids=lambda one: one.name)
def test_examples_in_docstrings(example: doctest.DocTest) -> None:
    assert not doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(example).failed
