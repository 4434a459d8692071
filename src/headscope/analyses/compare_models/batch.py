"""What two models give for a batch of inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headscope.errors import InputError
from headscope.measures.sums import Floats
from headscope.models import Model
from headscope.tokens import Tokens


@dataclass(frozen=True, eq=False)
class Batch:
    """What two models gave for the inputs of a batch.

    Attributes:
        tokens: the axis of each input.
        layers: the models' index of each layer.
        a, b: sums over rows ``[input measure layer head]``.
        chance: of uniform attention ``[input measure layer]``.
        divisors: rows of each measure ``[input measure]``.
        moved: `headscope.analyses.compare_models.statistics.drift`, ``[input 2 layer head]``.
        rows: of `moved`, ``[input]``.
    """

    tokens: Sequence[Tokens]
    layers: Sequence[int]
    a: Floats
    b: Floats
    chance: Floats
    divisors: Floats
    moved: Floats
    rows: Sequence[int]


def check_shapes(models: Sequence[Model], shapes: Sequence[Mapping[int, int]]) -> None:
    """Raise `InputError` where two models do not have the same layers and heads (``{layer: heads}``)."""
    if shapes[0] == shapes[1]:
        return
    told = [
        f"{model.name} has {len(shape)} layers × {'/'.join(map(str, sorted(set(shape.values()))))} heads"
        for model, shape in zip(models, shapes, strict=True)
    ]
    raise InputError(f"models: {told[0]}, {told[1]}: heads have no counterparts; compare them by role")
