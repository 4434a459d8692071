"""Measures of one's own, and of rows of a class, on maps and on streams."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.core.tokens import Tokens
from headscope.errors import InputError
from headscope.measures.choose import choose, parse, surface
from headscope.measures.measure import pair_measure, row_measure

WEIGHTS = np.array([[1.0, 0, 0, 0], [0.5, 0.5, 0, 0], [0.2, 0.3, 0.5, 0], [0.1, 0.2, 0.3, 0.4]])


@pair_measure("again", "Mass on earlier copies of the same piece.")
def again(tokens: Tokens, queries: Any) -> Any:
    pieces = np.array(tokens.pieces)
    return (np.arange(len(tokens)) < queries[:, None]) & (pieces == pieces[queries, None])


@row_measure("peak", "Largest weight of a row.", units="share")
def peak(weights: Any, tokens: Tokens, queries: Any) -> Any:
    assert weights.shape[1:] == (len(queries), len(tokens))
    return weights.max(-1)


def test_pairs_by_hand() -> None:
    found = surface(hs.wrap(WEIGHTS[None, None], ["a", "b", "a", "b"], causal=True), [again, "largest", peak])
    assert found["again"].item() == pytest.approx((0.2 + 0.2) / 2)
    assert found["again_n"].item() == 2
    assert found["again_chance"].item() == pytest.approx((1 / 3 + 1 / 4) / 2)
    assert found["peak"].item() == pytest.approx(found["largest"].item())


def test_pairs_that_no_row_sees_have_no_figure() -> None:
    with pytest.raises(InputError, match="again: the inputs have no row for the "):
        surface(hs.wrap(WEIGHTS[None, None], list("abcd"), causal=True), [again])


def test_rows_of_a_class_by_hand() -> None:
    noun = np.array([False, True, False, True])
    tokens = Tokens(list("abcd"), classes={"noun": noun, "sep": np.array([True, False, False, False])})
    maps = hs.wrap(WEIGHTS[None, None], tokens, causal=True)
    found = surface(maps, ["noun_to_sep", "not_noun_to_sep", "to_sep"])
    assert found["noun_to_sep"].item() == pytest.approx((0.5 + 0.1) / 2)
    assert found["not_noun_to_sep"].item() == pytest.approx((1 + 0.2) / 2)
    assert found["to_sep"].item() == pytest.approx((1 + 0.5 + 0.2 + 0.1) / 4)


def test_a_measure_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "import headscope as hs\n"
        "@hs.pair_measure('ahead', 'Mass on the next two tokens.')\n"
        "def ahead(tokens, queries):\n"
        "    import numpy as np\n"
        "    gap = np.arange(len(tokens)) - queries[:, None]\n"
        "    return (gap > 0) & (gap < 3)\n"
    )
    assert parse(f"{tmp_path / 'own.py'}:ahead")[0].name == "ahead"
    with pytest.raises(
        InputError,
        match=r"own\.py:behind: expected a measure made by pair_measure or row_measure, found nothing",
    ):
        parse(f"{tmp_path / 'own.py'}:behind")
    with pytest.raises(InputError, match=r"none\.py: no such file"):
        parse(f"{tmp_path / 'none.py'}:ahead")
    (tmp_path / "broken.py").write_text("1 / 0")
    with pytest.raises(InputError, match=r"broken\.py: cannot be run .ZeroDivisionError"):
        parse(f"{tmp_path / 'broken.py'}:ahead")


def test_what_a_function_must_return() -> None:
    maps = hs.wrap(WEIGHTS[None, None], list("abcd"), causal=True)
    short = pair_measure("short", "Wrong.")(lambda tokens, queries: np.ones((len(queries), 2)))
    with pytest.raises(
        InputError, match=r"measure short: expected \[query key\] \(4, 4\), found shape \(4, 2\)"
    ):
        surface(maps, [short])
    void = row_measure("void", "Wrong.")(lambda weights, tokens, queries: weights.max(-1) * np.nan)
    with pytest.raises(InputError, match="measure void: expected finite numbers, found NaN or infinity"):
        surface(maps, [void])
    with pytest.raises(InputError, match="expected a name of letters, digits and _, found 'two words'"):
        row_measure("two words", "Wrong.")(lambda weights, tokens, queries: weights.max(-1))
    with pytest.raises(InputError, match="'again' again"):
        choose([again, again])
