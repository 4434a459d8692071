"""The attention patterns of Vig's "Deconstructing BERT" (parts 1 and 2), and how far heads look.

Next and previous token are the measures ``next`` and ``previous`` of `headscope.measures.surface`. Vig shows patterns
by example; each definition here makes one of them a share of attention. A *word* is a run of pieces of one word, in any
case, and no punctuation; a *sentence* is what Vig calls one, a text (A or B) of the input. Special tokens are
of no sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from headscope.core.arrays import Bools, Floats, Ints
from headscope.core.maps import AttentionMaps, wrap
from headscope.core.tokens import Tokens
from headscope.measures.lexicon import lexicon
from headscope.measures.measure import Measure, by_name, pair_measure, row_measure

_ONE, _TWO = ("vig2018patterns", "vig2019demo"), ("vig2019inner", "vig2019demo")
_part_two = partial(pair_measure, source="Vig 2019, part 2", keys=_TWO)

SINK_TOKENS = 128
"""A sink is judged on inputs of so many tokens, at least: in short ones uniform attention gives the first one much."""


def _words(tokens: Tokens, queries: Ints, *, other: bool, related: bool) -> Bools:
    """Other occurrences of each query's word (or of one related to it), in its own or in the other sentence."""
    words = lexicon(tokens)
    kind = words.kind[queries]
    pairs = (kind[:, None] == words.kind) & (kind >= 0)[:, None]
    if related:
        for number in {int(word) for word in kind if word >= 0}:
            if len(words.related[number]) > 1:
                pairs[kind == number] = np.isin(words.kind, words.related[number])
    alike = words.text[queries, None] == words.text
    if other:
        return pairs & ~alike
    return pairs & alike & (words.place[queries, None] != words.place)


@pair_measure(
    "same_word",
    "Mean share of a word's attention that goes to other occurrences of the same word in its own sentence, over the "
    "pieces of words that have one.",
    title="same word",
    source="Vig 2018, pattern 3",
    keys=_ONE,
)
def same_word(tokens: Tokens, queries: Ints) -> np.ndarray:
    """Same word, in any case, elsewhere in the same sentence. Vig counts the source word itself too: see ``current``.

    Example: in ``The cat saw the dog``, *The* gives 0.2 to *the*, and *the* 0.4 to *The*; no other word comes twice:
    (0.2 + 0.4) / 2 = 0.3.
    """
    return _words(tokens, queries, other=False, related=False)


@pair_measure(
    "same_word_other",
    "Mean share of a word's attention that goes to the same word in the other sentence, over the pieces of words that "
    "are there.",
    title="same word, other sentence",
    source="Vig 2018, pattern 4",
    keys=_ONE,
)
def same_word_other(tokens: Tokens, queries: Ints) -> np.ndarray:
    """Same word, in any case, in the other sentence.

    Example: in ``[CLS] cats sleep [SEP] Cats ! [SEP]``, *cats* gives 0.5 to *Cats*, and *Cats* 0.1 to *cats*:
    (0.5 + 0.1) / 2 = 0.3.
    """
    return _words(tokens, queries, other=True, related=False)


@pair_measure(
    "related_word",
    "Mean share of a word's attention that goes to other occurrences of the same or a related word in its own "
    "sentence, over the pieces of words that have one.",
    title="same or related word",
    source="Vig 2018, pattern 3",
    keys=_ONE,
)
def related_word(tokens: Tokens, queries: Ints) -> np.ndarray:
    """Same or related word elsewhere in the same sentence.

    Two words are related when their first letters agree, at least four of them, and neither has more than three
    letters after those (`headscope.measures.lexicon.are_related`): no second model says what is related.

    Example: in ``they walk and walked``, *walk* gives 0.6 to *walked*, and *walked* 0.2 to *walk*: (0.6 + 0.2) / 2 =
    0.4.
    """
    return _words(tokens, queries, other=False, related=True)


