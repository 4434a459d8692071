"""Pairs with labels or scores, triplets, classes of words, and two models beside each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.stats import spearmanr

import headscope as hs
from headscope.analyses.compare.models.command import run as compare_models
from headscope.analyses.similar import statistics
from headscope.analyses.similar.command import run
from headscope.corpora import Example
from headscope.errors import CorpusError
from headscope.models import Model
from headscope.statistics import jackknife
from tests.helpers.small_models import small_bert
from tests.helpers.small_tokenizers import demo


@pytest.fixture(scope="module")
def model() -> Model:
    made = small_bert(demo())
    made.module.double()
    return made


def table(near: list[list[float]], labels: list[str], texts: list[str]) -> Any:
    """What a list of pairs gives, of one model or two."""
    made = {name: ("input", one) for name, one in zip(statistics.NEAR, near, strict=False)}
    coords = {"label": ("input", labels), "text_a": ("input", texts)}
    result = xr.Dataset(made, {"input": range(len(labels)), **coords})
    rows: Any = statistics.by_label(result)
    return rows


def test_triplets_give_an_accuracy(model: Model, tmp_path: Path) -> None:
    rows = [
        ("A cat sat.", "A cat lay.", "Rain fell."),
        ("A cat sat.", "Rain fell.", "A cat sat."),
        ("He ran.", "He ran.", "A bill."),
    ]
    path = tmp_path / "triplets.tsv"
    path.write_text("\n".join("\t".join(row) for row in [("anchor", "positive", "negative"), *rows]))
    found = run(model, str(path))
    assert found["text_b"].values.tolist() == [text for row in rows for text in row[1:]]
    near = found["similarity"].values.reshape(-1, 2)
    right = (near[:, 0] > near[:, 1]).mean()
    assert right == pytest.approx(2 / 3)
    made: Any = hs.table(found).set_index("label")
    assert made.loc["wrong", "below"] == pytest.approx(right)
    assert made["n"].tolist() == [3, 3]
    assert np.isnan(made.loc["right", "below"])


def test_an_accuracy_has_the_interval_of_its_texts() -> None:
    """Two triplets of each of eight queries: 13 of 16 are right."""
    wrong = np.full(16, 0.1)
    wrong[[2, 7, 8]] = 0.9
    near = np.stack([np.full(16, 0.5), wrong], 1).ravel().tolist()
    rows = table([near], ["right", "wrong"] * 16, [str(place // 4) for place in range(32)]).set_index("label")
    s, n = (wrong < 0.5).astype(float).reshape(8, 2).sum(1), np.full(8, 2.0)
    ends = jackknife.share_interval(13 / 16, jackknife.error(s, n), 8.0, 16.0)
    assert tuple(rows.loc["wrong", ["below", "below_low", "below_high"]]) == pytest.approx((13 / 16, *ends))


def test_scores_give_a_rank_correlation_with_an_interval() -> None:
    draw = np.random.default_rng(0)
    gold = draw.standard_normal(40)
    near = gold + draw.standard_normal(40)
    (row,) = table([near.tolist()], [str(one) for one in gold], ["a"] * 40).to_dict("records")
    rank = float(spearmanr(gold, near)[0])
    assert row["label"], row["n"] == ("score", 40)
    assert row["correlation"] == pytest.approx(rank)
    without = np.array([spearmanr(np.delete(gold, n), np.delete(near, n))[0] for n in range(40)])
    se = float(jackknife.spread(without, np.ones(40, np.bool_)))
    half = 2.0227 * se / (1 - rank**2)  # Student's t of 39 degrees of freedom
    ends = np.tanh(np.arctanh(rank) + half * np.array([-1, 1]))
    assert (row["correlation_low"], row["correlation_high"]) == pytest.approx((ends[0], ends[1]), abs=1e-4)
    few = table([near[:9].tolist()], [str(one) for one in gold[:9]], ["a"] * 9)
    assert np.isnan(few.loc[0, "correlation_low"])


def test_two_models_stand_beside_each_other_with_their_difference() -> None:
    texts = [text for text in "abcdef" for _ in "xy"]
    labels = ["paraphrase", "number"] * 6
    base = [0.9, 0.95] * 3 + [0.9, 0.8] * 3
    tuned = [0.8, 0.5] * 6
    rows = table([base, tuned], labels, texts).set_index(["label", "model"])
    assert rows["below"].xs("number").to_dict() == {"A": 0.5, "B": 1.0, "A − B": -0.5}
    apart = np.array([0.45] * 3 + [0.3] * 3)
    own = rows.loc["number", "A − B"]
    assert own["similarity"] == pytest.approx(apart.mean())
    half = 2.5706 * apart.std(ddof=1) / np.sqrt(6)  # Student's t of 5 degrees of freedom
    assert own["similarity_low"] == pytest.approx(apart.mean() - half, abs=1e-4)
    assert own["similarity_high"] == pytest.approx(apart.mean() + half, abs=1e-4)
    assert -1 <= own["below_low"] < -0.5 < own["below_high"]


def test_words_of_a_class_are_heeded_as_a_loop_says(model: Model) -> None:
    words = ["The", "bill", "was", "not", "paid", "."]
    tags = ["DET", "NOUN", "AUX", "PART", "VERB", "PUNCT"]
    trees = [Example(words=words, tags=tags, spaces=[True] * 4 + [False] * 2, document=n) for n in range(5)]
    found = hs.similar(model, ["x"], ["y"], trees=trees)
    itself = hs.similar(model, text := "The bill was not paid.", text, chance=False)
    units: Any = hs.table(itself)
    effects = np.abs(units[units["side"] == "a"]["effect"].to_numpy())
    wanted = effects / effects.mean()
    rows: Any = hs.table(found)
    rows = rows[rows["heed"].notna()].set_index("label")
    assert rows["heed"].to_dict() == pytest.approx({
        "function word": (wanted[0] + wanted[2]) / 2, "noun": wanted[1], "negation": wanted[3],
        "verb": wanted[4], "punctuation": wanted[5],
    })  # fmt: skip
    assert rows["n"].to_dict()["function word"] == 10
    assert rows["heed"].is_monotonic_decreasing


def test_trees_without_parts_of_speech_are_refused(model: Model) -> None:
    with pytest.raises(CorpusError, match="expected words with their parts of speech, found none"):
        hs.similar(model, ["a"], ["b"], trees=[Example(text="a", source="x.txt:1")])


def test_a_table_of_single_texts_is_refused(model: Model, tmp_path: Path) -> None:
    path = tmp_path / "one.tsv"
    path.write_text("text\tlabel\nA cat.\t1\n")
    with pytest.raises(CorpusError, match=r"one.tsv:2: expected a second text, found none"):
        run(model, str(path))


def test_compare_models_writes_how_near_both_find_minimal_pairs(tmp_path: Path) -> None:
    demo = hs.load()
    path = tmp_path / "near.csv"
    corpus = hs.corpora.texts(["The cat sat on the mat.", "Rain fell."])
    compare_models(
        demo, hs.load(demo, untrained=0), corpus, similar=path, measures=["previous"], progress=False
    )
    rows: Any = pd.read_csv(path).set_index(["label", "model"])["below"]
    assert rows["negation"].to_dict() == pytest.approx({"A": 1.0, "B": 2 / 3, "A − B": 1 / 3})
