"""A small part of benchmarks/calibration_treebank.py: intervals hold the truth, tests keep their level, and find."""

from __future__ import annotations

import pytest

from benchmarks import calibration_treebank as calibration


@pytest.mark.slow
def test_intervals_of_given_heads_hold_their_accuracy() -> None:
    row = calibration.coverage(20, 20, False, 0.05, 400)
    for share in calibration.SHARES:
        assert 0.91 <= row[f"{share:.2f}"] <= 1, share


@pytest.mark.slow
def test_heads_of_noise_are_seldom_said_to_know_more() -> None:
    row = calibration.choice("noise", 0.0, calibration.OFFSETS, 20, 15, True, 0.2, 80)
    assert row["p ≤ 0.05"] <= 0.14  # .05 and three errors of 80 draws
    assert row["accuracy"] >= 0.88
