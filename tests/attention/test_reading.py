"""The terms of a score beside the model's own weights: what softmax makes of two keys is their difference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import headscope as hs
from headscope.attention.linear import PLACED, TOKEN
from headscope.attention.one import prepare
from headscope.attention.reading import PAIR, AskedKeys, call_of, terms_of
from headscope.attention.stream import Reader, Who
from headscope.core.terms import SIDES
from headscope.models import Model
from tests.helpers.asked import Doubled
from tests.helpers.families import build, family
from tests.helpers.vision_models import TEN

IDS = torch.tensor([[5, 6, 7, 9, 10, 11, 12, 13]])
TEXT = {"input_ids": IDS, "attention_mask": torch.ones_like(IDS)}


def terms_between(
    model: Model, ready: Any, part: str, head: hs.Head, query: int, keys: tuple[int, int]
) -> dict[str, dict[Who, float]]:
    """The terms of one key less another, of both sides."""
    read = Reader(model, ready).read(ready, (part, head.layer))
    record = call_of(read, part, head).record
    contrast = torch.zeros(record.shape[2:], dtype=record.q.dtype)
    contrast[query, keys[0]], contrast[query, keys[1]] = 1.0, -1.0
    return terms_of(read, record, [AskedKeys(head.head, contrast)])[0]


def own(model: Model, ready: Any, head: hs.Head, query: int, keys: tuple[int, int]) -> float:
    """The difference of two scores, by the weights that an eager model returns."""
    with torch.no_grad():
        weights = model.module(**ready, output_attentions=True).attentions[head.layer][0, head.head, query]
    return float((weights[keys[0]] / weights[keys[1]]).log())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["DeBERTa", "DeBERTa-v2", "BLOOM", "MPT", "Falcon ALiBi"])
def test_terms_of_biased_scores_are_exact(name: str) -> None:
    model, head = hs.load(build(family(name)).double()), hs.Head(2, 1)
    with Doubled():
        for keys in ((3, 2), (7, 1)):  # the query itself among them
            terms = terms_between(model, TEXT, "self", head, 7, keys)
            for side in SIDES:
                assert sum(terms[side].values()) == pytest.approx(
                    own(model, TEXT, head, 7, keys), rel=1e-6, abs=1e-9
                )


def test_what_debertas_queries_and_keys_score_positions_with_is_theirs() -> None:
    """Of each side only what the other gives positions is a bias, written out here from the weights."""
    module: Any = build(family("DeBERTa-v2"))
    model, head, query, keys = hs.load(module.double()), hs.Head(1, 2), 6, (6, 2)
    attention = module.encoder.layer[1].attention.self
    given: dict[str, Any] = {}
    hook = attention.register_forward_pre_hook(
        lambda _, args, kwargs: given.update(states=args[0], **kwargs), with_kwargs=True
    )
    with Doubled():
        terms = terms_between(model, TEXT, "self", head, query, keys)
        with torch.no_grad():
            model.module(**TEXT)
        hook.remove()

        def of_head(projection: Any, states: Tensor) -> Tensor:
            return projection(states)[..., 8 * head.head : 8 * head.head + 8]

        states, distances = given["states"][0], given["rel_embeddings"]
        q, k = of_head(attention.query_proj, states), of_head(attention.key_proj, states)
        by_distance = of_head(attention.query_proj, distances), of_head(attention.key_proj, distances)
        span = len(distances) // 2

        def score(key: int, side: str) -> Tensor:
            apart = given["relative_pos"].reshape(8, 8)
            at = apart[query, key] if side == "query" else apart[key, query]
            if side == "query":  # what the query scores the position with
                return q[query] @ by_distance[1][(at + span).clamp(0, 2 * span - 1)] / (8 * 3) ** 0.5
            return k[key] @ by_distance[0][(span - at).clamp(0, 2 * span - 1)] / (8 * 3) ** 0.5

        for side, other in (("key", "query"), ("query", "key")):
            expected = float((score(keys[0], other) - score(keys[1], other)).detach())
            assert abs(expected) > 1e-3
            assert terms[side][PAIR] == pytest.approx(expected, abs=1e-12)


def test_of_a_corpus_and_of_all_heads_the_same_holds() -> None:
    model = hs.load(build(family("DeBERTa-v2")))
    tokens = [hs.Tokens(list(map(str, ids)), ids=ids) for ids in (np.arange(5, 13), np.arange(20, 28))]
    examples = [hs.corpora.Example(tokens=one, document=at) for at, one in enumerate(tokens)]
    found = hs.reads(model, examples, "L2H1", ablated=0)
    np.testing.assert_allclose(found["share"].sum("writer"), 1.0, atol=1e-5)
    pairs = hs.reads(model, tokens[0], "L2H1", query=6, key=3, pairs=20)
    for of in pairs["of"].values:
        term = float(pairs["term"].sel(side="query", writer=of))
        assert float(pairs["pair"].sel(of=of).sum()) == pytest.approx(term, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("picture", [False, True])
def test_a_model_of_texts_and_pictures(picture: bool) -> None:
    module, processor = TEN["Qwen2-VL"]()
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    module.set_attn_implementation("eager")
    model = hs.load((module.double().eval(), processor))
    text = (
        "What is <|vision_start|><|image_pad|><|vision_end|> there?" if picture else "The cat sat on the mat."
    )
    image = np.random.default_rng(0).integers(0, 255, (84, 112, 3), np.uint8) if picture else None
    _, ready = prepare(model, text, image=image)
    last, part = ready["input_ids"].shape[1] - 1, "language" if picture else "self"
    with Doubled():
        terms = terms_between(model, ready, part, hs.Head(1, 2), last, (5, 2))
        for side in SIDES:
            assert sum(terms[side].values()) == pytest.approx(
                own(model, ready, hs.Head(1, 2), last, (5, 2)), rel=1e-6, abs=1e-9
            )
    # Patches hang on where they are, tokens do not: positions turn queries and keys.
    kinds = {who.kind for side in SIDES for who in terms[side]}
    assert {TOKEN, PLACED} & kinds == {PLACED if picture else TOKEN}
