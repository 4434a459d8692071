"""Dice for tests that act at random: they say their seed, and ``HEADSCOPE_TEST_SEED=7`` throws those of seed 7."""

from __future__ import annotations

import os
import random


def dice(seed: int = 0) -> random.Random:
    """Dice of the seed in the environment, else of this one. Where the test fails, pytest prints which."""
    seed = int(os.environ.get("HEADSCOPE_TEST_SEED", seed))
    print(f"HEADSCOPE_TEST_SEED={seed}")
    return random.Random(seed)
