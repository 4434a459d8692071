"""What gradients are of by default, against transformers' own losses."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from headscope.attention.objective import natural
from headscope.models.model import Model
from tests.helpers.families import build, family


def number(model: Model, inputs: dict, axes: dict | None = None) -> tuple[float, str]:
    said: list[str] = []
    with torch.no_grad():
        found = natural(model, axes or {}, inputs, said)(model.module(**inputs))
    return float(found), said[0]


def first_row(name: str) -> tuple[Model, dict]:
    each = family(name)
    return Model(build(each)), {key: value[:1] for key, value in each.inputs.items()}


@pytest.mark.parametrize("name", ["GPT-2", "Llama"])
def test_a_causal_language_model(name: str) -> None:
    model, inputs = first_row(name)
    with torch.no_grad():
        expected = model.module(**inputs, labels=inputs["input_ids"]).loss
    assert number(model, inputs) == (pytest.approx(float(expected), rel=1e-5), "the loss on the input")


def test_an_encoder_decoder() -> None:
    model, inputs = first_row("T5")
    read = inputs["decoder_input_ids"]
    with torch.no_grad():
        logits = model.module(**inputs).logits
    expected = functional.cross_entropy(logits[0, :-1], read[0, 1:])
    assert number(model, inputs) == (pytest.approx(float(expected), rel=1e-5), "the loss on the input")


def test_padding_does_not_count() -> None:
    each = family("GPT-2")
    model = Model(build(each))
    padded = {key: value[1:2] for key, value in each.inputs.items()}
    kept = int(padded["attention_mask"].sum())
    cut = {key: value[:, :kept] for key, value in padded.items()}
    assert number(model, padded)[0] == pytest.approx(number(model, cut)[0], rel=1e-5)


def test_a_classifier() -> None:
    transformers = pytest.importorskip("transformers")
    each = family("BERT")
    config = transformers.AutoConfig.for_model(each.model_type, **each.config, num_labels=3)
    torch.manual_seed(0)
    model = Model(transformers.BertForSequenceClassification(config).eval())
    inputs = {key: value[:1] for key, value in each.inputs.items()}
    with torch.no_grad():
        expected = model.module(**inputs).logits.max()
    assert number(model, inputs) == (pytest.approx(float(expected)), "the largest logit")
