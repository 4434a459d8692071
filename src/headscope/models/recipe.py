"""How a model was loaded: what another process needs to load the same one."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from headscope.core.types import AnyMapping, AnyPath
from headscope.models.model import Model
from headscope.models.weights import named, plain


@dataclass(frozen=True, eq=False)
class Recipe:
    """The arguments of `headscope.load` that gave a model, but for its device.

    Attributes:
        arguments: by name; a folder with its whole path.
        made: what came of them, to tell whether the model was changed since.
    """

    arguments: AnyMapping
    made: object = field(repr=False)

    @classmethod
    def of(cls, loaded: Model, model: AnyPath | None, **arguments: Any) -> Recipe:
        """The recipe of a model that was just loaded by name; ``main`` becomes the revision that it was."""
        name = None if model is None else full_name(model)
        revision = loaded.revision or ""
        if name is not None and not Path(name).exists() and revision and not revision.startswith("sha256:"):
            arguments["revision"] = revision
        given = {name: value for name, value in arguments.items() if value is not None and value is not False}
        return cls({"model": name, **given}, _state(loaded))

    def holds(self, model: Model) -> bool:
        """Whether the model is as it was loaded: no weight was written, moved or put in place of another."""
        return self.made == _state(model)


def full_name(name: AnyPath) -> str:
    """A name as it stands, or the full path of a file or folder that it names."""
    path = Path(name).expanduser()
    return str(path.resolve()) if path.exists() else os.fspath(name)


def _version(value: Tensor) -> int:
    return 0 if value.is_inference() else value._version


def _state(model: Model) -> object:
    weights = [
        (name, [part.data_ptr() for _, part in plain(value)], value.dtype, _version(value))
        for name, value in named(model.module)
    ]
    kind = getattr(model.config, "_attn_implementation", None)
    return weights, kind, id(model.tokenizer), id(model.module)
