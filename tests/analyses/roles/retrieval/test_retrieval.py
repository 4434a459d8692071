"""Retrieval heads: a planted one is found and needed, hits are those of plain eager attention, untrained models have none."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import headscope as hs
from headscope.analyses.roles.retrieval import needles, run, statistics
from headscope.attention.residual import Outputs, Put, written
from headscope.attention.stream import Reader
from headscope.corpora.files import packaged
from headscope.errors import InputError
from headscope.measures.dataset import description
from headscope.models import Model
from tests.helpers.planted_induction import WORDS, circuit
from tests.helpers.planted_needles import HAY, reader
from tests.helpers.small_models import save_gpt2

TEXT = hs.corpora.texts([" ".join([HAY] * 4)])
OPTIONS: dict[str, Any] = {"needles": 12, "lengths": (48, 60), "k": 1}


def noisy(seed: int) -> Model:
    """In float64, so that what is largest is so in every way to compute it."""
    module: Any = circuit().module
    torch.manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += 0.02 * torch.randn_like(parameter)
    return hs.load((module.double(), reader()))


@pytest.mark.slow
def test_the_planted_head_is_found_and_needed(planted: Model) -> None:
    found = hs.retrieval(planted, TEXT, **{**OPTIONS, "needles": 24})
    np.testing.assert_allclose(found["retrieval"], [[0, 0], [1, 0]])
    assert (found["q"].values <= 0.05).tolist() == [[False, False], [True, False]]
    assert found["accuracy"].values.tolist() == [1, 0, 1, 0]
    assert found["known"].shape == (4,)
    assert found["top"].values.tolist() == ["L1H0"]
    assert (float(found["loss"]), float(found["loss_high"])) == (1, 1)
    assert float(found["loss_low"]) > 0.3
    assert int(found["produced"]) == 24 * 6
    first = found.table().iloc[0]
    assert (first["layer"], first["head"], first["score"], first["n"]) == (1, 0, 1, 144)
    assert 1 / 60 < first["chance"] < 1 / 30
    assert tuple(found.table().columns)[: len(statistics.COLUMNS)] == statistics.COLUMNS
    assert found["top_written"].values.tolist() == ["L1H0"]
    assert float(found["written_loss"]) == 1
    assert (first["stays"], first["written_stays"]) == (1, 1)
    assert float(found["shared"]) >= 0.5 == float(found["shared_chance"])  # of two, one is planted
    assert description(found)["answers"] == 144


@pytest.mark.slow
def test_hits_are_those_of_eager_attention_and_answers_those_of_generate() -> None:
    model = noisy(0)
    made = needles.hidden(model, HAY.split() * 4, 12, (48, 60), seed=0)
    module: Any = transformers.GPT2LMHeadModel(model.module.config)
    module.load_state_dict(model.module.state_dict())
    module = module.eval().double()
    module.set_attn_implementation("eager")
    some = 0
    for needle in made:
        ids = torch.tensor(needle.tokens.ids)[None]
        with torch.no_grad():
            out = module(input_ids=ids, output_attentions=True)
        hits = np.zeros((2, 2))
        produced = 0
        for inside, place in zip(needle.inside, needle.answer, strict=True):
            if int(out.logits[0, place - 1].argmax()) != int(ids[0, place]):
                continue
            produced += 1
            for layer in range(2):
                for head in range(2):
                    hits[layer, head] += int(out.attentions[layer][0, head, place - 1].argmax()) == inside
        np.testing.assert_array_equal(run.looked_at(model, needle, int)["hits"], hits)
        assert int(run.looked_at(model, needle, int)["produced"]) == produced
        some += produced
        prompt = ids[:, : needle.answer[0]]
        said = module.generate(prompt, max_new_tokens=len(needle.answer), do_sample=False, pad_token_id=1)
        whole = said[0, prompt.shape[1] :].tolist() == ids[0, list(needle.answer)].tolist()
        assert bool(run._answered(model, needle, lambda _: None).all()) == whole
    assert some > 36


@pytest.mark.parametrize("seed", range(3))
def test_answers_without_heads_are_those_without_their_attention(seed: int) -> None:
    model, spots = noisy(seed), [(0, 0), (1, 1)]
    made = needles.hidden(model, HAY.split() * 4, 4, (48,), seed=0)
    outputs = Outputs(model, model.inputs([made[0].tokens]))
    for needle in made:
        ready = model.inputs([needle.tokens])
        with torch.no_grad():
            found, _ = outputs.run(ready, [Put(0, *spot, 0.0) for spot in spots])
            with hs.ablate(model, *(hs.Head(*spot) for spot in spots)):
                expected = model.module(**ready).logits
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_needles_stand_where_they_are_said_to(planted: Model) -> None:
    made = needles.hidden(planted, HAY.split() * 4, 40, (48, 60), seed=3)
    for needle in made:
        tokens = needle.tokens
        assert tokens.ids is not None
        code = [tokens.pieces[place] for place in needle.inside]
        assert code == [tokens.pieces[place] for place in needle.answer]
        assert len({*code}) == 6
        assert all(piece.isdigit() for piece in code)
        assert tokens.pieces[needle.inside[0] - 1] == tokens.pieces[needle.answer[0] - 1] == "is"
        assert sum(piece.isdigit() for piece in tokens.pieces) == 12
    lengths = np.array([len(needle.tokens) for needle in made])
    assert (np.abs(lengths.reshape(-1, 4) - [48, 48, 60, 60]) <= 2).all()
    depths = np.array([needle.inside[0] / len(needle.tokens) for needle in made])
    assert np.histogram(depths, 3)[0].min() >= 10
    again = needles.hidden(planted, HAY.split() * 4, 40, (48, 60), seed=3)
    assert [one.tokens.pieces for one in again] == [one.tokens.pieces for one in made]


def test_intervals_and_tests_are_over_needles() -> None:
    hits = np.zeros((20, 1, 3))
    hits[:, 0, 0] = 6
    hits[::2, 0, 1] = 2
    counts = np.full(20, 6.0)
    found = statistics.scores(hits, counts, 0.01)
    np.testing.assert_allclose(found["retrieval"], [[1, 1 / 6, 0]])
    assert found["retrieval_high"][0, 0] == 1
    assert found["retrieval_low"][0, 0] < 1
    assert found["retrieval_se"][0, 1] == pytest.approx(np.std([2 / 6, 0] * 10, ddof=1) / np.sqrt(20))
    assert found["q"][0, 0] == pytest.approx(3 * 0.65**20)
    assert 0.01 < found["q"][0, 1] < 0.3
    assert found["q"][0, 2] == 1
    missing = statistics.scores(np.where(np.arange(3) == 2, np.nan, hits), counts, 0.01)
    assert np.isnan(missing["q"][0, 2])
    assert missing["q"][0, 1] == pytest.approx(found["q"][0, 1] * 2 / 3)


def untrained(seed: int) -> Model:
    torch.manual_seed(seed)
    config = transformers.GPT2Config(
        vocab_size=WORDS, n_embd=32, n_layer=4, n_head=4, n_positions=64, bos_token_id=0, eos_token_id=0
    )
    return hs.load((transformers.GPT2LMHeadModel(config), reader()))


@pytest.mark.slow
def test_an_untrained_model_has_no_retrieval_head(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither on the tokens that it happens to produce, nor were it to produce all."""
    for seed in range(2):
        found = hs.retrieval(untrained(seed), TEXT, **{**OPTIONS, "k": 0}, seed=seed)
        assert not (found["q"] <= 0.05).any()
        assert "accuracy" not in found
    answered = run._answered
    monkeypatch.setattr(run, "_answered", lambda *given: np.ones_like(answered(*given)))
    for seed in range(4):
        found = hs.retrieval(untrained(seed), TEXT, **{**OPTIONS, "k": 0}, seed=seed)
        assert int(found["produced"]) == 72
        assert not (found["q"] <= 0.05).any()


