"""Implicit maps: of layers that do not attend, the matrix that makes their output of their values."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from functools import wraps
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.attention import implicit
from headscope.attention.record import AttentionRecord
from headscope.corpora import Example
from headscope.errors import InputError, RefusedError
from headscope.models.model import uncached
from tests.helpers.hybrids import KNOWN, hybrid
from tests.helpers.small_tokenizers import byte_level

IDS = torch.arange(3, 27)[None]
TOLERANCE = 1e-5
"""Relative to Σ |M| |v|: sums of 24 products are off by at most 24 eps = 3e-6 each, in float32."""

MIXING = [kind for kind in KNOWN if kind not in ("deepseek_v3", "llama", "bert")]
SEEN_BY = {"minimax": "norm", "lfm2": "out_proj", "xlstm": "multihead_norm"}
"""What of a mixer that calls no function of its file gets its output."""


def records(model: Any, ids: torch.Tensor = IDS) -> list[AttentionRecord]:
    found: list[AttentionRecord] = []
    with torch.no_grad(), implicit.through_mixers(model, found.append):
        model(input_ids=ids, **uncached(model))
    return found


def close(a: torch.Tensor, b: torch.Tensor, scale: torch.Tensor) -> None:
    assert (a - b).abs().max().item() <= TOLERANCE * scale.abs().max().item()


@pytest.mark.slow
@pytest.mark.parametrize("kind", MIXING)
def test_the_map_times_the_values_is_what_the_mixer_gives(kind: str) -> None:
    model = hybrid(kind)
    found = records(model)
    products: list[torch.Tensor] = []
    for record in found:
        assert record.output is not None
        products.append(record.signed @ record.values)
        close(products[-1], record.output, record.signed.abs() @ record.values.abs())
    with torch.no_grad(), ExitStack() as stack:
        own = model(input_ids=IDS, **uncached(model))[0]
        waiting = iter(products)
        for module in implicit.mixers(model):
            if kind in SEEN_BY:
                part = module.get_submodule(SEEN_BY[kind])

                def put(_: Any, given: Any) -> Any:
                    return (next(waiting).transpose(1, 2).reshape(given[0].shape),)

                stack.callback(part.register_forward_pre_hook(put).remove)
                continue
            if kind == "recurrent_gemma":
                laid = implicit._given(next(waiting), implicit._TOKENS)
                stack.enter_context(patch.object(module, "_rnn_scan", lambda laid=laid, **_: (laid, None)))
                continue
            forward, name = implicit._forward(module), implicit._function(module)

            def instead(*_: Any, name: str = name, **__: Any) -> Any:
                laid = implicit._given(next(waiting), implicit._FUNCTIONS[name][1])
                return laid if name.startswith("mamba") else (laid, None)

            stack.enter_context(patch.dict(forward.__globals__, {name: instead}))
        close(model(input_ids=IDS, use_cache=False)[0], own, own)
    assert next(waiting, None) is None
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_a_state_space_is_its_recurrence_written_out() -> None:
    model, given = hybrid("mamba2", num_hidden_layers=1), {}
    module: Any = sys.modules[type(model).__module__]
    scan = module.mamba2_chunk_scan
    with patch.object(
        module, "mamba2_chunk_scan", wraps(scan)(lambda *a, **k: given.update(a=a, **k) or scan(*a, **k))
    ):
        (record,) = records(model)
    _, dt, a, b, c = (one.double() for one in given["a"][:5])
    dt = torch.nn.functional.softplus(dt + given["dt_bias"].double())[0].T
    decay = (a[:, None] * dt).cumsum(-1)
    expected = (c[0, :, 0] @ b[0, :, 0].T) * (decay[:, :, None] - decay[:, None]).exp().tril() * dt[:, None]
    expected += torch.eye(24) * given["D"].double()[:, None, None]
    close(record.signed[0], expected, expected)


def test_a_gated_delta_rule_is_its_recurrence_written_out() -> None:
    model, given = hybrid("qwen3_next"), []
    module: Any = sys.modules[type(model).__module__]
    rule = module.torch_chunk_gated_delta_rule
    with patch.object(
        module, rule.__name__, wraps(rule)(lambda *a, **k: given.append((a, k)) or rule(*a, **k))
    ):
        record = records(model)[0]
    (q, k, v), options = given[0]
    q, k = (module.l2norm(one[0].double()).repeat_interleave(2, 1) for one in (q, k))
    g, beta = (options[name][0].double() for name in ("g", "beta"))
    expected = torch.zeros(4, 24, 24, dtype=torch.float64)
    for head in range(4):
        state = torch.zeros(8, 24, dtype=torch.float64)  # of what each token wrote
        for token in range(24):
            key, step = k[token, head], torch.eye(24, dtype=torch.float64)[token]
            state = state * g[token, head].exp()
            state += torch.outer(key, beta[token, head] * (step - key @ state))
            expected[head, token] = q[token, head] @ state / 8**0.5
    assert v.shape[2] == 4
    close(record.signed[0], expected, expected)


@pytest.fixture(scope="module")
def hybrid_model() -> hs.models.Model:
    """Layer 0 is a state space, layer 2 attends, 1 and 3 mix nothing."""
    tokenizer = byte_level()
    return hs.load((hybrid("nemotron_h", vocab_size=len(tokenizer)), tokenizer))


TEXT = "Ada saw the cat; the cat saw Ada."


def test_captured_maps_are_signed_with_shares_beside(hybrid_model: hs.models.Model, tmp_path: Path) -> None:
    both: Any = hs.capture(hybrid_model, TEXT, implicit=True)
    assert list(both) == ["self", "implicit"]
    plain, maps = hs.capture(hybrid_model, TEXT), both.implicit
    assert np.array_equal(plain.weights, both["self"].weights)
    assert maps.index == (0,)
    assert maps.causal
    assert maps.query.pieces == plain.query.pieces
    assert maps.query.word_ids is not None
    shares = np.abs(maps.signed[0]) / np.abs(maps.signed[0]).sum(-1, keepdims=True)
    assert np.allclose(maps.layers[0], shares, atol=1e-7)
    assert (maps.signed[0] < 0).any()
    # What has neither map is named.
    assert (
        maps.meta["unseen"]
        == "Layers 1, 3 of 4 have no attention map: nothing that mixes tokens (NemotronHMLP, NemotronHMoE)."
    )
    some = maps.take(slice(2, 5), slice(0, 4))
    assert np.array_equal(some.signed[0], maps.signed[0][:, 2:5, :4])
    assert maps.words().signed[0].shape[1:] == maps.words().layers[0].shape[1:]
    maps.save(tmp_path / "maps.safetensors")
    assert np.array_equal(hs.open_maps(tmp_path / "maps.safetensors").signed[0], maps.signed[0])


def test_a_view_draws_the_signed_maps(hybrid_model: hs.models.Model) -> None:
    view = hs.view(hybrid_model, TEXT, implicit=True)
    part = view.payload["inputs"][0]["parts"][1]
    (quantity,) = part["quantities"]
    assert part["name"] == view.state["part"] == "implicit"
    assert quantity["name"] == view.state["quantity"] == "implicit map"
    assert quantity["signed"]


def test_figures_over_a_corpus_are_of_the_shares(hybrid_model: hs.models.Model) -> None:
    texts = [TEXT, "The cat.", "A dog."]
    corpus = [Example(tokens=hybrid_model.encode(text), document=text) for text in texts]
    found = hs.measure(hybrid_model, corpus, measures=["current", "entropy"], implicit=True)
    assert list(found.layer) == [0]
    rows = [
        np.einsum("hqq->hq", hs.capture(hybrid_model, text, implicit=True).implicit.layers[0])
        for text in texts
    ]
    assert np.allclose(found["current"][0], np.concatenate(rows, 1).mean(1), atol=1e-6)
    said = hs.measures.dataset.unseen(hs.measures.dataset.description(found))
    assert said.startswith("Figures are of implicit maps, as shares |M| of each row. Layers 1, 3 of 4")
    with pytest.raises(InputError, match=r"measures: norm_previous: implicit maps have shares \|M\| alone"):
        hs.measure(hybrid_model, corpus, measures=["norm_previous"], implicit=True)


def test_padding_before_an_input_leaves_its_map_as_it_is() -> None:
    model, short = hs.load(hybrid("bamba")), IDS[:, :9]
    ids, mask = torch.cat([IDS, torch.nn.functional.pad(short, (15, 0))]), torch.ones(2, 24, dtype=torch.long)
    mask[1, :15] = 0
    both: Any = hs.capture(model, inputs={"input_ids": ids, "attention_mask": mask}, implicit=True)
    alone: Any = hs.capture(model, inputs={"input_ids": short}, implicit=True)
    for one, other in zip(both[1].implicit, alone.implicit, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.slow
def test_a_model_of_mixers_alone_says_how_it_is_read() -> None:
    model = hs.load(hybrid("mamba2").bfloat16())
    assert model.causal
    assert model.unseen == "All 4 layers have no attention map: state space (Mamba2Mixer)."
    maps: Any = hs.capture(model, inputs={"input_ids": IDS}, implicit=True)
    assert list(maps) == ["implicit"]
    assert maps.implicit.meta["unseen"] == ""
    given = {"inputs": {"input_ids": IDS}}
    for run, options in ((hs.capture, given), (hs.view, given), (hs.card, {})):
        with pytest.raises(RefusedError, match="expected a model that attends, found mixers that do not"):
            run(model, **options)


def test_what_has_no_implicit_map_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RefusedError, match="LlamaForCausalLM: implicit: expected a layer whose mixer"):
        hs.capture(hs.load(hybrid("llama")), inputs={"input_ids": IDS}, implicit=True)
    model = hybrid("bamba")
    module: Any = sys.modules[type(model).__module__]
    scan = module.mamba2_chunk_scan
    with (
        patch.object(module, "mamba2_chunk_scan", wraps(scan)(lambda *a, **k: scan(*a, **k) ** 2)),
        pytest.raises(
            RefusedError, match=r"model.layers.0.mamba: its output is off .* it is not linear in them"
        ),
    ):
        records(model)
    monkeypatch.setattr(implicit, "LONGEST", 23)
    with pytest.raises(
        RefusedError, match=r"layers.0.mamba: implicit maps are made of at most 23 tokens .* found 24"
    ):
        records(model)
