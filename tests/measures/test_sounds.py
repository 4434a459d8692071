"""How far heads look in sounds: the examples of the docstrings, what must hold, and a loop over a model's own maps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import headscope as hs
from headscope.attention.one import prepare
from headscope.errors import InputError
from headscope.measures.choose import surface
from headscope.measures.dataset import names
from headscope.measures.perceived import SOUNDS
from tests.helpers.small_models import whisper_parts


def maps(rows: Any, axis: hs.Tokens, **more: Any) -> hs.AttentionMaps:
    return hs.wrap(np.asarray(rows, np.float64)[None, None], axis, **more)


def value(of: hs.AttentionMaps, name: str) -> float:
    return surface(of, [name])[name].item()


def sound(seconds: float) -> hs.Sound:
    return hs.Sound(np.zeros(round(1000 * seconds), np.float32), 1000)


def test_five_frames_of_20_ms_are_near() -> None:
    rows = np.full((12, 12), 1 / 12)
    seen = [min(query, 5) + 1 + min(11 - query, 5) for query in range(12)]
    assert value(maps(rows, hs.Frames(12, 0.02)), "locality_seconds") == pytest.approx(np.mean(seen) / 12)


def test_frames_after_the_sound_are_none() -> None:
    rows = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.0, 0.0, 1.0]])
    padded = maps(rows, hs.Frames(3, 0.02, sound(0.04)))
    assert value(padded, "after_sound") == pytest.approx(0.2)
    assert surface(padded, ["after_sound"])["after_sound_n"].item() == 2
    cut = rows[:2, :2] / rows[:2, :2].sum(1, keepdims=True)
    for name in ("diagonality", "distance_seconds"):
        assert value(padded, name) == pytest.approx(value(maps(cut, hs.Frames(2, 0.02)), name))
    full = maps(rows, hs.Frames(3, 0.02, sound(0.06)))
    assert names(surface(full, ["after_sound", "entropy"])) == ["entropy"]


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 12), st.sampled_from([0.02, 0.04, 0.13]), st.booleans())
def test_uniform_attention_is_chance_and_the_diagonal_is_1(count: int, seconds: float, causal: bool) -> None:
    axis = hs.Frames(count, seconds)
    seen = np.tri(count) if causal else np.ones((count, count))
    even = surface(maps(seen / seen.sum(1, keepdims=True), axis, causal=causal), list(SOUNDS))
    itself = surface(maps(np.eye(count), axis, causal=causal), list(SOUNDS))
    assert names(even) == ["diagonality", "distance_seconds", "locality_seconds"]
    for name in names(even):
        assert even[name].item() == pytest.approx(even[f"{name}_chance"].item())
        assert itself[name].item() == pytest.approx(0.0 if name == "distance_seconds" else 1.0)


def test_longer_frames_have_longer_distances_and_the_same_diagonality() -> None:
    rows = np.random.default_rng(0).dirichlet(np.ones(6), 6)
    short, long = maps(rows, hs.Frames(6, 0.02)), maps(rows, hs.Frames(6, 0.08))
    assert value(long, "distance_seconds") == pytest.approx(4 * value(short, "distance_seconds"))
    assert value(long, "diagonality") == pytest.approx(value(short, "diagonality"))


def test_what_has_no_frames_says_so() -> None:
    words = hs.wrap(np.full((1, 1, 3, 3), 1 / 3), ["a", "b", "c"])
    with pytest.raises(InputError, match="diagonality: the inputs have no frames of sound"):
        surface(words, ["diagonality"])
    assert names(surface(words, ["sounds", "entropy"])) == ["entropy"]


def test_measures_of_whisper_by_a_loop_over_its_own_maps() -> None:
    model = hs.load(whisper_parts())
    audio = (np.random.default_rng(0).normal(0, 0.1, 16_000).astype(np.float32), 16_000)
    encoder: Any = hs.capture(model, audio=audio, target="yes")
    found = surface(encoder.encoder, ["sounds"])
    model.module.set_attn_implementation("eager")
    ready = prepare(model, None, target="yes", audio=audio)[1]
    with torch.no_grad():
        own = model.module(**ready, output_attentions=True).encoder_attentions
    heard, step = 50, 0.02  # one second of the two that the model hears
    for layer, weights in enumerate(own):
        for head, rows in enumerate(weights[0].double().numpy()):
            far, close, near, after = [], [], [], []
            for query in range(heard):
                row = rows[query, :heard]
                apart = [abs(query - key) for key in range(heard)]
                mean = sum(weight * each for weight, each in zip(row, apart, strict=True)) / row.sum()
                far.append(mean * step)
                close.append(1 - mean / max(apart))
                near.append(sum(weight for weight, each in zip(row, apart, strict=True) if each <= 5))
                after.append(rows[query, heard:].sum())
            for name, each in zip(
                ("distance_seconds", "diagonality", "locality_seconds", "after_sound"),
                (far, close, near, after),
                strict=True,
            ):
                np.testing.assert_allclose(found[name].values[layer, head], np.mean(each), rtol=1e-5)


def test_a_corpus_of_sounds_has_measures_of_its_own_by_default() -> None:
    model, draw = hs.load(whisper_parts()), np.random.default_rng(1)
    noises = [(draw.normal(0, 0.1, size).astype(np.float32), 16_000) for size in (8000, 16000, 12000)]
    measured = hs.measure(model, hs.corpora.sounds(noises))
    assert names(measured) == [*SOUNDS, "current", "entropy", "largest"]
    heard: list[Any] = [hs.capture(model, audio=each, target="yes") for each in noises]
    for name in SOUNDS:
        own = [surface(each.encoder, [name]) for each in heard]
        counts = np.array([one[f"{name}_n"].values for one in own])
        mean = (counts * [one[name].values for one in own]).sum(0) / counts.sum(0)
        np.testing.assert_allclose(measured[name], mean, rtol=1e-4)
        np.testing.assert_array_equal(measured[f"{name}_n"], counts.sum(0))
    assert measured["distance_seconds_n"].values[0, 0] == 25 + 50 + 38
