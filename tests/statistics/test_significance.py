"""p values of random draws are never 0, wherever they are told; q values are those of one procedure."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headscope.analyses.distance.arrangement import same_layer
from headscope.statistics.design import Design
from headscope.statistics.jackknife import false_discovery, p_value
from headscope.statistics.permutation import permute
from headscope.statistics.resample import HeldOut


def test_what_was_observed_is_one_of_the_draws() -> None:
    assert p_value(0, 999) == 1 / 1000
    assert p_value(999, 999) == 1
    np.testing.assert_array_equal(p_value(np.array([0.0, 1.0, 4.0]), 4), [0.2, 0.4, 1.0])


def test_p_of_groups_that_no_permutation_parts_as_well_is_that_of_one_draw() -> None:
    """Of C(40, 20) ways to part the inputs two are as extreme as theirs: none of 200 draws is."""
    values = np.repeat([0.0, 10.0], 20)[:, None] + np.linspace(0, 1, 40)[:, None]
    found = permute(values, Design(np.arange(40) >= 20, np.arange(40)), permutations=200, seed=1)
    assert (found.p[0], found.within[0], found.q[0]) == (1 / 201, 1 / 201, 1 / 201)


def test_p_of_layers_that_no_permutation_parts_as_well_is_that_of_one_draw() -> None:
    layers = np.repeat(np.arange(4), 6)
    apart = (layers[:, None] != layers) + 0.01 * (1 - np.eye(24))
    names = [f"L{layer}H{head}" for head, layer in enumerate(layers)]
    coords = {
        axis: (f"head_{side}", value)
        for side in "ab"
        for axis, value in (
            (f"head_{side}", names),
            (f"layer_{side}", layers),
            (f"index_{side}", np.arange(24)),
        )
    }
    found = xr.Dataset({"distance": (("head_a", "head_b"), apart)}, coords)
    assert same_layer(found, permutations=99).p == 1 / 100


def test_p_of_a_best_head_that_is_better_in_every_document_is_that_of_their_signs() -> None:
    right, size = np.tile([[9.0], [8], [9], [9], [8], [9], [9], [9]], (1, 3)), np.full((8, 1), 10.0)
    best, other = (HeldOut(0, each, size, 3, 12) for each in (right, right - 7))
    assert best.over(other.right[:, :1], size).above() == 1 / 2**8
    assert best.over(other.right[:, :1], size).differs() == 2 / 2**8
    assert other.over(best.right[:, :1], size).above() == 1
    assert best.over(best.right[:, :1], size).above() == 1


def test_q_leaves_out_what_was_not_tested() -> None:
    p = np.array([0.01, np.nan, 0.02, 0.5])
    np.testing.assert_allclose(false_discovery(p), [0.03, np.nan, 0.03, 0.5])
    assert np.isnan(false_discovery(np.full(3, np.nan))).all()
    assert false_discovery(np.zeros(0)).shape == (0,)
    np.testing.assert_allclose(
        false_discovery(np.array([[0.01, 0.02], [0.5, 0.5]])), [[0.02, 0.02], [0.5, 0.5]]
    )
