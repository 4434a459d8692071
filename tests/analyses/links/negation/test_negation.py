"""Negation scope: by hand, on planted maps, and on a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import headscope as hs
from headscope import corpora
from headscope.analyses.links.negation.run import negation
from headscope.analyses.links.negation.statistics import (
    BASELINES,
    OUTSIDE,
    RULES,
    SCOPE,
    SCORES,
    counts,
    dataset,
    difference,
    rules,
    scores,
    table,
)
from headscope.analyses.links.sums import LinkSums
from headscope.errors import InputError


def test_by_hand() -> None:
    """*He did not see her today*: cue *not*, scope *He did see her*; a head whose He, see and today look at *not*."""
    sums = LinkSums(["row"], [0], 1, RULES, chance=True)
    looks = np.array([True, False, True, False, True])  # did looks elsewhere, and so does her
    labels = [SCOPE] * 4 + [OUTSIDE]
    cue = np.arange(6) == 2
    words = np.flatnonzero(~cue)
    sums.add(
        labels,
        looks[None, None, None],
        rules(cue)[:, words],
        sums.clusters.number(0, True),
        np.full((1, 5), 0.2),
    )
    found = counts(sums)
    assert found.shape == (1, 1 + len(BASELINES), 3)
    assert found[0, 0].tolist() == [2, 1, 2]
    named = dict(zip(BASELINES, found[0, 1:].tolist(), strict=True))
    assert named["chance"] == pytest.approx([4 / 5, 1 / 5, 4 - 4 / 5])
    assert named["next_1"] == [1, 0, 3]
    assert named["all"] == [4, 1, 0]
    assert named["before"] == [2, 0, 2]
    of_both = scores(np.array([[[2.0, 1.0, 2.0], [0, 0, 0]]]))
    values = [of_both[name].value.tolist() for name in SCORES]
    assert values == [[pytest.approx(value), 0] for value in (2 / 3, 2 / 4, 4 / 7)]


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
    found = negation(demo, corpora.negations(write(tmp_path, *ROWS)))
    right = 0
    for row in ROWS:
        maps = hs.capture(demo, demo.from_words(row["words"])).words()
        inside = np.flatnonzero(maps.query.word_ids >= 0)
        weights = maps.layers[1][4][np.ix_(inside, inside)].copy()
        np.fill_diagonal(weights, 0)
        right += sum(int(weights[word].argmax()) in row["cue"] for word in row["scope"])
    assert float(found["recall"].sel(layer=1, head=4)) == pytest.approx(right / 11)
    rows = table(found)
    assert len(rows) == (72 + len(BASELINES)) * len(SCORES) + 1
    assert (rows["system"] == "head").sum() == 72 * len(SCORES)
    assert rows["ci_low"].isna().all()  # of two sentences there is no interval
    same = difference(found, found)
    assert (same["difference"] == 0).all()


def test_a_planted_change_is_found() -> None:
    draw = np.random.default_rng(0)
    before = draw.integers(0, 4, (60, 6 + len(BASELINES), 3)).astype(float)
    after = before.copy()
    after[:, 5] = [4, 0, 0]
    rows = difference(dataset(before, [0, 1]), dataset(after, [0, 1]))
    moved = rows[rows["ci_low"] > 0]
    assert {(row.layer, row.head) for row in moved.itertuples()} == {(1, 2)}
    assert set(moved["score"]) == set(SCORES)
    same = difference(dataset(before, [0, 1]), dataset(before, [0, 1]))
    assert (same["difference"] == 0).all()
    assert (same["ci_low"] < 0).all()  # no difference in so few sentences is no certainty
    assert (same["ci_high"] > 0).all()
    with pytest.raises(InputError, match="expected the same sentences in both, found 60 and 59"):
        difference(dataset(before, [0, 1]), dataset(after[1:], [0, 1]))
    with pytest.raises(InputError, match="same shape, found 2 layers × 3 heads and 2 layers × 2 heads"):
        difference(dataset(before, [0, 1]), dataset(after[:, 2:], [0, 1]))


def test_lines_that_follow_one_another_are_one_document(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{**ROWS[0], "document": name} for name in ("a", "a", "b")]
    found = list(corpora.negations(write(tmp_path, *rows, ROWS[1])))
    wanted = [(0, True), (0, True), (1, True), (2, False)]
    assert [(one.document, one.document_known) for one in found] == wanted
    again = corpora.negations(write(tmp_path, *rows, rows[0]), strict=True)
    with pytest.raises(InputError, match="'document': expected the lines of 'a' together, found it again"):
        list(again)


def test_rules_by_hand() -> None:
    """*He did not see her today .*: cue *not*; and two cues, *not* and *her*."""
    one = dict(zip(RULES, rules(np.arange(7) == 2).tolist(), strict=True))
    assert np.flatnonzero(one["next_1"]).tolist() == [3]
    assert np.flatnonzero(one["next_3"]).tolist() == [3, 4, 5]
    assert np.flatnonzero(one["after"]).tolist() == [3, 4, 5, 6]
    assert np.flatnonzero(one["before"]).tolist() == [0, 1]
    two = dict(zip(RULES, rules(np.isin(np.arange(7), [2, 4])).tolist(), strict=True))
    assert np.flatnonzero(two["next_1"]).tolist() == [3, 5]
    assert (np.flatnonzero(two["after"])[0], np.flatnonzero(two["before"])[-1]) == (3, 3)


def drawn(seed: int, documents: int, chances: list[float]) -> xr.Dataset:
    """Heads that find a word of the scope with these chances, and as many others with a third of it, in 3 lines."""
    draw = np.random.default_rng(seed)
    size = documents, 3, len(chances) + 1
    right = draw.binomial(8, [*chances, 0.4], size)
    wrong = draw.binomial(8, [each / 3 for each in (*chances, 0.4)], size)
    every = np.stack([right, wrong, 8 - right], -1).sum(1).astype(float)
    rules = np.zeros((documents, len(BASELINES), 3))
    rules[:, 2] = every[:, -1]
    return dataset(np.concatenate([every[:, :-1], rules], 1), [0], kind="documents")


def test_heads_are_tested_beside_the_best_baseline_and_by_document() -> None:
    rows = table(drawn(0, 40, [0.4] * 19 + [0.7]))
    heads = rows[(rows["system"] == "head") & (rows["score"] == "f1")]
    assert heads.index[heads["q"] < 0.05].tolist() == [heads.index[19]]
    assert rows.iloc[-1]["system"] == "best head, chosen on others"
    assert (rows.iloc[-1]["times"], rows.iloc[-1]["choices"]) == (200, 200)
    assert rows.iloc[-1]["p"] < 1e-6
    assert set(rows["clusters"]) == {"documents"}
    assert rows["effective"].iloc[0] == 40
    assert rows[rows["system"] == "next_2"]["value"].gt(0).all()
    few = table(drawn(1, 4, [0.4] * 3))
    assert few[["ci_low", "p", "q"]].isna().all().all()