def test_a_model_that_answers_nothing_has_no_scores(planted: Model) -> None:
    with hs.ablate(planted, "L1H0"):
        found = hs.retrieval(planted, TEXT, **{**OPTIONS, "k": 0})
    assert int(found["produced"]) == 0
    assert found["retrieval"].isnull().all()
    assert found["q"].isnull().all()
    with pytest.raises(InputError, match="the model produced no token of an answer"):
        found.figure()


@pytest.mark.slow
def test_a_tokenizer_of_many_pieces_a_word_fits_as_well(stories: Model) -> None:
    """It has 2.5 pieces a word and 512 places; and it copies nothing: two seeds have no retrieval head."""
    corpus = hs.corpora.builtin(pack=None)
    words = needles.words_of(corpus)
    lengths = [len(one.tokens) for one in needles.hidden(stories, words, 8, (128, 500), seed=0)]
    assert (np.abs(np.array(lengths).reshape(2, 4) - [128, 128, 500, 500]) <= 12).all()
    for seed in range(2):
        found = hs.retrieval(stories, corpus, needles=8, lengths=(96,), k=0, seed=seed)
        assert not (found["q"] <= 0.05).any()


@pytest.mark.slow
def test_a_tokenizer_whose_spaces_are_pieces_is_read(tmp_path: Path) -> None:
    """An answer has a piece between its words, which stands nowhere in the text."""
    save_gpt2(tmp_path, n_positions=256)
    model = hs.load(tmp_path)
    for function in (hs.retrieval, hs.streaming):
        options: dict[str, Any] = {"recent": 8, "exact": 1} if function is hs.streaming else {"k": 0}
        assert function(model, needles=4, lengths=[240], **options) is not None


