"""Planted heads get exactly their role, and the statistics are what they are said to be."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import headscope as hs
from headscope.analyses.roles.section import Roles
from headscope.analyses.roles.statistics import (
    COLUMNS,
    NONE,
    ROLES,
    TESTED,
    bar,
    broad_heads,
    every,
    roles,
    roles_of,
    sinks,
)
from headscope.core.tokens import Tokens
from headscope.errors import InputError
from headscope.measures.choose import choose, surface
from headscope.measures.dataset import dataset
from headscope.measures.measure import mask, selection
from headscope.measures.sums import Documents
from headscope.statistics.jackknife import above
from headscope.views.blobs import Blobs

Plan = Callable[[Tokens], np.ndarray]
WORDS = "walk the cat old bridge saw water they rain looked at and stone fish door late".split()  # noqa: SIM905


def over(plan: Plan, tokens: Tokens, causal: bool) -> np.ndarray:
    """A map: each row's attention spread evenly over the keys that a plan points at; over all it sees, for none."""
    count = len(tokens)
    sight = np.tril(np.ones((count, count))) if causal else np.ones((count, count))
    wanted = plan(tokens).astype(float) * sight
    wanted = np.where(wanted.any(1, keepdims=True), wanted, sight)
    return wanted / wanted.sum(1, keepdims=True)


def at(offset: int) -> Plan:
    return lambda tokens: np.eye(len(tokens), k=offset)


def to(name: str) -> Plan:
    return lambda tokens: np.tile(mask(tokens, name), (len(tokens), 1))


def kinds(tokens: Tokens) -> np.ndarray:
    names = {
        word: number for number, word in enumerate(sorted({piece.casefold() for piece in tokens.pieces}))
    }
    found = np.array([names[piece.casefold()] for piece in tokens.pieces])
    special = tokens.mask("special") | mask(tokens, "punctuation")
    return np.where(special, -1 - np.arange(len(tokens)), found)


def same(tokens: Tokens) -> np.ndarray:
    kind, text = kinds(tokens), tokens.sequence_ids
    return (kind[:, None] == kind) & (text[:, None] == text) & ~np.eye(len(tokens), dtype=bool)


def same_other(tokens: Tokens) -> np.ndarray:
    kind, text = kinds(tokens), tokens.sequence_ids
    return (kind[:, None] == kind) & (text[:, None] != text)


def sentence(tokens: Tokens) -> np.ndarray:
    text = tokens.sequence_ids
    return text[:, None] == text


def pieces(tokens: Tokens) -> np.ndarray:
    word = tokens.word_ids
    return (word[:, None] == word) & (word >= 0) & sentence(tokens) & ~np.eye(len(tokens), dtype=bool)


def earlier(tokens: Tokens) -> np.ndarray:
    return np.tril(kinds(tokens)[:, None] == kinds(tokens), -1)


def after_earlier(tokens: Tokens) -> np.ndarray:
    found = np.zeros((len(tokens), len(tokens)))
    found[:, 1:] = earlier(tokens)[:, :-1]
    return found * ~np.eye(len(tokens), dtype=bool)


def sampled(draw: np.random.Generator, pair: bool) -> Tokens:
    """A made-up text or pair: words that come again in another case, a split word, punctuation."""
    found: list[str] = [] if not pair else ["[CLS]"]
    words, text = [-1] * len(found), [-1] * len(found)
    for number in range(1 + pair):
        size = int(draw.integers(24, 30))
        own = [str(word) for word in draw.choice(WORDS, size)]
        for place, word in enumerate(own):
            parts = (
                ["rain", "##bow", "##s"]
                if word == "rain"
                else [word.title() if draw.random() < 0.3 else word]
            )
            found += parts
            words += [place] * len(parts)
            text += [number] * len(parts)
        found += [".", "[SEP]"] if pair else ["."]
        words += [size, -1] if pair else [size]
        text += [number, -1] if pair else [number]
    made = Tokens.of(found)
    return Tokens(
        found,
        special_mask=made.special_mask,
        classes=made.classes,
        word_ids=np.array(words),
        sequence_ids=np.array(text),
    )


