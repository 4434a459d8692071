"""Whether heads of two models have counterparts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headscope.errors import InputError
from headscope.models import Model


def counterparts(a: Model, b: Model) -> str | None:
    """Why heads of two models have no counterparts, as far as their configurations say; None where they have."""
    if a.causal != b.causal:
        causal, other = (a, b) if a.causal else (b, a)
        return f"{causal.name} is causal and {other.name} is not: heads have no counterparts"
    shapes = [
        tuple(getattr(model.text_config, name, None) for name in ("num_hidden_layers", "num_attention_heads"))
        for model in (a, b)
    ]
    return None if shapes[0] == shapes[1] else _differ((a, b), shapes)


def check_shapes(models: Sequence[Model], shapes: Sequence[Mapping[int, int]]) -> None:
    """Raise `InputError` where two models do not have the same layers and heads (``{layer: heads}``)."""
    if shapes[0] != shapes[1]:
        counts = [(len(shape), "/".join(map(str, sorted(set(shape.values()))))) for shape in shapes]
        raise InputError(f"models: {_differ(models, counts)}; compare them by role")


def _differ(models: Sequence[Model], shapes: Sequence[tuple[object, ...]]) -> str:
    counts = [
        f"{model.name} has {layers} layers × {heads} heads"
        for model, (layers, heads) in zip(models, shapes, strict=True)
    ]
    return f"{', '.join(counts)}: heads have no counterparts"
