"""The lookback ratio, by hand and on what a model wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import headscope as hs
from headscope.errors import InputError
from headscope.measures.choose import surface


def answer(classes: dict[str, list[int]], rows: list[list[int]]) -> hs.AttentionMaps:
    weights = np.array(rows, np.float64) / 10
    size = len(rows)
    tokens = hs.Tokens([str(place) for place in range(size)], special_mask=np.zeros(size, np.bool_))
    masks = {name: np.isin(np.arange(size), places) for name, places in classes.items()}
    return hs.wrap(weights[None, None], tokens.with_classes(**masks), causal=True)


ROWS = [[10, 0, 0, 0], [5, 5, 0, 0], [1, 2, 7, 0], [1, 3, 2, 4]]


def test_lookback_by_hand() -> None:
    # token 2: (.1 + .2) / 2 against .7; token 3: (.1 + .3) / 2 against (.2 + .4) / 2
    found = surface(answer({"generated": [2, 3]}, ROWS), ["lookback"])["lookback"].item()
    assert found == pytest.approx((0.15 / 0.85 + 0.2 / 0.5) / 2)


def test_each_turn_of_the_assistant_has_its_own_context() -> None:
    # token 1 looks back at token 0; token 3 at tokens 0 to 2, of which one was the assistant's
    found = surface(answer({"assistant": [1, 3], "user": [0, 2]}, ROWS), ["lookback"])["lookback"].item()
    assert found == pytest.approx((0.5 / 1.0 + 0.2 / (0.2 + 0.4)) / 2)


def test_a_text_without_answers_has_no_figure() -> None:
    with pytest.raises(InputError, match="no row"):
        surface(answer({"user": [0, 1, 2, 3]}, ROWS), ["lookback"])


def test_a_log_of_what_was_generated_is_replayed(stories: Any, tmp_path: Path) -> None:
    made = hs.generate(stories, "Once upon a time", max_new_tokens=6)
    ids = np.array(made.query.ids).tolist()
    written = int(made.query.mask("generated").sum())
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps({"prompt_token_ids": ids[:-written], "token_ids": ids[-written:]}) + "\n")
    (example,) = hs.corpora.jsonl(log).encoded(stories)
    assert example.tokens.mask("generated").tolist() == made.query.mask("generated").tolist()
    again = hs.capture(stories, example.tokens)
    for one, other in zip(again.layers, made.layers, strict=True):
        assert_allclose(one, other, atol=1e-5)
    found = hs.measure(stories, hs.corpora.jsonl(log), measures=["lookback"])
    by_hand = surface(made, ["lookback"])["lookback"]
    assert_allclose(found["lookback"].values, np.asarray(by_hand).reshape(found["lookback"].shape), atol=1e-5)
