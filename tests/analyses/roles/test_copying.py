"""Whether heads copy, against `headscope.attribute`, and in circuits built by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import transformers
from numpy.testing import assert_allclose

import headscope as hs
from headscope.analyses.roles import copying as rooms
from headscope.analyses.roles.copying import copying, suppression
from headscope.analyses.roles.run import repeated_tokens
from headscope.analyses.roles.statistics import every, named
from headscope.attention.residual import effects, unembedding
from headscope.corpora import Example
from headscope.models import Model
from tests.helpers import small_models
from tests.helpers.planted_induction import PLACES, WIDTH, WORDS, circuit
from tests.helpers.small_models import sizes


def small() -> hs.Model:
    torch.manual_seed(0)
    config = transformers.Gemma2Config(
        vocab_size=30, **sizes(hidden=16, inner=16, keys=2, length=32), head_dim=4
    )
    return hs.load(transformers.Gemma2ForCausalLM(config))


def test_effects_are_the_sums_of_attributions_over_sources() -> None:
    model = small()
    tokens = hs.Tokens([str(one) for one in range(3, 9)], ids=np.arange(3, 9))
    found = effects(model, model.inputs([tokens]), slice(2, 5), [4, 20])
    for row, position in enumerate(range(2, 5)):
        for column, token in enumerate((4, 20)):
            one = hs.attribute(model, tokens, token=token, position=position)["heads"].sum("source")
            for layer in range(2):
                assert_allclose(found[layer][:, row, column], one[layer], atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sign", "shift", "score", "role"),
    [(1.0, 0, 1.0, "induction"), (-1.0, 0, 0.0, "anti-induction"), (1.0, 7, 0.5, "prefix matching")],
)
def test_a_head_that_matches_prefixes_is_named_by_what_it_writes(
    sign: float, shift: int, score: float, role: str
) -> None:
    model = circuit(sign, shift)
    repeated = repeated_tokens(model, tokens=25, sequences=8)
    copies = copying(model, repeated)
    assert not isinstance(copies, str)
    found = float(copies["copying"].sel(layer=1, head=0))
    # Shifted, what follows ties with all other tokens, and rounding ranks it: 25 tokens, three standard errors.
    assert abs(found - score) < (3 * np.sqrt(1 / 12 / 25) if shift else 0.05)
    assert float(copies["copying"].sel(layer=1, head=1)) == 0.5  # the blank head's, all ties
    table = named(every(hs.measure(model, repeated, measures=["surface", "synthetic"]), copies))
    one = table[(table["layer"] == 1) & (table["head"] == 0)]
    assert one["role"].tolist() == [role]
    if role == "prefix matching":
        assert f"copying {found:.3f}, chance 0.500" in table.attrs["not_found"]["induction"]
    else:
        assert one["copying"].item() == pytest.approx(found)


def test_without_one_residual_stream_prefix_matching_alone_is_told() -> None:
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=60, **sizes(hidden=16, layers=1, heads=2, length=64), is_decoder=True
    )
    model = hs.load(transformers.BertLMHeadModel(config))
    why = copying(model, repeated_tokens(model, tokens=10, sequences=8))
    assert isinstance(why, str)
    assert "one residual stream" in why


NEXT = 7
"""The planted model predicts the token of so many ids on."""


def texts(count: int = 12, tokens: int = 40, words: int = WORDS, seed: int = 0) -> list[Example]:
    draw = np.random.default_rng(seed)
    drawn = draw.integers(1, words, (count, tokens))
    return [
        Example(tokens=hs.Tokens([str(one) for one in ids], ids=ids), document=place)
        for place, ids in enumerate(drawn)
    ]


def suppressor(sign: float = -1.0) -> Model:
    """Each token predicts another. L1H0 looks for that one in the context, and copies it `sign` times."""
    model = circuit()
    module = model.module
    token, after = torch.arange(WORDS), torch.arange(2 * WORDS + PLACES, WIDTH)
    torch.manual_seed(0)
    with torch.no_grad():
        module.lm_head.weight[:, token] = 0.1 * torch.randn(WORDS, WORDS)  # no two are as likely
        module.transformer.wte.weight[token, after[(token + NEXT) % WORDS]] = 1.0
        for layer in module.transformer.h:
            layer.attn.c_attn.weight.zero_()
            layer.attn.c_proj.weight.zero_()
        second = module.transformer.h[1].attn
        second.c_attn.weight[after, token] = 1.0  # queries: what is predicted
        second.c_attn.weight[token, WIDTH + token] = 8.0  # keys, and values: the token there
        second.c_attn.weight[token, 2 * WIDTH + token] = 1.0
        second.c_proj.weight[token, after] = sign
    return hs.load(module)


def gemma() -> Model:
    torch.manual_seed(0)
    config = transformers.Gemma2Config(
        vocab_size=40,
        **sizes(hidden=16, inner=16, keys=2, length=64),
        head_dim=4,
        final_logit_softcapping=None,
    )
    return hs.load(transformers.Gemma2ForCausalLM(config))


def by_loops(model: Model, ids: np.ndarray, layer: int, head: int) -> tuple[float, int]:
    """The sum of the scores of one head and how many, a row at a time, from `headscope.attribute`."""
    with torch.no_grad():
        streams = model.module(torch.tensor(ids)[None], output_hidden_states=True).hidden_states
        norm = model.module.base_model.norm if hasattr(model.module.base_model, "norm") else None
        norm = norm or model.module.base_model.ln_f
        lens = unembedding(model)(norm(streams[layer][0])).numpy()
    total, count = 0.0, 0
    tokens = hs.Tokens([str(one) for one in ids], ids=ids)
    types = sorted({*ids.tolist()})
    for row in range(len(ids)):
        seen = sorted({*ids[1 : row + 1].tolist()} - {int(ids[row])})
        if len(seen) <= 8:
            continue
        best = max(seen, key=lambda token: lens[row, token])
        if (lens[row] > lens[row, best]).sum() >= 10:
            continue
        sources = {
            token: hs.attribute(model, tokens, token=token, position=row)["heads"].values[layer, head]
            for token in types
        }
        mean = np.mean([sources[token] for token in types], 0)
        lowered = {
            token: sum(
                sources[token][place] - mean[place] for place in range(1, row + 1) if ids[place] == token
            )
            for token in seen
        }
        less = sum(lowered[token] > lowered[best] for token in seen)
        total, count = total + less / (len(seen) - 1), count + 1
    return total, count


@pytest.mark.slow
@pytest.mark.parametrize("make", [gemma, suppressor])
def test_scores_are_those_of_attributions_token_by_token(make: object) -> None:
    model = make()  # type: ignore[operator]
    (example,) = texts(1, 14)
    found = suppression(model, [example])
    assert not isinstance(found, str)
    for layer, head in ((0, 1), (1, 0)):
        total, count = by_loops(model, np.asarray(example.tokens.ids), layer, head)
        assert count >= 3
        if make is suppressor and layer == 0:  # writes nothing: all ties
            assert float(found["copy_suppression"].sel(layer=layer, head=head)) == 0.5
            continue
        assert int(found["copy_suppression_n"].sel(layer=layer, head=head)) == count
        assert_allclose(found["copy_suppression"].sel(layer=layer, head=head), total / count, atol=1e-9)


@pytest.fixture
def sure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what is predicted before all of the vocabulary counts: that has 40 tokens."""
    monkeypatch.setattr(rooms, "LIKELY", 1)


