"""What a page is given of a sound: its spectrogram, its samples, and the words whose times are known."""

from __future__ import annotations

import gzip
from typing import Any

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.models import Model
from headscope.views.explorer import Input, explorer_payload
from headscope.views.sheet import Sheet
from headscope.views.spectrogram import HEIGHT, spectrogram
from tests.helpers.planted_alignment import recordings
from tests.helpers.small_models import whisper_parts

RATE = 8000
SAID = [("so", 0.0, 0.3), ("it", 0.4, 0.6)]


def tone(hertz: float, seconds: float = 1.0) -> hs.Sound:
    time = np.arange(int(seconds * RATE)) / RATE
    return hs.Sound((0.5 * np.sin(2 * np.pi * hertz * time)).astype(np.float32), RATE, "tone")


def maps(window: float = 1.0, **options: Any) -> hs.AttentionMaps:
    axis = hs.Frames(round(window / 0.1), 0.1, tone(1000), **options)
    return hs.wrap(np.full((1, 1, len(axis), len(axis)), 1 / len(axis)), axis)


@pytest.fixture(scope="module")
def speech() -> Model:
    return hs.load(whisper_parts(2))


@pytest.mark.parametrize("hertz", [500, 1500, 3000])
def test_a_tone_is_a_line_at_its_height(hertz: float) -> None:
    pixels = spectrogram(tone(hertz), 1.0)
    darkest = pixels[:, :, 0].astype(int).sum(1).argmin()
    assert (HEIGHT - 1 - darkest) / HEIGHT == pytest.approx(hertz / (RATE / 2), abs=0.015)


def test_what_lies_behind_the_sound_is_silence() -> None:
    axis = hs.Frames(20, 0.1, tone(1000))
    pixels = spectrogram(tone(1000), 2.0)
    width = pixels.shape[1]
    assert (pixels[:, width // 2 :] == pixels[0, -1]).all()
    assert pixels[:, : width // 2].min() < 60
    boxes = Sheet([axis]).areas(axis)
    np.testing.assert_allclose(boxes[[0, 10, 19], 0] / width, [0, 0.5, 0.95])


def test_a_long_sound_keeps_a_hundredth_of_a_second_a_pixel() -> None:
    assert spectrogram(tone(1000, 30), 30.0).shape == (HEIGHT, 3000, 3)
    assert spectrogram(tone(1000), 1.0).shape == (HEIGHT, 960, 3)


def test_samples_travel_as_they_were() -> None:
    payload, blobs = explorer_payload([Input({"self": maps(2.0)})])
    assert "sound" in payload["inputs"][0]
    info = payload["inputs"][0]["sound"]
    assert (info["rate"], info["seconds"], info["heard"]) == (RATE, 2.0, 1.0)
    whole = np.frombuffer(gzip.decompress(blobs.buffers[info["samples"]["data"]]), "<i2")
    np.testing.assert_allclose(whole / 32767, tone(1000).samples, atol=1e-4)
    without, fewer = explorer_payload([Input({"self": maps(2.0)})], sound=False)
    assert "sound" in without["inputs"][0]
    assert without["inputs"][0]["sound"]["samples"] is None
    assert len(fewer.buffers) == len(blobs.buffers) - 1


def test_the_loudest_samples_keep_their_sign() -> None:
    axis = hs.Frames(1, 0.1, hs.Sound(np.array([1.0, -1.0, 0.0], np.float32), RATE))
    payload, blobs = explorer_payload([Input({"self": hs.wrap(np.ones((1, 1, 1, 1)), axis)})])
    samples = payload["inputs"][0]["sound"]["samples"]["data"]  # pyright: ignore[reportTypedDictNotRequiredAccess, reportOptionalSubscript]
    assert np.frombuffer(gzip.decompress(blobs.buffers[samples]), "<i2").tolist() == [32767, -32767, 0]


def test_text_has_no_sound() -> None:
    payload, _ = explorer_payload([Input({"self": hs.wrap(np.eye(2)[None, None], ["a", "b"])})])
    assert "sound" not in payload["inputs"][0]


def test_words_are_those_that_the_axis_knows() -> None:
    payload, _ = explorer_payload([Input({"self": maps(words=SAID)})])
    assert "sound" in payload["inputs"][0]
    expected = [{"text": "so", "begin": 0.0, "end": 0.3}, {"text": "it", "begin": 0.4, "end": 0.6}]
    assert payload["inputs"][0]["sound"]["words"] == expected


def test_words_are_those_that_links_lead_to(speech: Model) -> None:
    example = recordings(speech, 1)[0]
    assert example.times is not None
    view = hs.view(
        speech, audio=example.audio, target=" ".join(example.words), links=list(example.links or ())
    )
    words = view.payload["inputs"][0]["sound"]["words"]  # pyright: ignore[reportTypedDictNotRequiredAccess]
    assert [word["text"] for word in words] == list(example.words)
    np.testing.assert_allclose([(word["begin"], word["end"]) for word in words], example.times, atol=1e-6)


def test_times_of_an_alignment_are_given_to_a_view(speech: Model) -> None:
    example = recordings(speech, 1, seed=3)[0]
    assert isinstance(example.audio, tuple)
    samples, rate = example.audio
    table = hs.align(speech, samples, list(example.words), sampling_rate=rate, heads=["L1H2"])
    view = hs.view(speech, audio=example.audio, target=" ".join(example.words), spoken=table)
    known = view.payload["inputs"][0]["sound"]["words"]  # pyright: ignore[reportTypedDictNotRequiredAccess]
    wide = table[table["end"] - table["start"] > 0.021]
    found = {(word["text"], word["begin"]) for word in known}
    assert len(wide)
    assert {(row["word"], round(row["start"], 6)) for _, row in wide.iterrows()} <= found
    # The frames of the encoder know them, too: heads can be seen by words.
    words = view.payload["inputs"][0]["parts"][0]["key"]["words"]
    assert {word["text"] for word in known} <= set(words["texts"])


def test_the_state_of_a_sound_is_given_back() -> None:
    view = hs.view(maps(), layer=0, heads=[0], time=0.25, follow=True, span=(0.1, 0.5))
    assert view.state["span"] == [0.1, 0.5]
    again = hs.view(maps(), **view.state)
    assert again.state == view.state


def test_a_model_of_sound_is_viewed(speech: Model) -> None:
    torch.manual_seed(0)
    noise = np.random.default_rng(0).normal(0, 0.1, RATE).astype(np.float32)
    view = hs.view(
        speech, audio=(noise, RATE), target="so it was", part="cross", picture="image", scale="head"
    )
    sound = view.payload["inputs"][0]["sound"]  # pyright: ignore[reportTypedDictNotRequiredAccess]
    assert (sound["rate"], sound["heard"], sound["seconds"]) == (16_000, 1.0, 2.0)
    assert view.state["part"] == "cross"
