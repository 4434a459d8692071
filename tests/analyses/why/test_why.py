"""hs.why: which spans an answer hangs on, how far that can be believed, statements, pairs and heads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers

import headscope as hs
from headscope.analyses.why import statistics
from headscope.errors import InputError
from headscope.measures.dataset import description
from tests.helpers.small_models import save_llama, sharpen, sizes, small_roberta
from tests.helpers.small_tokenizers import byte_level

TEXT = "The cat sat here. A dog ran. It was late. The bird sang. She left."


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    size = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "intermediate_size": 48,
        "max_position_embeddings": 512,
    }
    return hs.load(save_llama(tmp_path_factory.mktemp("writer"), **size))


@pytest.fixture(scope="module")
def found(writer: Any) -> Any:
    return hs.why(
        writer, TEXT, " It slept. The dog sat.", delete=True, through=8, subsets=6, anew=True, batch_size=3
    )


@pytest.mark.slow
def test_what_is_measured(writer: Any, found: Any) -> None:
    assert found["text"].values.tolist()[:2] == ["The cat sat here.", "A dog ran."]
    assert found["statement_text"].values.tolist() == [" It slept.", " The dog sat."]
    assert np.isfinite(found["masked"].values).all()
    np.testing.assert_allclose(found["drop"].sum("token"), found["masked"], atol=1e-5)
    np.testing.assert_allclose(found["statement_masked"].sum("statement"), found["masked"], atol=1e-5)
    np.testing.assert_allclose(found["estimate_by_head"].sum(("place", "head")), found["estimate"], atol=1e-5)
    one, other = int(found["first"][0]), int(found["second"][0])
    alone = float(found["masked"][one] + found["masked"][other])
    assert float(found["interaction"][0]) == pytest.approx(float(found["together"][0]) - alone, abs=1e-5)
    assert np.isnan(found["masked_low"]).all()
    tokens = found.sizes["token"]
    said = f"effects have no interval over {tokens} tokens: one needs 48, of which 5 become half as likely, or twice"
    assert said in statistics.sentences(found)
    assert ((found["q"] >= found["p"]) & (found["p"] > 0)).all()
    assert (found["statement_q"] >= found["statement_p"]).all()
    scores = f"{float(found['datamodelling']):.2f}, effects {float(found['datamodelling_masked']):.2f}"
    assert f"over 6 random subsets: estimates {scores}" in "\n".join(statistics.sentences(found))
    assert np.abs([found["datamodelling"], found["datamodelling_masked"]]).max() <= 1
    texts = found["without"].values.tolist()
    assert len(texts) == 5
    assert all(isinstance(text, str) and text for text in texts)


def test_deletion_and_heads_are_passes_by_hand(writer: Any, found: Any) -> None:
    answer = " It slept. The dog sat."
    shorter = hs.why(writer, writer.from_ids(_without(writer, found, 1)), _ids(writer, answer), spans="token")
    whole = float(found["log_probability"])
    assert float(found["deleted"][1]) == pytest.approx(whole - float(shorter["log_probability"]), abs=1e-4)
    about = description(found)["through"]
    rows = statistics.heads(found)
    assert rows["effect"].notna().all()
    assert about["together"] == pytest.approx(float(found["masked"].max()), abs=1e-4)  # of all 8 heads
    assert about["others"] == pytest.approx(0, abs=1e-4)  # there are none


def _ids(writer: Any, text: str) -> list[int]:
    joint, prompt = (writer.encode(part).ids.tolist() for part in (TEXT + text, TEXT))
    return joint[len(prompt) :]


def _without(writer: Any, found: Any, span: int) -> list[int]:
    ids = writer.encode(TEXT).ids.tolist()
    del ids[int(found["first_token"][span]) : int(found["last_token"][span]) + 1]
    return ids


def test_a_few_of_many(writer: Any) -> None:
    many = hs.why(writer, TEXT, " It slept. The dog sat.", ["sentence", "token"], exact=3)
    measured = np.isfinite(many["masked"].values)
    assert 3 <= measured.sum() <= 3 + 2 * 2
    assert measured[np.argsort(-many["estimate"].values)[:3]].all()
    assert many["statement_estimate"].dims == ("statement", "span")
    np.testing.assert_allclose(many["statement_estimate"].sum("statement"), many["estimate"], atol=1e-5)
    every = hs.why(writer, TEXT, " It slept. The dog sat.", ["sentence", "token"], exact="all")
    np.testing.assert_allclose(many["masked"].values[measured], every["masked"].values[measured], atol=1e-5)
    assert (every["q"].values[measured] <= many["q"].values[measured] + 1e-12).all()  # the others count as 1
    rows = many.table()
    assert rows.columns.tolist() == list(statistics.COLUMNS)
    assert rows["effect"].notna().tolist() == sorted(rows["effect"].notna().tolist(), reverse=True)
    for rank, order in ((1.0, "about this order"), (0.6, "roughly this order"), (0.1, "another order")):
        made = "\n".join(statistics.sentences(many.assign(agreement=rank)))
        assert "believe" not in made  # of spans that the estimates put first
        assert (
            f"{measured.sum()} spans that they put first, masking has {order} (rank correlation {rank:.2f}"
            in made
        )
        assert f"says nothing of the other {(~measured).sum()}; exact=all masks every span" in made


@pytest.mark.slow
def test_encoders_answer_with_classes_words_labels_and_stretches() -> None:
    kinds = {
        "RobertaForSequenceClassification": "class",
        "RobertaForMaskedLM": "masked",
        "RobertaForTokenClassification": "label",
        "RobertaForQuestionAnswering": "span",
    }
    for name, kind in kinds.items():
        model = small_roberta(cls=getattr(transformers, name), num_labels=2 if kind == "span" else 3)
        position = 3 if kind in ("masked", "label") else None
        pair = ("Where is it?", TEXT) if kind == "span" else TEXT
        made = hs.why(model, pair, position=position)
        assert description(made)["kind"] == kind
        assert np.isfinite(made["masked"].values).all()
        assert made["p"].notnull().all() == (kind == "masked")
        if kind == "class":
            names = [str(model.config.id2label[number]) for number in range(3)]
            sure = [float(hs.why(model, TEXT, one)["log_probability"]) for one in names]
            assert np.exp(sure).sum() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("window", [None, 8, 40])
@pytest.mark.slow
def test_what_is_written_anew_is_what_passes_without_a_cache_write(window: int | None) -> None:
    tokenizer = byte_level()
    torch.manual_seed(0)
    settings = {"vocab_size": len(tokenizer), **sizes(inner=48, keys=2, length=512), "eos_token_id": None}
    module = sharpen(
        transformers.MistralForCausalLM(transformers.MistralConfig(**settings, sliding_window=window))
    )
    model = hs.load((module, tokenizer))
    made = hs.why(model, TEXT, max_new_tokens=30, anew=True)
    ids = model.encode(TEXT).ids.tolist()
    for first, last, text in zip(
        *(made[name].values for name in ("first_token", "last_token", "without")), strict=True
    ):

        def hidden(record: Any, first: int = first, last: int = last) -> torch.Tensor:
            place = torch.arange(record.shape[2])
            span = (place >= first) & (place <= last)
            rows = (~span | (place >= len(ids) - 1))[:, None]
            return record.seeing(~(rows & span) | torch.eye(len(place), dtype=torch.bool)).weights()

        with hs.edit(model, hidden), torch.no_grad():
            given = torch.tensor([ids])
            wrote = module.generate(given, max_new_tokens=30, do_sample=False, use_cache=False)[0, len(ids) :]
        assert text == tokenizer.decode(wrote, skip_special_tokens=True)
    assert len(set(made["without"].values.tolist())) > 1


def test_p_of_a_token_that_loses_as_any_other_does() -> None:
    draw = np.random.default_rng(0)
    whole = draw.normal(size=(3, 500))
    masked = 0.5 * whole + 0.1 * draw.normal(size=(3, 500))  # all shrink, which says nothing of the answer
    goal = whole.argmax(1)
    groups = np.array([[True, False, False], [True, True, True]])
    nothing = statistics.specific(whole, masked, goal, groups)
    masked[0, goal[0]] -= 20
    hangs = statistics.specific(whole, masked, goal, groups)
    assert nothing[0] > 1 / 500
    assert hangs[0] == 1 / 500
    assert hangs[1] == 3 / 500
    same = statistics.specific(whole, whole, goal, groups)
    assert same.tolist() == [1.0, 1.0]
    q = statistics.adjusted(np.array([0.001, np.nan, 0.5]))
    assert q[0] == pytest.approx(0.003)
    assert np.isnan(q[1])


@pytest.mark.parametrize(
    "moved",
    [
        lambda draw, z: 0.2 * z + 0.3 * np.maximum(0.1, 1 + z / 2) * draw.normal(size=z.shape),
        lambda draw, z: 0.2 * z + 0.3 * np.exp(z / 2) * draw.normal(size=z.shape),
        lambda draw, z: 0.2 * z + 0.1 * z * z + 0.3 * draw.normal(size=z.shape),
    ],
)
def test_p_of_the_likeliest_where_changes_grow_with_logits_or_lie_along_a_curve(moved: Any) -> None:
    """Before, p ≤ .05 came in .2 to .9; an effect that is large beside the others is found nevertheless."""
    draw = np.random.default_rng(0)
    whole = draw.normal(size=(200, 1_000))
    lost, goal, one = moved(draw, whole), whole.argmax(1), np.ones((1, 1), np.bool_)
    p = [
        statistics.specific(whole[[row]], (whole - lost)[[row]], goal[[row]], one)[0]
        for row in range(len(goal))
    ]
    assert np.mean(np.array(p) <= 0.05) <= 0.05 * 2 + 0.02
    lost[np.arange(200), goal] += 10
    found = [
        statistics.specific(whole[[row]], (whole - lost)[[row]], goal[[row]], one)[0]
        for row in range(len(goal))
    ]
    assert np.mean(np.array(found) <= 0.005) > 0.9


@pytest.mark.parametrize("tokens", [12, 16, 48, 120])
@pytest.mark.parametrize("carry", [0.02, 0.1, 0.25, 1.0])
def test_an_interval_over_tokens_holds_or_is_not_given(tokens: int, carry: float) -> None:
    """A share of an answer's tokens carry the effect, 3 nats each: before, of 12 and 16 tokens .6 to .8 held."""
    draw = np.random.default_rng([tokens, round(100 * carry)])
    shape = tokens, 2_000
    drops = (draw.random(shape) < carry) * draw.gamma(4.0, 0.75, shape) + draw.normal(0, 0.1, shape)
    total, low, high = statistics.effect(drops)
    np.testing.assert_allclose(total, drops.sum(0))
    given = np.isfinite(low)
    truth = 3 * carry * tokens
    assert given.mean() < 0.02 or ((low <= truth) & (truth <= high))[given].mean() > 0.93
    assert given.any() == (tokens >= 48)
    assert given.all() or tokens < 48 or carry < 1


