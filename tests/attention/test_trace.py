from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from headscope.attention.interface import supports
from headscope.attention.record import AttentionRecord
from headscope.attention.trace import traced
from headscope.errors import RefusedError
from tests.helpers.families import (
    CAPTURED,
    OFF_INTERFACE,
    Family,
    build,
    each,
    family,
    logits,
    real,
    reference,
    run,
)

pytestmark = pytest.mark.slow

families = pytest.mark.parametrize("family", each(CAPTURED))
off_interface = pytest.mark.parametrize("family", each(OFF_INTERFACE))


@cache
def built(family: Family) -> nn.Module:
    return build(family)


def records_of(model: nn.Module, inputs: Any) -> list[AttentionRecord]:
    found: list[AttentionRecord] = []
    with traced(model, found.append):
        run(model, inputs)
    return found


def state(model: nn.Module) -> list[tuple[int, int, int, int]]:
    return [
        (
            len(m._forward_hooks),
            len(m._forward_pre_hooks),
            len(m._forward_hooks_always_called),
            len(m.__dict__),
        )
        for m in model.modules()
    ]


# ---- families


@pytest.mark.slow
@families
def test_family_is_followed_from_product_to_weights(family: Family) -> None:
    model, inputs = built(family), family.inputs
    records = records_of(model, inputs)
    assert [r.given.shape[1] for r in records][: family.layers] == list(family.heads)
    assert len(records) == family.layers + family.extra
    for record in records:
        assert record.followed, record.module
        assert record.route == "trace"
        assert record.v is not None, record.module
        given, again = real(record.given, inputs), real(record.recompute(), inputs)
        assert record.shape == tuple(given.shape)
        torch.testing.assert_close(again, given, rtol=0, atol=1e-5)
    left = list(records)
    for weights in reference(model, inputs):  # each is the map of one call
        errors = [
            (real(r.given, inputs) - real(weights, inputs)).abs().max().item()
            if r.given.shape == weights.shape
            else 1.0
            for r in left
        ]
        best = min(range(len(left)), key=errors.__getitem__)
        assert errors[best] < 1e-6
        del left[best]


@off_interface
def test_family_gives_the_same_output_and_is_left_as_found(family: Family) -> None:
    model, inputs = built(family), family.inputs
    expected, before = logits(run(model, inputs)), state(model)
    with traced(model, lambda record: None):
        found = logits(run(model, inputs))
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)
    assert state(model) == before
    assert not torch.overrides._get_current_function_mode_stack()


@off_interface
def test_family_uses_the_edited_weights(family: Family) -> None:
    model, inputs = built(family), family.inputs
    expected = logits(run(model, inputs))

    def silence(record: AttentionRecord) -> Tensor | None:
        if record.layer != 0:
            return None
        weights = record.weights().clone()
        weights[:, 1] = 0.0
        return weights

    with traced(model, silence):
        found = logits(run(model, inputs))
    assert (found - expected).abs().max() > 1e-4


@off_interface
def test_family_is_off_the_interface_and_its_layers_count_up(family: Family) -> None:
    model = built(family)
    assert not supports(model)
    layers: dict[str, list[int]] = {}
    for record in records_of(model, family.inputs):
        layers.setdefault(record.stack, []).append(record.layer)
    assert all(found == list(range(len(found))) for found in layers.values()), layers


def test_block_sparse_scores_are_found_out_when_they_run() -> None:
    bigbird = family("BigBird block-sparse")
    model = built(bigbird)
    with (
        pytest.raises(RefusedError, match=r"encoder\.layer\.0\.attention\.self .*attention in chunks\?"),
        traced(model, lambda record: None),
    ):
        run(model, bigbird.inputs)
    assert not any(sum(each[:3]) for each in state(model))


# ---- what the parts of a record are


def record_of(name: str, layer: int = 0) -> AttentionRecord:
    return next(r for r in records_of(built(family(name)), family(name).inputs) if r.layer == layer)


def test_multi_query_keys_stay_one_head() -> None:
    record = record_of("Falcon multi-query")
    assert (record.q.shape[1], record.k.shape[1], record.v.shape[1], record.groups) == (4, 1, 1, 4)


