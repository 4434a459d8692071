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


@pytest.mark.slow
def test_heads_are_compared_with_the_best_rule_however_close_others_come() -> None:
    """Of 200 corpora .05 are 10, and three errors 9 more."""
    row = calibration.choice("noise, others .05 less", 0.0, calibration.OFFSETS, 6, 100, True, 0.2, 200)
    assert row["p ≤ 0.05"] <= 19 / 200
    assert row["difference"] >= 181 / 200


def test_ten_points_are_found_among_a_thousand_words() -> None:
    row = calibration.choice("rivals", 0.1, calibration.OFFSETS, 100, 10, True, 0.2, 20)
    assert row["p ≤ 0.05"] >= 0.75


def test_tables_are_printed() -> None:
    rows = [{"documents": 8, "0.20": 0.95, "gain": 0.0}]
    assert calibration.markdown(rows) == "| documents | 0.20 | gain |\n|---|---|---|\n| 8 | .950 | 0.0 |"
