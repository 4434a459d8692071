"""The same architecture without its training: weights drawn again."""

from __future__ import annotations

import copy
from collections.abc import Generator
from contextlib import contextmanager
from types import FunctionType
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn

from headscope.errors import InputError
from headscope.models.weights import LARGE, packed, several_devices, size_of

_SAMPLED = 4096
"""How many values of a parameter tell that it was drawn again."""


def reinitialise(
    module: nn.Module,
    seed: int,
    *,
    keep: Literal["embeddings"] | None = None,
    init: Literal["architecture", "reset_parameters"] = "architecture",
    in_place: bool = False,
) -> nn.Module:
    """A copy of a model with its weights drawn again from `seed`; the given model stays as it is.

    Args:
        module: the model, with plain weights in one device.
        seed: of the random numbers; torch's global state is left alone.
        keep: ``"embeddings"`` keeps the trained word and position embeddings and draws everything else: the
            baseline of Clark et al. 2019, section 5.
        init: ``"architecture"`` is the model's own initialiser (transformers' ``_init_weights``),
            ``"reset_parameters"`` PyTorch's default of each layer.
        in_place: draw the weights of the given model, not of a copy: half the memory.

    Raises:
        InputError: some matrix was left as it was, so the model would not be untrained; or its weights are packed, or
            in several devices.
    """
    if (kind := packed(module)) is not None:
        raise InputError(f"untrained: expected plain weights, found packed ones ({kind})")
    if several_devices(module):
        raise InputError("untrained: expected a model in one device, found one in several or on disk")
    if keep not in (None, "embeddings"):
        raise InputError(f"keep: expected 'embeddings', found {keep!r}")
    replaced: list[tuple[str, nn.Module]] = list(cast("Any", module).named_modules())
    for name, part in replaced:
        if not in_place and isinstance(vars(part).get("forward"), FunctionType):
            raise InputError(
                f"untrained: expected modules that run the forward of their class, found {name or type(part).__name__} "
                "with a function in its place, which would run the trained weights"
            )
    before = {name: _some(value) for name, value in module.named_parameters()}
    kept = {name: value.detach().clone() for name, value in _embeddings(module).items()} if keep else {}
    if not in_place:
        module = copy.deepcopy(module)
    with seeded(seed), torch.no_grad():
        if init == "architecture":
            _architecture(module)
        elif init == "reset_parameters":
            _reset_parameters(module)
        else:
            raise InputError(f"init: expected 'architecture' or 'reset_parameters', found {init!r}")
    with torch.no_grad():
        for name, value in kept.items():
            module.get_parameter(name).copy_(value)
    _prove(module, before, set(kept))
    return module.eval()


def left_out(module: nn.Module) -> str | None:
    """Why a report makes no untrained copy of a module, unasked; None where it does."""
    if several_devices(module):
        return "it is in several devices, or on disk"
    if (kind := packed(module)) is not None:
        return f"its weights are packed ({kind})"
    if (size := size_of(module)) > LARGE:
        most = f"{LARGE / 1e9:.0f} GB"
        return (
            f"that is a second model of {size / 1e9:.1f} GB, and above {most} it is made only when asked for"
        )
    return None


@contextmanager
def seeded(seed: int | None) -> Generator[None]:
    """Within it torch draws random numbers from `seed` (None: from its own state), which is restored afterwards."""
    random: Any = torch.random
    with random.fork_rng(enabled=seed is not None):
        if seed is not None:
            random.manual_seed(seed)
        yield


def _architecture(module: nn.Module) -> None:
    """Run transformers' initialiser on every weight: it skips what is marked as loaded until the marks are gone."""
    if not hasattr(module, "init_weights"):
        raise InputError(
            f"{type(module).__name__} has no initialiser of its own; use init='reset_parameters'"
        )
    parts: list[Any] = list(module.modules())
    for part in parts:
        if hasattr(part, "_is_hf_initialized"):
            part._is_hf_initialized = False
    for tensor in (*module.parameters(), *module.buffers()):
        if hasattr(tensor, "_is_hf_initialized"):
            delattr(tensor, "_is_hf_initialized")
    model: Any = module
    model.init_weights()


def _reset_parameters(module: nn.Module) -> None:
    """Call ``reset_parameters`` of each layer; a matrix that belongs to no such layer gets Linear's initialiser."""
    for part in module.modules():
        reset: Any = getattr(part, "reset_parameters", None) or getattr(part, "_reset_parameters", None)
        if callable(reset):
            reset()
            continue
        for parameter in part.parameters(recurse=False):
            if parameter.ndim > 1:
                nn.init.kaiming_uniform_(parameter, a=5**0.5)
            elif "norm" in type(part).__name__.lower() and parameter is getattr(part, "weight", None):
                nn.init.ones_(parameter)
            else:
                nn.init.zeros_(parameter)
    if hasattr(module, "tie_weights"):
        model: Any = module
        model.tie_weights()


def _embeddings(module: nn.Module) -> dict[str, Tensor]:
    """The word and position embedding matrices, by name."""
    model: Any = module
    words = model.get_input_embeddings() if hasattr(model, "get_input_embeddings") else None
    matrices: dict[str, Tensor] = {}
    parts: list[tuple[str, nn.Module]] = list(model.named_modules())
    for name, part in parts:
        if isinstance(part, nn.Embedding) and (
            part is words or "position" in name.lower() or name.endswith("wpe")
        ):
            matrices[f"{name}.weight"] = part.weight
    if not matrices:
        raise InputError(
            f"keep='embeddings': {type(module).__name__} has no embeddings of words or positions"
        )
    return matrices


def _some(parameter: Tensor) -> Tensor:
    """Up to 4,096 values of a parameter, from all over it."""
    flat = parameter.detach().reshape(-1)
    return flat[:: max(1, len(flat) // _SAMPLED)].clone()


def _prove(module: nn.Module, before: dict[str, Tensor], kept: set[str]) -> None:
    tied = {
        id(parameter) for name, parameter in module.named_parameters(remove_duplicate=False) if name in kept
    }
    for name, parameter in module.named_parameters():
        if parameter.ndim > 1 and id(parameter) not in tied and torch.equal(_some(parameter), before[name]):
            raise InputError(
                f"untrained: {name} was left as it was; this architecture's initialiser does not reach it"
            )
