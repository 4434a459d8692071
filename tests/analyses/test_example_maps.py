"""Maps of pictures and sounds as examples of a page: what is put together is what a loop puts together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.analyses import example_maps as looking
from headscope.analyses.example_maps import frames_together, look
from headscope.core.media import Sound
from headscope.corpora import Example
from headscope.models import Model
from headscope.views.images import PatchBlocks, put_together
from tests.helpers.planted_vision import planted_vit
from tests.helpers.small_models import whisper_parts
from tests.helpers.video_models import watching


@pytest.fixture(scope="module")
def vit() -> Model:
    return hs.load(planted_vit([["around", "row", "cls", "even"]]))


def picture(seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(0, 255, (224, 224, 3)).astype(np.uint8)


def test_frames_stand_together_in_stretches_that_follow_one_another() -> None:
    frames = hs.Frames(1500, 0.02, Sound(np.zeros(64_000, np.float32), 16_000))
    few = frames_together(frames, 60)
    times = few.tokens.times
    assert len(few.tokens) == 60
    assert (times[0, 0], times[-1, 1]) == (0.0, 30.0)
    np.testing.assert_allclose(times[1:, 0], times[:-1, 1])
    heard = times[:, 0] < 4.0
    assert (~heard).sum() == looking.SILENCE
    assert times[heard][-1, 1] == pytest.approx(
        4.0
    )  # no stretch is of the sound and of the silence behind it
    assert np.diff(times[heard], axis=1).max() <= 0.081
    assert frames_together(frames, 1500) is None


def test_to_a_block_is_the_sum_and_from_it_the_mean() -> None:
    draw = np.random.default_rng(1)
    weights = draw.dirichlet(np.ones(6), (2, 3, 6)).astype(np.float32)
    maps = hs.wrap(weights, list("abcdef"))
    blocks = PatchBlocks(3, np.array([0, 0, 1, 2, 2, 2]), maps.query.take(np.array([0, 2, 3])))
    found = put_together(maps, blocks, blocks)
    members = [[0, 1], [2], [3, 4, 5]]
    for layer in range(2):
        for head in range(3):
            own = weights[layer, head]
            expected = [[own[np.ix_(rows, keys)].sum(1).mean() for keys in members] for rows in members]
            np.testing.assert_allclose(found.layers[layer][head], expected, atol=1e-6)
    rows = put_together(maps, None, blocks)
    np.testing.assert_allclose(rows.layers[0][..., 2], weights[0][..., 3:].sum(-1), atol=1e-6)
    assert len(rows.query) == 6


def test_what_a_query_can_see_of_a_block_it_can_see_in_part() -> None:
    sight = np.tril(np.ones((4, 4), bool))
    weights = sight / sight.sum(-1, keepdims=True)
    maps = hs.wrap(weights[None, None], list("abcd"), causal=True)
    maps = maps.__class__(**{**vars(maps), "visible": [sight], "causal": False})
    pairs = PatchBlocks(2, np.array([0, 0, 1, 1]), maps.query.take(np.array([0, 2])))
    found = put_together(maps, pairs, pairs)
    assert found.visible[0].tolist() == [[True, False], [True, True]]


def test_a_picture_is_whole_where_there_is_room(vit: Model) -> None:
    example = Example(image=picture())
    whole = look(vit, example, room=4 * 197**2)
    assert (whole.side, len(whole.first.query)) == (1, 197)
    captured: Any = hs.capture(vit, image=picture())
    np.testing.assert_array_equal(whole.first.layers[0], captured.layers[0])
    assert whole.neurons["self"].q[0].shape == (4, 197, 16)
    less = look(vit, example, room=4 * 100 * 197)
    assert less.side == 2  # 49 blocks and [CLS]
    assert len(less.first.query) == 197  # the figures are of patches


def test_a_picture_too_large_to_hold_is_put_together_on_both_sides(
    vit: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "HELD", 4 * 60**2)
    found = look(vit, Example(image=picture()), room=10**9)
    assert len(found.first.query) == len(found.first.key) == 50
    assert found.first.meta["together"] == 2
    assert not found.neurons
    captured: Any = hs.capture(vit, image=picture())
    np.testing.assert_allclose(found.first.layers[0][..., 0], _of_cls(captured), atol=1e-6)


def _of_cls(captured: Any) -> Any:
    """What each block of 2 × 2 patches, and [CLS], gives to [CLS], by a loop."""
    rows = captured.layers[0][..., 0]
    grid = rows[:, 1:].reshape(4, 7, 2, 7, 2).mean((2, 4)).reshape(4, 49)
    return np.concatenate([rows[:, :1], grid], 1)


def test_a_sound_has_its_words_and_what_the_decoder_hears_of_it() -> None:
    model = hs.load(whisper_parts(2))
    noise = np.random.default_rng(0).normal(0, 0.1, 16_000).astype(np.float32)
    said = {"words": ["so", "late"], "times": [(0.0, 0.4), (0.5, 1.0)]}
    found = look(model, Example(audio=(noise, 16_000), **said), room=8 * 30**2)
    assert list(found.parts) == ["encoder", "cross"]
    encoder, cross = found.parts.values()
    assert len(encoder.query) == len(encoder.key) == len(cross.key) == 30
    words = encoder.query.word_ids
    assert set(words.tolist()) == {-1, 0, 1}
    captured: Any = hs.capture(model, audio=(noise, 16_000), target="so late")
    after = encoder.key.times[:, 0] >= 1.0 - 1e-9  # pyright: ignore[reportOptionalSubscript]
    np.testing.assert_allclose(
        cross.layers[1][..., after].sum(-1), captured.cross.layers[1][..., 50:].sum(-1), atol=1e-5
    )
    alone = look(model, Example(audio=(noise, 16_000)))
    assert list(alone.parts) == ["encoder"]
    assert len(alone.first.query) == 100


@pytest.mark.parametrize("family", ["SmolVLM", "LLaVA"])
def test_pictures_of_a_prompt_stand_in_the_part_that_reads_the_text(family: str) -> None:
    """It is called ``text`` or ``language``; of SmolVLM tiles are parts of their own."""
    pictures = [np.full((48, 64, 3), value, np.uint8) for value in (40, 200)]
    model = watching(family)
    (example,) = hs.corpora.images([{"images": pictures, "text": "What is it ?"}]).encoded(model)
    shown = look(model, example)
    assert list(shown.parts) == list(shown.neurons) == ["self"]
    assert len(shown.first.key.media) == 2
