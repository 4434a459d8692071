"""Changes of attention as values, against the same change of plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import headscope as hs
from headscope.attention.whatif import edit
from headscope.errors import InputError
from headscope.models import Model
from tests.helpers.families import build, family
from tests.helpers.small_models import sharpen, sizes
from tests.helpers.small_tokenizers import byte_level

FAMILIES = ("BERT", "Llama", "gpt-oss", "DeBERTa")
LAYER, HEAD = 0, 1


def model_of(name: str) -> tuple[Model, dict[str, Any]]:
    found = family(name)
    return Model(build(found)), {key: value[:1] for key, value in found.inputs.items()}


def maps(model: Model, inputs: dict[str, Any], *changes: Any) -> np.ndarray:
    """Weights of the edited layer ``[head query key]``."""
    if not changes:
        return np.asarray(hs.capture(model, inputs=inputs).layers[LAYER], np.float64)
    with hs.edit(model, *changes):
        return np.asarray(hs.capture(model, inputs=inputs).layers[LAYER], np.float64)


def by_hand(deed: str, weights: np.ndarray, value: float, seen: np.ndarray) -> np.ndarray:
    """One head's weights ``[query key]`` after a change."""
    total = weights.sum(-1, keepdims=True)
    sink = 1 - total
    if deed == "off":
        return np.zeros_like(weights)
    if deed == "uniform":
        return seen / seen.sum(-1, keepdims=True) * total
    if deed == "previous":
        place = np.maximum(np.arange(len(weights)) - 1, 0)
        return np.eye(weights.shape[1])[place] * total
    if deed == "mean":
        column = (weights * seen).sum(0) / np.maximum(seen.sum(0), 1)
        return column * seen / (column * seen).sum(-1, keepdims=True) * total
    if deed == "temperature":
        power, rest = weights ** (1 / value), np.where(sink > 1e-5, sink, 0) ** (1 / value)
        return power / (power.sum(-1, keepdims=True) + np.where(sink > 1e-5, rest, 0))
    left = weights.copy()  # hide 3>2, scale >1-2
    if deed == "scale":
        left[:, 1:3] *= value
    else:
        left[3, 2] = 0
    whole = left.sum(-1, keepdims=True) + np.where(sink > 1e-5, sink, 0)
    return left / whole


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize(
    "text",
    [
        "off",
        "mean",
        "uniform",
        "previous",
        "temperature 0.5",
        "temperature 3.0",
        "hide 3>2",
        "scale >1-2 2.5",
    ],
)
def test_a_changed_head_is_what_plain_arrays_give(name: str, text: str) -> None:
    model, inputs = model_of(name)
    before = maps(model, inputs)
    after = maps(model, inputs, f"L{LAYER}H{HEAD} {text}")
    seen = before[HEAD] > 0
    deed, _, value = text.partition(" ")
    expected = by_hand(
        deed, before[HEAD], 0.0 if deed == "hide" else float(value.split()[-1] if value else 0), seen
    )
    assert_allclose(after[HEAD], expected, atol=2e-6)
    others = [head for head in range(len(before)) if head != HEAD]
    assert_allclose(after[others], before[others], atol=1e-6)
    assert abs(after[HEAD] - before[HEAD]).max() > 1e-3


def logits(model: Model, ids: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return model.module(ids).logits


@pytest.mark.parametrize(
    ("text", "rows", "factor"), [("all scale >2-4 2.0", slice(None), 2.0), ("all scale 5>2-4 0.25", 5, 0.25)]
)
def test_scaled_weights_are_those_of_a_logarithm_added_to_the_scores(
    text: str, rows: Any, factor: float
) -> None:
    torch.manual_seed(0)
    size = {"n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 16, "attn_implementation": "eager"}
    module = (
        sharpen(transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=50, **size))).double().eval()
    )
    bias = torch.full((6, 6), -torch.inf, dtype=torch.float64).triu(1)
    bias[rows, 2:5] += np.log(factor)
    with torch.no_grad():
        expected = module(IDS, attention_mask=bias[None, None]).logits
        plain = module(IDS).logits
    with hs.edit(model := hs.load(module), text):
        found = logits(model, IDS)
    assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert (plain - expected).abs().max() > 1e-3


