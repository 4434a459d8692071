"""Pictures, sounds, and texts with a picture go through a model as a corpus does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import headscope as hs
from headscope.attention.one import prepare, record
from headscope.core.maps import AttentionMaps
from headscope.corpora import Corpus, Example
from headscope.errors import HeadscopeWarning, InputError
from headscope.models import Model
from tests.helpers.small_models import llava_parts, sharpen, whisper_parts
from tests.helpers.vision_models import vision

RATE = 16_000
SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}


def pictures() -> list[np.ndarray]:
    draw = np.random.default_rng(0)
    return [draw.integers(0, 255, (*size, 3)).astype(np.uint8) for size in ((40, 60), (60, 40), (50, 50)) * 2]


def sounds() -> list[tuple[np.ndarray, int]]:
    draw = np.random.default_rng(1)
    return [(draw.normal(0, 0.1, int(RATE * s)).astype(np.float32), RATE) for s in (0.5, 0.9, 0.5, 0.7)]


def vit(**options: Any) -> Model:
    torch.manual_seed(0)
    config = transformers.ViTConfig(**SMALL, **options)
    return hs.load((sharpen(transformers.ViTModel(config).eval()), transformers.ViTImageProcessor()))


def wav2vec2() -> Model:
    torch.manual_seed(0)
    config = transformers.Wav2Vec2Config(**SMALL, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4)
    extractor = transformers.Wav2Vec2FeatureExtractor(do_normalize=False)
    return hs.load((sharpen(transformers.Wav2Vec2Model(config).eval()), None, extractor))


def corpus(examples: Sequence[Example]) -> Corpus:
    return Corpus("a few", lambda: iter(examples))


def entropies(maps: Sequence[AttentionMaps]) -> tuple[np.ndarray, int]:
    """The mean entropy of all rows, ``[layer head]``, and how many rows there are."""
    rows = [
        np.stack([-(layer * np.log(np.where(layer > 0, layer, 1))).sum(-1) for layer in one.layers])
        for one in maps
    ]
    every = np.concatenate(rows, -1)
    return every.mean(-1), every.shape[-1]


def agree(measured: Any, maps: Sequence[Any]) -> None:
    """The entropies and the attention to the previous token are those of the maps."""
    own, rows = entropies(maps)
    np.testing.assert_allclose(measured["entropy"], own, atol=1e-5)
    assert int(measured["entropy_n"][0, 0]) == rows
    previous = np.concatenate([np.diagonal(one.weights, -1, 2, 3) for one in maps], -1).mean(-1)
    np.testing.assert_allclose(measured["previous"], previous, atol=1e-5)


def test_pictures_are_measured_as_their_maps_say() -> None:
    model = vit()
    measured = hs.measure(
        model,
        corpus([Example(image=each, document=place) for place, each in enumerate(pictures())]),
        measures=["entropy", "to_cls"],
        batch_size=4,
    )
    maps: list[Any] = [hs.capture(model, image=each) for each in pictures()]
    own, rows = entropies(maps)
    np.testing.assert_allclose(measured["entropy"], own, atol=1e-5)
    assert int(measured["entropy_n"][0, 0]) == rows
    cls = np.mean([one.weights[..., 0].mean(-1) for one in maps], 0)
    np.testing.assert_allclose(measured["to_cls"], cls, atol=1e-5)
    np.testing.assert_allclose(measured["to_cls_chance"], 1 / 197)
    assert measured["to_cls_documents"].values.max() == 6


@pytest.mark.parametrize("make", [wav2vec2, lambda: hs.load(whisper_parts(2))])
@pytest.mark.slow
def test_sounds_are_measured_as_their_maps_say(make: Any) -> None:
    model: Model = make()
    examples = [Example(audio=each, document=place) for place, each in enumerate(sounds())]
    measured = hs.measure(model, corpus(examples), measures=["entropy", "previous"])
    target = {"target": "yes"} if model.encoder_decoder else {}
    found: list[Any] = [hs.capture(model, audio=each, **target) for each in sounds()]
    maps = [one["encoder"] if model.encoder_decoder else one for one in found]
    agree(measured, maps)


def test_texts_with_a_picture_are_measured_on_both() -> None:
    model = hs.load(llava_parts())
    asked = ["What is on it?", "A longer question: what is on it?", "Why?"]
    examples = [
        Example(image=image, text=text, document=place)
        for place, (image, text) in enumerate(zip(pictures(), asked, strict=False))
    ]
    measured = hs.measure(model, corpus(examples), measures=["entropy", "previous"])
    parts: list[Any] = [
        hs.capture(model, text, image=image) for image, text in zip(pictures(), asked, strict=False)
    ]
    maps = [one["language"] for one in parts]
    agree(measured, maps)


def test_a_model_of_two_towers_is_measured_by_the_one_that_sees() -> None:
    torch.manual_seed(0)
    config = transformers.CLIPConfig(
        text_config={**SMALL, "vocab_size": 99}, vision_config={**SMALL, "image_size": 64, "patch_size": 16}
    )
    looks = transformers.CLIPImageProcessor(size={"shortest_edge": 64}, crop_size={"height": 64, "width": 64})
    module = sharpen(transformers.CLIPModel(config).eval())
    whole = hs.load((module, looks))
    alone = hs.load((module.vision_model, looks))
    examples = corpus([Example(image=each, document=place) for place, each in enumerate(pictures())])
    measured = hs.measure(whole, examples, measures=["entropy", "to_cls"])
    expected = hs.measure(alone, examples, measures=["entropy", "to_cls"])
    np.testing.assert_array_equal(measured["entropy"], expected["entropy"])
    maps = hs.capture(whole, image=pictures()[0])
    assert maps.query.pieces[0] == "[CLS]"
    np.testing.assert_array_equal(maps.weights, hs.capture(alone, image=pictures()[0]).weights)  # pyright: ignore[reportAttributeAccessIssue]


def test_a_model_of_pictures_alone_leaves_the_texts_of_a_corpus_aside() -> None:
    model = vit()
    shown = [Example(image=each, document=place) for place, each in enumerate(pictures())]
    told = [replace(each, text="A picture.") for each in shown]
    expected = hs.measure(model, corpus(shown), measures=["entropy"])
    np.testing.assert_array_equal(
        hs.measure(model, corpus(told), measures=["entropy"])["entropy"], expected["entropy"]
    )


def test_a_run_over_pictures_goes_on_and_merges_to_the_last_digit(tmp_path: Path) -> None:
    model = vit()
    examples = corpus([Example(image=each, document=place) for place, each in enumerate(pictures())])
    whole = hs.measure(model, examples, measures=["entropy"])
    again = hs.measure(model, examples, measures=["entropy"], resume=tmp_path / "run")
    np.testing.assert_array_equal(whole["entropy"], again["entropy"])
    other = corpus([Example(image=255 - each, document=place) for place, each in enumerate(pictures())])
    with pytest.raises(InputError, match="checkpoint"):  # other pixels, of the same sizes
        hs.measure(model, other, measures=["entropy"], resume=tmp_path / "run")


def test_what_cannot_be_read_is_left_out_and_told(tmp_path: Path) -> None:
    model = vit()
    examples = [
        Example(image=pictures()[0], document=0, source="a.png:1"),
        Example(image=tmp_path / "none.png", document=1, source="none.png:1"),
    ]
    with pytest.warns(HeadscopeWarning, match="expected a picture, found no such file"):
        measured = hs.measure(model, corpus(examples), measures=["entropy"])
    assert measured["entropy_documents"].values.max() == 1


def test_models_that_do_not_see_or_hear_say_so(demo: Model) -> None:
    for example, said in (
        (Example(image=pictures()[0]), "has no image processor"),
        (Example(audio=sounds()[0]), "has no feature extractor"),
    ):
        with pytest.raises(InputError, match=said):
            hs.measure(demo, corpus([example]), measures=["entropy"])


def test_the_axis_beforehand_is_that_of_the_maps() -> None:
    for model, given in ((vit(), {"image": pictures()[0]}), (wav2vec2(), {"audio": sounds()[1]})):
        axis = model.see(given["image"]) if "image" in given else model.hear(given["audio"])
        maps: Any = hs.capture(model, **given)
        assert axis.pieces == maps.query.pieces
        for name in ("boxes", "times"):
            if getattr(axis, name) is not None:
                np.testing.assert_array_equal(getattr(axis, name), getattr(maps.query, name))
        assert len(record(model, prepare(model, None, **given)[1])) == 2


def test_a_sound_longer_than_the_model_hears_is_measured_in_parts() -> None:
    model = hs.load(whisper_parts(2))
    long = np.concatenate([sounds()[1][0], np.zeros(RATE, np.float32), sounds()[3][0]]), RATE
    given = corpus([Example(audio=long, document=0, source="long.wav")])
    measured = hs.measure(model, given, measures=["entropy"])
    assert given.counts.cuts == 1
    assert given.counts.examples == 2
    assert int(measured["entropy_n"][0, 0]) == 2 * len(model.hear(sounds()[0]))


@pytest.mark.slow
@pytest.mark.parametrize("family", ["Qwen2-VL", "PaliGemma", "Gemma 3", "Idefics3"])
def test_batches_are_what_the_processor_makes(family: str) -> None:
    """What else a model takes of a text and its picture (types of tokens, sizes of grids) is there in a corpus, too."""
    model = vision(family)
    examples = [
        Example(image=each, text="What?", document=place) for place, each in enumerate(pictures()[:2])
    ]
    measured = hs.measure(model, corpus(examples), measures=["entropy"])
    parts: list[Any] = [hs.capture(model, "What?", image=each) for each in pictures()[:2]]
    maps = [list(each.values())[-1] for each in parts]
    np.testing.assert_allclose(measured["entropy"], entropies(maps)[0], atol=1e-5)
