"""What was right or wrong is kept in a temporary file."""

from __future__ import annotations

import gc
import warnings

import numpy as np

from headscope.measures.resample import Answers


def test_the_file_is_closed_with_its_answers_and_what_was_read_stays() -> None:
    answers = Answers(9)
    right = np.arange(18).reshape(9, 2) % 3 == 0
    answers.add(["a", "b"], right, 0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        bits = answers.bits()
        del answers
        gc.collect()
    assert not caught
    np.testing.assert_array_equal(np.unpackbits(bits, axis=1, count=9).T, right)