def test_alibi_is_bias_and_the_causal_mask_is_mask() -> None:
    for name in ("BLOOM", "Falcon ALiBi", "MPT"):
        record = record_of(name)
        assert record.scaling == pytest.approx(8**-0.5)
        bias = record.bias.expand(record.shape)[0, 0, -1]
        steps = bias.diff()
        torch.testing.assert_close(steps, steps[:1].expand_as(steps))
        assert steps[0] > 0
        visible = record.visible().expand(record.shape)[0, 0]
        assert torch.equal(visible, torch.ones_like(visible).tril())


def test_local_layers_hide_what_is_far() -> None:
    visible = record_of("GPT-Neo", 1).visible().expand(2, 4, 12, 12)[0, 0]
    query, key = torch.arange(12)[:, None], torch.arange(12)
    assert torch.equal(visible, (key <= query) & (key > query - 4))


def test_padding_is_masked_however_low_the_model_puts_it() -> None:
    for name in ("XLNet", "Funnel", "DeBERTa", "OpenAI GPT", "MPNet"):
        record = record_of(name)
        visible = record.visible().expand(record.shape)
        off_diagonal = ~torch.eye(12, dtype=torch.bool)[:9]
        assert not (visible[1, :, :9] & off_diagonal)[..., 9:].any(), name
        assert visible[0, :, -1].all(), name


def test_disentangled_terms_are_bias() -> None:
    for name in ("DeBERTa", "DeBERTa-v2", "XLNet", "Funnel", "LayoutLMv3", "MPNet"):
        record = record_of(name)
        assert record.bias is not None, name
        assert record.bias.abs().max() < 100, name
        bare = (record.q @ record.keys.mT * record.scaling).softmax(-1)
        assert (bare - record.given)[0].abs().max() > 1e-3, name


def test_softcap_and_sinks_of_eager_models() -> None:
    assert record_of("Gemma 2").softcap == pytest.approx(5.0)
    model = built(family("gpt-oss"))
    records = records_of(model, family("gpt-oss").inputs)
    for i, record in enumerate(records):
        torch.testing.assert_close(record.sinks, model.model.layers[i].self_attn.sinks)
        assert (record.given.sum(-1) < 0.999).any()


def test_shifted_windows_are_masked() -> None:
    model = built(family("Swin v2"))
    shifted = records_of(model, family("Swin v2").inputs)[1]
    assert not shifted.visible().all()
    assert shifted.given[~shifted.visible().expand(shifted.shape)].max() < 1e-30


def test_values_are_those_of_the_context() -> None:
    for name, path in (
        ("BLOOM", "transformer.h.0.self_attention.dense"),
        ("MPNet", "encoder.layer.0.attention.attn.o"),
    ):
        model, contexts = built(family(name)), []
        handle = model.get_submodule(path).register_forward_pre_hook(
            lambda _, args, to=contexts: to.append(args[0])
        )
        record = records_of(model, family(name).inputs)[0]
        handle.remove()
        context = (record.given @ record.values).transpose(1, 2).flatten(2)
        torch.testing.assert_close(context, contexts[0], rtol=0, atol=1e-6)


def test_talking_heads_are_said_not_to_be_followed() -> None:
    deberta = family("DeBERTa")
    mixed = Family(
        "", deberta.cls, deberta.model_type, {**deberta.config, "talking_head": True}, interface=False
    )
    record = records_of(build(mixed), mixed.inputs)[0]
    assert not record.followed
    torch.testing.assert_close(real(record.recompute(), mixed.inputs), real(record.given, mixed.inputs))


# ---- gradients


# ---- what is not attention


def test_routers_and_linear_attention_are_not_taken() -> None:
    for name in ("Mixtral", "Qwen3-Next", "DeepSeek-V3", "gpt-oss"):
        records = records_of(built(family(name)), family(name).inputs)
        assert all(record.module.endswith("self_attn") for record in records)


def test_steps_count_the_passes_of_generate() -> None:
    bloom = family("BLOOM")
    model = built(bloom)
    inputs = {
        "input_ids": bloom.inputs["input_ids"],
        "attention_mask": torch.ones_like(bloom.inputs["input_ids"]),
    }
    found: list[AttentionRecord] = []
    with traced(model, found.append):
        model.generate(**inputs, max_new_tokens=3, min_new_tokens=3, do_sample=False, pad_token_id=3)
    assert [r.step for r in found] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert [r.shape for r in found[::3]] == [(2, 4, 12, 12), (2, 4, 1, 13), (2, 4, 1, 14)]
    for record in found:
        torch.testing.assert_close(record.recompute(), record.given, rtol=0, atol=1e-5)
