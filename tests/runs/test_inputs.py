"""Pieces that a tokenizer does not know: counted in every run over a corpus, said, and refused where they are many."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headscope as hs
from headscope.corpora import Corpus, Example, Mention
from headscope.errors import HeadscopeWarning, UnknownError
from headscope.measures.dataset import description
from headscope.models import Model
from headscope.models.pieces import unknown_ids
from headscope.runs import estimate as watched
from headscope.runs.estimate import Inputs
from tests.helpers.small_models import small_bert
from tests.helpers.small_tokenizers import byte_level, demo, listed, roberta, unigram

ATOMS = tuple("CNO")


@pytest.fixture(scope="module")
def model() -> Model:
    """It knows three words."""
    return small_bert(listed(ATOMS))


@pytest.fixture(scope="module")
def other() -> Model:
    """A model of the same shape with another tokenizer."""
    return small_bert(listed((*ATOMS, "the")))


def texts(strange: int, count: int = 10) -> Corpus:
    """So many texts of three words; the last ones are strange."""
    return hs.corpora.texts(["C N O"] * (count - strange) + ["x y z"] * strange)


def sentences(strange: int, count: int = 20) -> Corpus:
    """The same as sentences with all annotations, each a document."""

    def read() -> list[Example]:
        return [
            Example(
                words=tuple("xyz") if number >= count - strange else ATOMS,
                heads=[1, -1, 1],
                relations=["det", "root", "obj"],
                tags=["DET", "VERB", "NOUN"],
                features=[{}, {}, {}],
                mentions=[Mention(0, 1, "a"), Mention(2, 3, "a")],
                cue=[0],
                scope=[1, 2],
                label="ab"[number % 2],
                document=number,
                source=f"made:{number + 1}",
            )
            for number in range(count)
        ]

    return Corpus("made", lambda: iter(read()))


PREVIOUS = {"measures": ["previous"]}

RUNS: dict[str, Callable[..., Any]] = {
    "measure": lambda model, corpus, _: hs.measure(model, corpus, **PREVIOUS),
    "distance": lambda model, corpus, _: hs.distance(model, corpus),
    "syntax": lambda model, corpus, _: hs.syntax(model, corpus),
    "negation": lambda model, corpus, _: hs.negation(model, corpus),
    "coref": lambda model, corpus, _: hs.coreference(model, corpus),
    "probe, train": lambda model, corpus, _: hs.probe(
        model, corpus, sentences(0), kinds=["attention"], epochs=1
    ),
    "probe, dev": lambda model, corpus, _: hs.probe(
        model, sentences(0), corpus, kinds=["attention"], epochs=1
    ),
    "roles": lambda model, corpus, _: hs.roles(model, corpus),
    "groups": lambda model, corpus, _: hs.compare.groups(model, corpus, **PREVIOUS),
    "models": lambda model, corpus, _: hs.compare.models(model, model, corpus, **PREVIOUS),
    "models, by words": lambda model, corpus, other: hs.compare.models(other, model, corpus, **PREVIOUS),
    "models, by roles": lambda model, corpus, _: hs.compare.roles(model, model, corpus),
    "training": lambda model, corpus, _: hs.compare.training(
        [model, hs.load(model, untrained=0)], corpus, **PREVIOUS
    ),
    "importance": lambda model, corpus, _: hs.contribution.importance(model, corpus),
    "ablation": lambda model, corpus, _: hs.contribution.ablation(model, corpus, heads=["L0H0"]),
    "variability": lambda model, corpus, _: hs.contribution.variability(model, corpus, tokens=3),
    "neuron patterns": lambda model, corpus, _: hs.contribution.neuron_patterns(model, corpus),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_every_run_refuses_what_the_tokenizer_does_not_know(name: str, model: Model, other: Model) -> None:
    told = r"^made: 15 of 60 pieces \(25.0 %\) are unknown to the tokenizer of BertModel, expected at most 20 %: .*--allow"
    with pytest.raises(UnknownError, match=told):
        RUNS[name](model, sentences(5), other)


@pytest.mark.parametrize(
    "name", ["measure", "distance", "syntax", "coref", "negation", "groups", "models", "importance"]
)
def test_a_share_above_a_hundredth_is_told_and_described(name: str, model: Model, other: Model) -> None:
    told = r"^made: 3 of 60 pieces \(5.0 %\) are unknown to the tokenizer of BertModel$"
    with pytest.warns(HeadscopeWarning, match=told):
        result = RUNS[name](model, sentences(1), other)
    corpus = description(getattr(result, "figures", result))["corpus"]
    assert (corpus["pieces"], corpus["unknown"]) == (60, 3)


def test_a_run_that_may_is_done_and_counts(model: Model) -> None:
    allowing = hs.load(model, allow_unknown=True)
    with pytest.warns(HeadscopeWarning, match=r"texts: 15 of 30 pieces \(50.0 %\)"):
        result = hs.measure(allowing, texts(5), **PREVIOUS)
    assert description(result)["corpus"]["unknown"] == 15
    assert not model.allow_unknown


def test_the_whole_run_has_the_last_word(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """A share that is too high at first is not refused, unless it is hopeless."""
    strange_first = [Example(tokens=model.encode(text)) for text in ["x C C"] * 4 + ["C N O"] * 6]
    monkeypatch.setattr(watched, "SOON", 6)
    with pytest.warns(HeadscopeWarning, match=r"4 of 30 pieces \(13.3 %\)"):
        assert len(list(Inputs(model, strange_first, "made"))) == 10
    hopeless = Inputs(model, [Example(tokens=model.encode("x y C"))] * 2 + strange_first, "made")
    read: list[Example] = []
    with pytest.raises(UnknownError, match=r"^made: 4 of 6 pieces \(66.7 %\).*expected at most 50 %"):
        read.extend(hopeless)
    assert len(read) <= 1


def test_a_resumed_run_and_merged_shards_keep_the_count(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headscope.runs.batches.BLOCK", 2)
    with warnings.catch_warnings(action="ignore", category=HeadscopeWarning):
        results = [hs.measure(model, texts(1), **PREVIOUS, resume=tmp_path / "kept") for _ in range(2)]
        parts = [tmp_path / f"{number}.nc" for number in (1, 2)]
        for number, part in enumerate(parts, 1):
            hs.measure(model, texts(1), **PREVIOUS, shard=f"{number}/2", part=part)
    for result in (*results, hs.merge(parts)):
        corpus = description(result)["corpus"]
        assert (corpus["pieces"], corpus["unknown"]) == (30, 3)


def test_what_was_refused_at_its_end_goes_on_when_it_is_allowed(model: Model, tmp_path: Path) -> None:
    with pytest.raises(UnknownError):
        hs.probe(model, sentences(5), sentences(5), kinds=["attention"], epochs=1, resume=tmp_path)
    with pytest.raises(UnknownError):
        hs.probe(model, sentences(5), sentences(5), kinds=["attention"], epochs=1, resume=tmp_path)
    with pytest.warns(HeadscopeWarning, match="15 of 60"):
        hs.probe(
            hs.load(model, allow_unknown=True),
            sentences(5),
            sentences(5),
            kinds=["attention"],
            epochs=1,
            resume=tmp_path,
        )


def test_which_piece_is_unknown() -> None:
    """Byte-level tokenizers know everything, whatever they name; a backend's own unknown piece needs no name."""
    assert unknown_ids(byte_level()) == ()
    assert unknown_ids(demo()) == (100,)
    assert unknown_ids(roberta()) == (3,)
    assert unknown_ids(unigram()) == (2,)
    bare = type(demo())(tokenizer_object=demo().backend_tokenizer)
    bare.unk_token = None
    assert unknown_ids(bare) == (100,)


def test_special_tokens_are_no_pieces(model: Model) -> None:
    assert model.unknown(model.encode("C x N", "O x")) == (2, 5)
    assert model.unknown(model.encode("C").take(slice(0, 1))) == (0, 0)
