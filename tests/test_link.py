"""Links and the tokens that their spans stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from headscope.core.link import Link, Span, as_links, located
from headscope.core.tokens import Tokens
from headscope.errors import InputError

PIECES = ["[CLS]", "The", "play", "##er", "won", "[SEP]", "He", "smiled", "[SEP]"]
AXIS = Tokens(
    PIECES,
    offsets=np.array([[0, 0], [0, 3], [4, 8], [8, 10], [11, 14], [0, 0], [0, 2], [3, 9], [0, 0]]),
    special_mask=np.array([1, 0, 0, 0, 0, 1, 0, 0, 1], bool),
    word_ids=np.array([-1, 0, 1, 1, 2, -1, 0, 1, -1]),
    sequence_ids=np.array([-1, 0, 0, 0, 0, -1, 1, 1, -1]),
)


def test_pairs_and_matrices_are_links() -> None:
    one, two, three = as_links([(5, 1), ((2, 4), (0, 1, "b")), Link(Span(0, 1), (Span(1, 2),))], label="x")
    assert (one.source, one.targets, one.label, one.unit) == (Span(5, 6), (Span(1, 2),), "x", "tokens")
    assert (two.source, two.targets) == (Span(2, 4), (Span(0, 1, "b"),))
    assert (three.label, three.unit) == ("link", "words")
    matrix = np.zeros((4, 4), bool)
    matrix[2, [0, 3]] = True
    assert as_links(matrix) == [Link(Span(2, 3), (Span(0, 1), Span(3, 4)), unit="tokens", place="links[2]")]


@pytest.mark.parametrize(
    ("span", "unit", "sequence", "tokens", "said"),
    [
        (Span(0, 2), "tokens", 0, [0, 1], ""),
        (Span(1, 3), "words", 0, [2, 3, 4], ""),
        (Span(0, 1, "b"), "words", 1, [6], ""),
        (Span(4, 10), "characters", 0, [2, 3], ""),
        (Span(5, 10), "characters", 0, [2, 3], "'play' is taken whole"),
        (Span(4, 9), "characters", 0, [2, 3], "'er' is taken whole"),
        (Span(0, 9, "b"), "characters", 1, [6, 7], ""),
    ],
)
def test_tokens_of_a_span(span: Span, unit: Any, sequence: int, tokens: list[int], said: str) -> None:
    found, remark = located(span, unit, AXIS, sequence=sequence)
    assert (found.tolist(), remark) == (tokens, said)


@pytest.mark.parametrize(
    ("span", "unit", "sequence", "said"),
    [
        (Span(8, 10), "tokens", 0, "expected tokens up to 9, found 8 to 10"),
        (Span(2, 4), "words", 0, "expected words up to 3, found 2 to 4"),
        (Span(3, 4), "characters", 0, "no piece is in the characters 3 to 4"),
        (Span(14, 20), "characters", 0, "since the text ends at 14"),
    ],
)
def test_a_span_that_holds_no_token(span: Span, unit: Any, sequence: int, said: str) -> None:
    with pytest.raises(InputError, match=said):
        located(span, unit, AXIS, sequence=sequence)


def test_a_space_before_a_piece_is_not_divided() -> None:
    axis = Tokens(["The", "Ġcat"], offsets=np.array([[0, 3], [3, 7]]))
    found, remark = located(Span(4, 7), "characters", axis)
    assert (found.tolist(), remark) == ([1], "")


def test_characters_need_a_tokenizer_that_tells_where_its_pieces_stand() -> None:
    with pytest.raises(InputError, match="found none: give words in place of the text"):
        located(Span(0, 1), "characters", Tokens(["A", "C"]))
