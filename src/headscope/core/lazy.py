"""Load what is heavy, or optional, when it is first used."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from operator import attrgetter
from typing import Any

from headscope.errors import MissingError

EXTRAS: Mapping[str, str] = {
    "jsonschema": "corpus",
    "pandas": "corpus",
    "scipy": "corpus",
    "xarray": "corpus",
    "h5netcdf": "files",
    "h5py": "files",
    "pyarrow": "files",
    "zstandard": "files",
    "ufal": "trees",
    "gguf": "demo-lm",
    "accelerate": "demo-lm",
    "peft": "large",
    "PIL": "pictures",
    "py_mini_racer": "figures",
    "vl_convert": "figures",
    "soundfile": "sounds",
    "onnx": "page",
    "onnxscript": "page",
    "onnxruntime": "page",
    "distributed": "cluster",
    "starlette": "serve",
    "uvicorn": "serve",
    "websockets": "serve",
    "mcp": "mcp",
}
"""Libraries that a first picture does not need, and which of headscope's extras brings each."""


NO_DOCSTRINGS = "transformers loads no model without docstrings: run Python without -OO or PYTHONOPTIMIZE=2"


def module(name: str) -> Any:
    """A library's module, untyped, such as ``scipy.stats``. `MissingError` where an optional one is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise missing(error) from None


def missing(error: ModuleNotFoundError) -> Exception:
    """What to say of a library that is not there: a `MissingError` that names the extra, else the error itself."""
    library = (error.name or "").split(".")[0]
    if library not in EXTRAS:
        return error
    return MissingError(f"{library} is not installed: pip install 'headscope[{EXTRAS[library]}]'")


def attribute(path: str) -> Any:
    """What a path such as ``headscope.analyses.links.syntax.run:syntax`` names."""
    where, _, name = path.partition(":")
    return attrgetter(name)(module(where))
