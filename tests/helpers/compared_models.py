"""Small models and inputs that tests of comparisons share."""

from __future__ import annotations

import copy
from pathlib import Path

import torch

import headscope as hs
from headscope.corpora import Corpus, Example
from headscope.models import Model
from headscope.views.charts import Figure

PAIRS = [
    ("The cat sat on the mat.", "Some dogs slept."),
    ("Rain is likely tomorrow.", "It will probably rain."),
    ("He sold the old car.", "The car was bought by her."),
    ("She opened a small shop.", "The bank closed early today."),
    ("Nobody answered the phone that night.", "The phone rang twice."),
    ("Two boats crossed the lake.", "Boats were on the lake."),
]


def pairs() -> list[tuple[str, str]]:
    """Thirty-six pairs: each with each, so that labels can have every text as often."""
    return [(a, b) for a, _ in PAIRS for _, b in PAIRS]


def examples(model: Model, labels: str = "abababbababa" * 3) -> list[Example]:
    return [
        Example(tokens=model.encode(*pair), label=label, document=place, source=f"x:{place + 1}")
        for place, (pair, label) in enumerate(zip(pairs(), labels, strict=True))
    ]


def perturbed(model: Model, layer: int, head: int, by: float = 1.5) -> Model:
    """A copy whose head looks elsewhere."""
    module = copy.deepcopy(model.module)
    own = module.encoder.layer[layer].attention.self
    width = own.attention_head_size
    with torch.no_grad():
        own.query.weight[width * head : width * (head + 1)] *= by
        own.query.bias[width * head : width * (head + 1)] *= by
    return hs.load((module, model.tokenizer))


def drawn(figure: Figure, folder: Path, words: list[str]) -> str:
    """The figure as .svg, in which some words stand; a notebook can show it."""
    assert figure._repr_png_()[1:4] == b"PNG"
    text = figure.save(folder / "figure.svg").read_text(encoding="utf-8")
    for word in words:
        assert word in text
    return text


def lines() -> Corpus:
    """The first line of each built-in document, each a document."""
    first = {one.document: one.text or "" for one in reversed(list(hs.corpora.builtin(pack=None)))}
    return hs.corpora.texts([first[document] for document in sorted(first)])