@pytest.mark.parametrize(("order", "rank"), [((1, 0, 3, 2, 4), 0.8), ((0, 2, 4, 1, 3), 0.5)])
def test_a_rank_correlation_at_the_threshold_is_at_it(order: tuple[int, ...], rank: float) -> None:
    """Of five it is 1 less a 20th of the squared differences of ranks."""
    assert statistics.agreement(np.arange(5.0), np.array(order, np.float64)) == rank


def test_what_is_said_of_a_twice_told_fact(writer: Any, found: Any) -> None:
    made = found.copy(deep=True)
    made["masked"].values[:] = [0.1, 0.2, 0.0, 0.0, 0.0]
    made["together"].values[0], made["interaction"].values[0] = 4.3, 4.0
    made["joint"], made["context"], made["agreement"] = (
        made["joint"] * 0 + 4.3,
        made["context"] * 0 + 5.0,
        made["agreement"] * 0 + 0.3,
    )
    said = "\n".join(statistics.sentences(made))
    assert "either is enough" in said
    assert "do not believe their order" in said
    made["interaction"].values[0] = -4.0
    made["text"] = "span", ["two\nlines of a text that is longer than forty letters"] * 5
    name = "“two lines of a text that is longer than…”"
    needed = f"{name} and {name}: both are needed (together −4.00 nats beside their sum)"
    assert needed in statistics.sentences(made)
    made["joint"], made["context"] = made["joint"] * 0 + 0.1, made["context"] * 0 + 0.2
    assert "no part of the prompt matters much" in "\n".join(statistics.sentences(made))


