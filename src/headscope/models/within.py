"""What people keep a transformer in: compiled modules, parallel wrappers, pipelines, models of sentences."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator
from typing import Any, Protocol, cast, runtime_checkable

from torch import nn

from headscope.core.types import AnyPath
from headscope.errors import InputError

_WRAPPED = ("_orig_mod", "module", "_checkpoint_wrapped_module")
"""What a wrapper calls its only child: torch.compile's; that of DataParallel or DeepSpeed; that of checkpointing."""


@runtime_checkable
class Pipeline(Protocol):
    """What holds a model and what reads its inputs, such as transformers' pipelines and its Trainer."""

    model: Any


Loadable = AnyPath | nn.Module | tuple[nn.Module, Any] | tuple[nn.Module, Any, Any] | Pipeline
"""What `headscope.load` makes a model of."""


def held(pipeline: Pipeline) -> tuple[Any, ...]:
    """The module of a pipeline, and what reads its inputs. Raises `InputError` where it holds no torch module."""
    if not isinstance(pipeline.model, nn.Module):
        raise InputError(
            f"model: expected a torch module, or what holds one as its model, found {type(pipeline).__name__}"
        )
    names = ("tokenizer", "processing_class", "image_processor", "feature_extractor", "processor")
    readers = (getattr(pipeline, name, None) for name in names)
    return pipeline.model, *{id(reader): reader for reader in readers if reader is not None}.values()


def unwrapped(module: nn.Module, done: dict[nn.Module, nn.Module] | None = None) -> nn.Module:
    """A module without its wrappers; where some are within it, a copy without them that shares its weights.

    A wrapper hands on whatever it is given to the one module that it holds. The module that is given stays as it is.
    """
    done = {} if done is None else done
    if module in done:
        return done[module]
    bare = module
    while (inner := _wrapped(bare)) is not None:
        bare = inner
    parts: dict[str, nn.Module | None] = vars(bare)["_modules"]
    inside = {name: None if part is None else unwrapped(part, done) for name, part in parts.items()}
    attributes = vars(bare)
    original = getattr(
        attributes.get("forward"), "_torchdynamo_orig_callable", attributes.get("_original_forward")
    )  # accelerate's
    # A copy of what stands in place of a class' forward would run what it was copied from.
    plain = "forward" in attributes and getattr(original, "__func__", None) is type(bare).forward
    if plain or any(inside[name] is not part for name, part in parts.items()):
        bare = copy.copy(bare)
        vars(bare)["_modules"] = inside
    if plain:
        del vars(bare)["forward"]
    done[module] = bare
    return bare


def _wrapped(module: nn.Module) -> nn.Module | None:
    if (config := _adapter(module)) is not None:  # what changes weights is in the layers
        plain = not (config.is_prompt_learning or config.is_adaption_prompt or hasattr(config, "num_tasks"))
        invoked = getattr(config, "alora_invocation_tokens", None)
        return cast("Any", module).get_base_model() if plain and not invoked else None
    children = dict(module.named_children())
    name, inner = next(iter(children.items()), ("", None))
    if name not in _WRAPPED or len(children) > 1 or any(True for _ in module.parameters(recurse=False)):
        return None
    takes = inspect.signature(module.forward).parameters.values()
    return inner if all(_any_number(parameter) for parameter in takes) else None


def virtual_tokens(module: nn.Module) -> int:
    """How many virtual tokens stand before each text: those of a prompt or prefix that peft has tuned."""
    config = _adapter(module)
    return config.num_virtual_tokens if config is not None and config.is_prompt_learning else 0


def tuned(module: nn.Module) -> str:
    """The adapter of peft that a module has, in words; empty where it has none."""
    for part in module.modules():
        if (config := _adapter(part)) is not None:
            kind = str(getattr(config.peft_type, "value", config.peft_type))
            return f"adapter {cast('Any', part).active_adapter} ({kind.lower().replace('_', ' ')})"
    return ""


def _adapter(module: nn.Module) -> Any:
    """The configuration of the adapter that a module of peft has switched on; None for other modules."""
    return module.active_peft_config if hasattr(type(module), "active_peft_config") else None


def _any_number(parameter: inspect.Parameter) -> bool:
    return parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)


def self_reading(module: nn.Module) -> tuple[nn.Module, Any]:
    """A module and the tokenizer that it holds, if any.

    One that is run on what it reads itself, not on ids, is a model of sentences (sentence-transformers) or a loop of
    training (Lightning): then the one transformer within it.
    """
    tokenizer = getattr(module, "tokenizer", None)
    if isinstance(tokenizer, nn.Module) or not hasattr(tokenizer, "is_fast"):
        return module, None
    takes = inspect.signature(module.forward).parameters.values()
    needs = [one.name for one in takes if one.default is one.empty and not _any_number(one)]
    runs = needs[:1] in ([], ["input_ids"]) and not unforwarded(module)
    inner = [] if runs else transformers_within(module)
    return (module.get_submodule(inner[0]) if len(inner) == 1 else module), tokenizer


def unforwarded(module: nn.Module) -> bool:
    """Whether a module has no forward pass of its attributes."""
    return getattr(module.forward, "__name__", "") == "_forward_unimplemented"


def modules_of(module: nn.Module) -> dict[str, nn.Module]:
    """A module and all within it, by their dotted names."""
    return dict(cast("Any", module).named_modules())


def above(name: str) -> Iterator[str]:
    """The names of the modules that hold one, the nearest first; the model's is empty."""
    while name:
        name = name.rpartition(".")[0]
        yield name


def transformers_within(module: nn.Module) -> list[str]:
    """The names of the outermost transformers in a module that is none."""
    names: list[str] = []
    for name, part in modules_of(module).items():
        inner = names and name.startswith(f"{names[-1]}.")
        if name and not inner and hasattr(part, "config") and hasattr(part, "get_input_embeddings"):
            names.append(name)
    return names


def advice(module: nn.Module) -> str:
    """How to load the transformer within a module, as the end of a sentence; empty where there is none."""
    path = "".join(
        f"[{step}]" if step.isdigit() else f".{step}"
        for step in [*transformers_within(module), ""][0].split(".")
        if step
    )
    return path and f"hs.load((model{path}, tokenizer)) for the transformer within"
