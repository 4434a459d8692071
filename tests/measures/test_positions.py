"""Shares by distance and position, against a loop over the weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import headscope as hs
from headscope.errors import InputError
from headscope.measures.choose import choose, parse
from headscope.measures.measure import Measure
from headscope.measures.positions import distances, positions
from headscope.models import Model

TEXTS = [
    "Once upon a time there was a little girl who had a small red ball and a very big dog.",
    "The dog ran.",
    "One day they went to the park, and they saw a bird in the tall green tree by the lake.",
]


def meant(name: str, query: int, key: int) -> bool:
    """Whether a key is one of those that a measure names, by what its name says."""
    plain = {
        "first": key == 0,
        "previous": key == query - 1,
        "current": key == query,
        "next": key == query + 1,
    }
    if name in plain:
        return plain[name]
    if name.startswith("tokens"):
        first, last = name.removeprefix("tokens").split("..")
        return int(first) <= key + 1 <= (int(last) if last else 10**9)
    if ".." not in name:
        return key - query == int(name.removeprefix("offset"))
    low, high = map(int, name.removeprefix("offset").split(".."))
    return key > 0 and low <= key - query <= high


def by_loops(name: str, inputs: list[Any], layer: int, head: int) -> tuple[float, float, int]:
    """The share, what even attention gives, and how many rows see such a key."""
    share = even = 0.0
    rows = 0
    for maps in inputs:
        weights = maps.layers[layer][head]
        for query in range(len(weights)):
            seen = [key for key in range(len(weights)) if key <= query or not maps.causal]
            keys = [key for key in seen if meant(name, query, key)]
            if not keys or (name == "first" and len(seen) == 1):
                continue
            share += sum(float(weights[query, key]) for key in keys)
            even += len(keys) / len(seen)
            rows += 1
    return share / rows, even / rows, rows


@pytest.fixture(params=["stories", "demo"])
def model(request: pytest.FixtureRequest) -> Model:
    return request.getfixturevalue(request.param)


@pytest.mark.slow
def test_every_share_is_that_of_a_loop(model: Model) -> None:
    names = [*positions(), *distances(32, causal=model.causal)]
    found = hs.measure(model, hs.corpora.texts(TEXTS), measures=names)
    inputs = [hs.capture(model, text) for text in TEXTS]
    longest = max(len(maps.query) for maps in inputs)
    there = [name for name in names if name in found]
    assert len(there) == len(names) - (0 if longest > 17 else 1 + (not model.causal))
    for name in there:
        for layer, head in ((0, 0), (1, 3), (found.sizes["layer"] - 1, 1)):
            share, even, rows = by_loops(name, inputs, layer, head)
            assert_allclose(float(found[name][layer, head]), share, atol=2e-6, err_msg=name)
            assert_allclose(float(found[f"{name}_chance"][layer]), even, atol=1e-9, err_msg=name)
            assert int(found[f"{name}_n"][layer, head]) == rows


def test_the_positions_of_a_token_make_up_all_it_gives(stories: Model) -> None:
    # From the fifth token on a row sees keys of all three kinds.
    weights = np.asarray(hs.capture(stories, TEXTS[0]).layers[2][1], np.float64)
    tokens = hs.capture(stories, TEXTS[0]).query
    queries = np.arange(4, len(tokens))
    early, later = (parse(name)[0].worth(tokens, queries) for name in positions()[1:])
    whole = weights[4:, 0] + (weights[4:] * (early + later)).sum(-1)
    assert_allclose(whole, 1, atol=1e-5)


def test_ranges_double_and_leave_no_gap() -> None:
    covered: list[int] = []
    for name in distances(1000, causal=False):
        ends = {"previous": "-1", "current": "0", "next": "1"}.get(name, name.removeprefix("offset")).split(
            ".."
        )
        covered += range(int(ends[0]), int(ends[-1]) + 1)
    assert covered == list(range(-1024, 1025))


def test_names(stories: Model) -> None:
    one: Measure = parse("offset-5..-8")[0]
    assert (one.name, one.title) == ("offset-8..-5", "5 to 8 before")
    assert parse("offset+3..+4")[0].description.startswith(
        "Mean share of a token's attention that goes to tokens 3 to 4 places after it, the first of the input left out"
    )
    assert parse("tokens5..")[0].title == "tokens 5 on"
    for wrong in ("offset-2..+2", "offset0..3", "tokens4..2", "tokens0..2", "offset-2.."):
        with pytest.raises(InputError, match="found"):
            choose([wrong])
    with pytest.raises(InputError, match="no row"):
        hs.measure(stories, hs.corpora.texts(TEXTS), measures=["offset+3..+4"])