def gathered(
    plans: Sequence[Plan], inputs: Sequence[Tokens], names: Sequence[str], causal: bool
) -> xr.Dataset:
    """Figures of planted heads, one layer of them, over inputs that are a document each."""
    chosen = choose(names)
    documents = Documents([measure.name for measure in chosen])
    draw = np.random.default_rng(7)
    for number, tokens in enumerate(inputs):
        sight = (
            np.tril(np.ones((len(tokens), len(tokens)))) if causal else np.ones((len(tokens), len(tokens)))
        )
        random = draw.random((len(plans), *sight.shape)) * sight
        random /= random.sum(-1, keepdims=True)
        weights = np.stack([over(plan, tokens, causal) for plan in plans]) * 0.85 + 0.15 * random
        maps = hs.wrap(weights[None], tokens, causal=causal)
        single = {
            measure.name: surface(maps, [measure, "current"])
            for measure in chosen
            if measure.name != "current"
        }
        single["current"] = surface(maps, ["current"])
        counts = selection(chosen, tokens, causal)[1]
        sums = np.zeros((len(chosen), 1, len(plans)))
        chance = np.zeros((len(chosen), 1))
        for place, measure in enumerate(chosen):
            found = single[measure.name]
            if measure.name in found:
                sums[place] = found[measure.name].values * counts[place]
                chance[place] = found[f"{measure.name}_chance"].values * counts[place]
        documents.add(number, tokens, [0], sums, chance, counts)
    meta = {"model": {"causal": causal}}
    return dataset(documents.close(), chosen, causal=causal, meta=meta)


def named(found: Any) -> list[set[str]]:
    return [set(group["role"]) for _, group in found.groupby("head")]


BOTH: Mapping[str, Plan] = {
    "previous token": at(-1),
    "next token": at(1),
    "itself": at(0),
    "[CLS]": to("cls"),
    "separators": to("sep"),
    "delimiters": lambda tokens: 2 * to("cls")(tokens) + to("sep")(tokens),  # there are two separators
    "punctuation": to("punctuation"),
    "same word": same,
    "same word, other sentence": same_other,
    "pieces of one word": pieces,
    "bag of words": sentence,
    "broad": lambda tokens: np.ones((len(tokens), len(tokens))),
    NONE: at(-4),
}


@pytest.mark.slow
def test_planted_heads_that_see_both_ways() -> None:
    draw = np.random.default_rng(0)
    inputs = [sampled(draw, pair=True) for _ in range(6)]
    plans = [*BOTH.values()]
    found = roles(gathered(plans, inputs, ["surface", "patterns"], False))
    assert named(found) == [{name} for name in BOTH]


def repeated(draw: np.random.Generator) -> Tokens:
    own = [f"x{number}" for number in draw.choice(400, 20, replace=False)]
    return Tokens(own + own, special_mask=np.zeros(40, bool), sequence_ids=np.zeros(40, int))


CAUSAL: Mapping[str, Plan] = {
    "previous token": at(-1),
    "itself": at(0),
    "sink": to("first"),
    "prefix matching": after_earlier,  # nothing is known of what they write
    "duplicate token": earlier,
    "broad": lambda tokens: np.ones((len(tokens), len(tokens))),
    NONE: at(-4),
}


@pytest.mark.slow
def test_planted_heads_of_a_causal_model() -> None:
    draw = np.random.default_rng(1)
    texts = [sampled(draw, pair=False) for _ in range(12)]
    long = [Tokens.of([str(word) for word in draw.choice(WORDS, 128)]) for _ in range(6)]
    plans = [*CAUSAL.values()]
    found = roles(
        gathered(plans, texts, ["surface", "patterns"], True),
        gathered(plans, long, ["sink", "current"], True),
        gathered(plans, [repeated(draw) for _ in range(6)], ["synthetic", "current"], True),
    )
    assert named(found) == [{name} for name in CAUSAL]
    assert found.attrs["untested"]["bag of words"] == "uniform attention has it already"


