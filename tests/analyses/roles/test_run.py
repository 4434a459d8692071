"""Roles of real models, a circuit built by hand, and the inputs made for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.analyses.roles.run import repeated_tokens
from headscope.analyses.roles.statistics import COLUMNS, NONE, sinks
from headscope.models import Model
from headscope.runs.rare import with_rarest
from tests.helpers.once import share_roles
from tests.helpers.planted_induction import circuit

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def induction() -> Model:
    torch.set_num_threads(1)
    return circuit()


def copied(model: Model) -> float:
    """How often the second copy of repeated tokens is continued as the first."""
    right: list[float] = []
    for example in repeated_tokens(model, tokens=20, sequences=8):
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


@pytest.mark.slow
def test_the_demo_models_known_heads(demo: Any, built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    share_roles(built, monkeypatch.setattr)  # with the documentation and the notebooks
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
@pytest.mark.usefixtures("few_repeats")
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
