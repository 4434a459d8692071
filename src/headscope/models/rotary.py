"""Rotary frequencies that hang on how long an input is: dynamic scaling, and factors of two sets (longrope)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

from torch import nn

from headscope.core.types import AnyMapping


def grows(config: Any) -> bool:
    """Whether the frequencies follow any length (dynamic scaling), so that positions do not end."""
    return any(_dynamic(one) for one in _parameters(config))


def unscaled(config: Any) -> int:
    """The tokens of an input above which its frequencies hang on how many there are; 0 where they never do."""
    borders = [
        config.max_position_embeddings if _dynamic(one) else one["original_max_position_embeddings"]
        for one in _parameters(config)
        if _dynamic(one) or one.get("rope_type") == "longrope"
    ]
    return min(borders, default=0)


def remembered(
    modules: Iterable[nn.Module],
) -> Iterator[tuple[nn.Module, Callable[..., None], Callable[[], None]]]:
    """Those modules whose frequencies follow the longest input that they have read (dynamic scaling).

    Beside each what makes it forget these, and what makes it remember what it does now.
    """
    for module in modules:
        kinds: Any = vars(module).get("rope_type")
        layers = cast("AnyMapping", kinds) if isinstance(kinds, Mapping) else {"": kinds}
        for layer, kind in layers.items():
            if "dynamic" in str(kind):
                yield module, *_memory(module, f"{layer}_" if layer else "")


def _memory(module: Any, prefix: str) -> tuple[Callable[..., None], Callable[[], None]]:
    names = [f"{prefix}inv_freq", f"{prefix}max_seq_len_cached"]
    now = {name: getattr(module, name) for name in names if hasattr(module, name)}

    def forget(*_: Any) -> None:
        first = getattr(module, f"{prefix}original_inv_freq").to(getattr(module, names[0]).device)
        for name, value in zip(names, (first, module.original_max_seq_len), strict=True):
            setattr(module, name, value)

    def remember() -> None:
        for name, value in now.items():
            setattr(module, name, value)

    return forget, remember


def _parameters(config: Any) -> list[AnyMapping]:
    """Those of a model, or of each kind of its layers."""
    given: AnyMapping = getattr(config, "rope_parameters", None) or {}
    return [one for one in (given, *given.values()) if isinstance(one, Mapping)]


def _dynamic(parameters: AnyMapping) -> bool:
    """Whether the frequencies follow the length; HunYuan's ``alpha`` fixes them."""
    return "dynamic" in str(parameters.get("rope_type")) and not parameters.get("alpha")