def two(score: Sequence[float], error: float, documents: float = 9, measure: str = "previous") -> xr.Dataset:
    """A dataset of one layer."""
    heads = ("layer", "head")
    return xr.Dataset(
        {
            measure: (heads, np.array([score])),
            f"{measure}_documents": (heads, np.full((1, len(score)), float(documents))),
            f"{measure}_skewness": (heads, np.zeros((1, len(score)))),
            f"{measure}_se": (heads, np.full((1, len(score)), error)),
            f"{measure}_n": (heads, np.full((1, len(score)), 90.0)),
            f"{measure}_chance": (("layer",), np.array([0.1])),
        },
        coords={"layer": [3], "head": np.arange(len(score))},
        attrs={"meta": json.dumps({})},
    )


def test_p_and_q_and_intervals_by_hand() -> None:
    found = every(two([0.6, 0.52, 0.4], 0.02))
    p = above(np.array([0.6, 0.52, 0.4]), 0.5, np.array(0.02), np.array(9.0))
    np.testing.assert_allclose(p, stats.t(8).sf([5.0, 1.0, -5.0]))
    np.testing.assert_allclose(found["p"], p)
    # Benjamini-Hochberg: p · 3 / rank, from the largest p down
    np.testing.assert_allclose(found["q"], [p[0] * 3, p[1] * 3 / 2, p[2]])
    score = found["score"].to_numpy()
    width = 2.306004 * 0.02 / (score * (1 - score))  # t of 8 at 97.5 %, on the scale of log odds
    for end, sign in (("ci_low", -1), ("ci_high", 1)):
        odds = np.log(found[end] / (1 - found[end]))
        np.testing.assert_allclose(odds, np.log(score / (1 - score)) + sign * width, rtol=1e-6)
    assert found["threshold"].tolist() == [0.5] * 3
    assert found["paper"].tolist() == ["4-1", "4-2", "4-3"]
    assert found["n"].tolist() == [90] * 3
    assert tuple(found.columns) == TESTED
    kept = roles(two([0.6, 0.52, 0.4], 0.02))
    assert kept["role"].tolist() == ["previous token", NONE, NONE]
    assert kept["score"].isna().tolist() == [False, True, True]
    assert tuple(kept.columns) == COLUMNS
    assert kept["nearest"].fillna("").tolist() == ["", "previous token", "previous token"]
    np.testing.assert_allclose(kept["nearest_score"], [np.nan, 0.52, 0.4])
    assert kept.attrs["tests"] == 3
    assert kept.attrs["not_found"] == {}
    low = roles(two([0.2, 0.42, 0.4], 0.02))
    assert low.attrs["not_found"] == {"previous token": "highest L3H1 0.420, chance 0.100"}
    reason = "the model has no separator"
    given = two([0.6], 0.02).assign_attrs(meta=json.dumps({"absent": {"sep": reason}}))
    untested = roles(given).attrs["untested"]
    assert untested["separators"] == reason
    assert untested["next token"] == "no figures of next"
    assert kept.attrs["lists"] == {}
    heads, stay = ("layer", "head"), np.array([[1.0, 0.8, 0.2]])
    of_many = roles(two([0.6, 0.52, 0.4], 0.02).assign(previous_stays=(heads, stay, {"needed": 20.0})))
    assert of_many["stays"].fillna(0).tolist() == [1.0, 0.0, 0.0]
    assert of_many.attrs["lists"] == {"previous token": {"needed": 20.0}}
    of_few = roles(two([0.6, 0.52, 0.4], 0.02).assign(previous_stays=(heads, np.nan * stay)))
    assert [remark.split("about: ")[1] for remark in Roles(of_few).info(Blobs())["notes"][:1]] == [
        "previous token too few documents to say."
    ]
    loose = roles(two([0.6, 0.52, 0.4], 0.02), level=0.4)
    assert loose["role"].tolist() == ["previous token", "previous token", NONE]


