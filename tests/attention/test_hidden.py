"""What a query cannot see is 0 and known to be hidden, in every quantity and in every family."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from torch import Tensor

import headscope as hs
from headscope.attention.neurons import norms
from headscope.attention.parts import group
from headscope.attention.recording import recording
from headscope.core.maps import AttentionMaps
from headscope.models import Model
from tests.helpers.families import CAPTURED, Family, build, each, family

WINDOWS = ["Mistral", "Gemma 2", "Gemma 3", "Gemma 3n", "gpt-oss", "GPT-Neo", "Llama 4", "ModernBERT"]
"""Families whose layers look back over a window or a chunk, of 4 to 6 tokens."""


def one_row(name: str) -> tuple[Model, dict[str, Tensor]]:
    """A model, and one input of 12 tokens."""
    of = family(name)
    return hs.load(build(of)), {"input_ids": of.inputs["input_ids"][:1]}


def captured(name: str) -> AttentionMaps:
    """The maps of a model on one input."""
    model, inputs = one_row(name)
    found = hs.capture(model, inputs=inputs)
    assert isinstance(found, AttentionMaps)
    return found


def total(output: Any) -> Tensor:
    """A number that depends on every token of an output."""
    logits = output.logits if hasattr(output, "logits") else output.last_hidden_state
    return (logits * torch.linspace(-1, 1, logits.numel()).view_as(logits)).sum()


@pytest.mark.parametrize("of", each([of for of in CAPTURED if of.reads in ("text", "target")]))
def test_what_is_seen_has_weight_and_what_is_not_has_none(of: Family) -> None:
    """Weights drawn at random are above 0 wherever a key is seen: the mask and the zeros say the same."""
    module = build(of)
    records: list[Any] = []
    with torch.no_grad(), recording(module, records.append):
        module(**of.inputs)
    for calls in group(records).values():
        for record in calls:
            weights = record.weights()
            seen = record.visible()
            seen = torch.ones_like(weights, dtype=torch.bool) if seen is None else seen.expand_as(weights)
            mask: Mapping[str, Tensor] = of.inputs
            padding = mask.get("attention_mask")
            rows = torch.ones_like(weights, dtype=torch.bool)
            if padding is not None and padding.shape[1] == weights.shape[2]:
                rows = padding.bool()[:, None, :, None].expand_as(weights)
            assert ((weights > 0) & rows).equal(seen & rows)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "Gemma 3" else pytest.mark.slow) for name in WINDOWS]
)
def test_windows_are_in_the_maps(name: str) -> None:
    maps = captured(name)
    for place, layer in enumerate(maps.layers):
        np.testing.assert_array_equal(np.broadcast_to(maps.sight(place), layer.shape), layer > 0)
    kinds = {seen.tobytes() for seen in maps.visible}
    assert len({id(seen) for seen in maps.visible}) == len(kinds), "layers of one kind share an array"
    assert maps.causal == (name != "ModernBERT")


def test_heads_that_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """Doge keeps the keys of each head that its values say."""
    of = family("Doge")
    model = hs.load(build(Family("Doge", of.cls, of.model_type, {**of.config, "keep_window_size": 5})))
    maps = hs.capture(model, inputs={"input_ids": of.inputs["input_ids"][:1]})
    assert maps.visible[0].shape == maps.layers[0].shape
    for place, layer in enumerate(maps.layers):
        np.testing.assert_array_equal(np.broadcast_to(maps.sight(place), layer.shape), layer > 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["GPT-2", *WINDOWS])
def test_gradients_of_hidden_weights_are_0(name: str) -> None:
    """They were not: a weight on a key that the mask hides would change the output, but no query can put one there."""
    model, inputs = one_row(name)
    maps = captured(name)
    slopes = hs.gradients(model, inputs=inputs, objective=total)["self"]
    for place, slope in enumerate(slopes):
        seen = np.broadcast_to(maps.sight(place), slope.shape)
        assert not slope[~seen].any()
        assert (slope[seen] != 0).mean() > 0.9
    shares = norms(model, inputs=inputs)["self"] if name in ("GPT-2", "Gemma 3") else []
    for place, share in enumerate(shares):
        assert not share[~np.broadcast_to(maps.sight(place), share.shape)].any()


def test_a_matrix_of_ones_own_is_hidden_alike() -> None:
    maps = captured("Gemma 3")
    ones = [np.ones_like(layer) for layer in maps.layers]
    shown = hs.view(maps, quantities={"mine": ones})
    for place, number in enumerate(maps.index):
        np.testing.assert_array_equal(shown.matrix(number, 1, quantity="mine") > 0, maps.sight(place)[0])
    across = hs.view(maps, quantities={"rollout": [np.ones((12, 12))] * 3})
    assert across.matrix(2, 1, quantity="rollout").all(), "what follows all layers reaches beyond one"


def test_parts_and_words_keep_what_is_hidden() -> None:
    seen = np.tri(4, dtype=bool) & ~np.tri(4, k=-2, dtype=bool)
    tokens = hs.Tokens(
        ["a", "b", "##b", "c"], word_ids=np.array([0, 1, 1, 2]), sequence_ids=np.array([0, 0, 0, 1])
    )
    maps = hs.wrap((seen / seen.sum(-1, keepdims=True))[None, None], tokens, visible=seen)
    np.testing.assert_array_equal(maps.words().sight(0)[0], [[1, 0, 0], [1, 1, 0], [0, 1, 1]])
    np.testing.assert_array_equal(maps.b_to_a().sight(0)[0], [[0, 0, 1]])
    causal = hs.wrap((np.tri(4) / np.tri(4).sum(-1, keepdims=True))[None, None], tokens)
    assert causal.visible is None
    np.testing.assert_array_equal(causal.a_to_b().sight(0)[0], np.zeros((3, 1)))
    np.testing.assert_array_equal(causal.b_to_a().sight(0)[0], np.ones((1, 3)))


def test_a_file_keeps_it_and_one_of_before_opens(tmp_path: Path) -> None:
    maps = captured("Gemma 3n")
    assert maps.visible is not None
    maps.save(tmp_path / "new.safetensors")
    again = hs.open_maps(tmp_path / "new.safetensors")
    assert len({id(seen) for seen in again.visible}) == 2
    for place in range(3):
        np.testing.assert_array_equal(again.sight(place), maps.sight(place))
    arrays = {
        name: array
        for name, array in load_file(tmp_path / "new.safetensors").items()
        if "visible" not in name
    }
    description = {
        "query": list(maps.query.pieces),
        "key": list(maps.key.pieces),
        "kind": "self",
        "causal": True,
        "partial": False,
        "index": [0, 1, 2],
        "meta": {},
    }
    header = {"format": "headscope.core.maps/1", "description": json.dumps(description)}
    save_file(arrays, tmp_path / "old.safetensors", header)
    old = hs.open_maps(tmp_path / "old.safetensors")
    assert old.visible is None
    np.testing.assert_array_equal(old.sight(0)[0], np.tri(12, dtype=bool))


def test_an_edit_that_looks_ahead_is_shown_as_it_ran() -> None:
    model, inputs = one_row("GPT-2")
    with hs.edit(model, lambda record: torch.full(record.shape, 1 / 12) if record.layer == 1 else None):
        edited = hs.capture(model, inputs=inputs)
    assert not edited.causal
    assert edited.sight(1).all()
    np.testing.assert_array_equal(edited.sight(0)[0], np.tri(12, dtype=bool))


def test_what_is_visible_may_be_one_array_of_all_layers() -> None:
    seen = np.stack([np.tri(3), np.ones((3, 3))]).astype(bool)
    maps = hs.wrap(np.stack([np.eye(3)] * 2)[:, None], list("abc"), visible=seen)
    np.testing.assert_array_equal([maps.sight(place)[0] for place in range(2)], seen)
