"""What capture finds on one family of models, beside what the model itself says."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from torch import Tensor, nn

from headscope.attention.parts import group
from headscope.attention.record import AttentionRecord
from headscope.attention.recording import recording, route
from tests.helpers.families import Family, build, logits, real, reference, run


@dataclass(frozen=True)
class Examined:
    """Errors are the largest absolute differences in float32, over queries that are no padding.

    Attributes:
        way: `interface` or `trace`.
        parts: for each part the number of layers, and the heads and key heads of its first layer.
        traits: what the records hold beside q, k and v: bias, softcap, sinks, grouped keys.
        weights: from the model's own eager attention weights.
        recomputed: of the weights recomputed from the record.
        output: of the output from that of the model's eager attention, relative to its size.
        fused: of the output from that of the fused kernel; None where the family has none.
        own: between the outputs of the model's own eager and fused kernels.
    """

    way: str
    parts: dict[str, tuple[int, int, int]]
    traits: list[str]
    weights: float
    recomputed: float
    output: float
    fused: float | None
    own: float | None


def examine(family: Family) -> Examined:
    """Build a family, capture it, and compare."""
    inputs = family.inputs
    expected = reference(build(family), inputs)
    eager = logits(run(build(family), inputs))
    model = build(family)
    records: list[AttentionRecord] = []
    with recording(model, records.append):
        output = logits(run(model, inputs))
    assert len(records) == family.layers >= len(expected)
    maps = [record.weights() for record in records]
    traits = {
        "bias": any(record.bias is not None for record in records),
        "softcap": any(record.softcap is not None for record in records),
        "sinks": any(record.sinks is not None for record in records),
        "grouped keys": any(record.groups > 1 for record in records),
    }
    parts = {
        name: (len(found), found[0].q.shape[1], found[0].k.shape[1]) for name, found in group(records).items()
    }
    other = with_fused_kernel(family)
    fused = None if other is None else logits(run(other, inputs))
    return Examined(
        route(model),
        parts,
        [name for name, present in traits.items() if present],
        matched(maps, expected, inputs),
        max(error(record.recompute(), record.weights(), inputs) for record in records),
        relative(output, eager, inputs),
        None if fused is None else relative(output, fused, inputs),
        None if fused is None else relative(eager, fused, inputs),
    )


def with_fused_kernel(family: Family) -> nn.Module | None:
    """The same model with the fused kernel, where the family takes it."""
    with warnings.catch_warnings(action="ignore"):
        try:
            return build(family, "sdpa")
        except ValueError:
            return None


def error(one: Tensor, two: Tensor, inputs: dict[str, Tensor]) -> float:
    return (real(one, inputs) - real(two, inputs)).abs().max().item()


def matched(found: list[Tensor], expected: list[Tensor], inputs: dict[str, Tensor]) -> float:
    """Pair every expected map with another one that was found; the largest difference in a pair."""
    left, worst = list(found), 0.0
    for weights in expected:
        fitting = [each for each in left if each.shape == weights.shape]
        assert fitting, f"no map of shape {tuple(weights.shape)} is left"
        distances = [error(each, weights, inputs) for each in fitting]
        best = distances.index(min(distances))
        left = [each for each in left if each is not fitting[best]]
        worst = max(worst, distances[best])
    return worst


def relative(one: Tensor, two: Tensor, inputs: dict[str, Tensor]) -> float:
    """Difference of two outputs ``[batch token …]`` where the tokens are no padding."""
    mask = inputs.get("attention_mask")
    if mask is not None and one.ndim > 2 and one.shape[:2] == mask.shape:
        one, two = one[mask.bool()], two[mask.bool()]
    return ((one - two).abs().max() / two.abs().max().clamp(min=1.0)).item()
