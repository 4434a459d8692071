"""A model that learned to write tones: `benchmarks/words_in_time.py`, and the heads that it finds."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headscope as hs

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "words_in_time.py"


@pytest.mark.deep
def test_heads_of_a_trained_model_align() -> None:
    """Of planted heads test_align tells the same."""
    tones = runpy.run_path(str(BENCHMARK))
    model = tones["trained"](400, heard=600)
    rng = np.random.default_rng(1)
    chosen_on, scored_on = ([tones["say"](rng, number) for number in range(20)] for _ in range(2))
    ranked = hs.alignment_heads(model, chosen_on)
    best: Any = ranked.table().iloc[0]
    assert best["accuracy"] > 0.6
    assert best["accuracy"] > tones["read_later"](model, chosen_on) + 0.2
    heads = [tuple(head) for head in json.loads(ranked.attrs["meta"])["heads"]]
    assert tones["off"](model, scored_on, heads) < 0.15
