"""Every public name is in the reference, has types, and has an example that runs."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headscope as hs
from tests.helpers.once import share_roles

REFERENCE = Path(__file__).resolve().parents[1] / "docs" / "reference"
TEXTS = ["The cat sat on the mat. It slept there.", "She sold the old house to her friend."]
"""What ``corpus`` is in examples; ``model`` is the demo model, ``maps`` are those of the first text."""


def public(module: types.ModuleType) -> Iterator[tuple[str, Any]]:
    """The names of a module's ``__all__``, or else those it defines, and of the modules among them; and their values."""
    defined = [
        name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__
    ]
    for name in getattr(module, "__all__", defined):
        value = getattr(module, name)
        if isinstance(value, types.ModuleType):
            yield from public(value)
        else:
            yield f"{module.__name__}.{name}", value


def resolve(path: str) -> Any:
    """What a dotted path names."""
    module, _, rest = path.partition(".")
    value = importlib.import_module(module)
    for name in filter(None, rest.split(".")):
        module = f"{module}.{name}"
        value = getattr(value, name) if hasattr(value, name) else importlib.import_module(module)
    return value


PUBLIC = dict(public(hs))
FUNCTIONS = [name for name, value in PUBLIC.items() if inspect.isfunction(value)]
MODULES = {name.rpartition(".")[0] for name in PUBLIC}
DIRECTIVES = {
    path: page.name
    for page in sorted(REFERENCE.glob("*.md"))
    for path in re.findall(r"^::: (\S+)", page.read_text(encoding="utf-8"), re.MULTILINE)
}


def test_every_public_name_is_in_the_reference() -> None:
    documented = [resolve(path) for path in DIRECTIVES]
    modules = [value.__name__ for value in documented if isinstance(value, types.ModuleType)]
    missing = [
        name
        for name, value in PUBLIC.items()
        if not any(value is each for each in documented) and value.__module__ not in modules
    ]
    assert missing == [], f"docs/reference/ leaves out {missing}"


def test_what_the_reference_calls_public_is_public() -> None:
    for path, page in DIRECTIVES.items():
        assert inspect.getdoc(resolve(path)), f"{page}: {path} has no docstring"
        if path.rpartition(".")[0] in MODULES and not isinstance(resolve(path), types.ModuleType):
            assert path in PUBLIC, f"{page}: {path} is not among the public names"


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_has_an_example_that_runs(
    name: str, workspace: Path, demo: Any, built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    share_roles(built, monkeypatch.setattr)
    function = PUBLIC[name]
    known = {**vars(sys.modules[function.__module__]), "hs": hs, "headscope": hs, "np": np}
    known |= {"model": demo, "corpus": hs.corpora.texts(TEXTS), "maps": hs.capture(demo, TEXTS[0])}
    if name == "headscope.denoise":
        from tests.helpers import generators  # skips where diffusers is not installed

        known["pipe"] = generators.stable_diffusion()
    example = doctest.DocTestParser().get_doctest(inspect.getdoc(function) or "", known, name, None, None)
    runs = [each for each in example.examples if doctest.SKIP not in each.options]
    assert runs, f"{name}: the docstring has no example that runs"
    options = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    assert not doctest.DocTestRunner(optionflags=options).run(example).failed
