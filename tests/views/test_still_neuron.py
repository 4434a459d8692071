"""Stills of a head neuron by neuron: what a family does to its scores, and the numbers."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from headscope.core.maps import AttentionMaps
from headscope.errors import InputError
from headscope.views.explorer import Input
from tests.helpers.stills import Stills, alpha
from tests.helpers.view_sample import neurons, pair, some

NEURON = {"scale": "neuron", "layer": 1, "heads": [1]}


@pytest.fixture(scope="module")
def two() -> Stills:
    return Stills(pair())


def one(maps: AttentionMaps | None = None, **inner: Any) -> Stills:
    return Stills([Input({"self": maps or some(heads=4)}, neurons={"self": neurons(**inner)})])


def test_scores_and_weights_are_those_of_the_query(two) -> None:
    """The pinned one."""
    found, maps = neurons(), some(heads=4)
    for query in (1, 3):
        state = {**NEURON, "pin": ("from", query)}
        scores = found.k[1][0] @ found.q[1][1][query] / np.sqrt(8)
        texts = two(state).texts
        at = texts.index("weight")
        numbers = [text for text in texts[at:] if re.fullmatch(r"−?\d\.\d|\.\d\d|·", text)][:16]
        assert [float(text.replace("−", "-")) for text in numbers[::2]] == pytest.approx(scores, abs=0.06)
        weights = [0.0 if text == "·" else float(text) for text in numbers[1::2]]
        assert weights == pytest.approx(maps.layers[1][1][query], abs=0.008)


@pytest.mark.slow
def test_it_says_where_a_query_looks_and_by_which_neurons(two) -> None:
    found, weights = neurons(), some(heads=4).layers[1][1][1]
    key = int(weights.argmax())
    strong = np.argsort(-found.q[1][1][1] * found.k[1][0][key], kind="stable")[:3]
    share, named = re.search(
        r"it looks most at .* \((.*)\); neurons (.*) add most", two({**NEURON, "pin": ("from", 1)}).said
    ).groups()  # type: ignore[union-attr]
    assert (float(share), named) == (pytest.approx(weights[key], abs=0.004), ", ".join(map(str, strong)))
    assert "(q) and cat (k)" in two({**NEURON, "pin": ("to", 3)}).said
    assert "click" not in two(NEURON).said


def test_it_follows_the_query_of_its_sentence() -> None:
    maps = some(heads=4)
    layer = np.array(maps.layers[1])
    layer[1], layer[1, 6] = 1 / 8, np.eye(8)[1]
    said = one(replace(maps, layers=[maps.layers[0], layer]))(NEURON).said
    assert re.search("L1H1 looks from “.שלום.” to “its”, 100%", said)
    assert re.search("שלום. looks most at it", said)


def test_only_what_a_query_sees_is_numbered() -> None:
    even = np.tri(8) / np.arange(1, 9)[:, None]
    stills = one(replace(some(heads=4, causal=True), layers=[np.tile(even, (4, 1, 1))] * 2))
    state = {"scale": "neuron", "layer": 0, "heads": [3]}
    assert "All neurons of [SEP] (q)" in stills(state).said  # the last, which sees all
    texts = stills({**state, "pin": ("from", 2)}).texts
    assert texts.count("not seen") == 5
    assert stills({**state, "pin": ("from", 2)}, width="column").texts.count("–") == 5
    assert "key head 1" in texts
    assert (
        "Key head 1 serves query heads 2 to 3. A query sees only itself and what stands before it." in texts
    )


def test_what_the_model_adds_is_named() -> None:
    maps = some(heads=4)
    sunk = AttentionMaps(
        [layer * 0.5 for layer in maps.layers], maps.query, maps.key, sink=[np.full((4, 8), 0.5)] * 2
    )
    stills = one(sunk, bias=[np.ones((4, 8, 8))] * 2, softcap=[50.0] * 2, sinks=[np.ones(4)] * 2)
    texts = stills(NEURON).texts
    assert {"÷ √8 + bias", "sink", ".50"} <= set(texts)
    for said in ("50 · tanh(score / 50)", "A bias of the pair's positions", "A learned sink, no token"):
        assert said in stills(NEURON).said
        assert said not in one()(NEURON).said


def test_one_bias_for_all_heads() -> None:
    bias = np.zeros((1, 8, 8))
    bias[..., 3] = 7.0
    assert one(bias=[bias] * 2)(NEURON).picture != one(bias=[0 * bias] * 2)(NEURON).picture


def test_blocks_are_vectors_in_blue_and_orange() -> None:
    q = np.zeros((4, 8, 8))
    q[:, 2, 5], q[:, 3, 6] = 1.0, -1.0
    stills = Stills([Input({"self": some(heads=4)}, neurons={"self": replace(neurons(), q=[q] * 2)})])
    legend, block, *_ = stills(NEURON).pixels
    lines, columns = len(block) // 8, block.shape[1] // 8
    middle = block[lines // 2 :: lines, columns // 2 :: columns]
    assert (middle[2, 5] == legend[0, 255]).all()
    assert (middle[3, 6] == legend[0, 0]).all()
    assert (np.delete(middle.reshape(64, 4), [21, 30], 0) == legend[0, 128]).all()
    assert (block[::lines, :, 3] == 0).all()  # room between rows


def test_a_paper_that_is_too_narrow_is_refused(two) -> None:
    with pytest.raises(InputError, match=r"state: neurons need \d\.\d inches more of width"):
        two(NEURON, values=True, width=2)


def test_the_bar_of_a_norm_stands_in_the_line_of_its_number(two) -> None:
    found = two(NEURON, values=True)
    lines = np.array([each.y + each.at("y") for each in found.of("text")])
    bars = [
        each.y + each.at("y") + each.at("height") / 2
        for each in found.of("rect")
        if alpha(each.element) == 0.7
    ]
    assert len(bars) == 8
    assert [np.abs(lines - bar).min() for bar in bars] == pytest.approx([0] * 8, abs=0.6)
