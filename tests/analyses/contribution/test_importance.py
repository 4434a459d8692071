"""Head importance against an explicit gate, ablation against a model without the head, relevance of real models."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import headscope as hs
from headscope.analyses.contribution.importance import estimate
from headscope.attention.record import AttentionRecord
from headscope.core.tokens import Tokens
from headscope.measures.dataset import table
from headscope.models import Model
from tests.helpers.families import build, corpus_of, family, half_square


def inputs(*lengths: int) -> list[Tokens]:
    draw = np.random.default_rng(1)
    return [Tokens(["x"] * length, ids=draw.integers(3, 119, length)) for length in lengths]


class Gates:
    """Gates on what the heads of a BERT layer give, put where the output projection takes it in."""

    def __init__(self, module: nn.Module) -> None:
        self.values = [torch.ones(4, requires_grad=True) for _ in module.encoder.layer]
        self._hooks = [
            layer.attention.output.dense.register_forward_pre_hook(self._at(place))
            for place, layer in enumerate(module.encoder.layer)
        ]

    def _at(self, place: int) -> Any:
        def hook(_: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            heads = args[0].unflatten(-1, (4, -1)) * self.values[place][:, None]
            return (heads.flatten(-2),)

        return hook

    def remove(self) -> None:
        for hook in self._hooks:
            hook.remove()


def one(module: nn.Module, tokens: Tokens) -> Tensor:
    ids = torch.tensor(np.array(tokens.ids))[None]
    return half_square(module(input_ids=ids, attention_mask=torch.ones_like(ids)))


def by_gates(module: nn.Module, corpus: Sequence[Tokens]) -> np.ndarray:
    """``|∂L/∂ξ_h|`` of each input, ``[input layer head]``."""
    found: list[np.ndarray] = []
    for tokens in corpus:
        gates = Gates(module)
        slopes = torch.autograd.grad(one(module, tokens), gates.values)
        gates.remove()
        found.append(np.stack([slope.abs().numpy() for slope in slopes]))
    return np.stack(found)


def test_importance_is_the_derivative_by_an_explicit_gate() -> None:
    module = build(family("BERT"))
    corpus = inputs(9, 12, 7)
    found = hs.contribution.importance(Model(module), corpus_of(corpus), objective=half_square, batch_size=2)
    each = by_gates(module, corpus)
    np.testing.assert_allclose(found.importance, each.mean(0), rtol=1e-4)
    np.testing.assert_allclose(found.importance_se, each.std(0, ddof=1) / np.sqrt(3), rtol=1e-3)
    assert (found.importance_n == 3).all()
    assert json.loads(found.attrs["meta"])["objective"] == "half_square"
    assert len(table(found)) == 12


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Llama", "gpt-oss", "DeBERTa-v2", "BLOOM", "T5"])
def test_importance_of_other_families_is_the_derivative_by_gates_on_their_weights(name: str) -> None:
    model = Model(build(family(name)))
    module = model.backbone if model.encoder_decoder else model.module
    corpus = inputs(9, 12)
    each: list[np.ndarray] = []
    for tokens in corpus:
        gates: dict[int, Tensor] = {}

        def gated(record: AttentionRecord, gates: dict[int, Tensor] = gates) -> Tensor:
            gates[record.layer] = torch.ones(record.shape[1], requires_grad=True)
            return record.weights() * gates[record.layer][:, None, None]

        with hs.edit(Model(module), gated):
            number = one(module, tokens)
        slopes = torch.autograd.grad(number, [gates[layer] for layer in sorted(gates)])
        each.append(np.stack([slope.abs().numpy() for slope in slopes]))
    found = hs.contribution.importance(model, corpus_of(corpus), objective=half_square)
    np.testing.assert_allclose(found.importance.values, np.mean(each, 0), rtol=2e-3, atol=1e-4)


def test_importance_normalised_by_layer() -> None:
    model = Model(build(family("GPT-2")))
    corpus = corpus_of(inputs(9, 12))
    plain = hs.contribution.importance(model, corpus, objective=half_square)
    found = hs.contribution.importance(model, corpus, objective=half_square, normalise=True)
    norm = np.sqrt((plain.importance**2).sum("head"))
    np.testing.assert_allclose(found.importance, plain.importance / norm, rtol=1e-6)
    np.testing.assert_allclose(found.importance_se, plain.importance_se / norm, rtol=1e-6)


def without(module: nn.Module, layer: int, heads: Sequence[int], tokens: Tokens) -> float:
    """The number of a BERT whose output projection has no columns for these heads."""
    dense = module.encoder.layer[layer].attention.output.dense
    kept = dense.weight.detach().clone()
    with torch.no_grad():
        for head in heads:
            dense.weight[:, head * 8 : head * 8 + 8] = 0.0
        number = one(module, tokens).item()
        dense.weight.copy_(kept)
    return number


@pytest.mark.slow
def test_ablation_is_the_model_without_the_head() -> None:
    module = build(family("BERT"))
    corpus = inputs(9, 12, 7)
    found = hs.contribution.ablation(Model(module), corpus_of(corpus), objective=half_square, batch_size=2)
    with torch.no_grad():
        plain = np.array([one(module, tokens).item() for tokens in corpus])
    for layer, head in [(0, 0), (1, 2), (2, 3)]:
        numbers = np.array([without(module, layer, [head], tokens) for tokens in corpus])
        change = numbers - plain
        place = {"layer": layer, "head": head}
        np.testing.assert_allclose(found.ablation.sel(place), change.mean(), rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(found.ablation_se.sel(place), change.std(ddof=1) / np.sqrt(3), rtol=1e-2)
        np.testing.assert_allclose(found.ablated.sel(place), numbers.mean(), rtol=1e-4)
    assert (found.ablation_n == 3).all()


def test_ablation_of_some_heads_and_of_them_together() -> None:
    module = build(family("BERT"))
    corpus = inputs(9, 12)
    model, examples = Model(module), corpus_of(corpus)
    some = hs.contribution.ablation(model, examples, objective=half_square, heads=["L1H0", hs.Head(1, 3)])
    every = hs.contribution.ablation(model, examples, objective=half_square)
    np.testing.assert_allclose(
        some.ablation.sel(layer=1, head=[0, 3]), every.ablation.sel(layer=1, head=[0, 3])
    )
    assert np.isfinite(some.ablation).sum() == np.isfinite(some.ablation_n).sum() == 2
    assert len(table(some)) == 4
    both = hs.contribution.ablation(
        model, examples, objective=half_square, heads=["L1H0", "L1H3"], together=True
    )
    expected = np.mean([without(module, 1, [0, 3], tokens) for tokens in corpus])
    np.testing.assert_allclose(both.ablated.item(), expected, rtol=1e-4)
    assert both.ablation_n.item() == 2


@pytest.mark.parametrize("name", ["Llama", "gpt-oss", "DeBERTa-v2", "T5", "ALBERT"])
def test_ablation_agrees_with_an_edit_of_the_model(name: str) -> None:
    model = Model(build(family(name)))
    corpus = inputs(9, 12)
    found = hs.contribution.ablation(model, corpus_of(corpus), objective=half_square, heads=["L1H2"])
    module = model.backbone if model.encoder_decoder else model.module
    numbers: list[float] = []
    for tokens in corpus:
        with torch.no_grad(), hs.ablate(Model(module), hs.Head(1, 2)):
            numbers.append(one(module, tokens).item())
    np.testing.assert_allclose(found.ablated.sel(layer=1, head=2), np.mean(numbers), rtol=1e-4)


@pytest.mark.slow
def test_an_estimate_of_ablation(demo: Model) -> None:
    line = estimate(demo, hs.corpora.builtin(), limit=3)
    assert line.startswith("3 inputs, 73 forward passes each: about ")


def test_relevance_of_a_model_with_one_layer_is_its_positive_part() -> None:
    config = {**family("BERT").config, "num_hidden_layers": 1}
    import transformers

    torch.manual_seed(0)
    module = transformers.BertModel(transformers.BertConfig(**config), add_pooling_layer=False).eval()
    ids = {"input_ids": np.array([[3, 5, 9, 4]])}
    found = hs.contribution.relevance(Model(module), inputs=ids, objective=half_square)
    maps = hs.capture(Model(module), inputs=ids)
    slopes = hs.gradients(Model(module), inputs=ids, objective=half_square)["self"]
    expected = np.eye(4) + np.clip(maps.layers[0] * slopes[0], 0, None).mean(0)
    np.testing.assert_allclose(found[0], expected, atol=1e-6)


def test_relevance_of_an_encoder_decoder_has_its_parts() -> None:
    found = hs.contribution.relevance(
        Model(build(family("T5"))),
        inputs={k: v[:1] for k, v in family("T5").inputs.items()},
        objective=half_square,
    )
    assert isinstance(found, dict)
    assert {name: each.shape for name, each in found.items()} == {
        "encoder": (2, 12, 12), "decoder": (2, 7, 7), "cross": (2, 7, 12)
    }  # fmt: skip
    assert not np.triu(found["decoder"][-1], 1).any()
    assert found["cross"][-1].any()
