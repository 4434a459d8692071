"""Spans of prompts with several pictures, tiles or a video, and what an answer loses without them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.analyses.artefacts.statistics import cells_of, contrast_of
from headscope.analyses.why.asked import ask
from headscope.analyses.why.spans import Prompt, cut
from headscope.attention.one import prepare
from headscope.core.link import located
from headscope.core.pictures import Video
from headscope.errors import CorpusError, InputError
from headscope.models.pictures import looked
from tests.helpers.video_models import watching

PICTURES = [np.random.default_rng(seed).integers(0, 256, (90, 120, 3), np.uint8) for seed in range(4)]


def prompt_of(family: str, **shown: Any) -> Prompt:
    tokens = ask(watching(family), "What?", " It", **shown).prompt.tokens
    return Prompt(tokens, tokens.texts or [""] * len(tokens))


def test_pictures_tiles_and_their_regions_are_spans() -> None:
    prompt = prompt_of("LLaVA", image=PICTURES[:2])
    both = cut(prompt, "picture")
    assert [(one.level, one.text, int(one.tokens.sum())) for one in both] == [
        ("picture", "picture 1", 16), ("picture", "picture 2", 16),
    ]  # fmt: skip
    assert [one.text for one in cut(prompt, "sentence")] == ["What?", "picture 1", "picture 2"]
    cells = cut(prompt, "image")
    assert len(cells) == 32
    assert cells[20].text == "picture 2, box 0, 22.5, 30, 45"
    assert np.flatnonzero(cells[20].tokens).tolist() == [np.flatnonzero(both[1].tokens)[4]]
    named, box = cut(prompt, ["picture 2", (2, 0, 0, 120, 45)])
    assert (named.tokens == both[1].tokens).all()
    assert np.flatnonzero(box.tokens).tolist() == np.flatnonzero(both[1].tokens)[:8].tolist()
    tiled = prompt_of("LLaVA-NeXT", image=PICTURES[0])
    assert [one.text for one in cut(tiled, "tile")] == [f"tile {number}" for number in range(1, 6)]
    with pytest.raises(InputError, match="expected a prompt with several pictures for 'picture', found none"):
        cut(tiled, "picture")
    with pytest.raises(InputError, match="expected tokens in it, found none in 'picture 3, box"):
        cut(prompt, [(3, 0, 0, 120, 45)])


def test_frames_and_regions_over_time_are_spans() -> None:
    prompt = prompt_of("Qwen2-VL", image=Video(PICTURES))
    steps = cut(prompt, "frame")
    assert [one.text for one in steps] == ["frames 0–1", "frames 2–3"]
    assert [one.text for one in cut(prompt, "sentence")] == ["What?", "frames 0–1", "frames 2–3"]
    cells = cut(prompt, "image")
    assert cells[0].text == "box 0, 0, 30, 22.5"
    assert [int(cells[0].tokens[one.tokens].sum()) for one in steps] == [1, 1]
    over, late = cut(prompt, [(0, 0, 60, 90), (2, 3, 0, 0, 60, 90)])
    assert (late.tokens == (over.tokens & steps[1].tokens)).all()
    assert late.text == "frames 2 to 3, box 0, 0, 60, 90"


def test_an_answer_loses_what_it_saw_of_picture_2() -> None:
    """Equal to the model's own log-probability where later rows do not see the picture; the first token is in no span."""
    model = watching("LLaVA")
    found = hs.why(model, "What?", " It", ["picture 1", "picture 2"], image=PICTURES[:2])
    axes, ready = prepare(model, "What?", image=PICTURES[:2])
    asked = ask(model, "What?", " It", image=PICTURES[:2])
    ids = torch.cat([ready["input_ids"], torch.tensor([asked.targets.tolist()])], 1)
    before = ready["input_ids"].shape[1]
    axis = axes["self"]

    def worth(hidden: np.ndarray) -> float:
        count = ids.shape[1]
        seen = torch.ones(count, count, dtype=torch.bool).tril()
        span = torch.zeros(count, dtype=torch.bool)
        span[:before] = torch.tensor(hidden)
        seen[~span[:, None] & span] = False
        with torch.no_grad():
            logits = model.module(
                input_ids=ids, pixel_values=ready["pixel_values"], attention_mask=seen[None, None]
            ).logits[0]
        words = logits.log_softmax(-1)[before - 1 : -1]
        return float(words.gather(1, ids[0, before:, None]).sum())

    first = np.arange(before) == 0
    whole = worth(np.zeros(before, bool))
    for place, name in enumerate(("picture 1", "picture 2")):
        assert float(found["masked"][place]) == pytest.approx(
            whole - worth(axis.mask(name) & ~first), abs=1e-4
        )


