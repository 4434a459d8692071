"""Sounds: what is heard, and which time each frame stands for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import headscope as hs
from headscope.attention.one import prepare, record
from headscope.errors import InputError
from headscope.models import Model
from tests.helpers.small_models import sizes, whisper_parts

RATE = 16_000


def whisper_model(seconds: int = 2) -> Model:
    return hs.load(whisper_parts(seconds))


def wav2vec2() -> Model:
    torch.manual_seed(0)
    config = transformers.Wav2Vec2Config(
        **sizes(inner=48), num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4
    )
    extractor = transformers.Wav2Vec2FeatureExtractor(do_normalize=False)
    return hs.load((transformers.Wav2Vec2Model(config).eval(), extractor))


def wav2vec2_bert() -> Model:
    torch.manual_seed(0)
    config = transformers.Wav2Vec2BertConfig(**sizes(inner=48))
    extractor = transformers.SeamlessM4TFeatureExtractor()
    return hs.load((transformers.Wav2Vec2BertModel(config).eval(), extractor))


def spectrogram_transformer() -> Model:
    torch.manual_seed(0)
    config = transformers.ASTConfig(**sizes(inner=48), max_length=160, num_mel_bins=64)
    extractor = transformers.ASTFeatureExtractor(max_length=160, num_mel_bins=64)
    return hs.load((transformers.ASTModel(config).eval(), extractor))


MODELS = {"Whisper": whisper_model, "Wav2Vec2": wav2vec2, "Wav2Vec2-BERT": wav2vec2_bert}


def quiet(seconds: float = 1.5) -> np.ndarray:
    return np.random.default_rng(0).normal(0, 0.001, int(seconds * RATE)).astype(np.float32)


def click(at: float) -> np.ndarray:
    samples = quiet()
    start = int(at * RATE)
    samples[start : start + 200] += np.sin(np.arange(200)).astype(np.float32)
    return samples


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.slow
def test_a_click_is_heard_at_the_frame_of_its_time(name: str) -> None:
    model = MODELS[name]()
    target = {"target": "yes"} if name == "Whisper" else {}
    maps: Any = hs.capture(model, audio=(quiet(), RATE), **target)
    axis = (maps["encoder"] if name == "Whisper" else maps).query
    assert axis.sound.seconds == 1.5
    # Whisper hears two seconds, of which silence fills the last; the other hears what there is.
    assert axis.times[-1, 1] == pytest.approx(2.0 if name == "Whisper" else 1.5)

    def keys(samples: np.ndarray) -> torch.Tensor:
        calls = record(model, prepare(model, None, audio=(samples, RATE), **target)[1])
        return next(call for call in calls if call.kind in ("encoder", "self")).k

    before = keys(quiet())
    for at in (0.3, 0.8, 1.2):
        moved = (keys(click(at)) - before).abs().sum((0, 1, 3)).numpy()
        start, end = axis.times[int(moved.argmax())]
        assert start - 0.06 <= at <= end + 0.06


@pytest.mark.parametrize(("at", "pitch"), [(0.3, 500), (0.9, 500), (0.9, 3000)])
def test_a_tone_is_heard_at_the_patches_of_its_time_and_pitch(at: float, pitch: float) -> None:
    model = spectrogram_transformer()

    def keys(samples: np.ndarray) -> torch.Tensor:
        return record(model, prepare(model, None, audio=(samples, RATE))[1])[0].k

    samples = quiet()
    times = np.arange(int(0.03 * RATE)) / RATE
    samples[int(at * RATE) :][: len(times)] += np.sin(2 * np.pi * pitch * times).astype(np.float32)
    axis: Any = hs.capture(model, audio=(samples, RATE)).query  # pyright: ignore[reportAttributeAccessIssue]
    assert axis.pieces[:3] == ("[CLS]", "[DIST]", "patch[4,0]")  # the lowest bands are the first
    assert axis.mask("special").sum() == 2
    moved = (keys(samples) - keys(quiet())).abs().sum((0, 1, 3)).numpy()
    begin, top, end, bottom = axis.places[int(moved.argmax()), 1:]
    mel = 1127 * np.log(1 + np.array([20, pitch, RATE / 2]) / 700)
    assert begin <= at + 0.015 <= end
    assert top <= 1 - (mel[1] - mel[0]) / (mel[2] - mel[0]) <= bottom
    assert axis.sound.samples.tolist() == samples.tolist()


def test_patches_of_a_spectrogram_overlap_in_time_and_frequency() -> None:
    """A frame and band of the spectrogram changes the patches whose places hold it, and no others."""
    model = spectrogram_transformer()
    values = prepare(model, None, audio=(quiet(), RATE))[1]["input_values"]
    axis: Any = hs.capture(model, audio=(quiet(), RATE)).query  # pyright: ignore[reportAttributeAccessIssue]
    changed = values.clone()
    changed[0, 50, 20] += 1
    before, after = (record(model, {"input_values": each})[0].k for each in (values, changed))
    lit = (after - before).abs().sum((0, 1, 3)).numpy() > 0
    time, height = 50.5 / 100, 1 - 20.5 / 64
    _, begin, top, end, bottom = axis.places.T
    assert lit.tolist() == ((begin <= time) & (time < end) & (top <= height) & (height < bottom)).tolist()
    assert lit.sum() == 4
    assert model.hear((quiet(), RATE)).places[2:].tolist() == axis.places[2:].tolist()


def test_an_axis_of_frames_is_saved_and_found_again(tmp_path: Path) -> None:
    maps: Any = hs.capture(wav2vec2(), audio=(quiet(), RATE))
    maps.save(tmp_path / "maps.safetensors")
    again = hs.open_maps(tmp_path / "maps.safetensors")
    np.testing.assert_array_equal(again.key.times, maps.key.times)
    np.testing.assert_array_equal(again.key.sound.samples, quiet())


@pytest.mark.slow
def test_bad_sounds_are_told_in_one_line(demo: Model) -> None:
    model, hears = wav2vec2(), whisper_model()
    for one, audio, said in (
        (model, (np.zeros(3600 * RATE, np.float32), RATE), "expected at most 60 s, .* found 3600.00 s"),
        (hears, (np.zeros(3 * RATE, np.float32), RATE), "expected at most 2 s, .* found 3.00 s"),
        (
            model,
            {"bytes": b"", "path": "a.wav"},
            r"expected \{'array': …, 'sampling_rate': …\}, found the keys",
        ),
        (demo, (quiet(), RATE), "has no feature extractor; give hs.load"),
    ):
        with pytest.raises(InputError, match=said) as told:
            hs.capture(one, audio=audio)
        assert "\n" not in str(told.value)
    with pytest.raises(InputError, match="audio: expected target beside it, or nothing"):
        hs.capture(model, "text", audio=(quiet(), RATE))
    with pytest.raises(InputError, match="takes input_values, no text: give audio="):
        hs.capture(model, "text")


def test_a_tokenizer_beside_whisper_is_no_error() -> None:
    module, tokenizer, _ = whisper_parts()
    model = hs.load((module, tokenizer))
    with pytest.raises(InputError, match=r"has no feature extractor; give hs\.load"):
        hs.capture(model, audio=(quiet(), RATE), target="yes")
