"""Patching: effects are those of plain hooks, estimates those of plain gradients, and a planted head has its own."""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import indirect_objects
import numpy as np
import pytest
import torch
import transformers
from torch import Tensor, nn

import headscope as hs
from headscope.analyses.patching import statistics
from headscope.analyses.patching.pairs import DEMO
from headscope.corpora.files import packaged
from headscope.measures.dataset import description
from headscope.models import Model
from tests.helpers.families import Family, build, family
from tests.helpers.planted_induction import WORDS, circuit

PROJECTIONS = {
    "GPT-2": "transformer.h.{}.attn.c_proj",
    "Llama": "model.layers.{}.self_attn.o_proj",
    "OPT": "model.decoder.layers.{}.self_attn.out_proj",
    "Gemma 2": "model.layers.{}.self_attn.o_proj",
}
LAYERS, HEADS, SIZE = 3, 4, 8
ANSWER, WRONG = 40, 41


def tokens(ids: Any) -> hs.Tokens:
    return hs.Tokens([str(number) for number in ids], ids=np.asarray(ids))


def pair(clean: Any, corrupted: Any, answer: int = ANSWER, wrong: int = WRONG) -> dict[str, Any]:
    return {"clean": tokens(clean), "corrupted": tokens(corrupted), "answer": answer, "wrong": wrong}


def some_pairs() -> list[dict[str, Any]]:
    """Five pairs of two lengths, which differ in one token or two."""
    draw = np.random.default_rng(0)
    rows: list[dict[str, Any]] = []
    for length in (7, 9, 7, 7, 9):
        clean = draw.integers(3, 120, length)
        corrupted = clean.copy()
        corrupted[draw.choice(length - 1, 2, replace=False)] += 1
        rows.append(pair(clean, corrupted % 120, ANSWER + len(rows)))
    return [{**row, "wrong": 50} for row in rows]


class Plain:
    """One pair in a module with bare forward hooks."""

    def __init__(self, module: Any, name: str, row: dict[str, Any]) -> None:
        self.module, self.row = module, row
        self.places = [module.get_submodule(PROJECTIONS[name].format(layer)) for layer in range(LAYERS)]

    def run(self, side: str, change: Callable[[int, Tensor], Tensor | None]) -> Tensor:
        """The logit difference with each projection's input changed ``[1 query head·dim]``."""

        def hooked(layer: int) -> Any:
            def hook(_: nn.Module, args: tuple[Tensor, ...]) -> Any:
                given = args[0].reshape(1, len(self.row[side]), HEADS * SIZE)
                new = change(layer, given)
                return None if new is None else (new.reshape(args[0].shape),)

            return hook

        hooks = [place.register_forward_pre_hook(hooked(layer)) for layer, place in enumerate(self.places)]
        logits = self.module(input_ids=torch.tensor(self.row[side].ids)[None]).logits[0, -1]
        for hook in hooks:
            hook.remove()
        return logits[self.row["answer"]] - logits[self.row["wrong"]]

    def outputs(self, side: str) -> tuple[Tensor, list[Tensor]]:
        kept: list[Tensor] = []
        with torch.no_grad():
            found = self.run(side, lambda _, given: kept.append(given.clone()))
        return found, kept

    def patched(self, base: str, other: Tensor, layer: int, head: int, queries: slice) -> Tensor:
        def change(place: int, given: Tensor) -> Tensor | None:
            if place != layer:
                return None
            new = given.clone()
            new[:, queries, head * SIZE : (head + 1) * SIZE] = other[
                :, queries, head * SIZE : (head + 1) * SIZE
            ]
            return new

        with torch.no_grad():
            return self.run(base, change)


@pytest.fixture(scope="module")
def models() -> dict[str, Model]:
    return {name: hs.load(build(family(name)).double()) for name in PROJECTIONS}


@pytest.fixture(scope="module")
def singles() -> dict[str, Model]:
    """The same in float32."""
    return {name: hs.load(build(family(name))) for name in PROJECTIONS}


