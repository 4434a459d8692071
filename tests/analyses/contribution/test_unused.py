"""An inserted token: against maps taken by hand, and against a model on which it can have no effect."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers

import headscope as hs
from headscope.analyses.contribution.unused import inserted, placed
from headscope.analyses.contribution.variability import variability
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


TEXTS = [
    "The cat sat on the mat and looked at the old bridge for a while.",
    "Water ran under the door, and nobody was there to see it come in at night.",
    "She asked them twice whether they had walked all the way, and they said no.",
    "Is a well-known story always true, or is it sometimes only a story that is known?",
]


@pytest.mark.slow
@pytest.mark.parametrize("which", ["demo", "stories"])
def test_it_is_what_whole_maps_give(which: str, request: pytest.FixtureRequest) -> None:
    model = request.getfixturevalue(which)
    found = variability(model, hs.corpora.texts([*TEXTS, "Too short."]), tokens=9)
    maps = [hs.capture(model, text) for text in TEXTS]
    corners = np.stack([one.weights[..., :9, :9] for one in maps]).astype(np.float64)
    differences = np.abs(corners - corners.mean(0)).sum((-2, -1)) / 2
    mass = corners.sum((-2, -1))
    expected = differences.sum(0) / mass.sum(0)
    np.testing.assert_allclose(found["variability"], expected, atol=1e-5)
    rest = differences - expected * mass
    np.testing.assert_allclose(
        found["variability_se"], np.sqrt(4 / 3 * (rest**2).sum(0)) / mass.sum(0), atol=1e-5
    )
    assert found["variability_n"].max() == 4
    if model.causal:
        assert float(found["variability_chance"].max()) == pytest.approx(0)
    else:
        share = np.array([1 / len(one.query) for one in maps])
        chance = np.abs(share - share.mean()).sum() / 2 / share.sum()
        np.testing.assert_allclose(found["variability_chance"], chance)
    alone = variability(model, hs.corpora.texts(TEXTS), tokens=9, batch_size=1)
    np.testing.assert_allclose(alone["variability"], found["variability"], atol=1e-5)
    assert set(hs.table(found)["measure"]) == {"variability"}


def places_only() -> Any:
    """A GPT-2 whose token embeddings are all the same: attention depends on positions alone."""
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=30522, n_positions=64, n_embd=16, n_layer=1, n_head=2, n_inner=8, tie_word_embeddings=False
    )
    module = transformers.GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        module.transformer.wte.weight.zero_()
        module.transformer.wpe.weight.mul_(100)
        module.transformer.h[0].attn.c_attn.weight.mul_(20)
    return module


def test_a_head_of_positions_alone_has_none(demo: Any) -> None:
    model = hs.load((places_only(), demo.tokenizer))
    found = variability(model, hs.corpora.texts(TEXTS))
    np.testing.assert_allclose(found["variability"], 0.0, atol=1e-6)
    assert float(hs.capture(model, TEXTS[0]).weights.max(-1).mean()) > 0.3  # it does look somewhere


def test_documents_are_what_errors_are_of(demo: Any, tmp_path: Any) -> None:
    path = tmp_path / "one.txt"
    path.write_text("\n".join(TEXTS[:2]) + "\n\n" + "\n".join(TEXTS[2:]) + "\n")
    found = variability(demo, hs.corpora.text(path, pack=None))
    assert found["variability"].attrs["documents"] == 2
    apart = variability(demo, hs.corpora.texts(TEXTS))
    assert apart["variability"].attrs["documents"] == 4
    np.testing.assert_allclose(found["variability"], apart["variability"], atol=1e-5)
    assert not np.allclose(found["variability_se"], apart["variability_se"])
