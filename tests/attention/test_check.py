"""The check on loading: what is wrong with a model is found, and said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
import transformers

import headscope as hs
from headscope.attention import interface
from headscope.errors import RefusedError
from tests.helpers.families import build, family, reference
from tests.helpers.small_models import sizes, small

SMALL: dict[str, Any] = {"vocab_size": 60, **sizes(inner=24)}


@pytest.fixture
def bert() -> transformers.BertModel:
    torch.manual_seed(1)
    return transformers.BertModel(transformers.BertConfig(**SMALL)).eval()


def broken(monkeypatch: pytest.MonkeyPatch, change: Any) -> None:
    """Let the model file's own attention return what `change` makes of its output and weights."""
    own = interface._own_eager

    def changed(kind: Any) -> Any:
        return lambda *arguments, **options: change(*own(kind)(*arguments, **options))

    monkeypatch.setattr(interface, "_own_eager", changed)


def test_what_is_found(bert: transformers.BertModel) -> None:
    found = hs.load(bert).checked
    (part,) = found.parts
    expected = ("interface", "self", 2, [4, 4], [4, 4])
    assert (found.route, part.name, part.layers, part.heads, part.key_heads) == expected
    assert (part.causal, part.sink, found.causal) == (False, False, False)
    assert part.row_error < 1e-6
    assert part.recompute_error < 1e-6
    assert part.edit_effect > 0
    assert found.output_error < 1e-5


def test_weights_are_those_that_a_sink_leaves() -> None:
    """Granite's sinks scale the output; the weights that its file returns sum to 1."""
    config = transformers.GraniteSWAConfig(
        **SMALL, num_key_value_heads=2, sliding_window=4, pad_token_id=0,
        layer_types=["sliding_attention", "full_attention"],
    )  # fmt: skip
    torch.manual_seed(1)
    module = transformers.GraniteSWAForCausalLM(config).eval()
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    model = hs.load(module)
    assert model.checked.parts[0].sink
    seen: list[torch.Tensor] = []
    attention: Any = module.model.layers[1].self_attn
    with (
        attention.v_proj.register_forward_hook(lambda *call: seen.append(call[2])),
        attention.o_proj.register_forward_pre_hook(lambda _, given: seen.append(given[0])),
    ):
        maps = hs.capture(model, inputs={"input_ids": torch.arange(3, 15)[None]})
    values, made = (part[0].unflatten(-1, (-1, 8)).transpose(0, 1) for part in seen)
    weights = torch.tensor(maps.layers[1])
    # 12 products of numbers of about 1 in float32
    torch.testing.assert_close(weights @ values.repeat_interleave(2, 0), made, rtol=0, atol=1e-6)
    assert weights.sum(-1).max() < 1


def test_keys_that_a_model_hides_by_itself_are_hidden_in_long_inputs() -> None:
    """DeepSeek-V3.2's indexer chooses more keys than the input of the check has."""
    sparse = family("DeepSeek-V3.2")
    module: Any = build(replace(sparse, config={**sparse.config, "index_topk": 20}))
    ids = {"input_ids": torch.arange(3, 43)[None], "attention_mask": torch.ones(1, 40, dtype=torch.long)}
    maps = hs.capture(hs.load(module), inputs=ids)
    for weights, expected in zip(maps.layers, reference(module, ids), strict=True):
        assert (weights[:, -1] > 0).sum(-1).max() == 20
        # float32 rows of 40 keys that sum to 1
        torch.testing.assert_close(torch.tensor(weights), expected[0], rtol=0, atol=1e-6)


def test_a_model_that_takes_the_interface_where_it_is_not_eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """As files of models on the hub do, by `!=`."""
    from transformers.models.llama import modeling_llama

    class OfOld:
        @staticmethod
        def get_interface(name: str, eager: Any) -> Any:
            return transformers.AttentionInterface()[name] if name != "eager" else eager

    monkeypatch.setattr(modeling_llama, "ALL_ATTENTION_FUNCTIONS", OfOld())
    assert small("llama").checked.route == "interface"


def test_rows_that_do_not_sum_to_one(bert: transformers.BertModel, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, lambda out, weights: (out, weights * 1.01))
    with pytest.raises(
        RefusedError,
        match=r"BertModel, layer 0 \(encoder.layer.0.attention.self\): a row sums to 1.01 or so, expected 1",
    ):
        hs.load(bert)


def test_weights_that_are_not_softmax_of_q_and_k(
    bert: transformers.BertModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch, lambda out, weights: (out, weights.roll(1, -1)))
    with pytest.raises(
        RefusedError, match=r"layer 0 .*softmax\(q·k\) differs from the weights the model used by"
    ):
        hs.load(bert)


def test_weights_that_are_not_finite(bert: transformers.BertModel, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, lambda out, weights: (out, weights * torch.nan))
    with pytest.raises(RefusedError, match=r"layer 0 .*weights are not finite"):
        hs.load(bert)


def test_recording_that_moves_the_output(
    bert: transformers.BertModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch, lambda out, weights: (out * 2, weights))
    with pytest.raises(RefusedError, match="recording moved the output by"):
        hs.load(bert)


def test_weights_that_do_not_reach_the_output(bert: transformers.BertModel) -> None:
    with torch.no_grad():
        for layer in bert.encoder.layer:
            layer.attention.output.dense.weight.zero_()
    with pytest.raises(
        RefusedError,
        match=r"BertModel \(encoder.layer.1.attention.self\): an edit of the weights does not reach the output",
    ):
        hs.load(bert)


BARE: dict[str, Any] = {
    "Yolos": {"image_size": [32, 48], "num_detection_tokens": 3},
    "PvtV2": {"image_size": 64, "hidden_sizes": [8, 16, 24, 32], "num_attention_heads": [1, 2, 3, 4]},
    "VideoMAE": {"image_size": 32, "num_frames": 4},
    "VJEPA2": {"crop_size": 32, "frames_per_clip": 4, "pred_hidden_size": 32, "pred_num_attention_heads": 4},
    "AST": {"max_length": 64},
    "Wav2Vec2Bert": {},
}


@pytest.mark.parametrize("kind", BARE)
def test_a_configuration_says_what_its_module_takes(kind: str) -> None:
    options = BARE[kind] if "hidden_sizes" in BARE[kind] else {**sizes(inner=48), **BARE[kind]}
    config = getattr(transformers, f"{kind}Config")(**options)
    checked = hs.load(getattr(transformers, f"{kind}Model")(config).eval()).checked
    assert sum(part.layers for part in checked.parts) > 0
