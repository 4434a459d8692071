"""Tokenizers that have no piece for an English letter: of notes, digits and molecules."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import BertConfig, BertModel, GPT2Config, GPT2LMHeadModel

import headscope as hs
from headscope.models.pieces import sample
from tests.helpers.small_tokenizers import listed

READ = {
    "notes": (listed(("C4", "D4", "E4", "rest")), ["C4 D4 rest E4", "E4 E4 D4"]),
    "digits": (listed(tuple("0123456789")), ["1 2 3 4 5", "6 7 8 9"]),
    "molecules": (listed(tuple("()=#123 "), letters=True), ["(=1)", "#(2)3"]),
}
"""A tokenizer, and lines that it reads."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", READ)
def test_corpora_of_another_alphabet_are_measured(kind: str, tmp_path: Path) -> None:
    tokenizer, lines = READ[kind]
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(lines * 6) + "\n", encoding="utf-8")
    torch.manual_seed(0)
    size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    model = hs.load((BertModel(BertConfig(vocab_size=len(tokenizer), **size)), tokenizer))
    each, packed = (hs.measure(model, hs.corpora.text(path, pack=pack)) for pack in (None, 12))
    assert each["entropy"].notnull().all()
    assert packed["entropy"].notnull().all()
    writer = GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), n_embd=16, n_layer=1, n_head=2))
    found = hs.roles(hs.load((writer, tokenizer)), hs.corpora.text(path))
    assert len(found) == 2
    assert model.unknown(model.encode(sample(tokenizer)))[0] == 0
