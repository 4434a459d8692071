"""What heads do off the sink, against maps with the first column taken out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

import headscope as hs
from headscope.analyses.roles.offsets import look
from headscope.analyses.roles.run import look_off, measured_off, off_sink
from headscope.analyses.roles.statistics import NONE, every, named, roles_of, sinks
from headscope.attention.record import AttentionRecord
from headscope.core.tokens import Tokens
from headscope.corpora import Example
from headscope.models import Model
from headscope.runs.options import RunOptions
from tests.analyses.roles.test_statistics import two
from tests.helpers.planted_induction import WORDS, circuit
from tests.helpers.planted_needles import HAY, reader
from tests.helpers.small_models import sharpen, sizes


@pytest.fixture(scope="module")
def llama() -> Model:
    torch.manual_seed(0)
    config = LlamaConfig(vocab_size=40, **sizes(inner=40, keys=2, length=32))
    return hs.load(sharpen(LlamaForCausalLM(config)))


def texts() -> list[Example]:
    """Of two lengths, so that there is padding."""
    draw = np.random.default_rng(0)
    made: list[Example] = []
    for number in range(6):
        ids = draw.integers(3, 40, 12 if number % 2 else 9)
        axis = Tokens([str(one) for one in ids], ids, special_mask=np.zeros(len(ids), np.bool_))
        made.append(Example(tokens=axis, document=number, source=str(number)))
    return made


def taken_out(weights: np.ndarray) -> np.ndarray:
    rest = weights.astype(float).copy()
    rest[:, :, 1:, 0] = 0.0
    return rest / rest.sum(-1, keepdims=True)


def test_measures_off_the_sink_are_those_of_maps_without_their_first_column(llama: Model) -> None:
    off = look_off(llama, ["previous", "current", "entropy"], ["previous"])
    look(llama, texts(), [off], RunOptions(batch_size=4))
    found = measured_off(llama, ["previous", "current", "entropy"], off)
    previous, current = [], []
    for example in texts():
        ids = torch.as_tensor(np.array(example.tokens.ids))[None]
        given = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        rest = taken_out(np.stack(hs.capture(llama, inputs=given).layers))
        previous.append(
            np.diagonal(rest, -1, 2, 3)[..., 1:]
        )  # the second row has no key before it but the sink
        current.append(np.diagonal(rest, 0, 2, 3))
    assert_allclose(found["previous_off"], np.concatenate(previous, -1).mean(-1), atol=1e-5)
    assert_allclose(found["current_off"], np.concatenate(current, -1).mean(-1), atol=1e-5)
    assert found["previous_off_n"].values.tolist() == [[3 * 7 + 3 * 10] * 4] * 2
    rows = [size - 2 for size in (9, 12)]
    even = 3 * sum(sum(1 / (seen + 2) for seen in range(rows_)) for rows_ in rows)
    assert_allclose(found["previous_off_chance"], even / (3 * sum(rows)), atol=1e-6)
    assert np.isfinite(found["previous_off_offsets"]).all()
    assert "entropy_off" in found


def record(kind: str) -> AttentionRecord:
    torch.manual_seed(1)
    q, k = torch.randn(2, 1, 2, 5, 4)
    call = AttentionRecord(
        "m", "", 0, "self", q, k, None, 0.5, is_causal=True, sinks=torch.tensor([1.0, 2.0])
    )
    if kind == "given weights":
        return replace(call, given=call.weights())
    if kind == "slopes in the mask":
        far = torch.arange(5) - torch.arange(5)[:, None]
        slopes = (0.7 * far).masked_fill(far > 0, -torch.inf)[None, None]
        return replace(call, mask=slopes, is_causal=False)
    return call


@pytest.mark.parametrize("kind", ["own weights", "given weights", "slopes in the mask"])
def test_a_call_without_its_first_key(kind: str) -> None:
    call = record(kind)
    off = off_sink(call)
    assert_allclose(off.weights(), taken_out(call.weights().numpy()), atol=1e-6)
    visible: Any = off.visible()
    seen = visible.reshape(5, 5)
    assert seen[1:, 0].sum() == 0
    assert seen[0, 0]


def test_only_heads_with_a_sink_are_looked_at_off_it() -> None:
    """Three heads with a sink: one looks at the previous token off it, one at nothing, one does so with its sink."""
    tests = every(
        two([0.05, 0.05, 0.62, 0.1], 0.01),
        two([0.9, 0.9, 0.35, 0.15], 0.01, measure="sink"),
        two([0.8, 0.1, 0.95, 0.9], 0.01, measure="previous_off"),
    )
    off = tests[tests["role"] == "previous token, off the sink"]
    assert off["head"].tolist() == [0, 1, 2]
    assert set(off["family"]) == {"off the sink"}
    table = named(tests)
    held = {head.head: names for head, names in roles_of(table).items()}
    assert held == {
        0: ["sink", "previous token, off the sink"],
        1: ["sink"],
        2: ["previous token", "sink"],  # which says it already
    }
    assert table.loc[table["role"] == NONE, "nearest"].tolist() == ["sink"]
    assert not any("off the sink" in name for name in table.attrs["untested"])


def test_without_a_sink_nothing_is_said_of_it() -> None:
    tests = every(two([0.6, 0.1], 0.01), two([0.1, 0.1], 0.01, measure="sink"))
    assert set(tests["role"]) == {"previous token", "sink"}


def parked() -> Model:
    """GPT-2 of one layer whose first head gives most to the first token and the rest to the previous one."""
    places, width = 160, 320
    config = GPT2Config(
        vocab_size=WORDS, n_positions=places, n_embd=width, n_layer=1, n_head=2, n_inner=1, bos_token_id=0
    )
    module = GPT2LMHeadModel(config)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.zero_()
        module.transformer.wpe.weight[:, :places] = torch.eye(places)
        module.transformer.wte.weight[:, places : places + WORDS] = torch.eye(WORDS)
        module.transformer.h[0].ln_1.weight.fill_(1.0)
        attention, each = module.transformer.h[0].attn, torch.arange(places - 1)
        attention.c_attn.weight[each[1:] + 1, each[1:]] = 1.0  # a query asks for the place before its own
        attention.c_attn.weight[each[1:], width + each[1:]] = 0.5
        attention.c_attn.bias[places - 1] = 1.0  # and the first place, for which all ask
        attention.c_attn.weight[0, width + places - 1] = 8.0
        attention.c_attn.weight[:, 2 * width :] = torch.eye(width)
        attention.c_proj.weight += torch.eye(width)
        module.transformer.ln_f.weight.fill_(1.0)
    return hs.load((module, reader()))


@pytest.mark.slow
def test_a_head_that_parks_on_the_first_token_is_named_by_what_it_does_off_it() -> None:
    draw, words = np.random.default_rng(0), HAY.split()[:12]
    found = hs.roles(parked(), hs.corpora.texts([" ".join(draw.choice(words, 140)) for _ in range(8)]))
    held = {str(head): names for head, names in roles_of(found).items()}
    assert held == {"L0H0": ["sink", "previous token, off the sink"]}
    assert found.attrs["meta"]["sinks"] == {"all": 0.5, "by_layer": [0.5]}
    scores = found.set_index("role")["score"]
    assert 0.5 < scores["sink"] < 0.85 < scores["previous token, off the sink"]


@pytest.mark.slow
def test_the_circuit_is_named_from_texts_repeats_and_needles() -> None:
    text = " ".join(HAY.split()[:12] * 4)
    found = hs.roles(hs.load((circuit().module, reader())), hs.corpora.texts([text] * 8))
    held = {str(head): names for head, names in roles_of(found).items()}
    assert held == {"L0H0": ["previous token"], "L1H0": ["induction", "retrieval"]}


@pytest.mark.slow
def test_most_heads_of_a_language_model_have_a_sink_in_a_short_text(smollm: Model) -> None:
    texts = hs.corpora.builtin(pack=140)
    found = hs.measure(smollm, texts, measures=["sink", "previous"], limit=3)
    assert float(found["previous"].sel(layer=16, head=0)) > 0.6
    assert float(found["sink"].sel(layer=18, head=6)) > 0.3
    assert 0.5 < sinks(found).attrs["all"] < 0.8