def test_few_rows_that_agree_prove_little() -> None:
    found = two([1.0], 0.0, documents=5)
    found["previous_n"][:] = 4
    test = every(found)
    assert test["se"].item() == 0.25
    assert test["p"].item() == pytest.approx(stats.t(4).sf(0.5 / 0.25))
    assert roles(found)["role"].tolist() == [NONE]


def test_families_are_tested_apart() -> None:
    """Many broad heads do not let more false ones of other roles pass."""
    broad = two([3.0] * 60, 0.01, measure="entropy").assign(entropy_chance=("layer", [3.0]))
    scores = [0.55, *[0.2] * 59]
    apart = every(two(scores, 0.02), broad).set_index(["role", "head"])["q"]
    alone = every(two(scores, 0.02)).set_index(["role", "head"])["q"]
    assert apart["previous token", 0] == alone["previous token", 0]


def test_broad_is_no_role() -> None:
    table = roles(two([3.0, 0.1], 0.01, measure="entropy").assign(entropy_chance=("layer", [3.0])))
    assert table["role"].tolist() == ["broad", NONE]
    assert roles_of(table) == {}
    assert broad_heads(table) == [hs.Head(3, 0)]


def test_a_head_must_do_more_than_its_own_offsets_do() -> None:
    """What a head scores that looks at places alone is chance for it."""
    found = two([0.72, 0.95], 0.02, measure="word_pieces")
    assert every(found)["threshold"].tolist() == [0.5, 0.5]
    found["word_pieces_offsets"] = (("layer", "head"), np.array([[0.7, 0.05]]))
    test = every(found)
    np.testing.assert_allclose(test["threshold"], [0.7 + 0.25 * 0.3, 0.5])
    assert test["offsets"].tolist() == [0.7, 0.05]
    assert roles(found)["role"].tolist() == [NONE, "pieces of one word"]


def test_a_role_that_another_says_more_precisely_is_not_told_as_missing() -> None:
    """A head of [CLS] is one of delimiters as well. What its own offsets score stands beside the best head of a role."""
    found = roles(two([0.7], 0.01, measure="cls"), two([0.75], 0.01, measure="delimiter"))
    assert found["role"].tolist() == ["[CLS]"]
    assert found.attrs["not_found"] == {}
    words = two([0.604], 0.01, measure="word_pieces")
    words["word_pieces_offsets"] = (("layer", "head"), np.array([[0.598]]))
    assert roles(words).attrs["not_found"] == {
        "pieces of one word": "highest L3H0 0.604, its own offsets 0.598"
    }


def test_bars() -> None:
    by_name = {role.name: role for role in ROLES}
    assert bar(by_name["previous token"], np.array([0.1])) == 0.5
    assert bar(by_name["sink"], np.array([0.035])) == 0.3
    assert bar(by_name["bag of words"], np.array([0.6])) == pytest.approx(0.7)
    assert bar(by_name["broad"], np.array([3.0])) == pytest.approx(3.0 - math.log(1.5))


def test_every_role_has_a_measure_and_a_reason() -> None:
    names = [role.name for role in ROLES]
    assert len(set(names)) == len(names)
    for role in ROLES:
        assert role.measure in ("retrieval", "copy_suppression") or choose([role.measure])
        assert role.variable == role.measure + ("_off" if role.of else "")
        assert role.why
        assert set(role.unless) <= set(names)


def test_sinks() -> None:
    found = two([0.29, 0.31, 0.9, np.nan], 0.01, measure="sink")
    share = sinks(found)
    assert share.values.tolist() == [pytest.approx(2 / 3)]
    assert share.attrs["all"] == pytest.approx(2 / 3)
    found["sink_chance"][:] = 0.5
    assert sinks(found).values.tolist() == [pytest.approx(1 / 3)]
    with pytest.raises(InputError, match="sinks: expected a dataset with the measure sink"):
        sinks(two([0.5], 0.1))
    with pytest.raises(InputError, match="roles: expected at least one dataset, found none"):
        roles()
