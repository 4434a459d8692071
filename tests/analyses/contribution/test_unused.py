"""An inserted token: against maps taken by hand, and against a model on which it can have no effect."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.analyses.contribution.unused import inserted, placed
from headscope.models import Model

PAIR = ("The cat sat on the mat.", "It was very tired.")


def whole(captured: Any) -> hs.AttentionMaps:
    assert isinstance(captured, hs.AttentionMaps)
    return captured


@pytest.mark.parametrize("renormalise", [True, False])
def test_the_others_are_compared_with_themselves(demo: Model, renormalise: bool) -> None:
    tokens = demo.encode(*PAIR)
    found = hs.contribution.unused_token(
        demo, PAIR, position="first", measures=["sep", "previous", "entropy"], renormalise=renormalise
    )
    ids = [int(one) for one in tokens.ids]  # pyright: ignore[reportOptionalIterable]
    types = [int(one) for one in tokens.type_ids]  # pyright: ignore[reportOptionalIterable]
    number = demo.tokenizer.convert_tokens_to_ids("[unused1]")
    more = {
        "input_ids": torch.tensor([[ids[0], number, *ids[1:]]]),
        "token_type_ids": torch.tensor([[0, *types]]),
    }
    with_it = whole(hs.capture(demo, inputs=more)).weights.astype(np.float64)
    without = whole(hs.capture(demo, tokens)).weights.astype(np.float64)
    others = [0, *range(2, len(ids) + 1)]
    np.testing.assert_allclose(found.to_unused, with_it[:, :, others, 1].mean(2), atol=1e-5)
    rest = with_it[:, :, others][..., others]
    if renormalise:
        rest = rest / rest.sum(-1, keepdims=True)
    separators = [place for place, one in enumerate(ids) if one == demo.tokenizer.sep_token_id]
    for maps, name in ((without, "without"), (rest, "with")):
        np.testing.assert_allclose(found[f"sep_{name}"], maps[..., separators].sum(-1).mean(2), atol=1e-4)
        diagonal = maps.diagonal(-1, 2, 3).mean(2)
        np.testing.assert_allclose(found[f"previous_{name}"], diagonal, atol=1e-4)
        entropy = -(maps * np.log(np.maximum(maps, 1e-30))).sum(-1).mean(2)
        np.testing.assert_allclose(found[f"entropy_{name}"], entropy, atol=1e-3)
    change = found.sep_with.values - found.sep_without.values
    np.testing.assert_allclose(found.sep_change.values, change, atol=1e-9)


def test_a_causal_model_sees_a_last_token_nowhere_and_a_first_everywhere(stories: Model) -> None:
    text = "Once upon a time there was a cat."
    count = len(stories.encode(text))
    first = hs.contribution.unused_token(stories, text, position=1, token="z", measures=["previous", "first"])
    assert (first.to_unused > 0).all()
    end = hs.contribution.unused_token(
        stories, text, position=count, token="z", measures=["previous", "first"]
    )
    assert "to_unused" not in end  # no token comes after it
    np.testing.assert_allclose(end.previous_change, 0.0, atol=1e-5)


@pytest.mark.slow
def test_errors_are_of_paired_differences(demo: Model) -> None:
    texts = [
        PAIR,
        ("Rain fell all night.", "Nobody slept."),
        ("She reads.", "He writes letters to his aunt."),
    ]
    corpus = [
        hs.corpora.Example(tokens=demo.encode(*text), document=n, source=f"a:{n}")
        for n, text in enumerate(texts)
    ]
    found = hs.contribution.unused_token(demo, corpus, measures=["sep"], position="last")
    each = np.stack(
        [
            hs.contribution.unused_token(demo, text, measures=["sep"], position="last").sep_change
            for text in texts
        ]
    )
    np.testing.assert_allclose(found.sep_change, each.mean(0), atol=1e-6)
    np.testing.assert_allclose(found.sep_change_se, each.std(0, ddof=1) / np.sqrt(3), atol=1e-6)
    assert (found.sep_change_n == 3).all()


@pytest.mark.parametrize(
    ("position", "place"), [(0, 0), (-1, 14), ("first", 1), ("last", 14), ("middle", 7), (15, 15)]
)
def test_where_the_token_comes_to_stand(demo: Model, position: Any, place: int) -> None:
    tokens = demo.encode(*PAIR)
    assert len(tokens) == 15
    assert placed(tokens, position) == place
    more = inserted(tokens, place, "[unused1]", 2)
    assert more.pieces[place] == "[unused1]"
    assert more.take(np.arange(len(more)) != place).pieces == tokens.pieces
    assert not any(mask[place] for mask in more.classes.values())
