"""Models whose attention sees padding, and batches of one length for these."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import headscope as hs
from headscope.analyses.contribution.importance import estimate as ablation_estimate
from headscope.attention.load import PADDED
from headscope.errors import HeadscopeWarning, InputError
from headscope.models import Model
from tests.helpers.families import Family, build, family
from tests.helpers.small_tokenizers import demo

TEXTS = [
    "The cat sat.",
    "It was late, and nobody had seen the old cat for a while.",
    "Why?",
    "She left the house at two.",
]


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


@pytest.mark.slow
def test_every_analysis_batches_so(convolved: Model) -> None:
    """Each of these would raise where a batch held inputs of several lengths."""
    corpus, trees = hs.corpora.texts(TEXTS), hs.corpora.builtin_trees()
    hs.distance(convolved, corpus)
    hs.syntax(convolved, trees, limit=12)
    hs.compare.models(convolved, hs.load(convolved, untrained=1), corpus)
    hs.contribution.importance(convolved, corpus)
    hs.contribution.ablation(convolved, corpus, heads=["L0H1"])
    ablation_estimate(convolved, corpus)


class Unmasked(nn.Module):
    """A module whose forward takes no mask: what stands beside an input in a batch is attended to."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner, self.config = inner, inner.config

    def forward(self, input_ids: torch.Tensor) -> Any:
        return self.inner(input_ids)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "moved"), [("BERT", True), ("GPT-2", False)])
def test_a_module_that_takes_no_mask(name: str, moved: bool) -> None:
    torch.manual_seed(0)
    of = family(name)
    module = build(Family(of.name, of.cls, of.model_type, {**of.config, "vocab_size": len(demo())}, of.heads))
    model = hs.load((Unmasked(module), demo()))
    assert model.checked.padding_error is not None
    assert model.same_length == moved
    assert (PADDED in model.notes) == moved
    corpus = hs.corpora.texts(TEXTS * 3)
    together, alone = (hs.measure(model, corpus, batch_size=size) for size in (32, 1))
    for measure in ("previous", "entropy", "largest"):
        np.testing.assert_allclose(together[measure].values, alone[measure].values, atol=1e-6)


@pytest.fixture(scope="module")
def bert() -> Model:
    of = family("BERT")
    config = {**of.config, "vocab_size": len(demo()), "max_position_embeddings": 128}
    return hs.load((build(Family(of.name, of.cls, of.model_type, config, of.heads)), demo()))


@pytest.mark.parametrize(
    ("ids", "mask", "count"),
    [
        ([[101, 5, 102, 0, 0]], None, 2),
        ([[0, 101, 5, 6, 102]], None, 1),
        ([[101, 5, 102, 0, 0]], [[1, 1, 1, 1, 0]], 1),
        ([[101, 5, 102, 0, 0]], [[1, 1, 1, 0, 0]], 0),
        ([[101, 5, 0, 6, 102]], None, 0),
    ],
)
def test_padding_that_is_attended_to_is_said(
    bert: Model, ids: list[list[int]], mask: Any, count: int, recwarn: pytest.WarningsRecorder
) -> None:
    inputs = {"input_ids": ids} | ({} if mask is None else {"attention_mask": mask})
    hs.capture(bert, inputs=inputs)
    said = [str(each.message) for each in recwarn.list]
    size = sum(map(len, ids))
    found = f"input_ids: {count} of {size} tokens are padding ('[PAD]') that is attended to; give the attention_mask"
    assert [each[: len(found)] for each in said] == ([found] if count else [])


def test_so_is_that_of_tokens_and_logs(bert: Model, tmp_path: Path) -> None:
    said = r"begin or end in padding \('\[PAD\]'\), which is attended to"
    with pytest.warns(HeadscopeWarning, match=said):
        bert.from_pieces(["[CLS]", "the", "[SEP]", "[PAD]"])
    with pytest.warns(HeadscopeWarning, match=said):
        bert.from_ids([101, 5, 102, 0, 0])
    log = tmp_path / "log.jsonl"
    log.write_text('{"prompt_token_ids": [0, 0, 101, 5], "token_ids": [6, 102]}\n')
    with pytest.warns(HeadscopeWarning, match="padding"):
        list(hs.corpora.jsonl(log).encoded(bert))


def test_a_pad_that_is_another_special_token_is_none(recwarn: pytest.WarningsRecorder) -> None:
    """As of GPT-2 and Llama, where people pad with the end of text."""
    tokenizer = copy.deepcopy(demo())
    tokenizer.pad_token = tokenizer.sep_token
    of = family("BERT")
    config = {**of.config, "vocab_size": len(demo()), "pad_token_id": tokenizer.sep_token_id}
    model = hs.load((build(Family(of.name, of.cls, of.model_type, config, of.heads)), tokenizer))
    hs.capture(model, inputs={"input_ids": [[101, 5, tokenizer.sep_token_id]]})
    assert not recwarn.list
