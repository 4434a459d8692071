from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import softmax

from headscope.attention.neurons import capture_with_neurons, norms
from headscope.core.maps import AttentionMaps
from headscope.core.neurons import Neurons
from headscope.errors import InputError
from headscope.models.model import Model
from tests.helpers.families import CAPTURED, Family, build, family

pytestmark = pytest.mark.slow

TEXTS = [each for each in CAPTURED if each.reads in ("text", "target", "pixels", "frames")]


def one_row(family: Family) -> dict[str, torch.Tensor]:
    return {name: tensor[1:] for name, tensor in family.inputs.items()}


def parts_of(captured: object) -> dict[str, AttentionMaps]:
    return {"self": captured} if isinstance(captured, AttentionMaps) else dict(captured)


def weights(found: Neurons, layer: int, seen: np.ndarray) -> np.ndarray:
    """Softmax by the formula of `Neurons`' docstring, over the keys that are seen."""
    k = np.repeat(found.k[layer], found.groups(layer), 0)
    scores = np.einsum("hqd,hkd->hqk", found.q[layer], k).astype(np.float64) * found.scaling[layer]
    bias, softcap, sinks = found.bias[layer], found.softcap[layer], found.sinks[layer]
    if bias is not None:
        scores = scores + bias
    if softcap is not None:
        scores = softcap * np.tanh(scores / softcap)
    scores = np.where(seen, scores, -np.inf)
    if sinks is None:
        return softmax(scores, -1)
    sink = np.broadcast_to(sinks[:, None, None], (*scores.shape[:2], 1))
    return softmax(np.concatenate([scores, sink], -1), -1)[..., :-1]


@pytest.mark.parametrize("each", TEXTS, ids=str)
def test_softmax_of_neurons_is_the_map(each: Family) -> None:
    model = Model(build(each))
    if each.name in ("Swin", "Swin v2", "Funnel", "Funnel factorized"):
        pytest.skip("its layers look at different axes, so they make no one grid of maps")
    captured, found = capture_with_neurons(model, inputs=one_row(each))
    maps = parts_of(captured)
    assert maps.keys() == found.keys()
    for part, each_maps in maps.items():
        for place, layer in enumerate(each_maps.layers):
            np.testing.assert_allclose(weights(found[part], place, layer > 0), layer, atol=2e-5)


@pytest.mark.parametrize(
    ("name", "projection"),
    [
        ("BERT", lambda m, n: m.encoder.layer[n].attention.output.dense.weight.T),
        ("GPT-2", lambda m, n: m.transformer.h[n].attn.c_proj.weight),
        ("Llama", lambda m, n: m.model.layers[n].self_attn.o_proj.weight.T),
        ("DistilBERT", lambda m, n: m.transformer.layer[n].attention.out_lin.weight.T),
        ("DeBERTa-v2", lambda m, n: m.encoder.layer[n].attention.output.dense.weight.T),
        ("BLOOM", lambda m, n: m.transformer.h[n].self_attention.dense.weight.T),
    ],
)
def test_norms_are_of_what_each_key_contributes(name, projection) -> None:
    each = family(name)
    module = build(each)
    captured, neurons_ = capture_with_neurons(Model(module), inputs=one_row(each), values=True)
    found = neurons_["self"]
    for layer, alpha in enumerate(captured.layers):
        matrix = projection(module, layer).detach().numpy()
        heads, queries, keys = alpha.shape
        v = np.repeat(found.v[layer], heads // found.v[layer].shape[0], 0)
        size = v.shape[-1]
        expected = np.zeros(alpha.shape)
        for head in range(heads):
            for query in range(queries):
                for key in range(keys):
                    sent = alpha[head, query, key] * v[head, key] @ matrix[head * size : (head + 1) * size]
                    expected[head, query, key] = np.sqrt((sent**2).sum())
        np.testing.assert_allclose(found.norms[layer], expected, atol=1e-4, rtol=1e-4)
    for one, other in zip(norms(Model(module), inputs=one_row(each))["self"], found.norms, strict=True):
        np.testing.assert_array_equal(one, other)


def test_neurons_have_what_was_asked_for() -> None:
    """Padding is taken off, grouped keys are not repeated, values come on request only."""
    captured, neurons_ = capture_with_neurons(Model(build(family("BERT"))), inputs=one_row(family("BERT")))
    found = neurons_["self"]
    assert found.q[0].shape[1] == found.k[0].shape[1] == len(captured.query) == 9
    assert found.v is found.norms is None
    module = build(family("Llama"))
    grouped = capture_with_neurons(Model(module), inputs=one_row(family("Llama")), values=True)[1]["self"]
    assert (len(grouped.q[0]), len(grouped.k[0]), grouped.groups(0)) == (4, 2, 2)
    assert not any(part._forward_pre_hooks for part in module.modules())


def test_norms_are_none_where_something_stands_between() -> None:
    module = build(family("BERT"))
    for layer in module.encoder.layer:
        dense = layer.attention.output.dense
        dense.register_forward_pre_hook(lambda _, inputs: (inputs[0] * 2,), prepend=True)
    found = capture_with_neurons(Model(module), inputs=one_row(family("BERT")), values=True)[1]["self"]
    assert found.norms is None
    assert found.v is not None
    with pytest.raises(
        InputError, match=r"^BertModel: its output projection cannot be told, so there are no norms$"
    ):
        norms(Model(module), inputs=one_row(family("BERT")))


def test_a_batch_is_refused() -> None:
    with pytest.raises(InputError, match="axis batch: neurons are of one input, found 2 rows"):
        capture_with_neurons(Model(build(family("BERT"))), inputs=family("BERT").inputs)
