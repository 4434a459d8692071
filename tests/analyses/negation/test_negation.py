"""Negation scope: by hand, on planted maps, and on a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope import corpora
from headscope.analyses.negation.run import negation
from headscope.analyses.negation.statistics import SCORES, counts, dataset, difference, scores, table
from headscope.errors import CorpusError, InputError


def test_by_hand() -> None:
    """*He did not see her today*: cue *not*, scope *He did see her*; a head whose He, see and today look at *not*."""
    cue = np.array([False, False, True, False, False, False])
    scope = np.array([True, True, True, True, True, False])
    maps = np.full((1, 6, 6), 0.1)
    for word, target in enumerate([2, 0, 0, 2, 3, 2]):
        maps[0, word, target] = 0.5
    assert counts(maps, cue, scope).tolist() == [[2, 1, 2]]
    assert scores(np.array([2.0, 1.0, 2.0])).tolist() == pytest.approx([2 / 3, 2 / 4, 4 / 7])
    assert scores(np.zeros(3)).tolist() == [0, 0, 0]


def write(folder: Path, *rows: Any) -> Path:
    path = folder / "scopes.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


ROWS = (
    {"words": ["He", "did", "not", "see", "her", "today", "."], "cue": [2], "scope": [0, 1, 3, 4]},
    {
        "words": ["Nobody", "has", "ever", "liked", "the", "unusually", "cold", "soup"],
        "cue": [0],
        "scope": [1, 2, 3, 4, 5, 6, 7],
    },
)


def test_a_model(demo: Any, tmp_path: Path) -> None:
    found = negation(demo, corpora.negations(write(tmp_path, *ROWS)), replicates=50)
    right = 0
    for row in ROWS:
        maps = hs.capture(demo, demo.from_words(row["words"])).words()
        inside = np.flatnonzero(maps.query.word_ids >= 0)
        weights = maps.layers[1][4][np.ix_(inside, inside)].copy()
        np.fill_diagonal(weights, 0)
        right += sum(int(weights[word].argmax()) in row["cue"] for word in row["scope"])
    assert float(found["recall"].sel(layer=1, head=4)) == pytest.approx(right / 11)
    rows = table(found)
    assert len(rows) == 72 * len(SCORES)
    assert (rows["ci_low"] <= rows["value"] + 1e-9).all()
    same = difference(found, found)
    assert (same["difference"] == 0).all()
    assert (same["ci_high"] == 0).all()


def test_a_planted_change_is_found() -> None:
    draw = np.random.default_rng(0)
    before = draw.integers(0, 4, (60, 2, 3, 3)).astype(float)
    after = before.copy()
    after[:, 1, 2] = [4, 0, 0]
    rows = difference(dataset(list(before), [0, 1]), dataset(list(after), [0, 1]))
    moved = rows[rows["ci_low"] > 0]
    assert {(row.layer, row.head) for row in moved.itertuples()} == {(1, 2)}
    assert set(moved["score"]) == set(SCORES)
    with pytest.raises(InputError, match="expected the same sentences in both, found 60 and 59"):
        difference(dataset(list(before), [0, 1]), dataset(list(after[1:]), [0, 1]))
    with pytest.raises(InputError, match="same shape, found 2 layers × 3 heads and 2 layers × 2 heads"):
        difference(dataset(list(before), [0, 1]), dataset(list(after[:, :, :2]), [0, 1]))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"cue": [0], "scope": []}, "'words': expected a list of strings"),
        ({"words": ["no"], "cue": [], "scope": []}, "'cue': expected a list of places, found an empty list"),
        ({"words": ["no"], "cue": [0]}, "'scope': expected a list of places, found none"),
        ({"words": ["no"], "cue": [0], "scope": [1]}, "'scope': expected places from 0 to 0, found 1"),
        ([1], "expected a JSON object, found a list"),
    ],
)
def test_what_is_refused(tmp_path: Path, row: Any, message: str) -> None:
    with pytest.raises(CorpusError, match=f"scopes.jsonl:1: {message}"):
        list(corpora.negations(write(tmp_path, row)))