@pytest.mark.slow
@pytest.mark.usefixtures("sure")
def test_the_planted_head_alone_has_the_role() -> None:
    model, corpus = suppressor(), texts()
    found = suppression(model, corpus)
    assert not isinstance(found, str)
    assert float(found["copy_suppression"].sel(layer=1, head=0)) > 0.99
    assert_allclose(found["copy_suppression"].values.ravel()[[0, 1, 3]], 0.5)
    table = named(every(hs.measure(model, corpus, measures=["surface"]), found))
    assert [*table[table["role"] == "copy suppression"][["layer", "head"]].itertuples(index=False)] == [
        (1, 0)
    ]


@pytest.mark.usefixtures("sure")
def test_a_head_that_copies_what_is_predicted_has_the_lowest_score() -> None:
    found = suppression(suppressor(sign=1.0), texts())
    assert not isinstance(found, str)
    assert float(found["copy_suppression"].sel(layer=1, head=0)) < 0.01


def test_a_head_that_lowers_some_tokens_whatever_is_predicted_scores_its_chance() -> None:
    """It lowers one token by far the most; that is predicted no more often than others."""
    seen = np.ones((30, 12), bool)
    lowered = np.tile(-np.arange(12.0)[::-1], (1, 30, 1))
    predicted = np.random.default_rng(0).integers(0, 12, 30)
    score, chance, count = rooms._scores(lowered, predicted, seen)[:, 0]
    assert count == 30
    assert_allclose(score, chance)


@pytest.mark.slow
def test_untrained_models_have_no_such_head() -> None:
    for seed in range(3):
        torch.manual_seed(seed)
        config = transformers.LlamaConfig(vocab_size=WORDS, **sizes(inner=32, keys=2))
        model = hs.load(small_models.sharpen(transformers.LlamaForCausalLM(config)))
        found = suppression(model, texts(seed=seed))
        assert not isinstance(found, str)
        table = named(every(hs.measure(model, texts(seed=seed), measures=["surface"]), found))
        assert not (table["role"] == "copy suppression").any(), seed


def test_why_it_cannot_be_told() -> None:
    short = [Example(tokens=hs.Tokens(["a", "b"], ids=np.array([1, 2])), document=0)]
    assert suppression(circuit(), short) == "no text of 10 different tokens"
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=40, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    assert "causal language model" in str(suppression(hs.load(transformers.BertModel(config)), texts()))
