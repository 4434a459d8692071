"""Two models on the same inputs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import transformers

import headscope as hs
from headscope.corpora import Example
from headscope.errors import CorpusError
from headscope.models import Model
from tests.helpers.compared_models import drawn, lines, perturbed
from tests.helpers.small_models import small_roberta


@pytest.mark.slow
def test_a_model_differs_from_itself_by_exactly_nothing(demo: Model, stories: Model) -> None:
    for model in (demo, stories):
        found = hs.compare.models(model, model, lines(), limit=3).figures
        for name in ("difference", "se", "js", "js_se", "js_layer", "cosine_se"):
            assert np.nanmax(np.abs(found[name].values)) == 0, name
        assert (found["cosine"].values == 1).all()
        assert np.isfinite(found["a"].values).all()


@pytest.mark.slow
def test_a_perturbed_head_leads_the_drift(demo: Model, tmp_path: Path) -> None:
    layer, head = 2, 9
    found = hs.compare.models(demo, perturbed(demo, layer, head), lines(), limit=4)
    top = found.drift.iloc[0]
    assert (top["layer"], top["head"]) == (layer, head)
    assert top["js"] > 2 * found.drift["js"].iloc[1]
    before = found.figures.sel(layer=list(range(layer)))
    assert (before["js"] == 0).all()
    assert (before["difference"] == 0).all()
    same = found.figures.sel(layer=layer).drop_sel(head=head)
    assert (same["js"] == 0).all()
    assert found.layers["js"].iloc[layer] == pytest.approx(top["js"] / 12)
    drawn(found.figure(), tmp_path, ["drift of each head", "mean of each layer"])


def test_each_model_reads_each_batch_once() -> None:
    one, two = small_roberta(seed=0), small_roberta(seed=1)
    one.allow_unknown = two.allow_unknown = True
    read: list[str] = []
    hooks = [
        model.backbone.register_forward_pre_hook(lambda *_, name=name: read.append(name))
        for model, name in ((one, "a"), (two, "b"))
    ]
    two.tokenizer = one.tokenizer
    hs.compare.models(one, two, lines(), limit=4, batch_size=2)
    for hook in hooks:
        hook.remove()
    assert sorted(read) == ["a", "a", "b", "b"]


@pytest.mark.slow
def test_figures_of_both_are_those_of_measure(demo: Model) -> None:
    other = perturbed(demo, 1, 3)
    found = hs.compare.models(demo, other, lines(), measures=["previous", "entropy"], limit=4).figures
    for name, model in (("a", demo), ("b", other)):
        own = hs.measure(model, lines(), measures=["previous", "entropy"], limit=4)
        for measure in ("previous", "entropy"):
            np.testing.assert_allclose(found[name].sel(measure=measure), own[measure], atol=1e-9)
            np.testing.assert_allclose(found["n"].sel(measure=measure), own[f"{measure}_n"])
    head = found.sel(layer=1, head=3, measure="entropy")
    assert 0 < float(head["se"]) < abs(float(head["difference"]))
    meta = json.loads(found.attrs["meta"])
    assert (meta["a"]["name"], meta["over"]) == (demo.name, "pieces")


@pytest.mark.slow
def test_drift_is_that_of_whole_maps(demo: Model) -> None:
    from headscope.analyses.compare.models.statistics import drift

    other, text = perturbed(demo, 0, 0), "The cat sat on the mat."
    found = hs.compare.models(demo, other, [Example(tokens=demo.encode(text))]).figures
    one, two = (hs.capture(model, text).weights.astype(float) for model in (demo, other))
    rows = one.shape[2]
    expected = np.stack([drift(a, b) for a, b in zip(one, two, strict=True)], 1) / rows
    np.testing.assert_allclose(np.stack([found["js"], found["cosine"]]), expected, atol=2e-6)
    assert np.isnan(found["js_se"]).all()  # one document


@pytest.mark.slow
def test_other_tokenizers_are_compared_on_words(demo: Model) -> None:
    one, other = small_roberta(seed=0), small_roberta(seed=1)
    bert = transformers.BertConfig(
        vocab_size=len(demo.tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48
    )  # fmt: skip
    wordpiece = hs.load((transformers.BertModel(bert).eval(), demo.tokenizer))
    found = hs.compare.models(one, wordpiece, hs.corpora.builtin(), limit=6)
    meta = json.loads(found.figures.attrs["meta"])
    assert meta["over"] == "words"
    assert "not over words" in meta["absent"]["entropy"]
    assert {"previous", "punctuation", "same_word"} <= set(found.table["measure"])
    assert (found.drift["js"] > 0).all()
    assert (
        hs.compare.models(one, other, hs.corpora.builtin(), limit=2)
        .figures.attrs["meta"]
        .count('"over": "pieces"')
    )
    text = "A cat, a cat!"
    words = ["A", "cat", ",", "a", "cat", "!"]
    single = hs.compare.models(one, wordpiece, hs.corpora.texts([text]), measures=["previous"]).figures
    for name, model in (("a", one), ("b", wordpiece)):
        maps = hs.capture(model, model.from_words(words)).words().take(*[slice(1, -1)] * 2)
        expected = np.stack([layer[:, range(1, 6), range(5)].mean(-1) for layer in maps.layers])
        np.testing.assert_allclose(single[name][0], expected, atol=2e-6)
    with pytest.raises(
        CorpusError, match="expected single texts for models with different tokenizers, found a pair"
    ):
        hs.compare.models(one, wordpiece, hs.corpora.texts([("a", "b")]))
