"""Context or own words: where a model looks while it answers (Chuang et al. 2024)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from headscope.core.arrays import Bools, Floats, Ints
from headscope.core.tokens import Tokens
from headscope.measures.measure import Measure, by_name, mask, row_measure


def _begins(tokens: Tokens) -> Ints:
    """Where the answer begins that each token is of, ``[token]``; 0 for tokens of none.

    Answers are what was `generated`; without that, each run of what the `assistant` said.
    """
    answers = mask(tokens, "generated" if "generated" in tokens.classes else "assistant")
    place = np.arange(len(tokens))
    first = answers & ~np.concatenate([[False], answers[:-1]])
    return np.where(answers, np.maximum.accumulate(np.where(first, place, 0)), 0)


def _context(tokens: Tokens, queries: Ints) -> Bools:
    """Pairs of a token of an answer and one before the answer."""
    return np.arange(len(tokens)) < _begins(tokens)[queries, None]


@row_measure(
    "lookback",
    "Mean share of the context in the attention that a token of an answer gives to a token of the context and to one "
    "of the answer so far, each on average.",
    title="lookback ratio",
    units="share",
    rows="pairs",
    pairs=_context,
    source="Chuang et al. 2024, §2",
    keys=("chuang2024",),
)
def lookback(weights: Floats, tokens: Tokens, queries: Ints) -> Floats:
    """A(context) / (A(context) + A(answer)), where A is the mean weight a token. An answer is what was generated, or
    what the assistant said in one turn; the context is all that stands before it; the answer so far has the token
    itself.

    Example: after a context of ``a b`` the second token of the answer gives them 0.1 and 0.3, the first token 0.2 and
    itself 0.4: 0.2 / (0.2 + 0.3) = 0.4.
    """
    begins = _begins(tokens)[queries, None]
    place = np.arange(len(tokens))
    before = place < begins
    answer = ~before & (place <= queries[:, None])
    of_context, of_answer = (
        (weights * keys).sum(-1) / np.maximum(keys.sum(-1), 1) for keys in (before, answer)
    )
    both = of_context + of_answer
    return np.where(both > 0, of_context / np.where(both > 0, both, 1.0), 0.0)


CONVERSATION: Mapping[str, Measure] = by_name(lookback)
"""The group ``conversation``."""
