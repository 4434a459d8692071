"""Models whose attention sees padding, and batches of one length for these."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import headscope as hs
from headscope.analyses.contribution.ablation import estimate as ablation_estimate
from headscope.attention.check import PADDING
from headscope.attention.load import PADDED
from headscope.errors import InputError
from headscope.models import Model
from tests.helpers.families import CAPTURED, Family, build, each, family
from tests.helpers.small_tokenizers import demo

MOVED = {"ConvBERT", "Funnel", "Funnel factorized"}
"""Families that padding moves: a convolution over tokens, and tokens that are pooled with their neighbours."""

TEXTS = [
    "The cat sat.",
    "It was late, and nobody had seen the old cat for a while.",
    "Why?",
    "She left the house at two.",
]


@pytest.mark.parametrize("of", each([of for of in CAPTURED if of.reads in ("text", "target")]))
def test_which_families_padding_moves(of: Family) -> None:
    found = hs.load(build(of)).checked
    assert found.padding_error is not None
    assert found.same_length == (of.name in MOVED)
    if of.name not in MOVED:
        assert found.padding_error < PADDING / 10


def test_what_reads_no_tokens_is_not_asked() -> None:
    model = hs.load(build(family("ViT")))
    assert model.checked.padding_error is None
    assert not model.same_length


@pytest.fixture(scope="module")
def convolved() -> Model:
    """ConvBERT, whose convolution reads the tokens beside each: padding, too."""
    torch.manual_seed(0)
    of = family("ConvBERT")
    config = {**of.config, "vocab_size": len(demo()), "max_position_embeddings": 128}
    module = build(Family(of.name, of.cls, of.model_type, config, of.heads, interface=False))
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.3)
    return hs.load((module, demo()))


def test_it_is_said(convolved: Model) -> None:
    assert convolved.same_length
    assert list(hs.load(convolved).notes) == [PADDED]
    tokens = [convolved.encode(text) for text in TEXTS]
    with pytest.raises(
        InputError, match="expected inputs of one length in a batch, as padding moves its attention; found "
    ):
        convolved.inputs(tokens)


def test_batches_are_of_one_length(convolved: Model) -> None:
    """The same figures as one by one; of batches with padding they were off by up to .01."""
    corpus = hs.corpora.texts(TEXTS * 3)
    together, alone = (hs.measure(convolved, corpus, batch_size=size) for size in (32, 1))
    for name in ("previous", "entropy", "largest"):
        np.testing.assert_allclose(together[name].values, alone[name].values, atol=1e-6)
    lengths = [
        {len(example.tokens or ()) for example in batch} for block in _blocks(convolved) for batch in block
    ]
    assert all(len(each) == 1 for each in lengths)
    assert len(lengths) == len(set.union(*lengths)) > 2


def _blocks(model: Model) -> Any:
    return hs.corpora.blocks(hs.corpora.texts(TEXTS * 3).encoded(model), same_length=True)


def test_every_analysis_batches_so(convolved: Model) -> None:
    """Each of these would raise where a batch held inputs of several lengths."""
    corpus, trees = hs.corpora.texts(TEXTS), hs.corpora.builtin_trees()
    hs.distance(convolved, corpus)
    hs.syntax(convolved, trees, limit=12)
    hs.compare.models(convolved, hs.load(convolved, untrained=1), corpus)
    hs.contribution.importance(convolved, corpus)
    hs.contribution.ablation(convolved, corpus, heads=["L0H1"])
    ablation_estimate(convolved, corpus)


@pytest.mark.slow
def test_a_whole_report(convolved: Model) -> None:
    """Cards, coreference, probes and the rest; a section that failed would say so."""
    assert "expected inputs of one length" not in hs.report(convolved, limit=6, limit_sentences=6)
