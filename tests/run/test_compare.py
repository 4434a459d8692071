"""Groups, models, inputs and checkpoints compared on real and small models."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from small_models import small_roberta
from torch import nn

import headscope as hs
from headscope.analyses.compare_groups.values import values
from headscope.analyses.compare_training.run import listed
from headscope.corpora import Corpus, Example
from headscope.errors import CorpusError, InputError, RunError
from headscope.measures.choose import choose
from headscope.models import Model
from headscope.models.revision import name_and_revision
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


# Values of inputs


@pytest.mark.slow
def test_values_are_those_of_each_input_alone(demo: Model) -> None:
    found = values(
        demo, examples(demo), ["previous", "a_to_b", "same_word_other", "sink", "entropy"], batch_size=3
    )
    assert found.values.dtype == np.float32
    assert [one.name for one in found.measures] == ["previous", "a_to_b", "same_word_other", "entropy"]
    assert list(found.absent) == ["sink"]
    assert "no row for the mean share of a token's attention" in found.absent["sink"]
    assert found.labels == list("abababbababa" * 3)
    assert [one.source for one in found.inputs[:2]] == ["x:1", "x:2"]
    for place in (0, 7):
        one = hs.measure(demo, [examples(demo)[place]], measures=["previous", "a_to_b", "entropy"])
        for number, name in ((0, "previous"), (1, "a_to_b"), (3, "entropy")):
            np.testing.assert_allclose(found.values[place, number], one[name], atol=2e-6)
    said = [set(b.lower().strip(".").split()) for _, b in pairs()[:6]]
    lacks = [not {"the", "cat", "on", "sat", "mat"} & words for words in said]  # of *The cat sat on the mat.*
    assert np.isnan(found.values[:6, 2]).all((1, 2)).tolist() == lacks


@pytest.mark.slow
def test_large_values_stay_in_a_file(demo: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = values(demo, examples(demo), ["previous"], batch_size=5)
    monkeypatch.setattr("headscope.analyses.compare_groups.values.IN_MEMORY", 0)
    found = values(demo, examples(demo), ["previous"], batch_size=5)
    assert isinstance(found.values, np.memmap)
    np.testing.assert_array_equal(found.values, kept.values)


def test_an_input_that_fails_is_named(demo: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    def forward(*_: object, **__: object) -> None:
        raise ValueError("no")

    monkeypatch.setattr(demo.module.embeddings, "forward", forward)
    with pytest.raises(RunError, match=r"x:1: the model failed \(ValueError: no\)"):
        values(demo, examples(demo)[:1], ["previous"])


# Groups


@pytest.mark.slow
def test_one_head_edited_in_group_b_is_found_and_only_it(demo: Model) -> None:
    """The model of group B has one head of the last layer that looks elsewhere; labels alone say nothing."""
    names = ["surface", "patterns"]
    own, other = (
        values(demo, examples(demo), names),
        values(perturbed(demo, 5, 4, -1.0), examples(demo), names),
    )
    second = np.array([label == "b" for label in own.labels])
    from headscope.analyses.compare_groups import statistics as two_groups

    edited = np.where(second[:, None, None, None], other.values, own.values)
    found = two_groups.compare(edited, second, own.documents, own.measures, own.layers)
    rows = two_groups.differing(found)
    assert set(zip(rows["layer"], rows["head"], strict=True)) == {(5, 4)}, rows
    assert len(rows) >= 3


@pytest.mark.slow
def test_groups_end_to_end(demo: Model, tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    lines = [f"{place % 2}\t{a}\t{b if place % 2 else a}" for place, (a, b) in enumerate(pairs())]
    path.write_text("Quality\t#1 String\t#2 String\n" + "\n".join(lines), encoding="utf-8")
    found = hs.compare.groups(demo, hs.corpora.pairs(path), measures=["a_to_b", "b_to_a", "same_word_other"])
    meta = json.loads(found.figures.attrs["meta"])
    assert [one["label"] for one in meta["groups"]] == ["0", "1"]
    assert [one["inputs"] for one in meta["groups"]] == [18, 18]
    assert meta["permutations"] >= 20_000
    top = found.differing().iloc[0]
    assert top["group_a"] > top["group_b"]  # heads look from a sentence to its copy
    view = found.view()
    least = found.table["p"].min()
    best = found.table[found.table["p"] == least]
    best = best.loc[best["effect"].abs().idxmax()]
    assert (view.state["layer"], view.state["heads"]) == (best["layer"], [best["head"]])
    assert len(view.inputs) == 2
    first, second = (one.parts["self"].query.pieces for one in view.inputs)
    assert first[1:4] == first[len(first) // 2 + 1 :][:3]  # of group 0: the sentence twice
    assert second[1:4] != second[len(second) // 2 + 1 :][:3]
    again = hs.compare.groups(demo, hs.corpora.pairs(path), measures=["a_to_b", "b_to_a", "same_word_other"])
    assert again.table.equals(found.table)
    with pytest.raises(
        InputError, match="view: expected a measure and head that were compared, found entropy"
    ):
        found.view("entropy")
    titles = found.figures["title"].values.tolist()
    drawn(found.figure(), tmp_path, titles)
    assert titles[1] not in drawn(found.figure(["a_to_b"]), tmp_path, titles[:1])


def test_only_the_groups_asked_for_are_read(demo: Model) -> None:
    found = hs.compare.groups(demo, examples(demo, "abcz" * 9), groups=["c", "a"], measures=["entropy"])
    assert found.inputs.labels == ["a", "c"] * 9
    assert found.second.tolist() == [True, False] * 9
    with pytest.raises(InputError, match=r"expected two groups, found 4: a \(9\), b \(9\), c \(9\), z \(9\)"):
        hs.compare.groups(demo, examples(demo, "abcz" * 9))
    with pytest.raises(CorpusError, match="x:1: expected an input with a label, found none"):
        hs.compare.groups(demo, [Example(tokens=demo.encode("a"), source="x:1")])


# Models


def lines() -> Corpus:
    """The first line of each built-in document, each a document."""
    first = {one.document: one.text or "" for one in reversed(list(hs.corpora.builtin(pack=None)))}
    return hs.corpora.texts([first[document] for document in sorted(first)])


@pytest.mark.slow
def test_a_model_differs_from_itself_by_exactly_nothing(demo: Model, stories: Model) -> None:
    for model in (demo, stories):
        found = hs.compare.models(model, model, lines(), limit=3).figures
        for name in ("difference", "se", "js", "js_se", "js_layer", "cosine_se"):
            assert np.nanmax(np.abs(found[name].values)) == 0, name
        assert (found["cosine"].values == 1).all()
        assert np.isfinite(found["a"].values).all()


@pytest.mark.slow
@pytest.mark.parametrize(("layer", "head"), [(5, 4), (2, 9)])
def test_a_perturbed_head_leads_the_drift(demo: Model, layer: int, head: int, tmp_path: Path) -> None:
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
    from headscope.analyses.compare_models.statistics import drift

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


def test_other_shapes_are_refused(demo: Model, stories: Model) -> None:
    with pytest.raises(
        InputError, match=r"stories260K is causal and .* is not: heads have no counterparts; compare"
    ):
        hs.compare.models(demo, stories, lines())
    with pytest.raises(
        InputError, match=r"has 2 layers × 4 heads, .* has 3 layers × 2 heads: heads have no counterparts"
    ):
        hs.compare.models(small_roberta(), small_roberta(layers=3, heads=2), lines())
    with pytest.raises(
        InputError, match="expected measures of attention weights, found one of gradients or norms"
    ):
        hs.compare.models(demo, demo, lines(), measures=["norm_previous"])
    with pytest.raises(InputError, match="by: expected token or document"):
        hs.compare.models(demo, demo, lines(), by="input")  # type: ignore[arg-type]


@pytest.mark.slow
def test_untrained_heads_lose_their_roles(demo: Model, stories: Model) -> None:
    """L0H2 of the demo model looks at the previous token, and so does a head of the stories' model."""
    for model, head in ((demo, (0, 2)), (stories, None)):
        blank = hs.load((model.module, model.tokenizer), untrained=0)
        found = hs.compare.roles(model, blank, hs.corpora.builtin(), limit=40)
        changes = found.changes
        lost = changes[(changes["role"] == "previous token") & (changes["change"] == "lost")]
        assert len(lost)
        assert head is None or list(zip(lost["layer"], lost["head"], strict=True)) == [head]
        assert not (found.b["role"] == "previous token").any()
        moved = hs.compare.models(model, blank, lines(), measures=["previous"], limit=6)
        first = lost.iloc[0]
        own = moved.figures.sel(measure="previous", layer=first["layer"], head=first["head"])
        assert float(own["difference"]) > 10 * float(own["se"])


