"""How many words a corpus counts, against a count by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headscope.core.tokens import Tokens
from headscope.corpora.corpus import _words  # pyright: ignore[reportPrivateUsage]

PIECES = st.lists(st.tuples(st.integers(-1, 4), st.integers(0, 1)), min_size=1, max_size=12)


@given(pieces=PIECES, ordered=st.booleans(), pair=st.booleans())
def test_words_and_split_words(pieces: list[tuple[int, int]], ordered: bool, pair: bool) -> None:
    """Words whose pieces stand together and others, of one text and of two."""
    pieces = sorted(pieces, key=lambda piece: piece[::-1]) if ordered else pieces
    words, sides = np.array(pieces).T
    tokens = Tokens(["x"] * len(pieces), word_ids=words, sequence_ids=sides if pair else None)
    counted = Counter((side if pair else 0, word) for word, side in pieces if word >= 0)
    assert _words(tokens) == (len(counted), sum(count > 1 for count in counted.values()))
