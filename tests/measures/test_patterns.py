"""The patterns of "Deconstructing BERT" and their successors: the examples of the docstrings, and what must hold."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headscope as hs
from headscope.core.tokens import Tokens, is_space
from headscope.measures.choose import GROUPS, choose, surface
from headscope.measures.confidence import CONFIDENCE, SYNTHETIC
from headscope.measures.dataset import names
from headscope.measures.lexicon import are_related, lexicon
from headscope.measures.patterns import PATTERNS
from headscope.measures.sums import _counted
from headscope.models.encode import encode
from tests.helpers.small_tokenizers import byte_level, stories, unigram


def planted(pieces: Sequence[str], weights: dict[tuple[int, int], float], **more: Any) -> hs.AttentionMaps:
    """Maps of one head with some weights as given; the rest of a row goes evenly to the keys that are left."""
    causal = more.pop("causal", False)
    tokens = more.pop("tokens", None) or Tokens.of(list(pieces))
    count = len(pieces)
    found = np.full((count, count), np.nan)
    for place, weight in weights.items():
        found[place] = weight
    for query, row in enumerate(found):
        free = np.isnan(row)
        if causal:
            row[query + 1 :], free[query + 1 :] = 0.0, False
        row[free] = (1 - np.nansum(row)) / max(1, free.sum())
    return hs.wrap(found[None, None], tokens, causal=causal, **more)


def value(maps: hs.AttentionMaps, name: str) -> float:
    return surface(maps, [name])[name].item()


def test_punctuation_is_no_word() -> None:
    maps = planted(["a", ",", "b", ",", "c"], {})
    assert names(surface(maps, ["same_word", "entropy"])) == ["entropy"]


def test_related_words_by_hand() -> None:
    assert value(planted(["they", "walk", "and", "walked"], {(1, 3): 0.6, (3, 1): 0.2}), "related_word") == (
        pytest.approx(0.4)
    )
    first = planted(["walk", "and", "walked"], {(0, 2): 0.6, (2, 0): 0.2})
    assert value(first, "related_word") == pytest.approx(0.4)
    pair = planted(["[CLS]", "walk", "[SEP]", "walked", "[SEP]"], {(1, 3): 0.6, (3, 1): 0.2})
    assert value(pair, "related_word_other") == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("one", "other", "related"),
    [
        ("walk", "walked", True),
        ("walking", "walked", True),
        ("walk", "walkways", False),
        ("cat", "cats", False),
        ("then", "there", False),
        ("contain", "contact", True),
        ("1990", "19901", False),
    ],
)
def test_what_is_related(one: str, other: str, related: bool) -> None:
    assert are_related(one, other) is related
    assert are_related(other, one) is related


def test_sinks_by_hand_and_in_long_inputs_only() -> None:
    uniform = planted(["x"] * 128, {}, causal=True)
    assert value(uniform, "sink") == pytest.approx(sum(1 / n for n in range(2, 129)) / 127)
    assert value(uniform, "sink") == pytest.approx(0.035, abs=5e-4)
    short = planted(["x"] * 127, {}, causal=True)
    assert names(surface(short, ["sink", "entropy"])) == ["entropy"]


def test_positional_by_hand() -> None:
    maps = planted(list("abc"), {(0, 1): 0.9, (1, 0): 0.5, (1, 1): 0.1, (2, 0): 0.6})
    assert value(maps, "positional_previous") == pytest.approx(0.5)
    assert value(maps, "positional_next") == pytest.approx(0.5)
    even = surface(planted(list("abcd"), {}), ["positional_next"])  # four largest weights: a quarter each
    assert even["positional_next"].item() == pytest.approx(0.25)
    ahead = surface(planted(list("abc"), {}, causal=True), ["positional_next", "entropy"])
    assert names(ahead) == ["entropy"]


OTHERS = [*PATTERNS.values(), *CONFIDENCE.values(), *SYNTHETIC.values()]


@settings(max_examples=40, deadline=None)
@given(count=st.integers(2, 14), causal=st.booleans(), seed=st.integers(0, 999))
@pytest.mark.slow
def test_uniform_attention_is_chance_and_shares_are_shares(count: int, causal: bool, seed: int) -> None:
    draw = np.random.default_rng(seed)
    vocabulary = ["walk", "Walk", "walked", "the", ".", "[SEP]", "[CLS]"]
    pieces = list(draw.choice(vocabulary, count))
    tokens = Tokens.of(pieces).with_classes(rarest=draw.random(count) < 0.3)
    sight = np.tril(np.ones((count, count))) if causal else np.ones((count, count))
    uniform = sight / sight.sum(-1, keepdims=True)
    other = sight * draw.random((count, count)) + 1e-9 * sight
    weights = np.stack([uniform, other / other.sum(-1, keepdims=True)])[None]
    found = surface(hs.wrap(weights, tokens, causal=causal), [*OTHERS, "entropy"])
    for name in names(found):
        np.testing.assert_allclose(found[name][0, 0], found[f"{name}_chance"][0], rtol=1e-9)
        if name not in ("distance", "entropy"):
            assert found[name].min() >= 0
            assert found[name].max() <= 1 + 1e-9


@settings(max_examples=25, deadline=None)
@given(count=st.integers(2, 12), seed=st.integers(0, 999))
def test_whole_rows_do_not_depend_on_the_block(count: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    tokens = Tokens.of(list(draw.choice(["walk", "walked", "the", ".", "[SEP]"], count)))
    weights = draw.dirichlet(np.ones(count), (2, count))
    cut = int(draw.integers(1, count))
    for measure in OTHERS:
        parts = (np.arange(cut), np.arange(cut, count))
        if measure.statistic == "rows":
            whole = measure.of_rows(weights, tokens, np.arange(count))
            found = np.concatenate([measure.of_rows(weights[:, q], tokens, q) for q in parts], 1)
            np.testing.assert_allclose(found, whole, rtol=1e-12)
        elif measure.statistic == "pairs":
            whole = measure.worth(tokens, np.arange(count))
            np.testing.assert_array_equal(np.concatenate([measure.worth(tokens, q) for q in parts]), whole)


def test_every_measure_has_a_source_that_can_be_cited_or_says_that_it_has_none() -> None:
    for group in GROUPS.values():
        for name, measure in group.items():
            assert measure.name == name
            assert measure.title
            assert measure.description.endswith(".")
            assert bool(measure.keys) == bool(measure.source), (
                f"{name}: a source and its keys, or source=None"
            )
            assert measure.source != "", f"{name}: source=None says that there is none"
            assert all(f"{{{key}," in measure.cite() for key in measure.keys)
    assert choose(["noun_to_sep"])[0].cite().startswith("@inproceedings{clark2019,")


SPACED = "The cat (the  cat) is “is”. ( is ) "


def spaced(kind: str, shared: Path) -> Tokens:
    return encode(
        {"stories": lambda: stories(shared), "unigram": unigram, "byte_level": byte_level}[kind](), SPACED
    )


@pytest.mark.parametrize("kind", ["stories", "unigram", "byte_level"])
def test_a_space_before_punctuation_is_no_word(kind: str, shared: Path) -> None:
    """``▁ (`` stands twice, and neither of its pieces is a word's, nor is a last ``▁``; ``▁ ▁ cat`` is the word cat."""
    tokens = spaced(kind, shared)
    words = lexicon(tokens)
    text = "".join(tokens.pieces)
    for place, piece in enumerate(tokens.pieces):
        after = tokens.pieces[place + 1] if place + 1 < len(tokens) else ""
        if is_space(piece) and (not after or after == "</s>" or tokens.classes["punctuation"][place + 1]):
            assert words.kind[place] == -1, (text, place)
            assert not words.spoken[place]
    of = words.kind[words.spoken]
    names = {int(kind_) for kind_ in of}
    assert len(names) == 3, "the, cat, is"
    spoken = [len(set(words.place[words.kind == name].tolist())) for name in sorted(names)]
    assert sorted(spoken) == [2, 2, 3]
    pairs = PATTERNS["word_pieces"].worth(tokens, np.arange(len(tokens))) > 0
    assert not pairs[~words.spoken].any()


@pytest.mark.parametrize("kind", ["stories", "unigram", "byte_level"])
def test_words_are_counted_without_their_spaces(kind: str, shared: Path) -> None:
    tokens = spaced(kind, shared)
    found = _counted(tokens)
    assert found["words"] == 14
    pieces = [
        int((~np.array([is_space(p) for p in tokens.pieces]) & (tokens.word_ids == n)).sum())
        for n in range(14)
    ]
    assert found["split_words"] == sum(count > 1 for count in pieces)