@pytest.mark.slow
def test_models_of_other_shapes_are_compared_by_role(demo: Model, stories: Model) -> None:
    found = hs.compare.roles(demo, stories, hs.corpora.builtin(), limit=40)
    by = found.by_role.set_index("role")
    assert by.loc["previous token", "heads_a"] == 1
    assert by.loc["previous token", "share_b"] == by.loc["previous token", "heads_b"] / 40
    with pytest.raises(InputError, match="heads have no counterparts"):
        _ = found.changes


# Inputs


@pytest.mark.slow
def test_the_difference_of_two_inputs_is_shown(demo: Model) -> None:
    found = hs.compare.inputs(demo, "The cat sat.", "The dog sat.", measures=["previous"])
    view = found.view()
    assert view.state["side"] == "difference"
    top = found.table.loc[found.table["js"].idxmax()]
    assert (view.state["layer"], view.state["heads"]) == (top["layer"], [top["head"]])
    words = hs.compare.inputs(
        demo, ("The cat sat.", "It ran."), ("The small cat sat.", "It ran."), align="word"
    )
    assert words.view().state["side"] == "difference"
    assert len(words.a.query) == len(words.b.query) == 10
    assert (hs.compare.inputs(demo, "The cat.", "The cat.").figures["js"] == 0).all()


