from __future__ import annotations

from typing import Any

import numpy as np

import headscope as hs
from headscope.core.tokens import Tokens
from headscope.measures.choose import choose
from headscope.measures.gradients import FIGURE_3

SEP, CLS, PUNCTUATION, OTHERS = FIGURE_3


def tokens() -> Tokens:
    """`[CLS] a , b [SEP] c [SEP]`."""
    pieces = ["[CLS]", "a", ",", "b", "[SEP]", "c", "[SEP]"]
    special = np.array([piece.startswith("[") for piece in pieces])
    return Tokens(
        pieces,
        special_mask=special,
        classes={
            "cls": np.array([piece == "[CLS]" for piece in pieces]),
            "sep": np.array([piece == "[SEP]" for piece in pieces]),
            "punctuation": np.array([piece == "," for piece in pieces]),
        },
    )


def test_each_class_is_averaged_over_its_keys() -> None:
    queries = np.array([0, 3])
    expected = {
        SEP: [0, 0, 0, 0, 0.5, 0, 0.5],
        CLS: [1, 0, 0, 0, 0, 0, 0],
        PUNCTUATION: [0, 0, 1, 0, 0, 0, 0],
        OTHERS: [0, 1 / 3, 0, 1 / 3, 0, 1 / 3, 0],
    }
    for measure, row in expected.items():
        assert np.allclose(measure.worth(tokens(), queries), [row, row])
        assert measure.matrix == "gradient"
        assert "clark2019" in measure.cite()


def test_figure_3_is_asked_for_by_one_name() -> None:
    assert choose(["gradients"]) == list(FIGURE_3)
    assert choose(["gradient_each_sep"]) == [SEP]


def test_units_are_those_of_what_stands_in_place_of_the_weights() -> None:
    measures = choose(["previous", "gradient_previous", "norm_previous", "gradient_distance"])
    assert [measure.units for measure in measures] == ["share", "loss", "share", "tokens"]


def test_it_is_the_sum_over_the_class_by_its_size(demo: Any) -> None:
    """Where every input has one [CLS] and two separators, `gradient_sep` is twice the figure."""
    corpus = [("The cat sat .", "It was tired ."), ("A dog barked .", "It ran .")]
    examples = [
        hs.corpora.Example(tokens=demo.encode(*pair), document=place) for place, pair in enumerate(corpus)
    ]
    found = hs.measure(demo, examples, measures=["gradient_sep", "gradient_cls", *FIGURE_3])
    assert np.allclose(found["gradient_sep"], 2 * found["gradient_each_sep"], rtol=1e-5)
    assert np.allclose(found["gradient_cls"], found["gradient_each_cls"], rtol=1e-5)
    assert (found["gradient_each_others"] > 0).all()
