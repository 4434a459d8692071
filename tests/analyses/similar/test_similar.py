"""Why two texts are near that are read apart, beside loops over the module itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.analyses.similar import statistics
from headscope.analyses.similar.heads import expected
from headscope.analyses.similar.reader import TextReader
from headscope.analyses.similar.section import notes
from headscope.analyses.why.statistics import agreement
from headscope.errors import InputError
from headscope.models import Model
from tests.helpers.small_models import small_bert
from tests.helpers.small_tokenizers import demo

A, B = "The invoice was paid three weeks late.", "Payment of the bill was delayed."


@pytest.fixture(scope="module")
def model() -> Model:
    made = small_bert(demo())
    made.module.double()
    return made


def vector(model: Model, text: str, hidden: list[int], *, delete: bool = False) -> np.ndarray:
    """The mean of the last hidden states of the tokens that are not hidden."""
    ids = model.tokenizer(text, return_tensors="pt")["input_ids"]
    keep = torch.tensor([place not in hidden for place in range(ids.shape[1])])
    if delete:
        ids, keep = ids[:, keep], keep[keep]
    with torch.no_grad():
        states = model.module(input_ids=ids, attention_mask=keep[None].long()).last_hidden_state[0]
    return states[keep].mean(0).numpy()


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def places(model: Model, text: str) -> list[list[int]]:
    """The tokens of each word."""
    words: dict[int, list[int]] = {}
    for place, word in enumerate(model.tokenizer(text).word_ids()):
        if word is not None:
            words.setdefault(word, []).append(place)
    return [*words.values()]


@pytest.mark.slow
def test_effects_and_interactions_are_those_of_a_loop(model: Model) -> None:
    found = hs.similar(model, A, B, chance=False, delete=True)
    words = [places(model, text) for text in (A, B)]
    loop = {
        (i, j): cosine(
            vector(model, A, words[0][i] if i >= 0 else []), vector(model, B, words[1][j] if j >= 0 else [])
        )
        for i in range(-1, len(words[0]))
        for j in range(-1, len(words[1]))
    }
    whole = loop[-1, -1]
    effects = [whole - loop[i, -1] for i in range(len(words[0]))] + [
        whole - loop[-1, j] for j in range(len(words[1]))
    ]
    deleted = [
        whole - cosine(vector(model, A, some, delete=True), vector(model, B, [])) for some in words[0]
    ] + [whole - cosine(vector(model, A, []), vector(model, B, some, delete=True)) for some in words[1]]
    rows: Any = hs.table(found)
    assert rows["text"].tolist() == [*A[:-1].split(), ".", *B[:-1].split(), "."]
    np.testing.assert_allclose(rows["effect"], effects, atol=1e-12)
    np.testing.assert_allclose(rows["deleted"], deleted, atol=1e-12)
    assert float(found["similarity"][0]) == pytest.approx(whole, abs=1e-12)
    for row in statistics.pairs(found).itertuples():
        i, j = row.unit_a, row.unit_b
        wanted = whole - loop[i, -1] - loop[-1, j] + loop[i, j]
        assert row.interaction == pytest.approx(wanted, abs=1e-12), (row.text_a, row.text_b)
        losses = [
            vector(model, text, []) - vector(model, text, some[place])
            for text, some, place in ((A, words[0], i), (B, words[1], j))
        ]
        assert row.direction == pytest.approx(cosine(*losses), abs=1e-10)


def test_what_is_left_is_without_what_passes(model: Model) -> None:
    found = hs.similar(model, A, B, chance=False)
    pairs = statistics.pairs(found)
    passing: Any = pairs[statistics.passing(pairs["interaction"].to_numpy(), pairs["q"].to_numpy())]
    assert len(passing)
    assert passing["interaction"].min() >= statistics.BAR * pairs["interaction"].max()
    hidden = [
        [place for unit in set(passing[f"unit_{side}"]) for place in places(model, text)[unit]]
        for side, text in (("a", A), ("b", B))
    ]
    assert float(found["left"][0]) == pytest.approx(
        cosine(vector(model, A, hidden[0]), vector(model, B, hidden[1]))
    )


def test_documents_are_ranked_and_the_first_two_explained(model: Model) -> None:
    documents = ["A cat sat.", B, A, "Rain fell."]
    found = hs.similar(model, A, documents, chance=False)
    near = {text: cosine(vector(model, A, []), vector(model, text, [])) for text in documents}
    ranked = sorted(documents, key=near.__getitem__, reverse=True)
    rows = statistics.ranked(found)
    assert rows["text"].tolist() == ranked
    assert ranked[0] == A
    np.testing.assert_allclose(rows["similarity"], [near[text] for text in ranked])
    assert [documents[place] for place in rows["document"]] == ranked
    assert found["text_b"].values.tolist() == ranked[:2]
    payload = found.view().payload
    assert payload["ranked"] == [f"{near[text]:.3f} {text}" for text in ranked]
    assert payload["notes"][0].startswith(
        f"the first before the second, by {near[ranked[0]] - near[ranked[1]]:.3f}: "
    )


def test_words_of_the_three_sentences_that_matter_most(model: Model) -> None:
    document = "A cat sat. The bill came late. Rain fell. Payment was due. Nobody knew."
    found = hs.similar(model, A, document, ["sentence", "word"], chance=False)
    rows: Any = hs.table(found)
    rows = rows[rows["side"] == "b"]
    sentences = rows[rows["level"] == "sentence"]
    assert sentences["text"].tolist() == [f"{one}." for one in document.rstrip(".").split(". ")]
    largest = sentences.loc[sentences["effect"].abs().nlargest(3).index, "text"]
    words = rows[rows["level"] == "word"]["text"].tolist()
    expected = [text for text in sentences["text"] if text in set(largest)]
    assert words == [word for text in expected for word in [*text[:-1].split(), "."]]


@pytest.mark.slow
def test_chance_is_the_share_of_unrelated_texts(model: Model) -> None:
    """By hand, of two unrelated texts of about the same length."""
    others = ["She sold her old car in May.", "Rain fell on the hills all day."]
    found = hs.similar(model, A, B, background=others)
    rows = hs.table(found)
    words = [places(model, text) for text in (A, B)]

    def effect(text: str, other: str, some: list[int]) -> float:
        whole = cosine(vector(model, text, []), vector(model, other, []))
        return whole - cosine(vector(model, text, some), vector(model, other, []))

    fitted = [text.strip() for text in others]
    for row in rows[rows["side"] == "a"].itertuples():
        own = [abs(effect(A, other, words[0][row.unit])) >= abs(row.effect) for other in fitted]
        any_of = [
            max(abs(effect(A, other, some)) for some in words[0]) >= abs(row.effect) for other in fitted
        ]
        assert row.p == pytest.approx((1 + sum(own)) / 3)
        assert row.q == pytest.approx(min(1.0, 2 * (1 + sum(any_of)) / 3))
    near = [cosine(vector(model, A, []), vector(model, other, [])) for other in fitted]
    near += [cosine(vector(model, other, []), vector(model, B, [])) for other in fitted]
    assert float(found["percentile"][0]) == np.mean(np.array(near) < float(found["similarity"][0]))


def test_heads_carry_a_word_by_what_the_similarity_loses_without_them(model: Model) -> None:
    """Where one head alone does not see it; the first has the largest derivative of all."""
    found = hs.similar(model, A, B, chance=False, through=2)
    rows: Any = hs.table(found)
    for side, text, other in (("a", A, B), ("b", B, A)):
        own = np.flatnonzero(found["through_side"].values == side)
        unit = int(found["through_unit"].values[own[0]])
        effects = rows[rows["side"] == side].set_index("unit")["effect"].abs()
        assert effects.idxmax() == unit
        word = places(model, text)[unit]
        for at in own:
            head = f"L{found['through_layer'].values[at]}H{found['through_head'].values[at]}"
            others = set(range(len(model.tokenizer(text)["input_ids"]))) - {*word}
            changes = [hs.WhatIf.parse(f"{head} hide {query}>{key}") for query in others for key in word]
            with hs.edit(model, *changes):
                changed = vector(model, text, [])
            left = cosine(changed, vector(model, other, []))
            assert float(found["similarity"][0]) - left == pytest.approx(
                float(found["through_effect"][at]), abs=1e-9
            )


@pytest.mark.slow
def test_a_page_and_pictures(model: Model, tmp_path: Path) -> None:
    found = hs.similar(model, A, B, chance=False)
    for suffix in ("html", "svg", "png"):
        found.view(pin=("a", 1)).save(tmp_path / f"near.{suffix}")
    drawn = (tmp_path / "near.svg").read_text()
    assert "invoice" in drawn
    assert "It acts together with" in drawn
    with pytest.raises(InputError, match="level: expected one of word, found 'sentence'"):
        found.view(level="sentence")
    with pytest.raises(InputError, match="pin: expected a unit of b, found 9"):
        found.view(pin=("b", 9))


def test_of_a_long_document_those_are_measured_of_which_most_is_expected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The sentence that answers is planted among those of a story; exact figures are those of all units."""
    passes: list[int] = []
    run = TextReader.run

    def counted(reader: TextReader, inputs: Any) -> list[torch.Tensor]:
        passes.append(len(inputs))
        return run(reader, inputs)

    demo, query = hs.load(), "How do I reset my password?"
    lines = [str(one.text) for one in hs.corpora.builtin(pack=None)][:9]
    document = " ".join([*lines[:6], "I forgot my login and need a new one.", *lines[6:]])
    every: Any = hs.table(hs.similar(demo, query, document, ["sentence", "word"], chance=False))
    monkeypatch.setattr(TextReader, "run", counted)
    found = hs.similar(demo, query, document, ["sentence", "word"], chance=False, most=4)
    rows: Any = hs.table(found)
    of_b = rows[rows["side"] == "b"]
    assert of_b["level"].tolist() == ["sentence"] * 3 + ["word"] * 4
    assert "I forgot my login and need a new one." in of_b["text"].tolist()
    assert "login" in of_b["text"].tolist()
    all_of = every[every["side"] == "b"].set_index(["level", "text"])["effect"]
    for row in of_b.itertuples():
        assert row.effect in [pytest.approx(value, abs=1e-6) for value in all_of.loc[[(row.level, row.text)]]]
    of_document = 3 + 4  # without sentences and words; the pass that is derived is of it whole
    assert sum(passes) - of_document == 1 + 1 + 4  # of the query; what is left is known of the sentence
    assert f"{len(every) - len(rows)} units are not measured" in str(notes(found))


def test_what_is_expected_of_a_unit_is_near_what_it_does() -> None:
    demo = hs.load()
    lines = [str(one.text) for one in hs.corpora.builtin(pack=None)][:6]
    reader, other = TextReader(demo, "word", None, None, 32), TextReader(demo, "word", None, None, 32)
    (query,) = other.vectors([other.text("Where is the new line?", "a")])
    prompt = reader.text(" ".join(lines), "b")
    units = reader.cut_of(prompt)
    (read,) = reader.apart([prompt], [units])
    effects = reader.towards(read.vectors, query)
    vector, expects = expected(reader.embedder, prompt, units, query, 0)
    np.testing.assert_allclose(vector, read.vectors[0], atol=1e-5)
    assert agreement(effects[0] - effects[1:], expects) > 0.8
