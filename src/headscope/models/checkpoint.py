"""Which of a checkpoint's weights a model took: a figure of weights that were drawn at random is a figure of nothing.

Weights that were saved from within another module (``module.`` of data parallel training, ``_orig_mod.`` of
torch.compile, a classifier's ``bert.``), or as one entry of several (``{"model_state_dict": …, "epoch": 3}``), are
taken where it is clear which they are.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from headscope.core.types import AnyMapping
from headscope.errors import ModelError
from headscope.models.within import modules_of

UNDER = "its weights stand under"
BEYOND = "in the checkpoint, but beyond the layers of config.json:"
RANDOM = "not in the checkpoint, drawn at random:"

_POINTER = b"version https://git-lfs.github.com/spec/"
_LAYER = re.compile(r"(.*?\.)(\d+)\.")


def expect_no_pointers(name: str, folder: Path) -> None:
    """Raise `ModelError` for a folder with files that stand for weights which git-lfs has not fetched."""
    for path in sorted(path for kind in ("safetensors", "bin", "json") for path in folder.glob(f"*.{kind}")):
        if not path.is_file():
            continue
        with path.open("rb") as file:
            if file.read(len(_POINTER)) == _POINTER:
                raise ModelError(
                    f"{name}: {path.name} is a pointer of git-lfs, not the file: run git lfs pull"
                )


def needed(module: nn.Module, missing: Collection[str]) -> list[str]:
    """Those of missing weights that attention rests on: of a stack of layers, and of embeddings; no head or pooler."""
    stacks = tuple(f"{part}." for part in _parts(module, nn.ModuleList))
    tables = {f"{part}.weight" for part in _parts(module, nn.Embedding)}
    return sorted(name for name in missing if name.startswith(stacks) or name in tables)


def _parts(module: nn.Module, kind: type[nn.Module]) -> list[str]:
    return [name for name, part in modules_of(module).items() if isinstance(part, kind)]


def prefix(missing: Collection[str], unexpected: Collection[str]) -> str | None:
    """What stands before each missing name in a checkpoint; None where nothing does, or one name has two."""
    some = next(iter(missing), None)
    if some is None:
        return None
    prefixes = [name.removesuffix(some) for name in unexpected if name.endswith(f".{some}")]
    complete = [before for before in prefixes if all(before + name in unexpected for name in missing)]
    return complete[0] if len(complete) == 1 else None


def within(folder: Path, missing: Collection[str]) -> tuple[str, dict[str, Tensor]] | None:
    """The one entry of ``pytorch_model.bin`` that holds the missing weights, and these; None where there is none."""
    path = folder / "pytorch_model.bin"
    if not path.is_file():
        return None
    held = cast("AnyMapping", torch.load(path, map_location="cpu", weights_only=True, mmap=True))
    entries: list[tuple[str, dict[str, Tensor]]] = []
    for entry, weights in held.items():
        if not isinstance(weights, Mapping) or not all(
            isinstance(name, str) for name in cast("Any", weights)
        ):
            continue
        named = cast("Mapping[str, Tensor]", weights)
        before = "" if set(missing) <= set(named) else prefix(missing, named)
        if before is not None:
            inner = {name.removeprefix(before): one for name, one in named.items() if name.startswith(before)}
            entries.append((f"{entry}: {before}" if before else entry, inner))
    return entries[0] if len(entries) == 1 else None


def notes(name: str, module: nn.Module, missing: Collection[str], unexpected: Collection[str]) -> list[str]:
    """What a reader of results should know of weights that were not there, or not taken.

    Args:
        name: of the model.
        module: what was loaded.
        missing: the names of its weights that the checkpoint has not.
        unexpected: those of the checkpoint that the module has no place for.

    Raises:
        ModelError: one of a layer or an embedding was not there.
    """
    if lacking := needed(module, missing):
        others = f", found {_some(sorted(unexpected))}" if unexpected else ""
        raise ModelError(
            f"{name}: expected the weights of all layers of {type(module).__name__} in the checkpoint; "
            f"{_some(lacking)} are not there{others}"
        )
    remarks = [f"{RANDOM} {_some(sorted(missing))}"] if missing else []
    stacks = {match[1] for weight, _ in module.named_parameters() if (match := _LAYER.match(weight))}
    beyond = sorted(weight for weight in unexpected if (match := _LAYER.match(weight)) and match[1] in stacks)
    if beyond:
        remarks.append(f"{BEYOND} {_some(beyond)}")
    return remarks


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
