"""The weights of a module wherever they are: in memory, on disk (accelerate's offloading), or packed in few bits."""

from __future__ import annotations

import copy
import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from headscope.core.lazy import module as library
from headscope.core.types import AnyDict
from headscope.errors import InputError, RefusedError, RunError
from headscope.models.within import modules_of

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
        method: Any = cast("AnyDict", config).get("quant_method") if isinstance(config, dict) else attribute
        return str(getattr(method, "value", method))
    for value in module.parameters():
        if _is_packed(value):
            return type(value).__name__
    return None


_LAYER = re.compile(r"\.(\d+)\.")
_QUERY = re.compile(r"(^|[._])(q|query|q_lin|q_proj)$")
_KEY = re.compile(r"(^|[._])(k|v|key|value|[kv]_lin|[kv]_proj)$")


def expect_finite(name: str, module: nn.Module) -> None:
    """Refuse a model with a weight that is NaN or infinite.

    Attention before that weight looks sound, and so does all attention of inputs that do not use it.

    Raises `RefusedError` that names the first such weight, with its layer and head where its name tells them.
    """
    for of, values in _values(module):
        low, high = (float(bound) for bound in torch.aminmax(values))
        if not (low - low == 0 == high - high):
            place = tuple(int(axis) for axis in torch.nonzero(~torch.isfinite(values))[0])
            where = ", ".join(map(str, place))
            raise RefusedError(
                f"{name}: expected finite weights, found {float(values[place])} in {of}[{where}]"
                f"{_head(module, of, place)}"
            )


def not_finite(name: str, module: nn.Module, what: str) -> RunError:
    """The error of a run in which `what` is not finite: it names the weight that is to blame, where one is."""
    try:
        expect_finite(name, module)
    except RefusedError as error:
        return RunError(f"{what} is not finite: {error}")
    return RunError(f"{what} is not finite, though all weights of {name} are: try --dtype float32")


def _values(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """The weights that are numbers, each once."""
    for of, values in parameters(module):
        if values.is_floating_point() and not values.is_meta and values.numel():
            yield of, values if values.element_size() > 1 else values.float()


def _head(module: nn.Module, of: str, place: tuple[int, ...]) -> str:
    """The layer and head of a weight, as far as its name tells them."""
    layer = _LAYER.search(f".{of}")
    if layer is None:
        return ""
    path = of.rpartition(".")[0]
    config = getattr(module, "config", None)
    heads = getattr(config, "num_attention_heads", None)
    if _KEY.search(path):
        heads = getattr(config, "num_key_value_heads", None) or heads
    elif not _QUERY.search(path):
        heads = None
    rows = module.get_parameter(of).shape[0]
    if not isinstance(heads, int) or rows % heads:
        return f" (layer {layer[1]})"
    return f" (layer {layer[1]}, head {place[0] * heads // rows})"


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
    for name, part in modules_of(module).items():
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
        else:
            _reset_parameters(module)
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
    for marked in (*module.modules(), *module.parameters(), *module.buffers()):
        vars(marked).pop("_is_hf_initialized", None)
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
    for name, part in modules_of(module).items():
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
