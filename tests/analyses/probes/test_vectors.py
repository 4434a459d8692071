"""Files of GloVe and word2vec."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from headscope.analyses.probes.gather import WordVectors, read_vectors
from headscope.errors import CorpusError

VOCABULARY = {"The": 0, "cat": 1, "gnu": 2, ". .": 3, "THE": 4}


def write(folder: Path, text: str) -> Path:
    path = folder / "glove.txt"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("header", ["", "5 2\n"])
def test_needed_words_are_kept(tmp_path: Path, header: str) -> None:
    path = write(tmp_path, f"{header}the 1 2\ndog 3 4\ncat 5 6 \nThe 7 8\n. . 9 10\ncat 0 0\nthe 0 0\n")
    found = read_vectors(path, VOCABULARY)
    assert found.name == "glove.txt"
    assert found.known.tolist() == [True, True, False, True, True]
    np.testing.assert_array_equal(found.values, [[7, 8], [5, 6], [0, 0], [9, 10], [1, 2]])


def test_the_spelling_counts_before_the_lower_case(tmp_path: Path) -> None:
    found = read_vectors(write(tmp_path, "The 7 8\nthe 1 2\n"), VOCABULARY)
    np.testing.assert_array_equal(found.values[[0, 4]], [[7, 8], [1, 2]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("the 1 2\ncat 1\n", ":2: expected a word and 2 numbers, found 1 numbers"),
        ("the 1 2\ncat 1 x\n", ":2: 'cat': expected 2 numbers, found 'x'"),
        ("the 1 nan\n", ":1: 'the': expected finite numbers, found inf or nan"),
        ("dog 1 2\n", ": expected vectors of the treebank's words, found none of them"),
        ("3 2\nthe\n", ":2: expected a word and its numbers, found 'the'"),
    ],
)
def test_broken_files(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(CorpusError) as error:
        read_vectors(path, VOCABULARY)
    assert str(error.value) == f"{path}{message}"


def test_standardised() -> None:
    values = np.array([[1, 5], [3, 5], [100, 100], [0, 0]], np.float32)
    found = WordVectors("v", values, np.array([True, True, True, False])).standardised(2)
    np.testing.assert_allclose(found[:2].mean(0), 0, atol=1e-7)
    assert found[:2].std() == pytest.approx(1)
    np.testing.assert_array_equal(found[3], 0)
    np.testing.assert_allclose(found[2], (np.array([100, 100]) - [2, 5]) / np.sqrt(0.5), rtol=1e-6)
