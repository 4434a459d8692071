"""Edges of all parts by integrated gradients, and what circuits of the first of them bring back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.analyses.patching import curve
from headscope.analyses.patching.curve import ORDERS
from headscope.analyses.patching.statistics import curve_table, first_edges
from headscope.attention import edges
from headscope.attention.edges import EMBEDDING, LOGITS, Graph, live
from headscope.attention.outputs import Outputs
from headscope.errors import RefusedError
from headscope.models import Model
from tests.helpers.families import build, family
from tests.helpers.planted_induction import circuit
from tests.test_planted_circuits import induction_pairs, mover, name_pairs, tokens

CLEAN = {"input_ids": torch.tensor([[5, 6, 7, 8, 9], [3, 4, 7, 9, 8]])}
CORRUPTED = {"input_ids": torch.tensor([[5, 6, 4, 8, 9], [3, 4, 6, 9, 8]])}


def objective(logits: torch.Tensor) -> torch.Tensor:
    return logits[:, -1, 7] - logits[:, -1, 4]


@pytest.mark.parametrize(
    "name", ["GPT-2", "Qwen3", "GPT-J"]
)  # MLPs behind attention, shared keys, MLPs beside it
def test_edges_sum_to_attribution_patching_and_circuits_to_the_model(name: str) -> None:
    model = hs.load(build(family(name)).double())
    graph = Graph(model, Outputs(model, CLEAN), CLEAN)
    pairs = [
        {"clean": tokens(clean), "corrupted": tokens(corrupted), "answer": 7, "wrong": 4}
        for clean, corrupted in zip(CLEAN["input_ids"].tolist(), CORRUPTED["input_ids"].tolist(), strict=True)
    ]
    found = hs.patching(model, pairs, exact=0)
    scores = graph.scores(CORRUPTED, CLEAN, objective, 0)
    heads = [place for place, writer in enumerate(graph.writers) if writer.startswith("L")]
    with torch.no_grad():
        ends = [objective(model.module(**given).logits) for given in (CORRUPTED, CLEAN)]
    gap = float((ends[1] - ends[0]).sum())
    out = scores.sum((0, 2))[heads].reshape(found["estimate"].shape) / gap
    # Llama's norms compute in float32, whatever they are given.
    np.testing.assert_allclose(out, found["estimate"], rtol=1e-4, atol=1e-5)
    first_mlp = graph.readers.index("mlp 0")
    assert bool(graph.edges[heads[0], first_mlp]) == (name != "GPT-J")
    none = torch.zeros_like(graph.edges)
    given = graph.circuits(CLEAN, CORRUPTED, objective, [none, ~none])
    for column, end in enumerate(ends):
        np.testing.assert_allclose(given[:, column], end, rtol=1e-5, atol=1e-5)
    # By hand: the embedding's way to the logits alone.
    direct = none.clone()
    direct[0, -1] = True
    norm, head = _ending(model, name)
    streams: list[torch.Tensor] = []
    hook = norm.register_forward_pre_hook(lambda _, args: streams.append(args[0]))
    change = model.module.get_input_embeddings()
    with torch.no_grad():
        model.module(**CORRUPTED)
        moved = streams[0] + change(CLEAN["input_ids"]) - change(CORRUPTED["input_ids"])
        expected = objective(head(norm(moved)))
    hook.remove()
    np.testing.assert_allclose(
        graph.circuits(CLEAN, CORRUPTED, objective, [direct])[:, 0], expected, rtol=1e-5, atol=1e-5
    )


def _ending(model: Model, name: str) -> tuple[Any, Any]:
    module = model.module
    return (module.model.norm if name == "Qwen3" else module.transformer.ln_f), module.lm_head


def test_steps_are_one_pass_where_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    model = hs.load(build(family("GPT-2")).double())
    graph, runs = Graph(model, Outputs(model, CLEAN), CLEAN), []
    model.module.register_forward_hook(lambda *_: runs.append(1))
    at_once = graph.scores(CORRUPTED, CLEAN, objective, 5)
    assert len(runs) == 3  # both inputs, and all steps between them
    monkeypatch.setattr(edges, "AT_ONCE", 0)
    one_by_one = graph.scores(CORRUPTED, CLEAN, objective, 5)
    assert len(runs) == 3 + 7
    size = float(one_by_one.abs().max())
    np.testing.assert_allclose(at_once / size, one_by_one / size, rtol=0, atol=1e-12)


def test_an_edge_that_leads_nowhere_changes_nothing() -> None:
    keep = torch.zeros(3, 3, dtype=torch.bool)  # the embedding and two parts; the two parts and the logits
    keep[0, 0] = keep[1, 1] = True
    assert not live(keep).any()
    keep[2, 2] = True
    assert (live(keep) == keep).all()


def noisy(model: Model, seed: int) -> Model:
    """The same circuit amid small random weights."""
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.module.parameters():
            parameter += 0.02 * torch.randn(parameter.shape, generator=draw)
    return hs.load(model.module)


def key_pairs() -> list[dict[str, Any]]:
    """``a b … a``, where the first a is another token in the corrupted prompt: the answer hangs on L1H0's key."""
    return [{**row, "corrupted": tokens([30, 31, 33, *row["clean"].ids[3:]])} for row in induction_pairs()]


