"""Attention between sentences: loops over the maps of tokens, a planted receiver head, chance."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

import headscope as hs
from headscope.analyses.sentences import run as statistics
from headscope.analyses.sentences.run import split
from headscope.attention.record import AttentionRecord
from headscope.errors import InputError
from headscope.models import Model
from tests.helpers.planted_needles import HAY, writer

SENTENCES = [f"{' '.join(HAY.split()[place % 9 :][:3])} ." for place in range(14)]
TEXT = " ".join(SENTENCES)


def sliding() -> Model:
    return writer(kind="Mistral", sliding_window=20)


@pytest.mark.parametrize("make", [writer, sliding])
def test_maps_are_means_over_pairs_of_tokens(make: Any) -> None:
    found = hs.sentences(make(), TEXT)
    maps = hs.capture(make(), TEXT)
    tokens = maps.query
    starts = np.cumsum([0, *(len(each) + 1 for each in SENTENCES)])
    of = np.searchsorted(starts, tokens.offsets[:, 0], "right") - 1
    for layer in range(2):
        weights = np.asarray(maps.layers[layer], np.float64)
        for later in range(len(SENTENCES)):
            for earlier in range(len(SENTENCES)):
                got = found["attention"].values[layer, :, later, earlier]
                if earlier > later:
                    assert np.isnan(got).all()
                    continue
                rows = [place for place in range(1, len(tokens)) if of[place] == later]
                keys = [place for place in range(1, len(tokens)) if of[place] == earlier]
                np.testing.assert_allclose(got, weights[:, rows][:, :, keys].mean((1, 2)), atol=1e-6)


def test_what_is_received_and_its_kurtosis_are_those_of_loops() -> None:
    random = np.random.default_rng(0)
    maps, seen = random.random((2, 3, 12, 12)), random.random(12)
    got = statistics.received(maps, seen, 4)
    assert got.shape == (2, 3, 8)
    for column in range(8):
        rows = range(column + 4, 12)
        expected = np.mean([maps[:, :, row, column] * seen[row] for row in rows], 0)
        np.testing.assert_allclose(got[..., column], expected)
    np.testing.assert_allclose(statistics.kurtosis(got), stats.kurtosis(got, axis=-1))


def test_even_attention_is_received_evenly() -> None:
    given = writer()
    with hs.edit(given, lambda record: record.weights().fill_(1.0).tril() / torch.arange(1, 57)[:, None]):
        found = hs.sentences(given, TEXT)
    np.testing.assert_allclose(found["received"][..., :10], 1, atol=0.1)


def test_draws_from_a_normal_distribution_are_seldom_beyond_it() -> None:
    values = np.random.default_rng(0).standard_normal((2000, 40))
    p = stats.norm.sf(statistics.beyond_normal(values))
    assert 0.03 < (p <= 0.05).mean() < 0.07
    assert statistics.beyond_normal(np.ones((1, 9)))[0] == -np.inf


def looks_at(sentence: int) -> Any:
    """L1H2 gives half of its attention to one sentence."""
    first, last = sentence * 4, sentence * 4 + 4

    def change(record: AttentionRecord) -> Any:
        if record.layer != 1:
            return None
        weights = record.weights().clone()
        weights[:, 2, last:] *= 0.5
        weights[:, 2, last:, first:last] += 0.125
        return weights

    return change


def test_the_planted_head_is_the_receiver_head() -> None:
    given = writer()
    with hs.edit(given, looks_at(3)):
        found = hs.sentences(given, TEXT)
    first = found.table().iloc[0]
    assert (first["layer"], first["head"], first["sentence"]) == (1, 2, 3)
    assert first["text"] == SENTENCES[3]
    assert first["q"] <= 0.05
    assert first["kurtosis"] > first["chance"] + 1
    assert statistics.receivers(found, most=1) == [(1, 2)]
    both = given
    with hs.edit(both, looks_at(3)):
        several = hs.sentences(both, [TEXT, TEXT])
    assert float(several["kurtosis"][1, 2]) == pytest.approx(float(found["kurtosis"][1, 2]))
    assert "attention" not in several


@pytest.mark.slow
def test_an_untrained_head_receives_by_chance() -> None:
    """Of 20 seeds; its weights hang on the words, so that the words differ."""
    surely = 0
    for seed in range(20):
        words = np.random.default_rng(seed).choice(HAY.split()[:12], (16, 5))
        text = " ".join(f"{' '.join(each)} ." for each in words)
        found = hs.sentences(writer(seed, initializer_range=0.02), text)
        surely += bool((found["q"] <= 0.05).any())
    assert surely <= 2


@pytest.mark.parametrize(
    "sentences",
    [
        [
            "Dr. Smith paid e.g. 3.5 dollars. ",
            "See Fig. 3 for J. R. R. Tolkien. ",
            "He left at 5 p.m. ",
            "It rained.",
        ],
        ["Salt, etc. and so on. ", '"Really?" he said. ', "See No. 5. ", "No. ", "I did not."],
        ["Das ist z. B. gut. ", "Ja. ", "Vgl. Abb. 3 auf S. 12. ", "Et al. (2019) say so."],
        ["the mill is old . ", "it stands ."],
        ["He met Mr.\n", "Smith."],
    ],
)
def test_abbreviations_initials_and_numbers_end_no_sentence(sentences: list[str]) -> None:
    text = "".join(sentences)
    assert [text[start:end] for start, end in split(text)] == sentences


def test_a_text_is_cut_without_loss() -> None:
    text = 'He said: "No." Then 2.5 more!\n\n\nWell?  Yes… 好！吗？是。 a.com/b?c=d!e\n'
    for unit in ("sentence", "line", "paragraph"):
        parts = split(text, unit)
        assert "".join(text[start:end] for start, end in parts) == text
    expected = ['He said: "No."', "Then 2.5 more!", "Well?", "Yes…", "好！", "吗？", "是。", "a.com/b?c=d!e"]
    assert [text[start:end].strip() for start, end in split(text)] == expected
    assert len(split(text, "paragraph")) == 2


def test_spans_are_taken_as_they_are_given() -> None:
    starts = np.cumsum([0, *(len(each) + 1 for each in SENTENCES)]).tolist()
    spans = list(pairwise(starts))
    spans[-1] = (spans[-1][0], len(TEXT))
    given = hs.sentences(writer(), TEXT, spans=spans)
    np.testing.assert_allclose(given["attention"], hs.sentences(writer(), TEXT)["attention"])


def test_a_figure_is_of_a_head_that_is_there() -> None:
    found = hs.sentences(writer(), TEXT)
    with pytest.raises(InputError, match="head: expected one of 2 layers of 4, found L2H0"):
        found.figure(head="L2H0")