# Training


@pytest.mark.slow
def test_measures_over_checkpoints(demo: Model, tmp_path: Path) -> None:
    blank = hs.load((demo.module, demo.tokenizer), untrained=0)
    found = hs.compare.training([blank, demo], lines(), measures=["previous", "entropy"], limit=3)
    table = found.table
    assert len(table) == 2 * 2 * 72
    assert table["checkpoint"].unique().tolist() == list(found.figures["checkpoint"].values)
    own = hs.measure(demo, lines(), measures=["previous", "entropy"], limit=3)
    np.testing.assert_array_equal(found.figures["value"][1, 0], own["previous"])
    np.testing.assert_array_equal(found.figures["se"][1, 1], own["entropy_se"])
    assert float(found.figures["value"].sel(measure="previous", layer=0, head=2)[0]) < 0.1
    drawn(found.figure(["entropy"]), tmp_path, ["entropy", "checkpoints: "])
    with pytest.raises(InputError, match="expected each once"):
        hs.compare.training([demo, demo], lines(), measures=["previous"], limit=1)
    with pytest.raises(InputError, match="expected one shape"):
        hs.compare.training([demo, small_roberta()], lines(), measures=["previous"], limit=1)


def test_checkpoints_are_found_in_a_folder(tmp_path: Path, demo: Model) -> None:
    for number in (1000, 500, 20):
        (tmp_path / f"checkpoint-{number}").mkdir()
    (tmp_path / "runs").mkdir()
    assert [Path(str(one)).name for one in listed(tmp_path)] == [
        "checkpoint-20",
        "checkpoint-500",
        "checkpoint-1000",
    ]
    with pytest.raises(InputError, match="or a folder with checkpoint-N folders"):
        listed(tmp_path / "runs")
    with pytest.raises(InputError, match="expected at least two, found 1"):
        listed([demo])
    assert name_and_revision("gpt2@step100") == ("gpt2", "step100")
    assert name_and_revision("gpt2") == ("gpt2", None)
    (tmp_path / "a@b").mkdir()
    assert name_and_revision(str(tmp_path / "a@b")) == (str(tmp_path / "a@b"), None)


@pytest.mark.slow
def test_modules_are_left_as_they_were(demo: Model) -> None:
    assert isinstance(demo.module, nn.Module)
    before = hs.capture(demo, "The cat sat.").weights
    hs.compare.models(demo, perturbed(demo, 0, 0), lines(), measures=choose(["previous"]), limit=1)
    np.testing.assert_array_equal(hs.capture(demo, "The cat sat.").weights, before)