BY_VALUE = {(EMBEDDING, "L1H0"), ("L1H0", LOGITS)}
BY_KEY = {(EMBEDDING, "L0H0"), ("L0H0", "L1H0"), ("L1H0", LOGITS)}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    ("make", "pairs", "planted"),
    [(circuit, induction_pairs, BY_VALUE), (circuit, key_pairs, BY_KEY), (mover, name_pairs, BY_VALUE)],
    ids=["value", "key", "name mover"],
)
def test_planted_edges_are_found_and_carry_the_answer(make: Any, pairs: Any, planted: Any, seed: int) -> None:
    found = hs.patching(noisy(make(), seed), pairs(), exact=0, curve=True)
    there = found["integrated"].notnull().values
    scores = np.abs(found["integrated"].values[there])
    truth = np.array(
        [[(one, other) in planted for other in found["reader"].values] for one in found["writer"].values]
    )
    right, wrong = scores[truth[there]], scores[~truth[there]]
    assert (right[:, None] > wrong).mean() >= 0.95  # AUROC
    faithful = curve_table(found).set_index(["order", "edges"])["faithfulness"]
    assert [*found["order"].values] == [*ORDERS]
    assert faithful["integrated gradients", 3] == pytest.approx(1, abs=0.05)
    assert faithful["random", 3] == pytest.approx(0, abs=0.05)


@pytest.mark.deep
def test_one_edge_in_a_hundred_of_a_language_model(smollm: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of docs/importance.md."""
    monkeypatch.setattr(curve, "SHARES", (0.01,))
    monkeypatch.setattr(curve, "RANDOM", 1)
    found = hs.patching(smollm, exact=0, curve=True)
    values = [found[f"faithfulness{end}"].values[0, 0] for end in ("", "_low", "_high")]
    np.testing.assert_allclose(values, [0.759, 0.704, 0.811], atol=0.01)
    assert np.abs(found["faithfulness"].values[1:]).max() < 0.005
    first = first_edges(found, 3)
    assert [*zip(first["from"], first["to"], strict=True)] == [
        (EMBEDDING, "mlp 0"),
        ("L23H3", LOGITS),
        ("mlp 0", "L23H3"),
    ]
    np.testing.assert_allclose(first["estimate"], [1.0, 0.510, 0.341], atol=2e-3)


def test_layers_that_change_what_heads_write_are_refused() -> None:
    model = hs.load(build(family("Gemma 2")))
    with pytest.raises(RefusedError, match="found a layer 2 that changes what W_O gives before it adds it"):
        Graph(model, Outputs(model, CLEAN), CLEAN)