@pair_measure(
    "related_word_other",
    "Mean share of a word's attention that goes to the same or a related word in the other sentence, over the pieces "
    "of words that have one there.",
    title="same or related word, other sentence",
    source="Vig 2018, pattern 4",
    keys=_ONE,
)
def related_word_other(tokens: Tokens, queries: Ints) -> np.ndarray:
    """Same or related word (see `related_word`) in the other sentence.

    Example: in ``[CLS] walk [SEP] walked [SEP]``, *walk* gives 0.6 to *walked*, and *walked* 0.2 to *walk*: (0.6 +
    0.2) / 2 = 0.4.
    """
    return _words(tokens, queries, other=True, related=True)


@pair_measure(
    "word_pieces",
    "Mean share of a piece's attention that goes to the other pieces of its word, over the pieces that have some.",
    title="pieces of one word",
    source="Vig 2018, pattern 5",
    keys=_ONE,
)
def word_pieces(tokens: Tokens, queries: Ints) -> np.ndarray:
    """The other pieces of the own word: Vig's words that predict a word, *straw* and *##berries*.

    Example: in ``straw ##berries grow``, *straw* gives 0.7 to *##berries*, and that 0.9 to *straw*: (0.7 + 0.9) / 2 =
    0.8. In a causal model *straw* does not see what follows it, and only *##berries* counts: 0.9.
    """
    words = lexicon(tokens)
    alike = (words.place[queries, None] == words.place) & words.spoken[queries, None]
    return alike & (queries[:, None] != np.arange(len(tokens)))


DELIMITER = Measure(
    "delimiter",
    "delimiters",
    "Mean share of the attention of a token of a text that goes to special tokens ([CLS] and [SEP] in BERT).",
    "share",
    "Vig 2018, pattern 6; Vig 2019, part 2",
    "mass",
    of="special",
    rows="not class",
    whose="special",
    keys=("vig2018patterns", *_TWO),
)


def _sentence(tokens: Tokens, queries: Ints) -> Bools:
    """The tokens of each query's own sentence, itself included."""
    text = lexicon(tokens).text
    return (text[queries, None] == text) & (text[queries] >= 0)[:, None]


@_part_two(
    "own_sentence",
    "Mean share of the attention of a token of a text that goes to tokens of its own text, itself included.",
    title="own sentence",
)
def own_sentence(tokens: Tokens, queries: Ints) -> np.ndarray:
    """All tokens of the own sentence, special ones left out.

    Example: in ``[CLS] a b [SEP]``, *a* gives 0.1 to itself and 0.3 to *b*, and *b* 0.4 to *a* and 0.2 to itself:
    ((0.1 + 0.3) + (0.4 + 0.2)) / 2 = 0.5.
    """
    return _sentence(tokens, queries)


@_part_two(
    "other_sentence",
    "Mean share of the attention of a token of a text that goes to tokens of the other text.",
    title="other sentence",
)
def other_sentence(tokens: Tokens, queries: Ints) -> np.ndarray:
    """All tokens of the other sentence, special ones left out.

    Example: in ``[CLS] a [SEP] b [SEP]``, *a* gives 0.2 to *b*, and *b* 0.6 to *a*: (0.2 + 0.6) / 2 = 0.4.
    """
    text = lexicon(tokens).text
    return (text[queries, None] != text) & (text[queries] >= 0)[:, None] & (text >= 0)


@_part_two(
    "a_to_b",
    "Mean share of the attention of a token of text A that goes to tokens of text B.",
    title="A to B",
)
def a_to_b(tokens: Tokens, queries: Ints) -> np.ndarray:
    """From the tokens of text A to those of text B, special ones left out. Not in causal models, where A comes first.

    Example: in ``[CLS] a [SEP] b c [SEP]``, *a* gives 0.2 to *b* and 0.3 to *c*: 0.5.
    """
    return _between(tokens, queries, 0, 1)


@_part_two(
    "b_to_a",
    "Mean share of the attention of a token of text B that goes to tokens of text A.",
    title="B to A",
)
def b_to_a(tokens: Tokens, queries: Ints) -> np.ndarray:
    """From the tokens of text B to those of text A, special ones left out.

    Example: in ``[CLS] a [SEP] b c [SEP]``, *b* gives 0.6 to *a*, and *c* 0.2: (0.6 + 0.2) / 2 = 0.4.
    """
    return _between(tokens, queries, 1, 0)


