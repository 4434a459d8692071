"""What the largest weight of a row says (Voita et al. 2019), and what heads do in repeated random tokens.

The paper's syntactic heads need a tree of each sentence, and are not among these.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from headscope.core.arrays import Bools, Floats, Ints
from headscope.core.tokens import Tokens
from headscope.measures.lexicon import texts
from headscope.measures.measure import Measure, by_name, pair_measure, row_measure

_VOITA = ("voita2019",)
_CIRCUITS = ("elhage2021", "olsson2022")


def _between(tokens: Tokens, queries: Ints) -> Bools:
    """Pairs of tokens that are not special."""
    real = texts(tokens) >= 0
    return real[queries, None] & real


@row_measure(
    "confidence",
    "Mean of the largest weight that a token of a text gives to one of a text, special tokens left out.",
    units="share",
    rows="pairs",
    pairs=_between,
    source="Voita et al. 2019, §4",
    keys=_VOITA,
)
def confidence(weights: Floats, tokens: Tokens, queries: Ints) -> Floats:
    """The largest weight of a row, without the end-of-sentence symbol, which is no real token; nor are other special
    tokens, here.

    Example: in ``a b </s>``, *a* gives (0.2, 0.5, 0.3) and *b* (0.3, 0.1, 0.6): (0.5 + 0.3) / 2 = 0.4.
    """
    return np.where(_between(tokens, queries), weights, 0.0).max(-1)


def _largest_on(weights: Floats, pairs: Bools, visible: Bools) -> Floats:
    """1 for rows whose largest weight on a visible key is on one of the pairs ``[query key]``, else 0; of several
    largest, the share.
    """
    largest = (weights == weights.max(-1, keepdims=True)) & visible
    return (largest & pairs).sum(-1) / np.maximum(largest.sum(-1), 1)


def _neighbours(tokens: Tokens, queries: Ints, by: int) -> Bools:
    return (queries[:, None] + by == np.arange(len(tokens))) & (texts(tokens)[queries] >= 0)[:, None]


def _positional(by: int, name: str, place: str) -> Measure:
    """Share of rows whose largest weight is at one relative position."""

    def neighbour(tokens: Tokens, queries: Ints) -> Bools:
        return _neighbours(tokens, queries, by)

    def positional(weights: Floats, tokens: Tokens, queries: Ints, visible: Bools) -> Floats:
        """Voita et al. call a head positional where its largest weight is at −1, or at +1, at least 90 % of the time.

        Example: in ``a b c``, *b* has its largest weight on *a*, and *c* on *a*: at −1 for one of two, 0.5.
        """
        return _largest_on(weights, neighbour(tokens, queries), visible)

    return row_measure(
        name,
        f"Share of the tokens of a text whose largest weight is on the token {place} it, over those that have one.",
        title=f"largest weight on the token {place}",
        units="share",
        rows="pairs",
        pairs=neighbour,
        source="Voita et al. 2019, §5.1",
        keys=_VOITA,
    )(positional)


def _rare(name: str, of: str, which: str) -> Measure:
    """Share of rows whose largest weight is on a rare token."""

    def rare(tokens: Tokens, queries: Ints) -> Bools:
        marked = tokens.classes.get(of, np.zeros(len(tokens), np.bool_))
        return (texts(tokens)[queries] >= 0)[:, None] & marked

    def rare_word(weights: Floats, tokens: Tokens, queries: Ints, visible: Bools) -> Floats:
        """Voita et al. find one head of the first layer that points to the least frequent token of the sentence in 66 %
        of cases, and to one of the two least frequent in 83 %. A first pass over the corpus says which they are
        (`headscope.runs.rare`): where none did, the measure has no figure.

        Example: in ``the old gnu`` *gnu* is the rarest; *the* and *old* have their largest weight on it, and *gnu* on
        *old*: 2 / 3.
        """
        return _largest_on(weights, rare(tokens, queries), visible)

    return row_measure(
        name,
        f"Share of the tokens of a text whose largest weight is on {which} of the input, over inputs whose rarest "
        "token is rare enough, and the tokens that see one.",
        title=f"largest weight on {which}",
        units="share",
        rows="pairs",
        pairs=rare,
        source="Voita et al. 2019, §5.3",
        keys=_VOITA,
    )(rare_word)


CONFIDENCE: Mapping[str, Measure] = by_name(
    confidence,
    _positional(-1, "positional_previous", "before"),
    _positional(1, "positional_next", "after"),
    _rare("rare_word", "rarest", "the least frequent token"),
    _rare("rare_word_two", "rarest_two", "one of the two least frequent tokens"),
)
"""The group ``confidence``."""


def _ids(tokens: Tokens) -> Ints:
    """What each token is; special ones are all different, and so are tokens without ids but with other pieces."""
    ids = tokens.ids
    if ids is None:
        number: dict[str, int] = {}
        ids = np.array([number.setdefault(piece, len(number)) for piece in tokens.pieces], np.int64)
    return np.where(texts(tokens) >= 0, ids, -1 - np.arange(len(tokens)))


@pair_measure(
    "induction",
    "Mean share of a token's attention that goes to tokens that followed an earlier copy of it, over the tokens that "
    "have one; on repeated random tokens the prefix-matching score.",
    source="Elhage et al. 2021; Olsson et al. 2022, prefix matching",
    keys=_CIRCUITS,
)
def induction(tokens: Tokens, queries: Ints) -> np.ndarray:
    """Token j for query i where token j − 1 is an earlier copy of token i.

    Example: in ``a b c a b c``, the second *a* gives 0.7 to the first *b*, the second *b* 0.9 to the first *c*, and the
    second *c* 0.2 to the second *a*: (0.7 + 0.9 + 0.2) / 3 = 0.6.
    """
    ids = _ids(tokens)
    before = np.concatenate([[np.iinfo(np.int64).max], ids[:-1]])
    place = np.arange(len(tokens))
    return (ids[queries, None] == before) & (place - 1 < queries[:, None]) & (place != queries[:, None])


@pair_measure(
    "duplicate",
    "Mean share of a token's attention that goes to earlier copies of it, over the tokens that have one.",
    title="duplicate token",
    source="Elhage et al. 2021; Olsson et al. 2022",
    keys=_CIRCUITS,
)
def duplicate(tokens: Tokens, queries: Ints) -> np.ndarray:
    """Earlier copies of the token itself.

    Example: in ``a b a b``, the second *a* gives 0.4 to the first, and the second *b* 0.6 to the first: (0.4 + 0.6) / 2
    = 0.5.
    """
    ids = _ids(tokens)
    return (ids[queries, None] == ids) & (np.arange(len(tokens)) < queries[:, None])


@pair_measure(
    "previous_token",
    "Mean share of a token's attention that goes to the token before it, special tokens left out; meant for repeated "
    "random tokens, where no text tells what comes next.",
    title="previous token (random tokens)",
    source="Elhage et al. 2021; Olsson et al. 2022",
    keys=_CIRCUITS,
)
def previous_token(tokens: Tokens, queries: Ints) -> np.ndarray:
    """The token before, where neither is special.

    Example: in ``<s> a b c``, *b* gives 0.8 to *a*, and *c* 0.4 to *b*: (0.8 + 0.4) / 2 = 0.6.
    """
    return _neighbours(tokens, queries, -1) & (texts(tokens) >= 0)


SYNTHETIC: Mapping[str, Measure] = by_name(induction, duplicate, previous_token)
"""The group ``synthetic``: for repeated random tokens (`analyses.roles.synthetic`), though they hold for any text."""
