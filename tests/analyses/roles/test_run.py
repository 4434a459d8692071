"""Roles of real models, a circuit built by hand, and the inputs made for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import headscope as hs
from headscope.analyses.roles.statistics import COLUMNS, NONE, sinks
from headscope.analyses.roles.synthetic import repeated_tokens
from headscope.errors import InputError
from headscope.models import Model
from headscope.stream.rare import with_rarest

pytestmark = pytest.mark.slow

WORDS, PLACES = 40, 64
WIDTH = 3 * WORDS + PLACES


def circuit() -> Model:
    """GPT-2 of two layers with the induction circuit of Elhage et al. 2021 written into its weights.

    The residual stream has four parts: the token, its position, the token before, and what comes next. L0H0 looks one
    place back and copies the token there into the third part; L1H0 looks where that part is the present token,
    and copies the token there into the fourth part, which the output reads. The second head of each layer is blank.
    """
    config = transformers.GPT2Config(
        vocab_size=WORDS,
        n_positions=PLACES,
        n_embd=WIDTH,
        n_layer=2,
        n_head=2,
        n_inner=1,
        tie_word_embeddings=False,
        bos_token_id=0,
        eos_token_id=0,
    )
    module = transformers.GPT2LMHeadModel(config).eval()
    size, scale = WIDTH // 2, 60.0
    token, place, before, after = np.split(np.arange(WIDTH), [WORDS, WORDS + PLACES, 2 * WORDS + PLACES])

    def joined(source: np.ndarray, target: np.ndarray, weight: float) -> tuple[Any, Any, float]:
        return torch.as_tensor(source), torch.as_tensor(target), weight

    def put(matrix: torch.Tensor, source: Any, target: Any, weight: float) -> None:
        matrix[source, target] = weight

    with torch.no_grad():
        for parameter in module.parameters():
            parameter.zero_()
        for layer in module.transformer.h:
            layer.ln_1.weight.fill_(1.0)
            layer.ln_2.weight.fill_(1.0)
        module.transformer.ln_f.weight.fill_(1.0)
        put(module.transformer.wte.weight, *joined(np.arange(WORDS), token, 1.0))
        put(module.transformer.wpe.weight, *joined(np.arange(PLACES), place, 1.0))
        first, second = (layer.attn for layer in module.transformer.h)
        query, key, value = 0, WIDTH, 2 * WIDTH  # where c_attn writes the first head's
        put(first.c_attn.weight, *joined(place[1:], query + np.arange(PLACES - 1), 1.0))
        put(first.c_attn.weight, *joined(place[:-1], key + np.arange(PLACES - 1), scale / 8))
        put(first.c_attn.weight, *joined(token, value + np.arange(WORDS), 1.0))
        put(first.c_proj.weight, *joined(np.arange(WORDS), before, 0.1))
        put(second.c_attn.weight, *joined(token, query + np.arange(WORDS), 1.0))
        put(second.c_attn.weight, *joined(before, key + np.arange(WORDS), scale / 8))
        put(second.c_attn.weight, *joined(token, value + np.arange(WORDS), 1.0))
        put(second.c_proj.weight, *joined(np.arange(WORDS), after, 1.0))
        put(module.lm_head.weight, *joined(np.arange(WORDS), after, 10.0))
    assert size >= PLACES
    return hs.load(module)


@pytest.fixture(scope="module")
def induction() -> Model:
    torch.set_num_threads(1)
    return circuit()


def copied(model: Model) -> float:
    """How often the second copy of repeated tokens is continued as the first."""
    right: list[float] = []
    for example in repeated_tokens(model, tokens=20, sequences=8):
        assert example.tokens is not None
        assert example.tokens.ids is not None
        with torch.no_grad():
            output: Any = model.module(**model.inputs([example.tokens]))
        guess = output.logits[0].argmax(-1).numpy()
        right.append(float((guess[20:-1] == example.tokens.ids[21:]).mean()))
    return float(np.mean(right))


def test_a_circuit_built_by_hand_is_found_and_ablation_destroys_the_copy(induction: Model) -> None:
    repeated = repeated_tokens(induction, tokens=25, sequences=8)
    found = hs.measure(induction, repeated, measures=["synthetic"])
    assert found["induction"].sel(layer=1, head=0) > 0.9
    assert found["previous_token"].sel(layer=0, head=0) > 0.9
    others = [(0, 0), (0, 1), (1, 1)]
    assert max(float(found["induction"].sel(layer=a, head=b)) for a, b in others) < 0.1
    assert float(found["duplicate"].max()) < 0.1
    assert copied(induction) > 0.9
    for head in (hs.Head(0, 0), hs.Head(1, 0)):  # either half of the circuit
        with hs.ablate(induction, head):
            assert copied(induction) < 0.2
    with hs.ablate(induction, hs.Head(0, 1), hs.Head(1, 1)):
        assert copied(induction) > 0.9


def test_roles_of_the_circuit(induction: Model) -> None:
    from headscope.analyses.roles.statistics import roles

    repeated = repeated_tokens(induction, tokens=25, sequences=8)
    found = roles(hs.measure(induction, repeated, measures=["surface", "synthetic"]))
    named = {(row.layer, row.head): row.role for row in found.itertuples()}
    assert len(found) == 4
    assert (named[0, 0], named[1, 0]) == ("previous token", "induction")
    assert named[0, 1] == "broad"
    assert named[1, 1] == "broad"


@pytest.mark.slow
def test_the_demo_models_known_heads(demo: Any) -> None:
    found = hs.roles(demo, hs.corpora.builtin())
    assert tuple(found.columns) == COLUMNS
    named = found.groupby(["layer", "head"])["role"].agg(set)
    assert named[0, 2] == {"previous token"}
    assert named[1, 8] == {"next token"}
    assert len(named) == 72
    assert not (set(found["role"]) & {"induction", "duplicate token", "sink"})
    assert found.attrs["untested"]["induction"] == "a role in causal models only"
    assert found.attrs["meta"]["corpus"]["name"] == "built-in corpus"
    held = found[found["role"] != NONE]
    assert (held["q"] <= 0.05).all()
    assert (held["score"] > held["threshold"]).all()
    assert (held["ci_low"] < held["score"]).all()
    assert (held["p"] <= held["q"]).all()


@pytest.mark.filterwarnings("ignore:.* unknown to the tokenizer of stories260K")
def test_stories_have_neither_sinks_nor_induction_heads(stories: Any, shared: Path) -> None:
    corpus = hs.corpora.text(shared / "data" / "text" / "wikitext2-valid.txt")
    found = hs.roles(stories, corpus, limit=60)
    assert not (set(found["role"]) & {"induction", "sink", "duplicate token"})
    assert not (
        {"induction", "sink", "duplicate token"} & set(found.attrs["untested"])
    )  # and it was looked for
    assert "previous token" in set(found["role"])
    assert found.attrs["meta"]["sinks"] == {"all": 0.0, "by_layer": [0.0] * 5}
    long = hs.corpora.text(shared / "data" / "text" / "wikitext2-valid.txt", pack=256)
    share = sinks(hs.measure(stories, long, measures=["sink"], limit=8))
    assert share.attrs["all"] == 0
    assert share.shape == (5,)


def test_repeated_tokens_of_models_with_special_tokens(demo: Any, stories: Any) -> None:
    for model, before, after in ((demo, ["[CLS]"], ["[SEP]"]), (stories, ["<s>"], [])):
        made = repeated_tokens(model, tokens=7, sequences=3, seed=5)
        assert [example.document for example in made] == [0, 1, 2]
        for example in made:
            assert example.tokens is not None
            pieces = list(example.tokens.pieces)
            assert pieces[: len(before)] == before
            assert pieces[len(pieces) - len(after) :] == after
            middle = pieces[len(before) : len(pieces) - len(after)]
            assert middle[:7] == middle[7:]
            assert len(set(middle)) == 7
            assert example.tokens.mask("special").sum() == len(before) + len(after)
            assert not any(piece.startswith("[unused") for piece in pieces)
        again = repeated_tokens(model, tokens=7, sequences=3, seed=5)
        assert [a.tokens.pieces for a in made if a.tokens] == [b.tokens.pieces for b in again if b.tokens]
        other = repeated_tokens(model, tokens=7, sequences=3, seed=6)
        assert [a.tokens.pieces for a in made if a.tokens] != [b.tokens.pieces for b in other if b.tokens]


def test_repeated_tokens_that_do_not_fit(induction: Model) -> None:
    made = [len(example.tokens or ()) for example in repeated_tokens(induction, sequences=60)]
    assert set(made) == set(
        range(32, 65, 2)
    )  # as many as fit, and fewer: no two copies are as far apart in all
    with pytest.raises(InputError, match=r"tokens: expected 2 to 32 to repeat in an input of .*, found 33"):
        repeated_tokens(induction, tokens=33)
    with pytest.raises(InputError, match="sequences: expected at least 1, found 0"):
        repeated_tokens(induction, sequences=0)


def test_rarest_tokens(demo: Any) -> None:
    texts = ["the cat saw the dog", "the dog saw the bird", "the cat saw the bird and the dog fish"]
    corpus = hs.corpora.texts(texts)
    marked = [example.tokens for example in with_rarest(demo, corpus, common=0)]

    def words(name: str) -> list[set[str]]:
        return [
            {piece for piece, there in zip(tokens.pieces, tokens.mask(name), strict=True) if there}
            for tokens in marked
            if tokens is not None
        ]

    assert words("rarest") == [{"cat"}, {"bird"}, {"and", "fish"}]
    assert words("rarest_two") == [{"cat", "saw", "dog"}, {"bird", "saw", "dog"}, {"and", "fish"}]
    for common, expected in ((3, [True, True, True]), (4, [False, False, True]), (7, [False, False, False])):
        found = [example.tokens for example in with_rarest(demo, corpus, common=common)]
        assert [bool(tokens is not None and tokens.mask("rarest").any()) for tokens in found] == expected
    scores = hs.measure(demo, with_rarest(demo, corpus, common=0), measures=["rare_word", "rare_word_two"])
    assert float(scores["rare_word_n"].max()) == 5 + 5 + 9
    assert (scores["rare_word_two"] >= scores["rare_word"]).all()
    with pytest.raises(InputError, match="common: expected 0 or more, found -1"):
        list(with_rarest(demo, corpus, common=-1))
