"""Edges of all parts by integrated gradients, and what circuits of the first of them bring back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers

import headscope as hs
from headscope.analyses.patching import curve
from headscope.analyses.patching.curve import ORDERS
from headscope.analyses.patching.statistics import curve_table, first_edges
from headscope.attention import edges
from headscope.attention.edges import LOGITS, Graph, live
from headscope.attention.linear import PLACED
from headscope.attention.residual import Outputs
from headscope.models import Model
from tests.helpers.families import build, family
from tests.helpers.hybrids import hybrid
from tests.helpers.planted_induction import circuit
from tests.helpers.small_models import sizes
from tests.test_planted_circuits import induction_pairs, mover, name_pairs, tokens

CLEAN = {"input_ids": torch.tensor([[5, 6, 7, 8, 9], [3, 4, 7, 9, 8]])}
CORRUPTED = {"input_ids": torch.tensor([[5, 6, 4, 8, 9], [3, 4, 6, 9, 8]])}


def objective(logits: torch.Tensor) -> torch.Tensor:
    return logits[:, -1, 7] - logits[:, -1, 4]


@pytest.mark.slow
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


def granite(**experts: Any) -> Model:
    """With constant multipliers of the embedding, of what attention and MLP add, of scores and of logits."""
    kind = "GraniteMoe" if experts else "Granite"
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=30, **sizes(layers=2, inner=48, keys=2, length=64), attention_multiplier=0.3,
        residual_multiplier=0.45, embedding_multiplier=1.5, logits_scaling=2.0, **experts
    )  # fmt: skip
    torch.manual_seed(0)
    module = getattr(transformers, f"{kind}ForCausalLM")(config)
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    if experts:
        module.set_experts_implementation("eager")  # the other kernels know no float64
    return hs.load(module.double())


class Granite:
    """Circuits of a Granite model, written out: each reader reads the corrupted stream, and what its edges change."""

    def __init__(self, module: Any) -> None:
        self.module, self.config = module, module.config
        self.layers = module.model.layers

    def norm(self, layer: Any, x: torch.Tensor) -> torch.Tensor:
        return layer.weight * x * torch.rsqrt(x.square().mean(-1, keepdim=True) + layer.variance_epsilon)

    def head(self, layer: int, head: int, x: torch.Tensor) -> torch.Tensor:
        """What a head adds to the stream ``[batch query stream]``."""
        block, size = self.layers[layer], 8
        given, turn = self.norm(block.input_layernorm, x), self.turn(x.shape[1], size)
        attention, rows = block.self_attn, slice(head * size, head * size + size)
        shared = slice(head // 2 * size, head // 2 * size + size)
        q = turn(given @ attention.q_proj.weight[rows].T)
        k = turn(given @ attention.k_proj.weight[shared].T)
        scores = q @ k.transpose(1, 2) * self.config.attention_multiplier
        hidden = torch.ones_like(scores).triu(1).bool()
        mixed = scores.masked_fill(hidden, -torch.inf).softmax(-1) @ (
            given @ attention.v_proj.weight[shared].T
        )
        return mixed @ attention.o_proj.weight[:, rows].T * self.config.residual_multiplier

    @staticmethod
    def turn(tokens: int, size: int) -> Any:
        angles = torch.arange(tokens)[:, None] * 10_000.0 ** (-torch.arange(0, size, 2) / size)
        cos, sin = (torch.cat([one, one], -1).double() for one in (angles.cos(), angles.sin()))
        return lambda x: x * cos + torch.cat([-x[..., size // 2 :], x[..., : size // 2]], -1) * sin

    def mlp(self, layer: int, x: torch.Tensor) -> torch.Tensor:
        block = self.layers[layer]
        return block.mlp(self.norm(block.post_attention_layernorm, x)) * self.config.residual_multiplier

    def logits(self, x: torch.Tensor) -> torch.Tensor:
        return self.module.lm_head(self.norm(self.module.model.norm, x)) / self.config.logits_scaling

    def circuit(self, clean: torch.Tensor, corrupted: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
        """The logits where the edges of `keep` ``[writer reader]`` hand on what they give, all others as if corrupted."""
        writes = [lambda x, at=(layer, head): self.head(*at, x) for layer in range(2) for head in range(4)]
        for layer in range(2):
            writes.insert(5 * layer + 4, lambda x, at=layer: self.mlp(at, x))
        start, base = (
            self.module.model.embed_tokens(ids) * self.config.embedding_multiplier
            for ids in (clean, corrupted)
        )
        theirs = [base]
        for layer in range(2):
            stream = torch.stack(theirs).sum(0)
            theirs += [write(stream) for write in writes[5 * layer : 5 * layer + 4]]
            theirs.append(writes[5 * layer + 4](torch.stack(theirs).sum(0)))
        change = [start - base]

        def read(reader: int) -> torch.Tensor:
            before = (
                reader if reader % 5 == 4 or reader == 10 else reader // 5 * 5
            )  # an MLP reads the heads of its layer
            stream = torch.stack(theirs[: before + 1]).sum(0)
            kept = [now for writer, now in enumerate(change[: before + 1]) if keep[writer, reader]]
            return stream + sum(kept, torch.zeros_like(stream))

        for reader in range(10):
            change.append(writes[reader](read(reader)) - theirs[reader + 1])
        return self.logits(read(10))


def test_circuits_of_a_model_with_constant_multipliers_are_those_written_out() -> None:
    model = granite()
    graph = Graph(model, Outputs(model, CLEAN), CLEAN)
    assert graph.writers[0] == "token"
    draw, by_hand = torch.Generator().manual_seed(0), Granite(model.module)
    keep = [torch.rand(graph.edges.shape, generator=draw) < share for share in (0.3, 0.5, 0.7, 0.9)]
    keep = [*(one & graph.edges for one in keep), torch.zeros_like(graph.edges), graph.edges]
    given = graph.circuits(CLEAN, CORRUPTED, objective, keep)
    with torch.no_grad():
        ids = [given["input_ids"] for given in (CLEAN, CORRUPTED)]
        expected = torch.stack([objective(by_hand.circuit(*ids, one)) for one in keep], 1)
    assert float(expected.std(1).min()) > 1e-2
    torch.testing.assert_close(given, expected, rtol=0, atol=1e-6)  # the model's norms compute in float32


def hybrid_model(kind: str) -> Model:
    """In float64, with larger weights than those of the start."""
    module: Any = hybrid(
        kind, **({"attention_out_multiplier": 0.7, "ssm_out_multiplier": 1.4} if kind == "falcon_h1" else {})
    )
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.15 if parameter.ndim > 1 else 0.3)
    module.set_experts_implementation("eager")
    return hs.load(module.double())


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        ("lfm2", ["token", "convolution 0", "mlp 0", "convolution 1", "mlp 1", "L2H0"]),
        ("falcon_h1", ["token", "L0H0", "L0H1", "L0H2", "L0H3", "state space 0", "mlp 0", "L1H0"]),
        ("jamba", ["token", "state space 0", "mlp 0", "L1H0"]),
        ("granitemoe", ["token", "L0H0"]),
    ],
)
@pytest.mark.slow
def test_what_mixes_tokens_beside_attention_is_a_part_of_the_graph(kind: str, parts: list[str]) -> None:
    model = granite(num_local_experts=4) if kind == "granitemoe" else hybrid_model(kind)
    graph = Graph(model, Outputs(model, CLEAN), CLEAN)
    assert graph.writers[: len(parts)] == parts
    none = torch.zeros_like(graph.edges)
    with torch.no_grad():
        ends = [objective(model.module(**given).logits) for given in (CORRUPTED, CLEAN)]
    given = graph.circuits(CLEAN, CORRUPTED, objective, [none, ~none])
    for column, end in enumerate(ends):
        torch.testing.assert_close(given[:, column], end, rtol=0, atol=1e-6)
    # To the first order the edges of the embedding are all of what the other prompt changes.
    table, ids = model.module.get_input_embeddings(), [given["input_ids"] for given in (CORRUPTED, CLEAN)]
    one, other = (table(numbers).detach() for numbers in ids)
    hook = table.register_forward_hook(lambda *_: one.requires_grad_() * 1.0)
    (slope,) = torch.autograd.grad(objective(model.module(**CORRUPTED).logits).sum(), one)
    hook.remove()
    by_edges = graph.scores(CORRUPTED, CLEAN, objective, 0)[:, 0].sum(-1)
    torch.testing.assert_close(by_edges, (slope * (other - one)).sum((1, 2)), rtol=1e-5, atol=1e-6)


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


BY_VALUE = {(PLACED, "L1H0"), ("L1H0", LOGITS)}
BY_KEY = {(PLACED, "L0H0"), ("L0H0", "L1H0"), ("L1H0", LOGITS)}


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
    steady = found["stays"].sel(size=3)
    assert {*steady["draw"].values} == {"pairs", "halves", "steps"}
    held = steady.values[:, truth]
    assert held.min() > 0.9  # in each kind of draw the planted edges stay
    assert len(planted) < 3 or steady.values[:, ~truth].max() < 0.1
    first = first_edges(found, 3)
    assert first["edges"].tolist() == [1, 3, 3]
    assert (first["in draws"].head(2) > 0.5).all()


def test_an_edge_that_one_group_alone_gives_stays_as_often_as_that_is_drawn() -> None:
    """Eleven groups of two versions each give one edge; the twelfth gives another more than all together."""
    changes = np.zeros((24, 3))
    changes[:22, 0], changes[22:, 1] = 1.0, 30.0
    given = dict.fromkeys(("handed", "handed 2", "handed 10"), changes) | {"gap": np.ones(24)}
    groups = [str(number // 2) for number in range(24)]
    found = curve._stable(given, [1], np.ones((1, 3), np.bool_), groups)
    stay = found["stays"].squeeze()
    drawn = 1 - (1 - 1 / 12) ** 12  # that group is drawn at all
    assert float(stay.sel(draw="groups")[1]) == pytest.approx(drawn, abs=0.08)
    assert float(stay.sel(draw="pairs")[1]) > drawn + 0.1
    assert stay.sel(draw="steps").values.tolist() == [0, 1, 0]
    either = 1 - 12 * 11 / (24 * 23)  # one of its two pairs is in a half
    assert float(stay.sel(draw="halves")[1]) == pytest.approx(either, abs=0.08)
    both = 2 * either - 1  # in both halves; else the circuits have no edge in common
    assert float(found["jaccard"][0]) == pytest.approx(both / (2 - both), abs=0.1)
    assert float(found["jaccard_chance"][0]) == pytest.approx(1 / 5)


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
        ("token", "mlp 0"),
        ("L23H3", LOGITS),
        ("mlp 0", "L23H3"),
    ]
    np.testing.assert_allclose(first["estimate"], [1.0, 0.510, 0.341], atol=2e-3)
