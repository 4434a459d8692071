"""What a model writes of a picture or a sound: the maps of its steps are those of one pass over all that was written."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

import headscope as hs
from headscope.attention.generate import _Fed
from headscope.attention.one import prepare
from headscope.models import Model
from tests.helpers.small_models import whisper_parts

RATE = 16_000
NOISE = np.random.default_rng(0).normal(0, 0.1, RATE).astype(np.float32), RATE
PHOTO = np.random.default_rng(1).integers(0, 255, (40, 60, 3)).astype(np.uint8)


def whisper(**generation: Any) -> Model:
    module, tokenizer, extractor = whisper_parts()
    for name, value in generation.items():
        setattr(module.generation_config, name, value)
    return hs.load((module, tokenizer, extractor))


def eager(model: Model, ready: dict[str, torch.Tensor]) -> Any:
    """What a model gives in one pass with its own eager attention."""
    route = model.module.config._attn_implementation
    model.module.set_attn_implementation("eager")
    try:
        with torch.no_grad():
            return model.module(**ready, output_attentions=True)
    finally:
        model.module.set_attn_implementation(route)


def test_words_about_a_picture_and_its_own_maps(llava: Model) -> None:
    parts: Any = hs.generate(llava, "What is on it?", image=PHOTO, max_new_tokens=5, min_new_tokens=5)
    assert list(parts) == ["vision", "language"]
    axis = parts.language.query
    prompt = len(axis) - 4  # the fifth word was never read
    assert axis.mask("image").tolist() == [place < 16 for place in range(len(axis))]
    assert axis.mask("generated").tolist() == [place >= prompt for place in range(len(axis))]
    assert axis.mask("question").tolist() == [16 <= place < prompt for place in range(len(axis))]
    assert "".join(axis.texts[16:prompt]).strip() == "What is on it?"
    assert axis.picture.size == (60, 40)
    assert np.isfinite(axis.boxes[:16]).all()
    assert np.isnan(axis.boxes[16:]).all()
    assert axis.pieces[0] == "patch[0,0]"
    assert parts.text == parts.language.meta["written"]

    _, ready = prepare(llava, "What is on it?", image=PHOTO)
    ids = torch.as_tensor(np.array(axis.ids))[None]
    assert ids[:, :prompt].equal(ready["input_ids"])
    whole = {**ready, "input_ids": ids, "attention_mask": torch.ones_like(ids)}
    for mine, own in zip(parts.language.layers, eager(llava, whole).attentions, strict=True):
        assert_allclose(mine, own[0].numpy(), atol=1e-5)
    seen: Any = hs.capture(llava, "What is on it?", image=PHOTO)
    for mine, own in zip(parts.vision.layers, seen["vision"].layers, strict=True):
        assert_allclose(mine, own, atol=1e-6)
    assert parts.vision.query.pieces == seen["vision"].query.pieces


@pytest.mark.parametrize("asked", [{}, {"language": "en"}])
def test_words_heard_and_their_own_maps(asked: dict[str, str]) -> None:
    """Also where the model first listens once to tell the language."""
    tokenizer = whisper_parts()[1]
    number = tokenizer.convert_tokens_to_ids
    model = whisper(
        is_multilingual=True,
        lang_to_id={"<|en|>": number("<|en|>"), "<|de|>": 0},
        task_to_id={"transcribe": number("<|transcribe|>")},
        no_timestamps_token_id=number("<|notimestamps|>"),
    )
    parts: Any = hs.generate(model, audio=NOISE, max_new_tokens=4, **asked)
    assert list(parts) == ["encoder", "decoder", "cross"]
    axis = parts.decoder.query
    told = 4 if asked else 3
    assert axis.pieces[0] == "<|startoftranscript|>"
    assert axis.mask("generated").tolist() == [place >= told for place in range(told + 3)]
    assert "".join(axis.texts) == parts.text[: len("".join(axis.texts))]
    assert parts.cross.key.times[-1, 1] == pytest.approx(2.0)
    assert parts.encoder.index == (0, 1)

    _, ready = prepare(model, None, target="yes", audio=NOISE)
    ready["decoder_input_ids"] = torch.as_tensor(np.array(axis.ids))[None]
    own = eager(model, ready)
    for name, maps in (
        ("encoder_attentions", parts.encoder),
        ("decoder_attentions", parts.decoder),
        ("cross_attentions", parts.cross),
    ):
        for mine, theirs in zip(maps.layers, own[name], strict=True):
            assert_allclose(mine, theirs[0].numpy(), atol=1e-5)


def test_a_whisper_of_one_language_writes_too() -> None:
    parts: Any = hs.generate(whisper(), audio=NOISE, max_new_tokens=3)
    assert parts.decoder.query.mask("generated").tolist() == [False, True, True]
    assert parts.cross.weights.shape == (2, 4, 3, 100)


@pytest.mark.parametrize("name", ["cache", "past_key_values"])  # transformers 5.24, and before
def test_a_pass_with_a_cache_goes_on(name: str) -> None:
    cache = SimpleNamespace(get_seq_length=lambda: 2)
    fed = _Fed(SimpleNamespace(), [])  # type: ignore[arg-type]
    for ids, given in (([5, 6], {}), ([7], {name: cache})):
        fed._reads(SimpleNamespace(), (), {"decoder_input_ids": torch.tensor([ids]), **given})  # type: ignore[arg-type]
    assert (fed.ids.tolist(), fed.start) == ([5, 6, 7], 2)
