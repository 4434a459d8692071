"""The report of other kinds of models than the demo model."""

from __future__ import annotations

import json
import re
from typing import Any

import torch
import transformers

import headscope as hs
from headscope.models import Model


def payload(page: str) -> Any:
    found = re.search(
        r'<script type="application/json" id="headscope-payload">(.*?)</script>', page, re.DOTALL
    )
    assert found is not None
    return json.loads(found[1])


def test_a_causal_model(stories: Model) -> None:
    found = payload(hs.report(stories, examples=2, limit=20))
    assert found["model"]["causal"]
    assert {entry["measure"] for entry in found["absent"]} >= {"next", "entropy_first"}
    assert len(found["examples"]) == 2
    assert all(example["causal"] for example in found["examples"])


def test_the_encoder_of_an_encoder_decoder(demo: Model) -> None:
    torch.manual_seed(0)
    config = transformers.T5Config(
        vocab_size=30522, d_model=32, d_kv=8, d_ff=24, num_layers=2, num_heads=4, decoder_start_token_id=0
    )
    model = hs.load((transformers.T5ForConditionalGeneration(config).eval(), demo.tokenizer))
    found = payload(hs.report(model, hs.corpora.texts(["The cat sat.", "A dog barked at the moon."])))
    assert (found["model"]["layers"], found["model"]["heads"]) == (2, 4)
    assert found["examples"][0]["query"][:3] == ["[CLS]", "the", "cat"]


def test_examples_of_your_own(demo: Model) -> None:
    found = payload(hs.report(demo, hs.corpora.texts(["The cat sat."]), examples=["Why?", ("A b.", "C d.")]))
    assert [example["query"] for example in found["examples"]] == [
        ["[CLS]", "why", "?", "[SEP]"],
        ["[CLS]", "a", "b", ".", "[SEP]", "c", "d", ".", "[SEP]"],
    ]
