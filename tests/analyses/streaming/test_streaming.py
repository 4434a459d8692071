"""Streaming heads: the planted head that retrieves needs the whole text, losses are those of masks, untrained models lose nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import headscope as hs
from headscope.analyses.roles.retrieval import needles
from headscope.analyses.streaming import statistics
from headscope.models import Model
from tests.helpers.planted_needles import HAY, writer

TEXT = hs.corpora.texts([" ".join([HAY] * 4)])
OPTIONS: dict[str, Any] = {"recent": 20, "needles": 12, "lengths": (60,), "exact": "all", "full": 0.25}


@pytest.mark.slow
def test_the_planted_head_needs_the_whole_text(planted: Model) -> None:
    found = hs.streaming(planted, TEXT, **OPTIONS)
    assert (found["q"].values <= 0.05).tolist() == [[False, False], [True, False]]
    assert found["top"].values.tolist() == ["L1K0"]
    assert found["accuracy"].values.tolist() == [1, 0, 1, 0]
    nats = found["nats"].values
    np.testing.assert_allclose(nats[[0, 2]], 0, atol=1e-3)
    assert (nats[[1, 3]] > 1).all()
    first = found.table().iloc[0]
    assert (first["layer"], first["key_head"], first["heads"]) == (1, 0, "H0")
    assert first["ci_low"] < first["loss"] < first["ci_high"]
    assert first["outside"] == pytest.approx(1, abs=0.7)
    assert tuple(found.table().columns) == statistics.COLUMNS


@pytest.mark.slow
def test_losses_are_those_of_plain_masks() -> None:
    """Of eager attention in float64 whose mask hides the middle from the heads that share a key head."""
    model = writer(3, length=64)
    module: Any = transformers.LlamaForCausalLM(model.module.config)
    module.load_state_dict(model.module.state_dict())
    module = module.eval().double()
    module.set_attn_implementation("eager")

    def cost(needle: needles.Needle, layer: int | None, key: int) -> float:
        ids = torch.tensor(needle.tokens.ids)[None]
        place = torch.arange(ids.shape[1])
        mask = torch.where(place[None] > place[:, None], -torch.inf, 0.0).double().repeat(1, 4, 1, 1)
        mask[0, 2 * key : 2 * key + 2, (place[None] >= 4) & (place[None] <= place[:, None] - 20)] = -torch.inf
        hooks = []
        if layer is not None:
            hooks = [
                module.model.layers[layer].self_attn.register_forward_pre_hook(
                    lambda _, args, kwargs: (args, {**kwargs, "attention_mask": mask}), with_kwargs=True
                )
            ]
        with torch.no_grad():
            said = module(input_ids=ids, use_cache=False).logits[0].log_softmax(-1)
        for hook in hooks:
            hook.remove()
        return -float(np.mean([said[at - 1, ids[0, at]] for at in needle.answer]))

    found = hs.streaming(model, TEXT, **{**OPTIONS, "needles": 4})
    made = needles.hidden(model, needles.words_of(TEXT), 4, (60,), 0, beyond=20)
    expected = [
        [[cost(needle, layer, key) - cost(needle, None, 0) for key in range(2)] for layer in range(2)]
        for needle in made
    ]
    np.testing.assert_allclose(found["loss"], np.mean(expected, 0), atol=2e-5)
    assert np.abs(expected).max() > 0.01


def test_estimates_are_slopes_of_losses() -> None:
    """Of heads whose part is small, they are the losses."""
    model = writer(5, length=64)
    with torch.no_grad():
        for layer in model.module.model.layers:
            layer.self_attn.o_proj.weight *= 0.001
    found = hs.streaming(model, TEXT, **{**OPTIONS, "needles": 4})
    np.testing.assert_allclose(found["estimate"], found["loss"], rtol=0.05, atol=3e-5)
    assert float(found["agreement"]) > 0.99


def test_the_share_outside_is_that_of_the_maps() -> None:
    model = writer(4, length=64)
    found = hs.streaming(model, TEXT, **{**OPTIONS, "needles": 2})
    shares = []
    for needle in needles.hidden(model, needles.words_of(TEXT), 2, (60,), 0, beyond=20):
        maps = hs.capture(model, needle.tokens)
        place = np.arange(len(needle.tokens))
        middle = (place[None] >= 4) & (place[None] <= place[:, None] - 20)
        own = np.stack(
            [(maps.layers[layer] * middle).sum(-1)[:, middle.any(-1)].mean(-1) for layer in range(2)]
        )
        shares.append(own.reshape(2, 2, 2).mean(-1))
    np.testing.assert_allclose(found["outside"], np.mean(shares, 0), rtol=1e-5)


def test_needles_stand_outside_the_window(planted: Model) -> None:
    for recent in (8, 15, 20):
        for needle in needles.hidden(planted, needles.words_of(TEXT), 24, (48, 60), 1, beyond=recent):
            assert needle.answer[0] - 1 - needle.inside[-1] >= recent


@pytest.mark.slow
def test_a_head_of_an_untrained_model_loses_nothing() -> None:
    for seed in range(2):
        found = hs.streaming(writer(seed, length=64), TEXT, **{**OPTIONS, "exact": 4}, seed=seed)
        assert not (found["q"] <= 0.05).any()


def test_tests_are_over_needles() -> None:
    losses = np.stack([np.full(20, 0.5), np.linspace(-0.1, 0.12, 20), np.full(20, 0.005)], 1)
    p = statistics.p_values(losses)
    assert p[0] == pytest.approx(0.65**20)
    assert 0.3 < p[1] < 0.7
    assert p[2] > 0.99
    over = statistics.over_needles(losses)
    assert over.value[1] == pytest.approx(0.01)
    assert over.low[1] < -0.01 < 0.03 < over.high[1]


@pytest.mark.slow
def test_the_files_are_those_that_duo_attention_reads(planted: Model, tmp_path: Path) -> None:
    found = hs.streaming(planted, TEXT, **OPTIONS)
    folder = hs.save_duo_attention(found, tmp_path / "pattern")
    gates = np.loadtxt(folder / "full_attention_heads.tsv", dtype=float, delimiter="\t")
    assert gates.shape == (2, 2)
    assert gates[1, 0] == 1
    assert ((gates >= 0) & (gates <= 1)).all()
    config = json.loads((folder / "config.json").read_text())
    assert (config["sink_size"], config["recent_size"]) == (4, 20)


@pytest.mark.slow
def test_a_head_of_a_language_model_that_needs_the_whole_text(smollm: Any) -> None:
    found = hs.streaming(smollm, needles=2, recent=24, lengths=(72,), exact=1, full=0.2, draws=1)
    first = found.table().iloc[0]
    assert (first["layer"], first["key_head"], first["heads"]) == (18, 2, "H6–H8")
    assert first["loss"] > 0.1
    assert {"L18K2", "L20K2", "L17K1"} <= {*found["top"].values.tolist()}
    assert found["accuracy"].values.tolist() == [1, 0, 1, 0]
