"""How much an output depends on attention to a kind of tokens: figure 3 of Clark et al. 2019.

``gradient_sep`` and the like (`headscope.measures.choose.parse`) add the size of ``∂L/∂α`` up over the keys of a class,
so a class of many tokens has much. To compare classes, these measures divide by how many such keys there are: the
size of the gradient by one weight. What L is, the objective says (`headscope.attention.objective`).

They are asked for together, ``--measures gradients``, or by name.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from headscope.core.arrays import Bools, Ints
from headscope.core.tokens import Tokens
from headscope.measures.measure import Measure, mask, pair_measure


def _others(tokens: Tokens) -> Bools:
    """Tokens that are neither special nor punctuation."""
    return ~(
        mask(tokens, "special") | mask(tokens, "punctuation") | mask(tokens, "sep") | mask(tokens, "cls")
    )


def per_weight(of: str, called: str) -> Measure:
    """Mean of ``|∂L/∂α|`` over the keys of a class: ``sep``, ``cls``, ``punctuation`` or ``others`` (none of these).

    Units: those of L; averaged over tokens, a token's figure being the mean over all keys of the class in its input.

    Example: the gradients of one token by its weights on four keys are 0.1, −0.3, 0 and 0.4. If the first two are
    separators, its figure for separators is (0.1 + 0.3) / 2 = 0.2.
    """

    def pairs(tokens: Tokens, queries: Ints) -> np.ndarray:
        members = _others(tokens) if of == "others" else mask(tokens, of)
        row = members / max(1, int(members.sum()))
        return np.broadcast_to(row, (len(queries), len(tokens)))

    made = pair_measure(
        f"gradient_each_{of}",
        f"Mean size of the gradient by a weight on {called}, over tokens.",
        title=f"gradient, {called}",
        units="|∂L/∂α|",
        source="Clark et al. 2019, §3.2",
        keys=("clark2019",),
    )(pairs)
    return replace(made, matrix="gradient")


FIGURE_3 = (
    per_weight("sep", "separators"),
    per_weight("cls", "[CLS]"),
    per_weight("punctuation", "punctuation"),
    per_weight("others", "other tokens"),
)
"""What figure 3 compares."""
