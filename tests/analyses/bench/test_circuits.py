"""Circuits that are known are found by what runs them, and MIB's figures are those of its definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.analyses.bench.circuits import (
    SHARES,
    batches,
    faithfulness_rows,
    graph_of,
    integrated,
    known,
    pairs_of,
    scored,
)
from headscope.analyses.patching.pairs import read
from headscope.errors import HeadscopeWarning, InputError


@pytest.mark.slow
def test_each_model_does_its_task_and_its_circuit_alone_does_too() -> None:
    models = list(known())
    assert [one.made for one in models] == ["compiled", "trained"] * 10
    assert len({one.name for one in models}) == 10
    for one in models:
        (batch,) = batches(one.model, one.pairs)
        with torch.no_grad():
            logits = one.model.module(**batch.ready(True)).logits[:, -1]
        right = logits.argmax(-1).numpy() == [pair.answer for pair in one.pairs]
        assert right.mean() >= 0.95, (one.made, one.name)
        graph = graph_of(one.model, [batch])
        keep = torch.zeros_like(graph.edges)
        for writer, reader in one.edges:
            row = 0 if writer == "token" else graph.writers.index(writer)
            keep[row, graph.readers.index(reader)] = True
        assert not (keep & ~graph.edges).any()
        alone, whole = batch.circuits(graph, [keep, graph.edges]).T
        assert (alone > 0).mean() >= 0.95, (one.made, one.name)
        assert alone.mean() > 0.4 * whole.mean(), (one.made, one.name)
        lost = batch.circuits(
            graph, [keep & (torch.arange(len(keep)) != row)[:, None] for row in keep.any(1).nonzero()]
        )
        assert (lost.mean(0) < 0.8 * alone.mean()).all(), (one.made, one.name)  # each part of it is needed


@pytest.mark.slow
def test_what_runs_edges_finds_them() -> None:
    for one in known(2):
        told = scored(one, 0)
        assert told["path patching"][0] > 0.95, one.made
        assert told["EAP-IG"][0] > 0.9
        assert told["random"][0] < 0.8
    table = hs.bench("circuits", limit=2)
    edges = table[(table["data"] == "edges") & (table["model"] == "both")].set_index("system")
    assert edges.loc["path patching", "circuits"] > 0.95
    assert set(table["n"]) == {1, 2}


def area_by_loop(values: np.ndarray) -> float:
    return sum(
        (b - a) * (x + y) / 2 for a, b, x, y in zip(SHARES, SHARES[1:], values, values[1:], strict=False)
    )


def test_areas_are_those_of_the_trapezoids() -> None:
    draw = np.random.default_rng(0)
    given = draw.normal(size=(12, 1)) + draw.normal(1, 0.3, (12, len(SHARES) + 1)).cumsum(1)
    means = given.mean(0)
    faithful = (means[1:] - means[0]) / (means[-1] - means[0])
    assert faithful.max() <= 1
    assert integrated(given, distance=False)["value"] == pytest.approx(area_by_loop(faithful))
    assert integrated(given, distance=True)["value"] == pytest.approx(area_by_loop(1 - faithful))
    given[:, 3] += 20.0  # a circuit that does better than the model
    means = given.mean(0)
    faithful = (means[1:] - means[0]) / (means[-1] - means[0])
    one = integrated(given, distance=True)
    assert one["value"] == pytest.approx(area_by_loop(np.abs(1 - faithful)))
    assert one["ci_low"] < one["value"] < one["ci_high"]


@pytest.mark.slow
def test_circuits_in_order_of_their_scores_are_more_faithful_than_others() -> None:
    one = next(known())
    rows = [
        {"clean": pair.clean, "corrupted": pair.corrupted, "answer": pair.answer, "wrong": pair.wrong}
        for pair in one.pairs
    ]
    halves: Any = {row["system"]: row for row in faithfulness_rows(one.model, rows, seed=0, limit=None)}
    assert {row["n"] for row in halves.values()} == {12}
    assert halves["CPR, EAP-IG"]["value"] > 0.9 > halves["CPR, random"]["value"]
    assert halves["CMD, EAP-IG"]["value"] < 0.1 < halves["CMD, random"]["value"]
    both = list(faithfulness_rows(one.model, rows, rows[:5], seed=0, limit=None))
    assert {row["n"] for row in both} == {5}
    with pytest.warns(
        HeadscopeWarning, match="left out 1 of 3 pairs that do not fit .*; the first: .*tokens that differ"
    ):
        kept = read(one.model, [{**rows[0], "wrong": rows[0]["answer"]}, *rows[1:3]], fitting=True)[0]
    assert len(kept) == 2


INDIRECT = {
    "prompt": "Ann and Bob met, Bob gave it to", "metadata": {"indirect_object": "Ann", "subject": "Bob"},
    "s2_io_flip_counterfactual": {"prompt": "Ann and Bob met, Ann gave it to"}, "template": "",
}  # fmt: skip
CHOICE = {
    "prompt": "A. red\nB. blue\nAnswer:", "choices": {"label": ["A", "B"], "text": ["red", "blue"]}, "answerKey": 1,
    "symbol_counterfactual": {
        "prompt": "X. red\nY. blue\nAnswer:", "choices": {"label": ["X", "Y"]}, "answerKey": 0,
    },
}  # fmt: skip
SUM = {"prompt": "1+2=", "label": 3, "random_counterfactual": {"prompt": "2+2=", "label": 4}}


def test_rows_of_mib_are_read() -> None:
    indirect, choice, number, own = pairs_of(
        [INDIRECT, CHOICE, SUM, dict.fromkeys(("clean", "corrupted", "answer", "wrong"), "x")], "f"
    )
    assert (indirect["answer"], indirect["wrong"]) == (" Ann", " Bob")
    assert indirect["corrupted"].endswith("Ann gave it to")
    assert (choice["answer"], choice["wrong"]) == ("B", "X")
    assert (number["clean"], number["answer"], number["wrong"]) == ("1+2=", "3", "4")
    assert own["clean"] == "x"
    with pytest.raises(InputError, match=r"f:2: expected clean, .* found prompt, label$"):
        pairs_of([SUM, {"prompt": "x", "label": 1}], "f")
    with pytest.raises(InputError, match=r"f:1: expected answers by metadata"):
        pairs_of([{**CHOICE, "answerKey": 7}], "f")
