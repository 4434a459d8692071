"""Products of two tensors that can be one half of attention: q kᵀ, and weights times values."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from headscope.attention.expression import Layout, ScoreExpression

MATMUL = "...ab,...bc->...ac"
"""A product of matrices as an einsum."""


def scores_of(equation: str, left: Tensor, right: Tensor, out: Tensor) -> ScoreExpression | None:
    """An einsum as a q kᵀ: one letter is summed, one is of the left operand alone, one of the right.

    None for another, and for a product with a plain matrix.
    """
    if equation == MATMUL:
        if left.ndim != right.ndim and min(left.ndim, right.ndim) <= 2:
            return None
        left, right = (one[(None,) * (out.ndim - one.ndim)] for one in (left, right))
    terms = letters(equation, (left, right))
    if terms is None:
        return None
    a, b, o = terms
    summed = [c for c in a if c not in o]
    key = [c for c in b if c not in a]
    query = [c for c in o if c not in b]
    if len(summed) != 1 or summed[0] not in b or len(key) != 1 or key[0] not in o:
        return None
    if len(query) > 1 and (
        len(query) > 2 or right.ndim > 3
    ):  # two: one key head for all heads, which k lacks
        return None
    if not query:
        return None
    ends = [query[-1], key[0]]
    lead = [c for c in o if c not in ends]
    q = _arranged(left, a, [*lead, ends[0], summed[0]])
    k = _arranged(right, b, [*lead, ends[1], summed[0]])
    order = tuple([*lead, *ends].index(c) for c in o)
    return ScoreExpression(q, k, Layout(tuple(out.shape[o.index(c)] for c in lead), order))


def values_of(
    equation: str, operands: Sequence[Tensor], weights: Tensor, layout: Layout, other: Tensor
) -> Tensor | None:
    """The other operand of an einsum of `weights` as values ``[*lead, key, dim]``."""
    terms = letters(equation, operands)
    if terms is None:
        return None
    a, b, o = terms if operands[0] is weights else (terms[1], terms[0], terms[2])
    names = {layout.order[i]: c for i, c in enumerate(a)}
    n = len(layout.lead)
    dim = [c for c in b if c not in a]
    if names[n + 1] not in b or names[n + 1] in o or names[n] in b or len(dim) != 1:
        return None
    return _arranged(other, b, [*(names[i] for i in range(n)), names[n + 1], dim[0]])


def _arranged(tensor: Tensor, have: str, want: Sequence[str]) -> Tensor:
    """Dimensions named `have` in the order `want`; those it lacks become 1."""
    tensor = tensor.permute([have.index(c) for c in want if c in have])
    return tensor[tuple(slice(None) if c in have else None for c in want)]


def letters(equation: str, operands: Sequence[Tensor]) -> tuple[str, str, str] | None:
    """The letters of an einsum's two operands and output, ellipses written out; None where not readable."""
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    names = inputs.split(",")
    if not arrow or len(names) != 2 or len(operands) != 2:
        return None
    spare = [c for c in "αβγδεζηθικλμ" if c not in equation]
    rests = [
        t.ndim - len(name.replace("...", "")) if "..." in name else 0
        for name, t in zip(names, operands, strict=True)
    ]
    most = max(rests)
    if most > len(spare) or min(rests) < 0:
        return None
    written = [
        name.replace("...", "".join(spare[most - n : most])) for name, n in zip(names, rests, strict=True)
    ]
    if any(
        len(set(name)) != len(name) or len(name) != t.ndim for name, t in zip(written, operands, strict=True)
    ):
        return None
    return written[0], written[1], output.replace("...", "".join(spare[:most]))
