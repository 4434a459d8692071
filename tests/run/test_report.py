"""The report of other kinds of models than the demo model."""

from __future__ import annotations

import json
import re
from typing import Any

import torch
import transformers

import headscope as hs
from headscope.models import Model


def part(example: Any) -> Any:
    """The only part of an example's only input."""
    ((found,),) = [one["parts"] for one in example["inputs"]]
    return found


def payload(page: str) -> Any:
    found = re.search(
        r'<script type="application/json" id="headscope-payload">(.*?)</script>', page, re.DOTALL
    )
    assert found is not None
    return json.loads(found[1])


def test_a_causal_model(stories: Model) -> None:
    found = payload(hs.report(stories, examples=2, limit=20))
    assert found["model"]["causal"]
    assert {entry["measure"] for one in found["sections"] for entry in one.get("absent", [])} >= {
        "next",
        "entropy_first",
    }
    assert len(found["examples"]) == 2
    assert all(part(example)["causal"] for example in found["examples"])


def test_the_encoder_of_an_encoder_decoder(demo: Model) -> None:
    torch.manual_seed(0)
    config = transformers.T5Config(
        vocab_size=30522, d_model=32, d_kv=8, d_ff=24, num_layers=2, num_heads=4, decoder_start_token_id=0
    )
    model = hs.load((transformers.T5ForConditionalGeneration(config).eval(), demo.tokenizer))
    found = payload(hs.report(model, hs.corpora.texts(["The cat sat.", "A dog barked at the moon."])))
    assert (found["model"]["layers"], found["model"]["heads"]) == (2, 4)
    assert part(found["examples"][0])["name"] == "encoder"
    assert part(found["examples"][0])["query"]["pieces"][:3] == ["[CLS]", "the", "cat"]
    assert len(part(found["examples"][0])["neurons"]) == 2


def test_examples_of_your_own(demo: Model) -> None:
    found = payload(hs.report(demo, hs.corpora.texts(["The cat sat."]), examples=["Why?", ("A b.", "C d.")]))
    assert [part(example)["query"]["pieces"] for example in found["examples"]] == [
        ["[CLS]", "why", "?", "[SEP]"],
        ["[CLS]", "a", "b", ".", "[SEP]", "c", "d", ".", "[SEP]"],
    ]


def test_queries_and_keys_come_while_there_is_room(demo: Model, monkeypatch: Any) -> None:
    corpus = hs.corpora.texts(["The cat sat."])
    first, second = payload(hs.report(demo, corpus, examples=["Why?", "Why not?"]))["examples"]
    assert part(first)["neurons"][0]["q"]["codes"]["shape"] == [12, 4, 32]
    assert part(second)["neurons"] is not None
    monkeypatch.setattr("headscope.run.report.NEURON_BYTES", 6 * 12 * 4 * 32 * 2)
    first, second = payload(hs.report(demo, corpus, examples=["Why?", "Why not?"]))["examples"]
    assert part(first)["neurons"] is not None
    assert part(second)["neurons"] is None


def test_the_page_of_the_built_in_corpus_stays_small(demo: Model) -> None:
    assert len(hs.report(demo, limit=6)) < 1_500_000
