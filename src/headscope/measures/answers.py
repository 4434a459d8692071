"""Where a model of texts and pictures looks as it writes: at the picture, at what it was asked, or at its own words.

The rows are those of the words that were generated, or, where nothing was, of the words after the picture. The rest of
their attention is on special tokens.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from headscope.core.arrays import Bools, Ints
from headscope.core.tokens import Tokens
from headscope.measures.measure import Measure, by_name, mask, pair_measure

_CHEN = ("chen2024",)


def speaking(tokens: Tokens) -> Bools:
    """The words that were generated; where none was, those after the picture."""
    written = mask(tokens, "generated")
    if written.any():
        return written
    return mask(tokens, "question") & np.logical_or.accumulate(mask(tokens, "image"))


def _to(tokens: Tokens, queries: Ints, keys: Bools) -> Bools:
    return speaking(tokens)[queries, None] & keys


@pair_measure(
    "to_image",
    "Mean share of the attention of a generated word that goes to the picture; where nothing was generated, of a word "
    "after the picture.",
    title="to the picture",
    needs=("image",),
    source="Chen et al. 2024, §3: attention allocation",
    keys=_CHEN,
)
def to_image(tokens: Tokens, queries: Ints) -> np.ndarray:
    """All tokens of the class `image`.

    Example: two tokens stand for a picture, *What ?* was asked and *a cat* written. *a* gives 0.1 and 0.2 to the
    picture, *cat* 0.3 and 0.2: (0.3 + 0.5) / 2 = 0.4.
    """
    return _to(tokens, queries, mask(tokens, "image"))


@pair_measure(
    "to_question",
    "Mean share of the attention of a generated word that goes to the words of the prompt; where nothing was "
    "generated, of a word after the picture, itself included.",
    title="to the question",
    needs=("question",),
    source="Chen et al. 2024, §3: attention allocation",
    keys=_CHEN,
)
def to_question(tokens: Tokens, queries: Ints) -> np.ndarray:
    """All tokens of the class `question`: the text before and after a picture, without special tokens.

    Example: two tokens stand for a picture, *What ?* was asked and *a cat* written. *a* gives 0.2 and 0.1 to *What ?*,
    *cat* 0.1 to each: (0.3 + 0.2) / 2 = 0.25.
    """
    return _to(tokens, queries, mask(tokens, "question"))


@pair_measure(
    "to_written",
    "Mean share of the attention of a generated word that goes to what was generated so far, itself included.",
    title="to its own words",
    needs=("generated",),
    source="Chen et al. 2024, §3: attention allocation",
    keys=_CHEN,
)
def to_written(tokens: Tokens, queries: Ints) -> np.ndarray:
    """The words generated so far; a word's own row is the one that goes on after it.

    Example: two tokens stand for a picture, *What ?* was asked and *a cat* written. *a* gives 0.4 to itself, *cat* 0.1
    to *a* and 0.2 to itself: (0.4 + 0.3) / 2 = 0.35.
    """
    return _to(tokens, queries, mask(tokens, "generated")) & (np.arange(len(tokens)) <= queries[:, None])


ANSWERS: Mapping[str, Measure] = by_name(to_image, to_question, to_written)
"""The group ``answers``."""
