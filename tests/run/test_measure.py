"""Figures over a corpus: against the published code, against whole maps, and what must not matter."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
import xarray as xr

import headscope as hs
from headscope.analyses.measure.run import measure
from headscope.attention.one import capture
from headscope.core.tokens import Tokens
from headscope.corpora import Example
from headscope.errors import InputError, RunError
from headscope.measures.choose import choose, surface
from headscope.measures.dataset import names
from headscope.models import Model
from headscope.runs.options import COMMAND
from tests.helpers.run_sample import Fails
from tests.helpers.small_models import small

REFERENCE = {
    "self": "current",
    "right": "next",
    "left": "previous",
    "sep": "sep",
    "sep_sep": "sep_sep",
    "rest_sep": "rest_sep",
    "cls": "cls",
    "punct": "punctuation",
    "entropies": "entropy",
    "entropies_cls": "entropy_first",
}


def inputs(*lengths: int, vocabulary: int = 60) -> list[Tokens]:
    draw = np.random.default_rng(1)
    found: list[Tokens] = []
    for length in lengths:
        classes = {"punctuation": draw.random(length) < 0.2, "user": draw.random(length) < 0.5}
        classes["sep"] = np.arange(length) == length - 1
        found.append(Tokens(["x"] * length, ids=draw.integers(3, vocabulary, length), classes=classes))
    return found


def examples(tokens: Sequence[Tokens], documents: Sequence[int] | None = None) -> list[Example]:
    return [
        Example(
            tokens=each,
            document=place if documents is None else documents[place],
            source=f"corpus.txt:{place + 1}",
        )
        for place, each in enumerate(tokens)
    ]


def same(found: xr.Dataset, truth: xr.Dataset, atol: float) -> None:
    assert names(found) == names(truth)
    for name in found.data_vars:
        near = 100 * atol if str(name).endswith("_skewness") else atol  # of third powers
        np.testing.assert_allclose(found[name], truth[name], atol=near, rtol=0, err_msg=str(name))


# --- the published code


@pytest.mark.slow
def test_the_preset_gives_the_published_figures(demo: Model, shared: Path) -> None:
    """All ten quantities, all 72 heads, on padded batches."""
    segments = json.loads((shared / "reference" / "segments.json").read_text())
    reference = json.loads((shared / "reference" / "surface.json").read_text())
    corpus = examples([demo.from_pieces(segment["tokens"]) for segment in segments])
    assert len({len(example.tokens or ()) for example in corpus}) > 1
    found = measure(demo, corpus, preset="clark2019", batch_size=8)
    for theirs, ours in REFERENCE.items():
        # A weight near 1 has float32's unit, 1.2e-7, and so has an entropy near 0, however small that is.
        near = 2**-23 if theirs.startswith("entropies") else 0
        np.testing.assert_allclose(found[ours], reference[theirs], rtol=1e-5, atol=near, err_msg=theirs)
    np.testing.assert_allclose(found["entropy_chance"], reference["uniform_attn_entropy"], rtol=1e-12)
    assert found["entropy"].attrs["by"] == "segment"
    assert (found["entropy_n"] == 30).all()


# --- against whole maps


def test_a_corpus_of_one_input_is_that_input(demo: Model) -> None:
    corpus = hs.corpora.texts([("The cat sat on the mat.", "It was tired, so it slept.")])
    found = measure(demo, corpus)
    single = surface(capture(demo, "The cat sat on the mat.", pair="It was tired, so it slept."))
    assert names(found) == names(single)
    for name in names(found):
        np.testing.assert_allclose(found[name], single[name], atol=1e-5, rtol=1e-5)
        np.testing.assert_allclose(found[f"{name}_chance"], single[f"{name}_chance"], rtol=1e-6)
        np.testing.assert_array_equal(found[f"{name}_n"], single[f"{name}_n"])


# --- what must not matter


def test_the_model_is_left_as_it_was() -> None:
    model = small("bert")
    before = model.module.config._attn_implementation
    model.module.train()
    measure(model, examples(inputs(5)), measures=["entropy"])
    assert model.module.config._attn_implementation == before
    assert model.module.training
    assert all(parameter.requires_grad for parameter in model.module.parameters())


# --- averaging, options, description


def test_averages_over_documents() -> None:
    model = small("bert")
    corpus = examples(inputs(20, 20, 4), [0, 0, 1])
    one, other = (measure(model, part, measures=["entropy"]) for part in (corpus[:2], corpus[2:]))
    found = measure(model, corpus, measures=["entropy"], by="document")
    np.testing.assert_allclose(found["entropy"], (one["entropy"] + other["entropy"]) / 2, atol=1e-6)
    assert (found["entropy_n"] == 2).all()
    np.testing.assert_allclose(found["entropy_se"], abs(one["entropy"] - other["entropy"]) / 2, atol=1e-6)
    assert found["entropy"].attrs["by"] == "document"


@pytest.mark.slow
def test_the_description(demo: Model) -> None:
    COMMAND.set("headscope measure")
    corpus = hs.corpora.builtin(pack=48)
    found = measure(demo, corpus, measures=["entropy"])
    meta = json.loads(found.attrs["meta"])
    assert meta["model"]["name"] == "all-MiniLM-L6-v2"
    assert meta["model"]["layers"] == 6
    assert meta["model"]["heads"] == 12
    assert meta["model"]["dtype"] == "float32"
    assert meta["corpus"]["name"] == corpus.name
    for name in ("documents", "examples", "tokens", "words"):
        assert meta["corpus"][name] == getattr(corpus.counts, name) > 0
    assert meta["corpus"]["split_words"] == corpus.counts.split_words / corpus.counts.words
    assert set(meta["versions"]) >= {"headscope", "torch", "transformers"}
    assert meta["command"] == "headscope measure"
    assert meta["seconds"] > 0
    assert meta["route"] == "blocks of rows"
    assert meta["options"] == {"by": "token", "batch_size": 32, "pack": 48}


def test_the_default_is_every_measure(demo: Model) -> None:
    found = measure(demo, hs.corpora.builtin(pack=48), limit=3)
    assert names(found) == [each.name for each in choose()]


# --- what fails


def test_a_failed_input_is_named() -> None:
    corpus = examples(inputs(5, 5, 5, 5, vocabulary=59))
    bad = Tokens(["x", "y"], ids=np.array([4, 59]))
    corpus[2] = Example(tokens=bad, document=2, source="corpus.txt:17")
    model = Model(Fails(small("bert").module), name="fails")
    with pytest.raises(RunError, match=r"^corpus.txt:17: the model failed \(RuntimeError: no such token\)$"):
        measure(model, corpus, measures=["entropy"])


def test_one_head_that_is_not_finite_is_seen() -> None:
    model = small("bert")
    with torch.no_grad():
        model.module.encoder.layer[-1].attention.self.query.bias[0] = torch.nan
    message = r"corpus\.txt:1: attention is not finite: .* nan in encoder\.layer\.2\..*query\.bias\[0\] \(layer 2, head 0\)$"
    with pytest.raises(RunError, match=message):
        measure(model, examples(inputs(5)), measures=["entropy"])


def test_weights_that_are_not_finite_are_named() -> None:
    model = small("bert")
    with torch.no_grad():
        model.module.embeddings.word_embeddings.weight[7] = torch.nan
    corpus = examples(inputs(5, vocabulary=6))
    corpus.append(Example(tokens=Tokens(["x", "y"], ids=np.array([4, 7])), document=1, source="corpus.txt:9"))
    message = (
        r"corpus\.txt:9: attention is not finite: .* nan in embeddings\.word_embeddings\.weight\[7, 0\]$"
    )
    with pytest.raises(RunError, match=message):
        measure(model, corpus, measures=["entropy"])


def test_a_measure_that_causal_models_do_not_have(stories: Model) -> None:
    with pytest.raises(InputError, match="next: a causal model does not see later tokens"):
        measure(stories, hs.corpora.builtin(), measures=["next"])


def test_chance_of_a_uniform_head_is_its_figure() -> None:
    """A model whose queries are 0 attends uniformly: every figure is on its chance line."""
    model = small("llama", num_key_value_heads=2)
    with torch.no_grad():
        for layer in model.module.layers:
            layer.self_attn.q_proj.weight.zero_()
    found = measure(
        model, examples(inputs(12, 7, 9)), measures=["previous", "first", "entropy", "largest", "punctuation"]
    )
    for name in names(found):
        np.testing.assert_allclose(
            found[name], found[f"{name}_chance"].values[:, None] * np.ones((1, 4)), atol=1e-6
        )
    lengths = (12, 7, 9)
    expected = sum(math.log(row + 1) for length in lengths for row in range(length)) / sum(lengths)
    np.testing.assert_allclose(found["entropy_chance"], expected)