@pytest.fixture(scope="module")
def llama() -> Model:
    torch.manual_seed(0)
    config = transformers.LlamaConfig(vocab_size=50, **sizes(layers=3, inner=32, keys=2))
    return hs.load(transformers.LlamaForCausalLM(config))


IDS = torch.tensor([[3, 1, 4, 1, 5, 9]])


def test_what_the_model_says_is_that_of_the_changed_weights(llama: Model) -> None:
    with hs.ablate(llama, "L1H2"):
        expected = logits(llama, IDS)
    with hs.edit(llama, "L1H2 off"):
        assert torch.equal(logits(llama, IDS), expected)
    assert not torch.allclose(logits(llama, IDS), expected, atol=1e-5)
    with hs.ablate(llama, *(f"L1H{head}" for head in range(4))):
        expected = logits(llama, IDS)
    with hs.edit(llama, "L1 off"):
        assert torch.equal(logits(llama, IDS), expected)
    # Hidden from all: the model does not know of that token.
    with hs.edit(llama, "all hide >2"):
        one, other = (logits(llama, torch.tensor([[3, 1, token, 1, 5]]))[0, 3:] for token in (4, 7))
    assert torch.allclose(one, other, atol=1e-5)


def test_each_change_sees_what_the_one_before_it_left(llama: Model) -> None:
    inputs = {"input_ids": IDS}
    uniform_first = maps(llama, inputs, "L0H1 uniform", "L0H1 hide 4>1")[1]
    assert_allclose(uniform_first[4], np.array([1, 0, 1, 1, 1, 0]) / 4, atol=1e-6)
    hide_first = maps(llama, inputs, "L0H1 hide 4>1", "L0H1 uniform")[1]
    assert_allclose(hide_first[4], np.array([1, 1, 1, 1, 1, 0]) / 5, atol=1e-6)
    off_first = maps(llama, inputs, "L0H1 off", "L0H1 hide 4>1", "L0H1 temperature 2")[1]
    assert not off_first.any()
    both = maps(llama, inputs, "L0H1 hide 4>1", lambda record: record.weights() / 2)
    assert_allclose(both[1].sum(-1), 0.5, atol=1e-6)
    assert both[1, 4, 1] == 0


@pytest.mark.parametrize("kind", ["llama", "mistral"])
def test_while_a_model_writes(llama: Model, kind: str) -> None:
    """Places are those of the text, in the steps as in the prompt, also behind a cache that has lost the first keys."""
    model = llama if kind == "llama" else hs.load(sharpen(build(family("Mistral"))))
    prompt = hs.Tokens([str(one) for one in IDS[0].tolist()], ids=IDS[0].numpy())
    with hs.edit(model, "L0H1 previous", "all hide >0", "L1H0 hide 7>6"):
        made: Any = hs.generate(model, prompt, max_new_tokens=4)
        whole: Any = hs.capture(model, inputs={"input_ids": torch.as_tensor(np.array(made.query.ids))[None]})
    assert len(made.query) == 9
    for layer, weights in enumerate(made.layers):
        assert_allclose(weights, whole.layers[layer], atol=1e-5)
    assert made["L1H0"][7, 6] == 0 < made["L1H1"][7, 6]
    assert_allclose(made["L0H1"][8], np.eye(9)[7], atol=1e-6)


