"""Attention variability: against whole maps, a head that sees places only, and one that sees words only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers

import headscope as hs
from headscope.analyses.contribution.variability import variability

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
