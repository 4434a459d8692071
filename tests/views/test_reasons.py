"""Why a head is named, and where that is seen."""

from __future__ import annotations

import numpy as np
import pytest

from headscope.core.maps import AttentionMaps
from headscope.core.tokens import Tokens
from headscope.views.inputs import Input
from headscope.views.reasons import because, definition, nearest_rows, seen
from headscope.views.section import SideBySide


def maps(*rows: list[list[float]]) -> AttentionMaps:
    """One layer, a head a matrix, between two special tokens."""
    tokens = Tokens(["[CLS]", "a", "b", "[SEP]"], special_mask=[True, False, False, True])
    return AttentionMaps([np.array(rows, np.float32)], tokens, tokens)


BACK = [[1.0, 0, 0, 0], [0.9, 0.1, 0, 0], [0, 0.3, 0.7, 0], [0, 0, 1.0, 0]]
"""Means .73 on the previous token: .9, .3 and, from [SEP], 1."""

ITSELF = np.eye(4).tolist()


def test_a_figure_is_seen_in_the_example_and_the_row_that_are_nearest_to_it() -> None:
    examples = [Input({"self": maps(ITSELF, BACK)}), Input({"self": maps(BACK, ITSELF)})]
    where, here = seen(examples, ["previous"], np.array([[[0.75, 0.02]]]), [0], [0, 1])
    assert where.tolist() == [
        [[[1, 1], [1, 1]]]
    ]  # .9 of a is nearer to .75 than .3 of b; nothing at all to .02
    assert here[0, 0] == pytest.approx([2.2 / 3, 0.0])  # the figure on that example alone
    where, _ = seen(examples, ["previous"], np.array([[[0.4, 0.7]]]), [0], [0, 1])
    assert where.tolist() == [[[[1, 2], [0, 1]]]]


def test_special_tokens_are_pinned_where_no_other_row_counts() -> None:
    first = definition("entropy_first")
    assert first is not None
    found = nearest_rows(first, maps(BACK), 0, [0], np.array([0.0]))
    assert found.query.tolist() == [0]


@pytest.mark.parametrize("name", ["no_such_measure", "my_own"])
def test_what_is_no_measure_of_one_input_is_seen_nowhere(name: str) -> None:
    assert definition(name) is None
    where, here = seen([Input({"self": maps(BACK)})], [name], np.array([[[0.5]]]), [0], [0])
    assert where.tolist() == [[[[-1, -1]]]]
    assert np.isnan(here).all()


def test_a_head_without_a_figure_and_examples_of_two_models_show_nothing() -> None:
    one = Input({"self": maps(BACK)})
    assert (seen([one], ["previous"], np.array([[[np.nan]]]), [0], [0])[0] == -1).all()
    assert (seen([SideBySide(one, one)], ["previous"], np.array([[[0.5]]]), [0], [0])[0] == -1).all()


def test_a_reason_says_its_figure_and_over_what() -> None:
    reason = because("previous token", "0.54", measure="previous")
    assert (reason["says"], reason["figure"], reason.get("over")) == ("previous token", "0.54", None)
