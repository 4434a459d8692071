"""An encoder with a rule written into its weights: the source of what it says is found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers

import headscope as hs
from headscope.analyses.why import statistics
from headscope.measures.dataset import description
from tests.helpers.small_models import sizes
from tests.helpers.small_tokenizers import listed

CLUES = 10
WORDS = [f"clue{number}" for number in range(CLUES)] + [f"word{number}" for number in range(500)]


@pytest.fixture(scope="module")
def encoder() -> Any:
    """BERT of one layer, whose first head looks from [MASK] at words that are clues: of each it says another word."""
    tokenizer = listed(tuple(WORDS))
    size, first = len(tokenizer), int(tokenizer.convert_tokens_to_ids("clue0"))
    config = transformers.BertConfig(
        vocab_size=size, tie_word_embeddings=False, **sizes(2 * size, 1, 1, inner=1, length=160)
    )
    module = transformers.BertForMaskedLM(config).eval()
    tokens, clues = torch.arange(size), torch.arange(first, first + CLUES)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            parameter.fill_(float("LayerNorm.weight" in name))
        module.bert.embeddings.word_embeddings.weight[tokens, tokens] = 1.0
        attention: Any = module.bert.encoder.layer[0].attention
        attention.self.query.weight[0, tokenizer.mask_token_id] = 0.5
        attention.self.key.weight[0, clues] = 0.5
        attention.self.value.weight[tokens, tokens] = 1.0
        attention.output.dense.weight[size + clues + CLUES, clues] = 1.0
        module.cls.predictions.transform.dense.weight.copy_(torch.eye(2 * size))
        decoder = module.cls.predictions.decoder.weight
        decoder[:, :size].normal_(
            std=0.05, generator=torch.Generator().manual_seed(0)
        )  # what other words get
        decoder[tokens, size + tokens] = 0.3
    return hs.load((module, tokenizer))


def context(draw: np.random.Generator, copies: int) -> tuple[str, list[str], list[int], int]:
    """A text, its spans, those that hold the clue, and which clue it is."""
    count, clue = int(draw.integers(5, 21)), int(draw.integers(CLUES))
    words = draw.choice(WORDS[2 * CLUES :], size=(count, 6), replace=False)
    right: list[int] = draw.permutation(count)[:copies].tolist()
    words[right, 3] = WORDS[clue]
    spans = [" ".join(row) for row in words.tolist()]
    return " ".join([*spans, "[MASK]"]), spans, right, clue


@pytest.mark.slow
def test_the_source_is_first_where_the_answer_is_no_word_of_it(encoder: Any) -> None:
    draw = np.random.default_rng(0)
    for _ in range(4):
        text, spans, (right,), clue = context(draw, copies=1)
        found = hs.why(encoder, text, spans=spans)
        assert description(found)["answer"] == WORDS[CLUES + clue]
        assert statistics.first(found) == int(found["estimate"].values.argmax()) == right
        assert np.flatnonzero(found["q"].values <= 0.05).tolist() == [right]
        assert not found["lexical"].values.any()


@pytest.mark.slow
def test_of_a_clue_that_stands_twice_either_is_enough(encoder: Any) -> None:
    text, spans, right, _ = context(np.random.default_rng(1), copies=2)
    found = hs.why(encoder, text, spans=spans)
    assert {*np.argsort(found["estimate"].values)[-2:].tolist()} == {*right}
    assert float(found["masked"].values[right].max()) < statistics.MATTERS < float(found["joint"])
    said = [line for line in statistics.sentences(found) if "either is enough" in line]
    names = [statistics.named(found, span) for span in range(len(spans))]
    assert [{span for span, name in enumerate(names) if name in line} for line in said] == [{*right}]
