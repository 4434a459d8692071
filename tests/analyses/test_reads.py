"""Why a head looks there: who wrote what it reads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import headscope as hs
from headscope.analyses.reads.corpus import (  # pyright: ignore[reportPrivateUsage]
    _CorpusWork,
    _less_mean,
    _linked,
)
from headscope.analyses.roles.retrieval.run import needle_examples
from headscope.attention.neurons import capture_with_neurons
from headscope.core.link import Link, Span
from headscope.corpora import Example
from tests.helpers.families import build, family
from tests.helpers.hybrids import hybrid
from tests.helpers.planted_induction import WORDS, circuit
from tests.helpers.planted_needles import HAY, reader
from tests.helpers.small_models import sizes, translator

IDS = [5, 6, 7, 8, 9, 5]


def tokens(ids: Any = IDS) -> hs.Tokens:
    return hs.Tokens([str(number) for number in ids], ids=np.asarray(ids))


def scores(model: hs.Model, head: hs.Head, text: Any, part: str = "self", **given: Any) -> Any:
    """The model's own scores of a head, before a softcap."""
    seen = capture_with_neurons(model, text, **given)[1][part]
    layer = head.layer
    key_head = head.head // seen.groups(layer)
    bias = seen.bias[layer]
    products = seen.q[layer][head.head] @ seen.k[layer][key_head].T * seen.scaling[layer]
    return products + (0.0 if bias is None else bias[head.head])