def test_masking_within_an_edit(writer: Any) -> None:
    """What is edited stays edited: masks come on top."""
    with hs.edit(writer, "L0H1 off"):
        edited = hs.why(writer, TEXT, " It slept.")
    plain = hs.why(writer, TEXT, " It slept.")
    assert not np.allclose(edited["masked"], plain["masked"], atol=1e-4)
    with hs.ablate(writer, "L0H1"), torch.no_grad():
        ids = torch.tensor([writer.encode(TEXT).ids.tolist() + _ids(writer, " It slept.")])
        logits = writer.module(input_ids=ids).logits[0].log_softmax(-1)
    start = len(writer.encode(TEXT))
    sure = sum(float(logits[at - 1, ids[0, at]]) for at in range(start, ids.shape[1]))
    assert float(edited["log_probability"]) == pytest.approx(sure, abs=1e-3)


def _masked_by_hand(model: Any, ids: list[int], answer: list[int], *spans: tuple[int, int]) -> torch.Tensor:
    """The log-probability of an answer in one pass with a 4-D mask of its own."""
    fed = torch.tensor([[*ids, *answer[:-1]]])
    places = torch.arange(fed.shape[1])
    hidden = places[:, None] < places
    for first, end in spans:
        span = (places >= first) & (places < end)
        outside = ~span | (places >= len(ids) - 1)
        hidden = hidden | (outside[:, None] & span & (places[:, None] != places))
    mask = torch.zeros(hidden.shape).masked_fill(hidden, torch.finfo(torch.float32).min)
    with torch.no_grad():
        logits = model.module(input_ids=fed, attention_mask=mask[None, None], use_cache=False).logits
    return logits[0, -len(answer) :].log_softmax(-1)[range(len(answer)), answer].sum()