def _between(tokens: Tokens, queries: Ints, start: int, end: int) -> Bools:
    """The tokens of one text, for the queries of the other."""
    text = lexicon(tokens).text
    return (text[queries] == start)[:, None] & (text == end)


@row_measure(
    "bag_of_words",
    "Mean product of the share of attention that a token of a text gives to its own text and its evenness there, the "
    "effective number of tokens exp(H) by the number that it sees.",
    title="bag of words",
    units="share",
    rows="pairs",
    pairs=_sentence,
    source="Vig 2019, part 2",
    keys=_TWO,
)
def bag_of_words(weights: Floats, tokens: Tokens, queries: Ints, visible: Bools) -> Floats:
    """Mass on the own sentence, times how evenly it is spread there: 1 for an average of all its words that are seen.

    H is the entropy of the weights within the sentence, put to sum to 1.

    Example: in ``[CLS] a b [SEP]``, *a* gives 0.3 to itself and 0.3 to *b*: a mass of 0.6, an even one (exp(ln 2) / 2
    = 1). *b* gives all to *a*: a mass of 1, on one token of two (exp(0) / 2 = 0.5). (0.6 · 1 + 1 · 0.5) / 2 = 0.55.
    """
    inside = _sentence(tokens, queries)
    seen = inside & visible
    part = weights * inside
    mass = part.sum(-1)
    share = part / np.where(mass > 0, mass, 1.0)[..., None]
    entropy = -(share * np.log(np.where(share > 0, share, 1.0))).sum(-1)
    return mass * np.exp(entropy) / np.maximum(seen.sum(-1), 1)


@pair_measure(
    "distance",
    "Mean distance, in tokens, between a token and what it looks at, weighted by attention.",
    title="mean distance",
    units="tokens",
    rows="all",
    source="Vig & Belinkov 2019, mean distance of attention",
    keys=("vig2019structure",),
)
def distance(tokens: Tokens, queries: Ints) -> np.ndarray:
    """|i − j| weighted by attention; the paper sees earlier tokens only, as GPT-2 does, and its figures leave out the
    attention to the first token, which these do not.

    Example: the third of ``a b c`` gives 0.5 to *a*, 0.3 to *b* and 0.2 to itself: 0.5 · 2 + 0.3 · 1 = 1.3.
    """
    return np.abs(queries[:, None] - np.arange(len(tokens)))


def _long() -> AttentionMaps:
    """Uniform causal attention, in an input that is just long enough."""
    seen = np.tril(np.ones((1, 1, SINK_TOKENS, SINK_TOKENS)))
    return wrap(seen / seen.sum(-1, keepdims=True), ["x"] * SINK_TOKENS, causal=True)


@pair_measure(
    "sink",
    f"Mean share of a token's attention that goes to the first token, in inputs of at least {SINK_TOKENS} tokens; the "
    "first token itself is left out.",
    title="attention sink",
    source="Gu et al. 2024; Xiao et al. 2023",
    keys=("gu2024", "xiao2023"),
    example=_long,
)
def sink(tokens: Tokens, queries: Ints) -> np.ndarray:
    """The first token, in long inputs. Gu et al. call a head's first token a sink where it gets more than 0.3; they
    take inputs of 64 tokens and count the first token's own row, which is 1 in a causal model.

    Example: in 128 tokens of uniform causal attention row i gives 1 / (i + 1): (1/2 + 1/3 + … + 1/128) / 127 = 0.035.
    """
    pairs = np.zeros((len(queries), len(tokens)), np.bool_)
    if len(tokens) >= SINK_TOKENS:
        pairs[:, 0] = queries > 0
    return pairs


PATTERNS: Mapping[str, Measure] = by_name(
    same_word,
    same_word_other,
    related_word,
    related_word_other,
    word_pieces,
    DELIMITER,
    own_sentence,
    other_sentence,
    a_to_b,
    b_to_a,
    bag_of_words,
    distance,
    sink,
)
"""The group ``patterns``."""