def test_a_head_that_writes_the_partner_of_what_it_looks_at_is_no_copier() -> None:
    """The planted head looks where an inducing one does, and writes the token before in the vocabulary: its partner."""
    model = hs.load((circuit(shift=1).module, reader()))
    found = hs.retrieval(model, TEXT, **{**OPTIONS, "k": 0})
    assert not np.nan_to_num(found["retrieval"]).any()
    for asked, key in ((5, 9), (8, 4), (3, 12)):  # where what is asked stood, the key came next
        ids = np.array([2, asked, key, 7, 6, asked])
        tokens = hs.Tokens([str(token) for token in ids], ids=ids)
        terms = hs.attribute(model, tokens, token=key - 1)["heads"].values
        assert np.unravel_index(terms.argmax(), terms.shape) == (1, 0, 2)  # of what stands at the needle
        said = [int(model.module(input_ids=torch.tensor(ids)[None]).logits[0, -1].argmax())]
        with hs.ablate(model, "L1H0"):
            said.append(int(model.module(input_ids=torch.tensor(ids)[None]).logits[0, -1].argmax()))
        assert said[0] == key - 1 != said[1]


def test_that_head_is_first_by_what_it_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The needle says a digit, and the answer is its partner, which stands nowhere in the text."""

    def partner(draw: np.random.Generator, _: int) -> Any:
        key = int(draw.integers(1, 10))
        return needles._Said(f"The secret code of is {key} .", "The secret code of is", "", str(key - 1))

    monkeypatch.setattr(needles, "_code", partner)
    model = hs.load((circuit(shift=1).module, reader()))
    found = hs.retrieval(model, TEXT, **OPTIONS)
    assert int(found["produced"]) == 12
    assert not found["retrieval"].values.any()
    assert found["retrieval_chance"].values[0, 0] > 0
    wrote = found["written"].values
    assert np.unravel_index(wrote.argmax(), wrote.shape) == (1, 0)
    assert wrote[1, 0] > 2 * np.abs(np.delete(wrote.ravel(), 2)).max()
    assert found["top_written"].values.tolist() == ["L1H0"]
    assert float(found["accuracy"].sel(condition="without the top k by what they write")) == 0


def test_what_a_head_writes_is_the_sum_of_attribution_in_the_needle_less_elsewhere() -> None:
    model = noisy(1)
    for needle in needles.hidden(model, HAY.split() * 4, 3, (48,), seed=0):
        right = run._answered(model, needle, lambda _: None)
        if not right.any():
            continue
        ids = np.array(needle.tokens.ids)
        expected, every = np.zeros((2, 2)), model.module.config.vocab_size
        sign = np.full(len(ids), -1.0)
        sign[list(needle.sentence)] = 1.0
        for place in np.array(needle.answer)[right]:
            for token in range(every):
                weight = (token == ids[place]) - 1 / every
                terms = written(model, model.inputs([needle.tokens]), int(place) - 1, token)
                expected += weight * (np.stack(terms.heads) * sign).sum(-1)
            right[place - needle.answer[0] + 1 :] = False  # the first is enough
            break
        found = run._written(model, needle, Reader(model, model.inputs([needle.tokens])), right)
        np.testing.assert_allclose(found, expected, atol=1e-6)
        break
    else:
        raise AssertionError


def test_needles_of_facts_share_no_word_with_their_questions_and_are_answered_among_names() -> None:
    templates = json.loads("\n".join(line.text for line in packaged(needles.FACTS)))
    assert [len(one["facts"]) for one in templates] == [4] * 12
    for one in templates:
        for fact, asked in one["facts"]:
            said = one["needle"].format(name="", fact=fact), one["question"].format(asked=asked)
            first, second = (set(re.findall(r"\w+", text.lower())) for text in said)
            assert not first & second, said
    demo = hs.load()
    words = needles.words_of(hs.corpora.builtin(pack=None))
    for needle in needles.hidden(demo, words, 12, (96,), 0, asks="fact"):
        (place,) = needle.answer
        assert needle.tokens.ids is not None
        assert needle.among[0] == needle.tokens.ids[place]
        assert len(needle.among) == len(needles.PEOPLE)
        assert [needle.tokens.pieces[one] for one in needle.inside] == [needle.tokens.pieces[place]]
        assert needle.sentence[0] == needle.inside[0]
        logits = torch.zeros(1, len(needle.tokens), max(needle.among) + 2)
        logits[0, place - 1, needle.among[0]] = 1.0
        logits[0, place - 1, -1] = 2.0  # is no name
        assert run.produced(needle, logits).tolist() == [True]
        logits[0, place - 1, needle.among[1]] = 1.5
        assert run.produced(needle, logits).tolist() == [False]
    for needle in needles.known(demo, words, 12, (96,), 0):
        assert not needle.sentence
        assert {*needle.inside} == {-1}


@pytest.mark.slow
def test_the_scores_are_those_of_a_decode_with_a_cache_and_of_one_pass(smollm: Any) -> None:
    """By an own count over 2 needles, greedily with a cache, and in one pass; where the model says the needle."""
    found = hs.retrieval(smollm, needles=2, lengths=(96,), k=0, chat=True)
    assert int(found["produced"]) == 16
    module = smollm.module
    words = needles.words_of(hs.corpora.builtin(pack=None))
    before = module.config._attn_implementation
    module.set_attn_implementation("eager")
    tops: list[set[Any]] = []
    try:
        for chat, name in ((False, "retrieval"), (True, "chat")):
            decoded, passed = np.zeros((2, 30, 9))
            for needle in needles.hidden(smollm, words, 2, (96,), 0, chat=chat):
                ids = torch.tensor(needle.tokens.ids)[None]
                with torch.no_grad():
                    output = module(input_ids=ids, output_attentions=True)
                    cache = module(input_ids=ids[:, : needle.answer[0] - 1], use_cache=True).past_key_values
                token = ids[:, needle.answer[0] - 1 : needle.answer[0]]
                for inside, place in zip(needle.inside, needle.answer, strict=True):
                    with torch.no_grad():
                        step = module(
                            input_ids=token, past_key_values=cache, use_cache=True, output_attentions=True
                        )
                    token = step.logits[:, -1:].argmax(-1)
                    assert int(token) == int(ids[0, place])  # the model says the needle
                    for layer in range(30):
                        decoded[layer] += (step.attentions[layer][0, :, -1].argmax(-1) == inside).numpy()
                        passed[layer] += (
                            output.attentions[layer][0, :, place - 1].argmax(-1) == inside
                        ).numpy()
            np.testing.assert_allclose(found[name], decoded / 16, atol=1e-6)
            np.testing.assert_allclose(found[name], passed / 16, atol=1e-6)
            tops.append({*np.argsort(-decoded.ravel(), kind="stable")[:10].tolist()})
    finally:
        module.set_attn_implementation(before)
    assert float(found["overlap"]) == len(tops[0] & tops[1]) / 10
    assert float(found["overlap_chance"]) == pytest.approx(10 / 270)
    assert found.table().columns[-1] == "score_chat"


@pytest.mark.deep
def test_the_retrieval_heads_of_a_language_model(smollm: Any) -> None:
    """Needles of codes: both lists take every answer, and one head that never looks at a code writes much of it."""
    found = hs.retrieval(smollm, needles=24, lengths=(256,))
    assert (int(found["produced"]), description(found)["answers"]) == (192, 192)
    rows = found.table()
    assert (int((rows["score"] > 0.1).sum()), int((rows["q"] <= 0.05).sum())) == (11, 8)
    first = rows.head(5)
    assert {*zip(first["layer"], first["head"], strict=True)} == {(18, 6), (20, 6), (17, 3), (17, 4), (18, 7)}
    np.testing.assert_allclose(first["score"], [0.974, 0.708, 0.703, 0.703, 0.547], atol=2e-3)
    np.testing.assert_allclose(found["accuracy"], [1, 0, 1, 0], atol=5e-3)
    np.testing.assert_allclose(found["known"], [0.58, 0.58, 0.61, 0.58], atol=5e-3)
    wrote = rows.sort_values("written", ascending=False).head(3)
    assert [*zip(wrote["layer"], wrote["head"], strict=True)] == [(20, 6), (18, 6), (29, 4)]
    np.testing.assert_allclose(wrote["written"], [1.23, 1.05, 0.83], atol=5e-3)
    assert float(wrote["score"].iloc[2]) == 0
    shared = [float(found[f"shared{end}"]) for end in ("", "_low", "_high")]
    np.testing.assert_allclose(shared, [0.6, 0.55, 0.65], atol=5e-3)
    np.testing.assert_allclose(found["halves"], [0.94, 1], atol=5e-3)
