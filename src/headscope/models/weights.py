"""The weights of a module wherever they are: in memory, on disk (accelerate's offloading), or packed in few bits."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from headscope.core.lazy import module as library
from headscope.errors import RefusedError

LARGE = 1_000_000_000
"""A model whose weights are more bytes is large: no second one is made beside it, and little is kept of inputs."""


def stored(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """What a module's state dict holds, one plain tensor at a time; what lies on disk is read for as long.

    A packed weight is given in its parts, such as its integers and their scales.
    """
    for name, value in named(module):
        with _there(module, name, value) as here:
            for inner, part in plain(here):
                yield f"{name}{inner}", part


def named(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Parameters and buffers in the order of the state dict, which itself is not asked.

    bitsandbytes repacks weights in 4 bits when it is, and on a CPU makes others of them.
    """
    for path, part in cast("Iterator[tuple[str, Any]]", module.named_modules(remove_duplicate=False)):
        here = f"{path}." if path else ""
        passing: set[str] = part._non_persistent_buffers_set
        for attribute, value in (*part._parameters.items(), *part._buffers.items()):
            if value is not None and attribute not in passing:
                yield f"{here}{attribute}", value


def parameters(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """The plain tensors of a module's parameters, by their own names."""
    for name, value in module.named_parameters():
        with _there(module, name, value) as here:
            for _, part in plain(here):
                yield name, part


def plain(value: Tensor) -> Iterator[tuple[str, Tensor]]:
    """The plain tensors of a tensor, with what to add to its name: itself, or the parts of a packed one."""
    if not is_traceable_wrapper_subclass(value):
        yield "", value.detach()
        scales: Any = value
        for name, of in (("SCB", scales), ("absmax", getattr(scales, "quant_state", None))):
            if isinstance(scale := getattr(of, name, None), Tensor):
                yield f".{name}", scale
        return
    names, _ = cast("Any", value).__tensor_flatten__()
    for name in names:
        for inner, part in plain(getattr(value, name)):
            yield f".{name}{inner}", part


@contextmanager
def _there(module: nn.Module, name: str, value: Tensor) -> Generator[Tensor]:
    """The tensor of this name; one that is not in memory is brought there for as long."""
    path, _, attribute = name.rpartition(".")
    owner = module.get_submodule(path) if value.is_meta else None
    if owner is None or not hasattr(owner, "_hf_hook"):
        yield value
        return
    with library("accelerate.utils").align_module_device(owner):
        yield getattr(owner, attribute)


def held(module: nn.Module, name: str = "weight") -> Tensor | None:
    """A weight or bias of one layer as plain numbers: read from disk where it lies there, unpacked where it is packed.

    None where the layer has none of this name.
    """
    value: Any = getattr(module, name, None)
    if not isinstance(value, Tensor):
        return None
    with _there(module, name, value) as here:
        if _is_packed(here):
            if isinstance(module, nn.Linear) and name == "weight":
                return _as_it_maps(module, here)
            unpack: Any = here
            return unpack.dequantize()
        return here


def _is_packed(value: Tensor) -> bool:
    return is_traceable_wrapper_subclass(value) or type(value).__name__ in ("Int8Params", "Params4bit")


def _as_it_maps(linear: nn.Linear, weight: Tensor) -> Tensor:
    """The weight ``[out in]`` of a linear map, whatever it is packed in: what it makes of each unit of its input."""
    kind = weight.dtype if weight.is_floating_point() else torch.float32
    bias = held(linear, "bias")
    with torch.no_grad():
        rows = linear.forward(torch.eye(linear.in_features, dtype=kind, device=weight.device))
        return (rows if bias is None else rows - bias.to(rows)).T


def size_of(module: nn.Module) -> int:
    """How many bytes all weights take together."""
    return sum(value.numel() * value.element_size() for value in module.parameters())


def expect_there(name: str, module: nn.Module) -> None:
    """Raise `RefusedError` for a module with weights that were never filled, on the meta device.

    What accelerate has put on disk is on that device, too; it comes with a hook.
    """
    weights = (*module.named_parameters(), *module.named_buffers())
    empty = [of for of, value in weights if value.is_meta]
    if empty and not any(hasattr(part, "_hf_hook") for part in module.modules()):
        raise RefusedError(
            f"{name}: expected weights, found the meta device, which holds none ({empty[0]} is one of {len(empty)} "
            f"there, of {len(weights)}); load them with from_pretrained, or load_state_dict(…, assign=True)"
        )


def several_devices(module: nn.Module) -> bool:
    """Whether accelerate has spread a module over devices, or put parts of it on disk."""
    return len(set(getattr(module, "hf_device_map", {}).values())) > 1


def main_device(module: nn.Module) -> torch.device:
    """Where a module takes its inputs: where its weights are, or of several devices the main one."""
    parts = [module]
    while parts:  # for each batch: `module.modules()` takes several times as long
        part = parts.pop()
        device = getattr(vars(part).get("_hf_hook"), "execution_device", None)
        if isinstance(device, str | int | torch.device):
            return torch.device(device)
        parts += reversed([*part.children()])
    devices = (parameter.device for parameter in module.parameters() if not parameter.is_meta)
    return next(devices, torch.device("cpu"))


def packed(module: nn.Module) -> str | None:
    """What packs a module's weights in few bits, such as ``bitsandbytes``; None where they are plain numbers."""
    config: Any = getattr(getattr(module, "config", None), "quantization_config", None)
    if config is not None:
        attribute: Any = getattr(config, "quant_method", None)
        method: Any = (
            cast("dict[str, Any]", config).get("quant_method") if isinstance(config, dict) else attribute
        )
        return str(getattr(method, "value", method))
    for value in module.parameters():
        if _is_packed(value):
            return type(value).__name__
    return None