def test_an_induction_head_reads_what_the_previous_token_head_wrote() -> None:
    found = hs.reads(circuit(), tokens(), "L1H0", pairs=1)
    rows = found.table().set_index(["side", "writer"])
    assert rows.loc[("key", "L0H0"), "share"] == pytest.approx(1.0, abs=0.02)
    assert rows.loc[("key", "L0H0"), "looks_at"] == "5"  # the key stands behind the first 5
    assert rows.loc[("query", "token and position"), "share"] == pytest.approx(1.0, abs=0.02)
    assert rows.loc["key"].index.tolist() == ["L0H0", "the rest"]
    assert found["of"].values.tolist() == ["token and position"]
    assert float(found["pair"].sel(writer="L0H0")[0]) == pytest.approx(float(found["contrast"]), rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Qwen3", "BLOOM", "Gemma 2", "BERT"])
def test_either_side_sums_to_the_models_own_scores(name: str) -> None:
    model = hs.load(build(family(name)))
    head, text = hs.Head(2, 1), tokens()
    own = scores(model, head, text)[4]
    first = 0 if name == "BERT" else 1
    others = [key for key in range(first, 6 if name == "BERT" else 5) if key != 3]
    contrasts: dict[Any, float] = {"mean": own[3] - own[others].mean(), 1: own[3] - own[1], "none": own[3]}
    for foil, contrast in contrasts.items():
        found = hs.reads(model, text, head, query=4, key=3, foil=foil)
        assert float(found["contrast"]) == pytest.approx(contrast, rel=1e-5, abs=1e-5)
        np.testing.assert_allclose(found["term"].sum("writer"), contrast, rtol=1e-5, atol=1e-5)
        for _, side in found.table().groupby("side"):
            assert side["term"].sum() == pytest.approx(contrast, rel=1e-5, abs=1e-5)
    assert ("position bias" in found.table()["writer"].tolist()) == (name == "BLOOM")
    turned = name in ("Qwen3", "Gemma 2")
    assert ({"content", "position"} <= {*found.data_vars}) == turned
    if turned:
        same = hs.reads(model, text, head, query=4, key=4, foil="none")
        np.testing.assert_allclose(same["position"], 0.0, atol=1e-6)  # nothing turns at one position


@pytest.mark.parametrize(
    ("name", "first"),
    [("GPT-2", "token and position"), ("BERT", "token and position"), ("Qwen3", "token"), ("BLOOM", "token")],
)
def test_writers_have_one_name_for_an_input_and_for_a_corpus(name: str, first: str) -> None:
    model = hs.load(build(family(name)))
    one = hs.reads(model, tokens(), "L2H1")
    corpus = hs.reads(model, [Example(tokens=tokens(), document=0)], "L2H1", ablated=0)
    assert one["writer"].values.tolist() == corpus["writer"].values.tolist()
    assert one["kind"].values.tolist() == corpus["kind"].values.tolist()
    assert one["writer"].values[0] == first


def test_a_convolution_is_no_mlp_and_no_token() -> None:
    """In layer 0 of LFM2 a convolution mixes the tokens up to the key, and an MLP reads what it wrote."""
    module: Any = hybrid("lfm2", layer_types=["conv", "full_attention"] * 2)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(0, 0.3)
        module.get_input_embeddings().weight /= 1e3
    model = hs.load(module)
    terms: list[float] = []
    for before in (7, 8):
        found = hs.reads(model, tokens([5, 6, before, 9, 10, 11]), "L1H1", query=5, key=3, foil="none")
        assert found["writer"].values.tolist() == ["token", "convolution 0", "mlp 0", "position bias"]
        terms.append(float(found["term"].sel(side="key", writer="convolution 0")))
    assert abs(terms[0] - terms[1]) > 0.1 * abs(terms[0])
    corpus = hs.reads(model, [Example(tokens=tokens(), document=0)], "L3H1", ablated=0)
    assert [str(name) for name in corpus["writer"].values if "convolution" in str(name)] == [
        "convolution 0",
        "convolution 2",
    ]


def test_attention_that_runs_again_has_no_keys_of_the_run_before() -> None:
    """Among the classes whose forward does not name `use_cache`."""
    config = transformers.GraniteMoeConfig(
        vocab_size=60,
        **sizes(layers=2, inner=48, keys=2, length=64),
        num_local_experts=4,
        attention_dropout=0.0,
    )
    module = transformers.GraniteMoeForCausalLM(config).eval()
    model, head = hs.load(module), hs.Head(1, 1)
    found = hs.reads(model, tokens(), head, query=5, key=3, foil="none")
    assert float(found["contrast"]) == pytest.approx(scores(model, head, tokens())[5, 3], rel=1e-5)
    np.testing.assert_allclose(found["term"].sum("writer"), found["contrast"], rtol=1e-5, atol=1e-7)
    same = hs.reads(model, tokens(), head, query=5, key=5, foil="none")
    np.testing.assert_allclose(same["position"], 0.0, atol=1e-6)


def test_both_streams_of_cross_attention() -> None:
    model, given = translator(), {"target": "the dog sat"}
    found = hs.reads(model, "the cat sat", "L1H2", query=1, key=2, foil="none", attention="cross", **given)
    own = scores(model, hs.Head(1, 2), "the cat sat", "cross", **given)[1, 2]
    np.testing.assert_allclose(found["term"].sum("writer"), own, rtol=1e-5, atol=1e-5)
    for side, parts in (("key", {"encoder"}), ("query", {"decoder", "cross"})):
        terms = found["term"].sel(side=side)
        theirs = {str(writer).split()[0] for writer in terms["writer"].values[terms.values != 0]}
        assert theirs - {"biases"} == parts


def repeats(count: int, seed: int = 0) -> list[Example]:
    """Random ids of the planted model, twice each, a document each."""
    draw = np.random.default_rng(seed)
    ids = [draw.choice(np.arange(1, WORDS), 8, replace=False).tolist() for _ in range(count)]
    return [Example(tokens=tokens(row + row), document=at) for at, row in enumerate(ids)]


@pytest.mark.slow
def test_over_a_corpus_an_induction_head_reads_the_previous_token_head() -> None:
    found = hs.reads(circuit(), repeats(8), "L1H0", of="induction", reinitialised=0)
    untrained = found["share_untrained"].sel(side="key", writer="L0H0")
    other = hs.reads(hs.load(circuit(), untrained=0), repeats(8), "L1H0", of="induction", ablated=0)
    np.testing.assert_array_equal(untrained, other["share"].sel(side="key", writer="L0H0"))
    assert not abs(float(untrained)) > 0.5  # or none, where these keys are not scored above the others
    rows = found.table().set_index(["side", "writer"])
    assert rows.index.tolist() == [
        ("key", "L0H0"),
        ("key", "the rest"),
        ("query", "token and position"),
        ("query", "the rest"),
    ]
    (key,) = rows.loc[[("key", "L0H0")]].to_dict("records")
    assert key["ci_low"] <= key["share"] <= key["ci_high"]
    assert key["share"] == pytest.approx(1.0, abs=0.05)
    assert abs(key["chance"]) < 0.3
    assert key["q"] < 0.05
    assert abs(key["contrast_left"]) < 0.05
    assert key["attention_left"] < 0.3
    shares = found["share"].sum("writer").values
    np.testing.assert_allclose(shares, 1.0, atol=1e-5)
    assert int(found["queries"]) == 8 * 8
    # Of what rounding alone gives nothing is claimed: of biases where there are none.
    biases = found.sel(side="key", writer="biases")
    assert abs(float(biases["share"])) < 1e-5
    assert float(biases["p"]) == 1
    assert np.isnan(biases["q"])


def test_of_links_either_end_is_the_query_of_a_causal_model() -> None:
    """Links where the measure has its pairs, half of them told from the key's end."""
    inputs = repeats(6)
    links = [
        Link(Span(*ends[0]), (Span(*ends[1]),), "again", unit="tokens")
        for at in range(7)
        for ends in [[(8 + at, 9 + at), (at + 1, at + 2)][:: 1 - 2 * (at % 2)]]
    ]
    linked = [replace(one, links=links) for one in inputs]
    found, same = (
        hs.reads(circuit(), some, "L1H0", of=of, ablated=0)
        for some, of in (
            (linked, "link:again"),
            ([replace(one, tokens=one.tokens) for one in inputs], "induction"),
        )
    )
    assert int(found["queries"]) == 7 * 6
    by_link, by_measure = (one["share"].sel(side="key", writer="L0H0") for one in (found, same))
    assert float(by_link) == pytest.approx(float(by_measure), abs=0.02)


def test_of_relations_a_word_is_asked_about_its_head() -> None:
    read = hs.Tokens(list("abcd"), ids=np.array([5, 6, 7, 8]), word_ids=[0, 1, 1, 2])
    example = Example(
        words=["a", "bc", "d"], heads=[1, -1, 1], relations=["nsubj", "root", "obj"], tokens=read
    )
    assert np.argwhere(_linked("obj", example, causal=False)).tolist() == [[3, 1], [3, 2]]
    assert np.argwhere(_linked("nsubj", example, causal=False)).tolist() == [[0, 1], [0, 2]]
    assert np.argwhere(_linked("nsubj", example, causal=True)).tolist() == [[0, 1], [0, 2], [1, 0], [2, 0]]


@pytest.mark.filterwarnings("ignore:.*are unknown to the tokenizer")
def test_of_needles_where_the_answer_stands() -> None:
    model = hs.load((circuit().module, reader()))
    hay = hs.corpora.texts([" ".join(HAY.split()[:12] * 8)])
    examples = needle_examples(model, hay, needles=5, lengths=(48,))
    asked = sum(len(example.links or ()) for example in examples)
    assert asked > 0
    found = hs.reads(model, examples, "L1H0", of="link:needle", ablated=0)
    assert int(found["queries"]) == asked
    assert float(found["share"].sel(side="key", writer="L0H0")) == pytest.approx(1.0, abs=0.05)


def test_chance_is_what_remains_where_shuffled_keys_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_CorpusWork, "_shuffled", lambda self, contrast, among, example: contrast)
    found = hs.reads(circuit(), repeats(8), "L1H0", of="induction", ablated=0)
    np.testing.assert_array_equal(found["chance"], found["share"])
    p = found["p"].values
    assert (p[~np.isnan(p)] == 1).all()
    assert not np.isnan(p).all()


def test_a_query_is_asked_for_its_keys_less_the_mean_of_the_others() -> None:
    chosen = np.array([[True, False, False], [True, True, False], [True, False, False]])
    others = np.array([[False, True, True], [False, False, True], [False, False, False]])
    expected = [[1, -0.5, -0.5], [0.5, 0.5, -1], [0, 0, 0]]
    np.testing.assert_array_equal(_less_mean(chosen, others), expected)
