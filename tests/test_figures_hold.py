"""A figure is right, or it is refused: weights that are no numbers, batches, padding, kernels, order, precision."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from torch import nn

import headscope as hs
from headscope.core.arrays import Floats
from headscope.errors import HeadscopeError, RefusedError
from headscope.models import Model
from tests.helpers.small_models import SMALL, sharpen
from tests.helpers.small_tokenizers import byte_level, demo

TEXTS = [
    "The cat sat on the mat. It was tired.",
    "A dog barked at the cat in the house and it was very late in the evening, said he.",
    "He did not see it.",
    "Yes, he said, she did see that he was there, and that it was raining.",
    "No.",
    "The old stone bridge was closed, and she said that it would not open soon.",
]
SHAPE = {**SMALL, "num_hidden_layers": 2, "num_attention_heads": 2, "max_position_embeddings": 128}


pytestmark = pytest.mark.slow


def module(kind: str, implementation: str = "eager", dtype: torch.dtype = torch.float32) -> nn.Module:
    torch.manual_seed(0)
    tokenizer = tokenizer_of(kind)
    config = transformers.AutoConfig.for_model(
        kind, **{**SHAPE, "vocab_size": len(tokenizer)}, pad_token_id=0, bos_token_id=0, eos_token_id=0
    )
    ends = {"bert": "ForMaskedLM", "gpt2": "LMHeadModel", "llama": "ForCausalLM"}
    architecture = getattr(transformers, type(config).__name__.removesuffix("Config") + ends[kind])
    return sharpen(architecture._from_config(config, attn_implementation=implementation)).to(dtype)


def tokenizer_of(kind: str) -> Any:
    return demo() if kind == "bert" else byte_level()


@cache
def load(kind: str, side: str = "right", **options: Any) -> Model:
    tokenizer = copy.deepcopy(tokenizer_of(kind))
    tokenizer.padding_side = side
    return hs.load((module(kind, **options), tokenizer))


def corpus() -> Any:
    return hs.corpora.texts(TEXTS)


def numbers(found: Any) -> Floats:
    """All numbers of a result, in its order."""
    if hasattr(found, "data_vars"):
        found = [each.values for each in found.data_vars.values() if each.dtype.kind in "fiu"]
    elif hasattr(found, "select_dtypes"):
        found = found.select_dtypes("number").to_numpy(float)
    elif isinstance(found, hs.AttentionMaps):
        found = found.layers
    elif isinstance(found, Mapping):
        found = list(found.values())
    if isinstance(found, np.ndarray | float | int):
        return np.asarray(found, np.float64).ravel()
    return np.concatenate([np.zeros(0), *map(numbers, found)])


CORPUS: dict[str, Callable[[Model, Any, int], Any]] = {
    "measure": lambda model, texts, size: hs.measure(model, texts, batch_size=size),
    "norm": lambda model, texts, size: hs.measure(model, texts, measures=["norm_first"], batch_size=size),
    "gradient": lambda model, texts, size: hs.measure(
        model, texts, measures=["gradient_first"], batch_size=size
    ),
    "distance": lambda model, texts, size: hs.distance(model, texts, batch_size=size),
    "importance": lambda model, texts, size: hs.contribution.importance(model, texts, batch_size=size),
    "ablation": lambda model, texts, size: hs.contribution.ablation(
        model, texts, heads=["L0H1"], batch_size=size
    ),
    "variability": lambda model, texts, size: hs.contribution.variability(
        model, texts, tokens=4, batch_size=size
    ),
}
TREES: dict[str, Callable[[Model, Any, int], Any]] = {
    "syntax": lambda model, _, size: hs.syntax(model, hs.corpora.builtin_trees(), limit=8, batch_size=size),
    "coreference": lambda model, _, size: hs.coreference(
        model, hs.corpora.builtin_trees(), limit=8, batch_size=size
    ),
}
ONE: dict[str, Callable[[Model, Any, int], Any]] = {
    "capture": lambda model, *_: hs.capture(model, TEXTS[0]),
    "gradients": lambda model, *_: hs.gradients(model, TEXTS[0]),
    "norms": lambda model, *_: hs.contribution.norms(model, TEXTS[0]),
    "relevance": lambda model, *_: hs.contribution.relevance(model, TEXTS[0]),
    "patterns": lambda model, texts, _: hs.contribution.neuron_patterns(model, texts),
    "inputs": lambda model, *_: hs.compare.inputs(model, "The cat sat.", "The dog sat.").table,
    "models": lambda model, texts, _: hs.compare.models(model, load("bert"), texts).figures,
}
ALL = {**CORPUS, **TREES, **ONE}


@pytest.fixture(scope="module")
def bert() -> Model:
    """One to break, which no other test has."""
    return hs.load((module("bert"), tokenizer_of("bert")))


@pytest.mark.parametrize(("kind", "value"), [("bert", math.nan), ("gpt2", math.inf), ("llama", math.nan)])
def test_a_weight_that_is_no_number_is_refused_by_its_name(kind: str, value: float) -> None:
    model, tokenizer = module(kind), tokenizer_of(kind)
    for name, parameter in model.named_parameters():
        place = tuple(size - 1 for size in parameter.shape)
        with torch.no_grad():
            before = parameter[place].item()
            parameter[place] = value
        with pytest.raises(RefusedError) as raised:
            hs.load((model, tokenizer))
        message = str(raised.value)
        assert f"expected finite weights, found {value} in {name}[{', '.join(map(str, place))}]" in message
        if ".1." in name:
            projected = "query" in name or "key" in name or "value" in name or "_proj.weight" in name
            attended = projected and ("self_attn" in name or "attention" in name) and "o_proj" not in name
            assert message.endswith("(layer 1, head 1)" if attended else "(layer 1)")
        with torch.no_grad():
            parameter[place] = before
    assert hs.load((model, tokenizer)).checked is not None


@pytest.mark.parametrize("name", ALL)
def test_a_weight_lost_after_loading_changes_no_figure_in_silence(bert: Model, name: str) -> None:
    """What a figure does not depend on may be lost; else it is refused, and the weight is named."""
    found = ALL[name]
    whole = numbers(found(bert, corpus(), 32))
    for weight in (
        "bert.embeddings.position_embeddings.weight",
        "bert.encoder.layer.0.attention.self.query.weight",
        "bert.encoder.layer.1.attention.self.key.weight",
        "bert.encoder.layer.1.attention.self.value.weight",
        "bert.encoder.layer.1.attention.output.dense.weight",
        "bert.encoder.layer.1.output.LayerNorm.weight",
        "cls.predictions.transform.dense.weight",
    ):
        parameter = bert.module.get_parameter(weight)
        with torch.no_grad():
            before = parameter[1].clone()
            parameter[1] = math.nan
        try:
            again = numbers(found(bert, corpus(), 32))
        except HeadscopeError:
            continue
        finally:
            with torch.no_grad():
                parameter[1] = before
        np.testing.assert_allclose(again, whole, rtol=1e-6, atol=1e-9, err_msg=weight)


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
@pytest.mark.parametrize("name", [*CORPUS, *TREES])
def test_how_a_corpus_goes_through_a_model_moves_no_figure(kind: str, name: str) -> None:
    found, model = {**CORPUS, **TREES}[name], load(kind)
    whole = numbers(found(model, corpus(), 32))
    others = {
        "one at a time": (model, corpus(), 1),
        "batches of 4": (model, corpus(), 4),
        "padded on the left": (load(kind, "left"), corpus(), 32),
        "fused kernels": (load(kind, implementation="sdpa"), corpus(), 32),
        "in another order": (model, hs.corpora.texts(TEXTS[::-1]), 32),
    }
    for how, given in others.items():
        np.testing.assert_allclose(numbers(found(*given)), whole, rtol=1e-4, atol=1e-5, err_msg=how)


@pytest.mark.parametrize(("kind", "dtype"), [("bert", torch.bfloat16), ("gpt2", torch.float16)])
def test_half_precision_is_close(kind: str, dtype: torch.dtype) -> None:
    whole, half = load(kind), load(kind, dtype=dtype)
    for name in ("measure", "norm", "distance", "variability"):
        exact, found = (numbers(CORPUS[name](model, corpus(), 32)) for model in (whole, half))
        np.testing.assert_allclose(found, exact, rtol=5e-2, atol=2e-2, err_msg=name)
    maps = [hs.capture(model, TEXTS[0]).weights for model in (whole, half)]
    np.testing.assert_allclose(maps[1], maps[0], atol=5e-2)