def test_measures_take_pictures_and_frames() -> None:
    corpus = hs.corpora.images([{"images": PICTURES[:2]}, {"images": PICTURES[2:]}], text="What?")
    model = watching("LLaVA")
    found = hs.measure(model, corpus, measures=["to_picture 1", "to_picture 2", "to_image", "other_picture"])
    assert [len(example.image) for example in corpus] == [2, 2]
    own = []
    for pictures in (PICTURES[:2], PICTURES[2:]):
        maps: Any = hs.capture(model, "What?", image=pictures)
        layers, axis = np.array(maps["language"].layers), maps["language"].key
        own.append([layers[..., axis.mask(name)].sum(-1).mean(-1) for name in ("picture 1", "picture 2")])
        image = axis.mask("image")
    expected = np.mean(own, 0)
    np.testing.assert_allclose(found["to_picture 1"].values, expected[0], atol=1e-6)
    np.testing.assert_allclose(found["to_picture 2"].values, expected[1], atol=1e-6)
    assert image.sum() == 32


def test_how_far_in_time_a_head_looks() -> None:
    """Against a loop over the maps of a Qwen2-VL and of a VideoMAE."""
    for family, text in (("Qwen2-VL", "What?"), ("VideoMAE", None)):
        model = watching(family)
        corpus = hs.corpora.images([{"video": PICTURES * 2}], text=text)
        found = hs.measure(model, corpus, measures=["distance_frames", "other_picture", "distance_pixels"])
        maps: Any = hs.capture(model, text, video=PICTURES * 2)
        maps = maps["language"] if text else maps
        axis = maps.key
        times = np.array([np.mean(medium.frames) for medium in axis.media])[axis.medium]
        patch = axis.medium >= 0
        causal = maps.causal
        rows, shares = [], []
        for query in np.flatnonzero(patch):
            keys = patch & (np.arange(len(axis)) <= query if causal else True)
            other = keys & (axis.medium != axis.medium[query])
            if not other.any():
                continue
            weights = np.array(maps.layers)[..., query, :]
            rows.append((weights * keys * np.abs(times - times[query])).sum(-1) / (weights * keys).sum(-1))
            shares.append((weights * other).sum(-1))
        np.testing.assert_allclose(found["distance_frames"].values, np.mean(rows, 0), rtol=1e-4)
        np.testing.assert_allclose(found["other_picture"].values, np.mean(shares, 0), rtol=1e-4)


def test_a_word_looks_into_a_region_of_picture_2() -> None:
    """The pointing game on several pictures: the share of the attention to them that is in the region, by hand."""
    model, link = watching("LLaVA"), {"from": [0, 4], "box": [0, 0, 30, 30], "picture": 2}
    rows = [{"images": list(PICTURES[:2]), "text": "What ?", "links": [link]}] * 3
    found = hs.links(model, hs.corpora.images(rows), least=1)
    maps = hs.capture(model, "What ?", image=list(PICTURES[:2]))["language"]
    axis = maps.key
    patches, _ = located(hs.Region((0, 0, 30, 30), picture=2), "characters", axis)
    assert len(patches)
    assert {*axis.medium[patches].tolist()} == {1}
    assert (axis.boxes[patches].max(0) <= 30 + np.diff(axis.boxes[patches[0]][[0, 2]])).all()
    word = np.flatnonzero(axis.word_ids == 0)
    given = maps.weights[:, :, word].mean(2)
    by_hand = given[..., patches].sum(-1) / given[..., axis.mask("patch")].sum(-1)
    np.testing.assert_allclose(found["inside"].sel(direction="row").squeeze(), by_hand, rtol=1e-4)


@pytest.mark.parametrize("number", [0, 3])
def test_a_region_is_of_a_picture_that_is_there(number: int) -> None:
    rows = [
        {"images": list(PICTURES[:2]), "text": "What ?", "links": [{"from": [0, 4], "box": [0, 0, 9, 9]}]}
    ]
    rows[0]["links"][0]["picture"] = number
    with pytest.raises(
        CorpusError, match=rf"images\[0\]: links\[0\]: .*picture: expected a number .*, found {number}"
    ):
        list(hs.corpora.images(rows))


def test_patches_without_content_are_told_on_each_picture() -> None:
    """The contrast of a patch is that of its own picture, and its place is told as a share of that."""
    axis = looked(watching("LLaVA"), [PICTURES[0], np.full((40, 40, 3), 90, np.uint8)], "What?").tokens
    assert axis is not None
    patches = axis.mask("patch")
    contrast = contrast_of(axis, patches)
    assert (contrast[axis.mask("picture 1")] > 30).all()
    assert not contrast[axis.mask("picture 2")].any()
    cells = cells_of(axis, patches, (4, 4))
    assert cells[axis.mask("picture 1")].tolist() == cells[axis.mask("picture 2")].tolist() == list(range(16))