@given(
    st.builds(
        hs.WhatIf,
        st.sampled_from(["off", "mean", "uniform", "previous"]),
        layer=st.integers(0, 99),
        head=st.none() | st.integers(0, 99),
    )
    | st.builds(
        hs.WhatIf, st.just("temperature"), layer=st.none() | st.integers(0, 9), value=st.floats(1e-6, 1e6)
    )
    | st.builds(
        hs.WhatIf,
        st.just("hide"),
        layer=st.none() | st.integers(0, 9),
        query=st.none() | st.integers(0, 9999),
        key=st.integers(0, 9999),
        last=st.none() | st.integers(9999, 12000),
    )
    | st.builds(
        hs.WhatIf,
        st.just("scale"),
        query=st.integers(0, 9999),
        key=st.none() | st.integers(0, 9999),
        value=st.floats(1e-6, 1e6),
    )
)
def test_its_text_says_all_of_it(change: hs.WhatIf) -> None:
    assert hs.WhatIf.parse(str(change)) == change
    assert hs.WhatIf.parse(f"  {str(change).upper().replace('>', ' > ')} ") == change


@pytest.mark.parametrize("text", ["L9H0 off", "L9 uniform", "all hide >80", "all scale >80 2.0"])
def test_what_was_not_met_is_said(llama: Model, text: str) -> None:
    with pytest.raises(InputError, match=f"{text}: this model has no such head"), hs.edit(llama, text):
        logits(llama, IDS)
    with pytest.raises(InputError, match="no head 7 in layer 0; it has 4"), hs.edit(llama, "L0H7 off"):
        logits(llama, IDS)
    with pytest.raises(InputError, match="expected at least one"), edit(llama):
        pass


def test_cross_attention_has_no_previous_token() -> None:
    model, inputs = model_of("BART")
    with pytest.raises(InputError, match="found cross attention"), hs.edit(model, "all previous"):
        hs.capture(model, inputs=inputs)


@pytest.mark.parametrize("family", [transformers.GPT2LMHeadModel, transformers.GPTJForCausalLM])
def test_a_change_holds_in_every_batch_of_a_corpus(family: Any) -> None:
    """A run over a corpus needs no more than the backbone, of which each batch is a pass."""
    tokenizer = byte_level()
    torch.manual_seed(0)
    size = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "rotary_dim": 4}
    module = family(family.config_class(vocab_size=len(tokenizer), **size))
    model = hs.load((sharpen(module), tokenizer))
    texts = ["the cat sat", "the old bridge was repaired", "she saw her dog", "a mat"]
    with hs.edit(model, "L1H2 uniform"):
        found = hs.measure(model, hs.corpora.texts(texts), measures=["entropy"], batch_size=1)
    rows = np.concatenate([np.arange(1, 1 + len(model.encode(text))) for text in texts])
    assert_allclose(found["entropy"].sel(layer=1, head=2), np.log(rows).mean(), rtol=1e-5)


@pytest.mark.parametrize(
    "text", ["all hide >1", "all scale >1 3.0", "L0H1 hide 3>2", "L1 hide 3>", "L0 previous"]
)
def test_places_are_counted_without_padding(llama: Model, text: str) -> None:
    """A row alone, with padding to its left, and with padding to its left and within."""
    alone = {"input_ids": torch.tensor([[5, 6, 7, 8, 9]])}
    padded = {
        "input_ids": torch.tensor([[0, 0, 0, 5, 6, 7, 8, 9], [0, 5, 6, 0, 0, 7, 8, 9]]),
        "attention_mask": torch.tensor([[0, 0, 0, 1, 1, 1, 1, 1], [0, 1, 1, 0, 0, 1, 1, 1]]),
        "position_ids": torch.tensor([[0, 0, 0, 0, 1, 2, 3, 4], [0, 0, 1, 0, 0, 2, 3, 4]]),
    }
    with hs.edit(llama, text):
        expected, rows = hs.capture(llama, inputs=alone), hs.capture(llama, inputs=padded)
    for row in rows:
        for mine, theirs in zip(row.layers, expected.layers, strict=True):
            assert_allclose(mine, theirs, atol=1e-6)