@pytest.mark.parametrize(
    ("name", "positions", "noising"),
    [
        ("GPT-2", "all", False),
        ("GPT-2", "last", True),
        ("Llama", "last", False),
        ("OPT", "all", True),
        ("Gemma 2", "all", False),
    ],
)
@pytest.mark.slow
def test_an_effect_is_that_of_plain_hooks(
    singles: dict[str, Model], name: str, positions: Any, noising: bool
) -> None:
    model, rows = singles[name], some_pairs()[:3]
    found = hs.patching(model, rows, noising=noising, positions=positions, exact="all", batch_size=5)
    queries = slice(-1, None) if positions == "last" else slice(None)
    base, source = ("clean", "corrupted") if noising else ("corrupted", "clean")
    changes, gaps = np.zeros((LAYERS, HEADS)), 0.0
    for row in rows:
        plain = Plain(model.module, name, row)
        ends = {side: float(plain.outputs(side)[0]) for side in ("clean", "corrupted")}
        others = plain.outputs(source)[1]
        gaps += ends["clean"] - ends["corrupted"]
        for layer in range(LAYERS):
            for head in range(HEADS):
                now = float(plain.patched(base, others[layer], layer, head, queries))
                changes[layer, head] += ends["clean"] - now if noising else now - ends["corrupted"]
    assert np.abs(changes).min() > 1e-4
    np.testing.assert_allclose(found["patching"] * gaps, changes, atol=1e-5)
    assert float(found["clean"] - found["corrupted"]) == pytest.approx(gaps / 3, abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "noising"), [("GPT-2", False), ("Llama", True)])
