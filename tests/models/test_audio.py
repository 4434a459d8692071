"""Speech as a model reads it: WAV files, samples, and the axes of its cross attention."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import wavfile

import headscope as hs
from headscope.core.audio import heard
from headscope.models import Model
from headscope.models.perceive import spoken
from tests.helpers.small_models import save_whisper, whisper_parts

TONE = 0.5 * np.sin(np.arange(8000) * 2 * np.pi * 200 / 16000)


@pytest.fixture(scope="module")
def whisper() -> Model:
    return hs.load(whisper_parts())


@pytest.mark.parametrize(
    ("dtype", "stored"),
    [
        (np.uint8, lambda x: x * 128 + 128),
        (np.int16, lambda x: x * 32768),
        (np.int32, lambda x: x * 2**31),
        (np.float32, lambda x: x),
    ],
)
def test_files_of_every_kind_of_samples_are_heard_alike(tmp_path: Path, dtype: Any, stored: Any) -> None:
    path = tmp_path / "tone.wav"
    left = stored(TONE).astype(dtype)
    wavfile.write(path, 16000, np.stack([left, left], 1))
    np.testing.assert_allclose(heard(path, 16000), TONE, atol=1 / 128)
    assert heard(path, 16000).dtype == np.float32


def test_frames_are_as_many_as_transformers_counts(whisper: Model) -> None:
    """Those of the extractor's own mask, two to a frame of the encoder: the last hop may be in part."""
    extractor: Any = whisper.feature_extractor
    counts = [*range(640, 1_000, 7), 8_000, 8_001, 16_000 + 161, extractor.n_samples - 1, extractor.n_samples]
    for count in counts:
        samples = np.random.default_rng(0).normal(size=count).astype(np.float32)
        mask = extractor(samples, sampling_rate=16000, return_attention_mask=True, return_tensors="np")
        expected = int(mask["attention_mask"].sum()) // 2
        assert spoken(whisper, (samples, 16000), ["a"]).frames == expected, count


def test_a_tokens_row_is_the_one_that_predicts_it(whisper: Model) -> None:
    found = spoken(whisper, (TONE, 16000), ["The", "cat", "sat."])
    assert found.tokens.pieces == ("<|notimestamps|>", "The", "Ġcat", "Ġs", "at", ".", "<|endoftext|>")
    assert found.tokens.word_ids.tolist() == [-1, 0, 1, 2, 2, 2, -1]
    assert (found.frames, found.seconds) == (25, 0.02)
    cross: Any = hs.capture(whisper, inputs=found.inputs)
    assert cross.cross.query.pieces == (
        "<|startoftranscript|>", "<|notimestamps|>", "The", "Ġcat", "Ġs", "at", ".",
    )  # fmt: skip
    assert cross.cross.key.pieces[-1] == "frame 99"


def test_capture_begins_a_text_once(whisper: Model) -> None:
    found = spoken(whisper, (TONE, 16000), ["The", "cat"])
    sound = {"input_features": found.inputs["input_features"]}
    maps: Any = hs.capture(whisper, inputs=sound, target="The cat")
    assert maps.decoder.query.pieces == ("<|startoftranscript|>", "<|notimestamps|>", "The", "Ġcat")


def test_a_folder_has_its_feature_extractor(tmp_path: Path) -> None:
    save_whisper(tmp_path)
    found = hs.load(tmp_path)
    assert found.feature_extractor.n_samples == 32000
    assert hs.load(found).feature_extractor is found.feature_extractor
    (tmp_path / "preprocessor_config.json").unlink()
    assert hs.load(tmp_path).feature_extractor is None