def test_why_this_rather_than_that_is_a_difference_of_log_probabilities(writer: Any) -> None:
    ids = writer.encode(TEXT).ids.tolist()
    this, that = (_ids(writer, answer) for answer in (" It slept.", " The dog sat down."))
    found = hs.why(writer, TEXT, this, against=that, delete=True, through=8)
    spans = [
        (int(first), int(last) + 1)
        for first, last in zip(found["first_token"], found["last_token"], strict=True)
    ]

    def lead(*hidden: tuple[int, int]) -> float:
        one, other = (_masked_by_hand(writer, ids, answer, *hidden) for answer in (this, that))
        return float(one - other)

    whole = lead()
    assert float(found["log_probability"] - found["against_log_probability"]) == pytest.approx(
        whole, abs=1e-4
    )
    for place, span in enumerate(spans):
        assert float(found["masked"][place]) == pytest.approx(whole - lead(span), abs=1e-4)
    assert float(found["context"]) == pytest.approx(whole - lead(*spans), abs=1e-4)
    one, other, together = (found[name].values[0] for name in ("first", "second", "together"))
    assert float(together) == pytest.approx(whole - lead(spans[one], spans[other]), abs=1e-4)
    estimates, deleted = (
        hs.why(writer, TEXT, this, delete=True)[name] - hs.why(writer, TEXT, that, delete=True)[name]
        for name in ("estimate", "deleted")
    )
    np.testing.assert_allclose(found["estimate"], estimates, atol=1e-5)
    np.testing.assert_allclose(found["estimate_by_head"].sum(("place", "head")), estimates, atol=1e-5)
    np.testing.assert_allclose(found["deleted"], deleted, atol=1e-4)
    assert description(found)["through"]["together"] == pytest.approx(float(found["masked"].max()), abs=1e-4)
    for name in ("p", "q", "masked_low", "masked_high"):
        assert np.isnan(found[name]).all(), "their level is not simulated"
    assert statistics.sentences(found)[0].startswith(
        "“It slept.” rather than “The dog sat down.”: without any of the 5 spans the answer loses "
    )
    shown = found.view().payload
    assert shown["against"] == "The dog sat down."


def test_a_class_is_set_against_another() -> None:
    model = small_roberta(cls=transformers.RobertaForSequenceClassification, num_labels=3)
    one, other = (hs.why(model, "The cat sat. It ran.", answer) for answer in (0, 2))
    found = hs.why(model, "The cat sat. It ran.", 0, against=2)
    np.testing.assert_allclose(found["masked"], one["masked"] - other["masked"], atol=1e-5)
    with pytest.raises(InputError, match=r"^against: expected a number below 3 or one of "):
        hs.why(model, "The cat sat. It ran.", 0, against=3)


def test_what_an_answer_cannot_be_set_against_is_refused(writer: Any) -> None:
    cases: list[tuple[str, Any]] = [
        ("expected another answer than ' It slept.', found the same", {"against": " It slept."}),
        ("expected the whole answer, found a part", {"against": " The dog.", "part": (0, 3)}),
    ]
    for message, options in cases:
        with pytest.raises(InputError, match=f"^against: {message}"):
            hs.why(writer, TEXT, " It slept.", **options)
    logged = hs.Tokens(
        writer.encode(TEXT).pieces,
        ids=writer.encode(TEXT).ids,
        classes={"generated": np.arange(len(writer.encode(TEXT))) > 40},
    )
    with pytest.raises(InputError, match="against: expected the answer beside the prompt"):
        hs.why(writer, logged, against=" The dog.")