def test_an_edge_is_that_of_plain_hooks(models: dict[str, Model], name: str, noising: bool) -> None:
    model, rows = models[name], some_pairs()[:2]
    found = hs.patching(model, rows, noising=noising, exact="all", edges=LAYERS * HEADS, batch_size=5)
    base, source = ("clean", "corrupted") if noising else ("corrupted", "clean")
    ways = [
        (sender, receiver)
        for sender in range(LAYERS * HEADS)
        for receiver in [*range(LAYERS * HEADS), None]
        if receiver is None or sender // HEADS < receiver // HEADS
    ]
    changes, gaps = np.zeros(len(ways)), 0.0
    for row in rows:
        plain = Plain(model.module, name, row)
        (start, own), (end, other) = plain.outputs(base), plain.outputs(source)
        gaps += abs(float(end - start)) * (1 if (end > start) != noising else -1)

        def run(put: dict[int, Tensor], hold: bool, plain: Plain = plain, own: Any = own) -> Any:
            """The logit difference and what the heads would give, with some heads' outputs put and the rest held."""
            natural: list[Tensor] = []

            def change(place: int, given: Tensor) -> Tensor:
                natural.append(given.clone())
                new = (own[place] if hold else given).clone()
                for head, outputs in put.items():
                    if head // HEADS == place:
                        at = head % HEADS * SIZE
                        new[..., at : at + SIZE] = outputs[..., at : at + SIZE]
                return new

            with torch.no_grad():
                return plain.run(base, change), natural

        for which, (sender, receiver) in enumerate(ways):
            direct, natural = run({sender: other[sender // HEADS]}, hold=True)
            now = direct if receiver is None else run({receiver: natural[receiver // HEADS]}, hold=False)[0]
            changes[which] += float(start - now if noising else now - start)
    names = [str(hs.Head(head // HEADS, head % HEADS)) for head in range(LAYERS * HEADS)]
    expected = [(names[one], "logits" if other is None else names[other]) for one, other in ways]
    assert list(zip(found["sender"].values, found["receiver"].values, strict=True)) == expected
    assert np.abs(changes).max() > 1e-3
    np.testing.assert_allclose(found["edge"] * gaps, changes, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("noising", [False, True])
@pytest.mark.parametrize("name", ["GPT-2", "Llama"])
def test_an_estimate_is_the_slope_of_the_patch(models: dict[str, Model], name: str, noising: bool) -> None:
    """By differences; Llama's norms compute in float32 whatever they are given, hence the tolerance."""
    model, row = models[name], some_pairs()[1]
    found = hs.patching(model, [row], noising=noising, exact=0)
    base, source = ("clean", "corrupted") if noising else ("corrupted", "clean")
    plain = Plain(model.module, name, row)
    (start, own), (end, other) = plain.outputs(base), plain.outputs(source)
    step = 0.02
    for layer in range(LAYERS):
        for head in range(HEADS):
            some = slice(head * SIZE, (head + 1) * SIZE)

            def nudged(by: float, layer: int = layer, some: slice = some) -> float:
                def nudge(place: int, given: Tensor) -> Tensor | None:
                    if place != layer:
                        return None
                    new = given.clone()
                    new[..., some] += by * (other[layer] - own[layer])[..., some]
                    return new

                with torch.no_grad():
                    return float(plain.run(base, nudge))

            slope = (nudged(step) - nudged(-step)) / (2 * step) / float(end - start)
            assert float(found["estimate"][layer, head]) == pytest.approx(slope, rel=5e-3, abs=1e-3)
    assert found["patching"].isnull().all()


@pytest.mark.slow
def test_the_batch_size_changes_nothing(models: dict[str, Model]) -> None:
    rows = some_pairs()
    one, many = (hs.patching(models["Llama"], rows, exact="all", batch_size=size) for size in (1, 64))
    for name in ("patching", "estimate", "patching_low", "p"):
        np.testing.assert_allclose(one[name], many[name], atol=1e-9)


# In the planted circuit, L1H0 brings what followed the present token before; L0H0 tells it where that is. The other head
# of each layer gives nothing.
A, B, C = 5, 9, 17


def planted_pairs(count: int = 6) -> list[dict[str, Any]]:
    """``… a b … a``, where b is c in the corrupted prompt, another a, b and c in each pair."""
    rows: list[dict[str, Any]] = []
    for number in range(count):
        a, b, c = A + number, B + number, C + number
        filler = [30, 31, 32, 33]
        rows.append(pair([*filler, a, b, 34, 35, a], [*filler, a, c, 34, 35, a], b, c))
    return rows


@pytest.fixture(scope="module")
def planted() -> Model:
    return circuit()


def test_the_planted_head_has_all_of_the_effect_and_the_blank_ones_none(planted: Model) -> None:
    for noising in (False, True):
        found = hs.patching(planted, planted_pairs(), noising=noising, exact="all")
        np.testing.assert_allclose(found["patching"], [[0, 0], [1, 0]], atol=1e-4)
        np.testing.assert_allclose(found["estimate"][:, 1], 0, atol=1e-9)
        assert (found["q"].values < 0.05).tolist() == [[False, False], [True, False]]
        assert float(found["solved"]) == 1
        np.testing.assert_allclose(
            [found["patching_low"][1, 0], found["patching_high"][1, 0]], found["patching"][1, 0], atol=1e-3
        )


def test_where_the_key_moves_both_heads_of_the_circuit_are_needed(planted: Model) -> None:
    """``a b … d c … a`` against ``d b … a c … a``: L0H0 says where a is, and L1H0 brings what is there."""
    rows = [
        pair([a, b, 30, 31, d, c, 32, a], [d, b, 30, 31, a, c, 32, a], b, c)
        for a, b, c, d in ((5 + n, 15 + n, 20 + n, 25 + n) for n in range(5))
    ]
    found = hs.patching(planted, rows, noising=True, exact="all", edges=2)
    np.testing.assert_allclose(found["patching"], [[1, 0], [1, 0]], atol=1e-4)
    assert (found["q"].values < 0.05)[:, 0].all()
    edges = found.table().query("to != ''").set_index(["layer", "to"])
    ways = [(0, "L1H0"), (0, "logits"), (1, "logits")]
    assert {*edges.index} == {*ways}
    np.testing.assert_allclose(edges.loc[ways, "effect"], [1, 0, 1], atol=1e-4)
    assert (edges.loc[ways, "q"] < 0.05).tolist() == [True, False, True]


def test_edges_are_among_the_heads_that_are_patched(models: dict[str, Model]) -> None:
    found = hs.patching(models["Llama"], some_pairs(), exact=6, edges=3)
    heads = found.table()
    largest = heads[heads["to"] == ""].head(3)
    named = {str(hs.Head(*row)) for row in zip(largest["layer"], largest["head"], strict=True)}
    assert {*found["sender"].values} == named
    assert {*found["receiver"].values} <= {*named, "logits"}


def untrained(seed: int) -> Model:
    torch.manual_seed(seed)
    settings = transformers.GPT2Config(
        vocab_size=200, n_embd=32, n_layer=4, n_head=4, n_positions=16, bos_token_id=0, eos_token_id=0
    )
    return hs.load(transformers.GPT2LMHeadModel(settings))


@pytest.mark.slow
def test_no_head_of_an_untrained_model_carries_an_answer() -> None:
    """With tied embeddings a head of random weights has a small effect on all names: what most heads have is chance."""
    named, against_none, tested = 0, 0, 0
    for seed in range(8):
        draw = np.random.default_rng(seed)
        rows: list[dict[str, Any]] = []
        for number in range(40):
            a, b = draw.choice(40, 2, replace=False) + 5
            clean = np.array([60, a, 61, b, 62 + number % 4, 63, b, 64, 65])
            rows.append(pair(clean, np.where(np.arange(9) == 6, a, clean), int(a), int(b)))
        found = hs.patching(untrained(seed), rows, exact="all")
        named += int((found["q"] < 0.05).sum())
        tested += bool(found["q"].notnull().any())
        value = found["patching"].values.ravel()
        error = (found["patching_high"] - found["patching_low"]).values.ravel() / 4
        plain = statistics.Effects(value, error, value, value)
        against_none += bool((statistics.adjusted(statistics.p_values(plain, 0.0, 40), 16) < 0.05).any())
    assert named == 0
    assert tested > 0
    assert against_none > 0  # so that the chance line is what it takes


def test_effects_on_paper() -> None:
    found = statistics.effects(np.array([[1.0], [0], [2], [1], [1]]), np.full(5, 2.0))
    assert found.value[0] == 0.5
    # the rests are 0, −1, 1, 0, 0; √(5/4 · 2) / 10
    assert found.se[0] == pytest.approx(np.sqrt(2.5) / 10)
    assert found.low[0] < 0.5 - found.se[0]
    assert found.high[0] > 0.5 + found.se[0]
    few = statistics.effects(np.ones((4, 2)), np.full(4, 2.0))
    assert np.isnan(few.low).all()
    assert (few.value == 0.5).all()


def test_q_counts_the_heads_that_were_not_patched() -> None:
    p = np.array([0.001, np.nan, 0.02])
    np.testing.assert_allclose(statistics.adjusted(p, 50), [0.05, np.nan, 0.5])
    assert np.isnan(statistics.adjusted(np.full(3, np.nan), 50)).all()


def test_only_the_largest_estimates_are_patched(models: dict[str, Model]) -> None:
    found = hs.patching(models["GPT-2"], some_pairs(), exact=3)
    there = found["patching"].notnull().values
    assert there.sum() == 3
    sizes = np.abs(found["estimate"].values)
    assert sizes[there].min() > sizes[~there].max()
    every = hs.patching(models["GPT-2"], some_pairs(), exact="all")
    np.testing.assert_allclose(found["patching"].values[there], every["patching"].values[there])
    rows = found.table()
    assert tuple(rows.columns) == statistics.COLUMNS
    assert len(rows) == LAYERS * HEADS
    assert rows["effect"].notna().tolist() == [True] * 3 + [False] * 9
    assert (np.diff(np.abs(rows["effect"].to_numpy()[:3])) <= 0).all()
    assert description(found)["pairs"] == 5
    exact = every["patching"].values.ravel()
    assert float(every["agreement"]) == pytest.approx(
        np.corrcoef(exact, every["estimate"].values.ravel())[0, 1]
    )


def test_the_model_is_left_as_it_was(models: dict[str, Model]) -> None:
    model = models["Llama"]
    hs.patching(model, some_pairs()[:1], exact=2)
    for each in model.module.modules():
        assert not each._forward_pre_hooks
        assert not each._forward_hooks
    assert all(each.grad is None for each in model.module.parameters())


def test_a_layer_norm_after_the_sum_is_no_hindrance() -> None:
    """Patching asks for no one stream, as attribution does."""
    after = dict(family("OPT").config, do_layer_norm_before=False)
    post = hs.load(build(Family("OPT 350m", "OPTForCausalLM", "opt", after)))
    assert hs.patching(post, some_pairs()[:1], exact="all")["patching"].notnull().all()
    assert WORDS > C + 6


def test_the_pairs_that_ship_are_as_they_are_made() -> None:
    assert [line.text for line in packaged(DEMO) if line.text] == indirect_objects.text().splitlines()
    rows = indirect_objects.pairs()
    assert len(rows) == 48
    for row in rows:  # the one who does it is named twice, the answer once, and its place tells nothing
        assert (row["clean"].count(row["answer"][1:]), row["clean"].count(row["wrong"][1:])) == (1, 2)
        assert (row["corrupted"].count(row["answer"][1:]), row["corrupted"].count(row["wrong"][1:])) == (2, 1)
    assert (
        sum(row["clean"].index(row["answer"][1:]) < row["clean"].index(row["wrong"][1:]) for row in rows)
        == 24
    )


@pytest.mark.deep
def test_heads_of_a_language_model_that_tell_who_is_given_something(smollm: Any) -> None:
    """The figures of docs/importance.md."""
    found = hs.patching(smollm, exact=6, edges=6)
    ends = [float(found[name]) for name in ("clean", "corrupted", "solved")]
    np.testing.assert_allclose(ends, [3.83, -3.86, 47 / 48], atol=5e-3)
    rows = found.table()
    heads, edges = rows[rows["to"] == ""], rows[rows["to"] != ""]
    expected = [(23, 3), (20, 0), (29, 1), (29, 0), (24, 4)]
    assert [*zip(heads["layer"], heads["head"], strict=True)][:5] == expected
    np.testing.assert_allclose(heads["effect"][:5], [0.471, 0.361, 0.254, -0.199, -0.162], atol=2e-3)
    assert (heads["q"][:6] < 0.001).all()
    assert float(found["chance"]) < 0.002
    first = edges.iloc[0]
    assert (first["layer"], first["head"], first["to"]) == (23, 3, "logits")
    assert first["effect"] == pytest.approx(0.653, abs=2e-3)


def test_the_size_of_effects_by_chance_is_their_standard_deviation() -> None:
    normal = NormalDist(mu=0, sigma=3)
    ranks = [(place + 0.5) / 1000 for place in range(1000)]
    assert statistics.chance(np.array([normal.inv_cdf(rank) for rank in ranks])) == pytest.approx(3, rel=0.01)


def test_an_effect_beside_a_gap_that_may_be_nothing_has_no_interval() -> None:
    draw = np.random.default_rng(0)
    gaps = draw.normal(0.1, 1.0, 12)
    found = statistics.effects(0.5 * gaps[:, None] + draw.normal(0, 0.1, (12, 3)), gaps)
    assert not statistics.told_apart(gaps)
    assert np.isfinite(found.value).all()
    assert np.isnan([found.low, found.high]).all()
