"""What a live model answers, against the same question in plain Python."""

from __future__ import annotations

import gc
import gzip
import re
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from numpy.testing import assert_allclose

import headscope as hs
from headscope.analyses.similar.section import sentence
from headscope.attention.objective import objective
from headscope.core.maps import AttentionMaps
from headscope.live import session
from headscope.live.server import pack
from headscope.live.session import Live
from headscope.models import Model
from headscope.models.weights import reinitialise
from tests.helpers import golden
from tests.helpers.small_models import sharpen, small_roberta, translator
from tests.helpers.small_tokenizers import byte_level

TEXT, PAIR = "The cat sat on the mat because it was tired.", "It slept."


def ask(live: Live, kind: str, **question: Any) -> tuple[dict[str, Any], list[bytes]]:
    """An answer that is no error."""
    told, buffers = live.answer({"kind": kind, "id": 7, **question})
    assert "error" not in told, told
    assert (told["kind"], told["id"]) == ({"show": "shown"}.get(kind, kind), 7)
    return dict(told), buffers


def show(live: Live, text: str = TEXT, *changes: str, **more: Any) -> dict[str, Any]:
    given = {
        name: more.pop(name) for name in ("pair", "together", "target", "written", "messages") if name in more
    }
    return ask(live, "show", input={"text": text, **given}, changes=list(changes), **more)[0]


def error(live: Live, **question: Any) -> str:
    """Why there is no answer: one line."""
    told, buffers = live.answer({"id": 7, **question})
    assert told["kind"] == "error"
    assert buffers == []
    assert "\n" not in told["error"]
    return told["error"]


def rows(live: Live, shown: dict[str, Any], input_: int, part: str, layer: int, head: int) -> np.ndarray:
    """All rows of a head, as they are asked for one after another."""
    parts = {each["name"]: each for each in shown["payload"]["inputs"][input_]["parts"]}
    found = []
    for place in range(len(parts[part]["query"]["pieces"])):
        asked = {"turn": shown["turn"], "input": input_, "part": part, "layer": layer, "head": head}
        told, buffers = live.answer({"kind": "exact", "id": 7, **asked, "place": place})
        assert "error" not in told, told
        found.append(np.frombuffer(buffers[0], "<f4"))
    return np.array(found)


def expect_maps(live: Live, shown: dict[str, Any], input_: int, captured: Any) -> None:
    """The maps of an input are these, in its first and last layer."""
    parts = {captured.kind: captured} if isinstance(captured, AttentionMaps) else captured
    assert [each["name"] for each in shown["payload"]["inputs"][input_]["parts"]] == list(parts)
    for name, maps in parts.items():
        for layer in (maps.index[0], maps.index[-1]):
            heads = len(maps.layers[maps.index.index(layer)])
            for head in (0, heads - 1):
                assert_allclose(rows(live, shown, input_, name, layer, head), maps[layer, head], atol=1e-6)


@pytest.fixture(scope="module")
def writer() -> Model:
    """A small random language model with a tokenizer that knows every text."""
    torch.manual_seed(1)
    tokenizer = byte_level()
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer), n_embd=32, n_layer=3, n_head=4, n_positions=128
    )
    return hs.load((sharpen(transformers.GPT2LMHeadModel(config)), tokenizer))


@pytest.fixture(scope="module")
def filler() -> Model:
    """A small random masked language model."""
    return small_roberta(seed=2, cls=transformers.RobertaForMaskedLM)


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        (),
        ("L2H9 off",),
        ("L1H4 uniform", "all hide >0"),
        ("L3 mean", "L4H2 temperature 0.5", "L5H1 hide 3>2"),
    ],
    ids=lambda changes: " and ".join(changes) or "none",
)
def test_maps_are_those_of_capture(demo: Model, changes: tuple[str, ...]) -> None:
    live = Live(demo)
    shown = show(live, TEXT, *changes, pair=PAIR, together=True)
    expect_maps(live, shown, 0, hs.capture(demo, TEXT, pair=PAIR))
    if changes:
        with hs.edit(demo, *changes):
            expect_maps(live, shown, 1, hs.capture(demo, TEXT, pair=PAIR))
        assert [each["label"] for each in shown["payload"]["inputs"]] == ["as it is", "changed"]
    assert shown["changes"] == list(changes)


def test_arrays_that_come_along_are_those_of_a_view(demo: Model) -> None:
    live = Live(demo)
    told, buffers = ask(live, "show", input={"text": TEXT})
    sent = dict(zip(told["arrays"], buffers, strict=True))
    part = told["payload"]["inputs"][0]["parts"][0]
    whole = hs.view(demo, TEXT, quantities=()).payload["inputs"][0]["parts"][0]
    assert [each["shape"] for each in part["layers"]] == [each["shape"] for each in whole["layers"]]
    maps = hs.capture(demo, TEXT)
    for layer, ref in enumerate(part["layers"]):
        codes = np.frombuffer(gzip.decompress(sent[ref["data"]]), np.uint8).reshape(ref["shape"])
        assert_allclose((codes / 255) ** 2, maps.layers[layer], atol=0.004)
    codes = part["neurons"][0]["q"]["codes"]["data"]
    assert codes not in sent  # nobody looks at neurons yet
    _, buffers = ask(live, "arrays", turn=told["turn"], names=[codes])
    assert len(gzip.decompress(buffers[0])) == np.prod(part["neurons"][0]["q"]["codes"]["shape"])
    assert "no array" in error(live, kind="arrays", turn=told["turn"], names=["x"])


@pytest.mark.slow
def test_of_a_long_input_the_open_layer_comes_first(demo: Model) -> None:
    live = Live(demo)
    told, _ = ask(live, "show", input={"text": "word " * 380}, layer=3)
    part = told["payload"]["inputs"][0]["parts"][0]
    layers = [each["data"] for each in part["layers"]]
    assert [name for name in told["arrays"] if name in layers] == [layers[3]]
    assert part["thumbs"]["data"] in told["arrays"]


def test_a_decoder_says_the_next_token(writer: Model) -> None:
    live = Live(writer)
    shown = show(live, "cat sat")
    with torch.no_grad():
        logits = writer.module(**writer.inputs([writer.encode("cat sat")])).logits[0]
    shares = logits.double().softmax(-1)
    (said,) = shown["says"]
    best = shares[-1].topk(10)
    assert (said["kind"], said["place"]) == ("next", len(shares) - 1)
    assert [each["id"] for each in said["top"]] == best.indices.tolist()
    assert_allclose([each["p"] for each in said["top"]], best.values.numpy(), rtol=1e-4)
    assert said["entropy"] == pytest.approx(float(-(shares[-1] * shares[-1].log()).sum()), rel=1e-4)
    assert said["chosen"] == said["top"][0]
    told, _ = ask(live, "says", turn=shown["turn"], at=2, chosen=5)
    (other,) = told["says"]
    assert other["place"] == 2
    assert other["chosen"]["p"] == pytest.approx(float(shares[2, 5]), rel=1e-4)


def test_written_ids_stand_after_the_text(writer: Model) -> None:
    live = Live(writer)
    ids = writer.encode("cat sat").ids
    assert ids is not None
    shown = show(live, "cat sat", "L1H2 off", written=[5, 9, 11])
    tokens = writer.from_ids(ids.tolist(), [5, 9, 11])
    part = shown["payload"]["inputs"][0]["parts"][0]
    assert len(part["query"]["pieces"]) == len(ids) + 3
    assert part["query"]["written"] == len(ids)
    with hs.edit(writer, "L1H2 off"):
        expect_maps(live, shown, 1, hs.capture(writer, tokens))


def test_a_masked_model_says_what_is_hidden(filler: Model) -> None:
    live = Live(filler)
    text = f"cat {filler.tokenizer.mask_token} sat"
    shown = show(live, text)
    tokens = filler.encode(text)
    assert tokens.ids is not None
    place = tokens.ids.tolist().index(filler.tokenizer.mask_token_id)
    with torch.no_grad():
        shares = filler.module(**filler.inputs([tokens])).logits[0, place].softmax(-1)
    (said,) = shown["says"]
    assert (said["kind"], said["place"]) == ("mask", place)
    assert [each["id"] for each in said["top"]] == shares.topk(10).indices.tolist()
    nothing = show(live, "cat sat")["says"][0]
    assert nothing["top"] == []
    assert (nothing["place"], filler.tokenizer.mask_token) == (None, live.info["mask"])
    assert show(live, "cat sat", at=1)["says"][0]["place"] == 1


def test_a_classifier_says_its_classes() -> None:
    labels = {0: "bad", 1: "so so", 2: "good"}
    model = small_roberta(seed=3, cls=transformers.RobertaForSequenceClassification, id2label=labels)
    live = Live(model)
    shown = show(live, "cat sat", "L0H1 off")
    with torch.no_grad():
        ready = model.inputs([model.encode("cat sat")])
        before = model.module(**ready).logits[0].softmax(-1)
        with hs.edit(model, "L0H1 off"):
            after = model.module(**ready).logits[0].softmax(-1)
    for said, shares in zip(shown["says"], (before, after), strict=True):
        assert said["kind"] == "class"
        assert {each["text"]: each["p"] for each in said["top"]} == pytest.approx(
            dict(zip(("bad", "so so", "good"), shares.tolist(), strict=True)), rel=1e-5
        )
    chosen = before.argmax()
    told, _ = ask(live, "without", turn=shown["turn"], layer=1, head=3)
    with torch.no_grad(), hs.edit(model, "L0H1 off", "L1H3 off"):
        expected = model.module(**ready).logits[0].log_softmax(-1)[chosen]
    assert told["number"] == pytest.approx(float(expected), abs=1e-6)


def test_an_encoder_says_the_cosine_of_a_pair(demo: Model) -> None:
    live = Live(demo)
    shown = show(live, TEXT, pair=PAIR, together=True)
    cosine = objective(demo, "cosine").prepare([demo.encode(TEXT, PAIR)])
    with torch.no_grad():
        assert shown["says"][0]["number"] == pytest.approx(float(cosine.run()[0]), abs=1e-6)
    alone = show(live, TEXT)["says"][0]
    assert (alone["kind"], alone["number"]) == ("none", None)
    assert "no prediction here" in error(live, kind="who", turn=2)


@pytest.mark.parametrize("target", ["", "b a"], ids=["no target", "a target"])
def test_an_encoder_decoder(target: str) -> None:
    model = translator()
    live = Live(model)
    shown = show(live, "a b c", "L1H1 off", target=target)
    assert shown["says"][0]["kind"] == "next"
    parts = {each["name"]: each for each in shown["payload"]["inputs"][1]["parts"]}
    assert set(parts) == {"encoder", "decoder", "cross"}
    if target:
        with hs.edit(model, "L1H1 off"):
            expect_maps(live, shown, 1, hs.capture(model, "a b c", target=target))
    longer = show(live, "a b c", target=target, written=[shown["says"][0]["top"][0]["id"]])
    found = {each["name"]: each for each in longer["payload"]["inputs"][0]["parts"]}
    assert len(found["decoder"]["query"]["pieces"]) == len(parts["decoder"]["query"]["pieces"]) + 1
    assert found["encoder"]["query"]["pieces"] == parts["encoder"]["query"]["pieces"]


@pytest.mark.slow
def test_two_models_read_the_same(demo: Model) -> None:
    other = Model(reinitialise(demo.module, seed=0), demo.tokenizer, "untrained")
    live = Live(demo, other)
    assert live.info["against"] == other.name
    shown = show(live, TEXT, "L2H9 off", pair=PAIR)
    for place, model in enumerate((demo, other)):
        with hs.edit(model, "L2H9 off"):
            expect_maps(live, shown, place, hs.capture(model, TEXT, pair=PAIR))
    told, _ = ask(live, "who", turn=shown["turn"])
    assert told["number"] == pytest.approx(shown["says"][0]["number"], abs=1e-6)


def test_models_with_vocabularies_of_their_own_each_say_their_own(writer: Model, stories: Model) -> None:
    live = Live(writer, stories)
    assert not live.info["shared"]
    shown = show(live, "The cat sat", at=1, chosen=5)
    alone = show(Live(stories), "The cat sat")["says"][0]
    first, second = shown["says"]
    assert (first["place"], first["chosen"]["id"]) == (1, 5)
    assert second == alone | {"chosen": None}
    told = error(live, kind="show", input={"text": "The cat sat", "written": [5]})
    assert "vocabularies of their own" in told
    hidden = show(live, "The cat sat", "all hide >2", "L0H1 off")  # the second model's token 2 is another
    assert hidden["changes"] == ["L0H1 off"]
    assert hidden["left"] == {"all hide >2": "the two models cut a text into tokens of their own"}


def test_who_did_it_is_gradient_times_attention(writer: Model) -> None:
    live = Live(writer)
    shown = show(live, "cat sat on", "L0H3 uniform")
    told, _ = ask(live, "who", turn=shown["turn"], at=3, chosen=7)

    def number(output: Any) -> torch.Tensor:
        return output.logits[0, 3].log_softmax(-1)[7]

    with hs.edit(writer, "L0H3 uniform"):
        slopes = hs.gradients(writer, "cat sat on", number)["self"]
        maps = hs.capture(writer, "cat sat on")
    expected = {
        (layer, head): float((maps.layers[layer][head] * slopes[layer][head]).sum())
        for layer in range(3)
        for head in range(4)
    }
    assert {(row["layer"], row["head"]): row["estimate"] for row in told["heads"]} == pytest.approx(
        expected, abs=1e-6
    )
    sizes = [abs(row["estimate"]) for row in told["heads"]]
    assert sizes == sorted(sizes, reverse=True)
    ready = writer.inputs([writer.encode("cat sat on")])
    with torch.no_grad(), hs.edit(writer, "L0H3 uniform", "L1H2 off"):
        expected_without = float(number(writer.module(**ready)))
    found, _ = ask(live, "without", turn=shown["turn"], at=3, chosen=7, layer=1, head=2)
    assert found["number"] == pytest.approx(expected_without, abs=1e-6)


def test_a_gradient_is_of_the_changed_model(demo: Model) -> None:
    live = Live(demo)
    shown = show(live, TEXT, "L1H4 uniform", pair=PAIR, together=True)
    told, buffers = ask(live, "quantity", turn=shown["turn"], name="gradient")
    assert len(told["arrays"]) == len(buffers)
    assert [each["input"] for each in told["added"]] == [0, 1]
    with hs.edit(demo, "L1H4 uniform"):
        view = hs.view(demo, TEXT, pair=PAIR, quantities=("gradient",))
    expected = view.payload["inputs"][0]["parts"][0]["quantities"][0]
    assert told["added"][1]["quantity"]["scale"] == pytest.approx(expected["scale"], rel=1e-5)
    assert "cannot compute" in error(live, kind="quantity", turn=shown["turn"], name="x")


def test_a_question_about_another_input_is_stale(demo: Model) -> None:
    live = Live(demo)
    first = show(live, TEXT)
    show(live, "Another text.")
    told, _ = live.answer({"kind": "arrays", "id": 3, "turn": first["turn"], "names": []})
    assert (told["kind"], told["stale"], told["id"]) == ("error", True, 3)
    told, _ = Live(demo).answer({"kind": "says", "id": 4, "turn": 0})
    assert told["stale"]


def test_bad_questions_are_answered_in_a_line(demo: Model) -> None:
    """Of golden/questions.txt: each is answered by the line below it, and what is shown still stands."""
    live = Live(demo)
    turn = show(live, TEXT)["turn"]
    golden.check(
        "questions.txt", ">>> ", lambda asked: live.answer({"id": 7, "turn": turn, **eval(asked)})[0]["error"]
    )
    assert ask(live, "arrays", turn=turn, names=[])[0]["arrays"] == []


def test_a_change_that_cannot_be_made_is_left_out_and_blocks_no_other(demo: Model) -> None:
    shown = show(Live(demo), "Hm", "all hide >9", "L1H1 off", "L99H0 off", "off")
    assert shown["changes"] == ["L1H1 off"]
    assert list(shown["left"]) == ["off", "all hide >9", "L99H0 off"]
    assert all(re.search("expected 'L4H2 off'|no such head", why) for why in shown["left"].values())


def test_a_length_can_be_set(demo: Model) -> None:
    live = Live(demo, longest=8)
    assert live.info["longest"] == 8
    assert "at most 8 are read here" in error(live, kind="show", input={"text": TEXT})


def test_what_is_no_longer_wanted_is_stopped(demo: Model) -> None:
    live = Live(demo)
    calls = 0

    def stopped() -> bool:
        nonlocal calls
        calls += 1
        return calls > 3

    told, _ = live.answer({"kind": "show", "id": 1, "input": {"text": TEXT}}, stopped)
    assert (told["kind"], told["stale"]) == ("error", True)
    assert calls == 4  # in the fourth layer
    assert show(live, TEXT)["tokens"] == 13


@pytest.mark.slow
def test_memory_stays_what_it_is(demo: Model) -> None:
    live = Live(demo)

    def edits(count: int) -> int:
        for number in range(count):
            show(live, f"{TEXT} {number % 7}", f"L{number % 6}H{number % 12} off")
        gc.collect()
        return len(gc.get_objects())

    first = edits(8)
    assert edits(20) < first + 120  # six objects an edit


@pytest.mark.slow
def test_sources_are_those_of_why_and_a_struck_part_is_hidden(writer: Model, filler: Model) -> None:
    live = Live(writer)
    shown = show(live, "The cat sat. It ran. Why?")
    told, _ = ask(live, "why", turn=shown["turn"], at=6, chosen=7, spans="word")
    ids = writer.encode("The cat sat. It ran. Why?").ids
    assert ids is not None
    found = hs.why(writer, ids[:7].tolist(), [7], "word")
    spans = told["sources"]["spans"]
    assert_allclose([one["effect"] for one in spans], found["masked"], rtol=1e-4, atol=1e-5)
    first, last = spans[1]["first"], spans[2]["last"]
    one, several = (
        show(live, "The cat sat. It ran. Why?", *changes)
        for changes in (
            [f"all hide >{first}-{last}"],
            [f"all hide >{place}" for place in range(first, last + 1)],
        )
    )
    for name in ("entropy", "chosen"):
        values = [shown["says"][1][name] for shown in (one, several)]
        values = values if name == "entropy" else [value["p"] for value in values]
        assert values[0] == pytest.approx(values[1], rel=1e-4)
    assert one["says"][1]["entropy"] != one["says"][0]["entropy"]
    live = Live(filler)
    shown = show(live, "The cat <mask> on it. It ran.")
    told, _ = ask(live, "why", turn=shown["turn"], at=None, chosen=None, spans="sentence")
    assert "".join(told["sources"]["answer"]).strip() == shown["says"][0]["top"][0]["text"].strip()
    live = Live(translator())
    shown = show(live, "a b c", target="d")
    asked = {"kind": "why", "turn": shown["turn"], "at": None, "chosen": None, "spans": "word"}
    assert "why: expected a next word" in error(live, **asked)


@pytest.mark.slow
def test_two_texts_are_near_as_an_index_reads_them(demo: Model) -> None:
    """Their maps are those of each alone; changes are of both, and heads carry the words that matter most."""
    live, texts = Live(demo), ("The cat sat.", "A dog ran away.")
    assert (live.info["apart"], Live(demo, demo).info["apart"]) == ("cosine", None)
    shown = show(live, texts[0], "L5H9 off", pair=texts[1])
    assert [one["label"] for one in shown["payload"]["inputs"]] == ["A", "B"]
    given = {"input": dict(zip(("text", "pair"), texts, strict=True)), "changes": ["L5H9 off", "L5H99 off"]}
    told, _ = ask(live, "near", **given, spans="word", heads=True)
    assert told["changes"] == shown["changes"] == ["L5H9 off"]
    plain = hs.similar(demo, *texts, chance=False)
    with hs.edit(demo, "L5H9 off"):
        found = hs.similar(demo, *texts, chance=False, through=4, delete=True)
        for place, text in enumerate(texts):
            expect_maps(live, shown, place, hs.capture(demo, text))
    near = [float(one["similarity"][0]) for one in (plain, found)]
    (pair,) = told["sources"]["pairs"]
    assert_allclose([told["before"], pair["similarity"]], near, atol=1e-6)
    assert abs(near[0] - near[1]) > 1e-4
    assert_allclose(np.ravel(pair["interactions"]), found["interaction"], atol=1e-6)
    for side, units in enumerate(pair["units"]):
        for unit in units:
            assert unit["text"].lower() == demo.encode(texts[side]).pieces[unit["first"]]
    carriers = [
        (one["layer"], one["head"]) for units in pair["units"] for unit in units for one in unit["heads"]
    ]
    assert carriers == [*zip(found["through_layer"].values, found["through_head"].values, strict=True)]
    _struck(live, given, found)
    for kind in ("show", "near"):
        assert "A: type something" in error(live, kind=kind, input={"text": " ", "pair": "b"})
    assert "of a model that reads each alone" in error(live, kind="near", input={"text": "a"})
    assert show(live, *texts[:1], pair=texts[1], together=True)["says"][0]["number"] != pytest.approx(
        near[0], abs=1e-2
    )


def _struck(live: Live, given: dict[str, Any], found: Any) -> None:
    """Without some words they are as near as the analysis says of each, hidden or deleted, and of one of either text."""

    first = [found["first"].values[found["side"].values == side] for side in "ab"]

    def without(*struck: list[int], **more: Any) -> float:
        tokens = [[int(places[unit]) for unit in units] for places, units in zip(first, struck, strict=True)]
        told, _ = live.answer({"kind": "near", "id": 7, **given, "struck": tokens, **more})
        assert told["kind"] == "without", told
        return told["number"]

    whole = float(found["similarity"][0])
    a, b = (found["unit_effect"].values[found["side"].values == side] for side in "ab")
    assert without([], []) == pytest.approx(whole, abs=1e-6)
    assert without([1], []) == pytest.approx(whole - a[1], abs=1e-6)
    deleted = found["deleted"].values[found["side"].values == "b"]
    assert without([], [2], delete=True) == pytest.approx(whole - deleted[2], abs=1e-6)
    both = found["interaction"].values.reshape(len(a), len(b))[1, 2]
    assert without([1], [2]) == pytest.approx(whole - a[1] - b[2] + both, abs=1e-6)
    assert without([1, 2], []) != pytest.approx(whole - a[1] - a[2], abs=1e-4)
    asked = {"kind": "near", **given}
    assert "tokens from 0 to 5, found [9]" in error(live, **asked, struck=[[9], []])
    assert "a token that is left, found none" in error(live, **asked, struck=[[], [*range(7)]])
    for value in ODD[1:]:
        assert error(live, **asked, struck=value).startswith("struck")


def test_near_texts_are_compared_with_unrelated_ones_until_somebody_asks_anew(demo: Model) -> None:
    live = Live(demo)
    texts = "The cat sat.", "A dog ran away."
    asked = {
        "kind": "near",
        "id": 7,
        "input": dict(zip(("text", "pair"), texts, strict=True)),
        "spans": "word",
    }
    looks = iter([False] * 9)
    stopped, _ = live.answer({**asked, "chance": True}, lambda: next(looks, True))
    assert (stopped["kind"], stopped["stale"]) == ("error", True)
    told, _ = live.answer({**asked, "chance": True})
    (pair,) = told["sources"]["pairs"]
    assert pair["says"] == sentence(hs.similar(demo, *texts))
    assert "% of unrelated texts of this length are less near" in pair["says"]
    told, _ = live.answer(asked)
    assert "unrelated" not in told["sources"]["pairs"][0]["says"]


def _deep() -> list[Any]:
    nested: list[Any] = []
    for _ in range(500):
        nested = [nested]
    return nested


ODD: list[Any] = [
    None, True, -1, 1, 10**30, -(10**30), 1.5, 1e308, "", "x" * 1000, "\x00", "\ud800", "</script>", [], {}, [[]], _deep(),
    {"a": 1}, ["a"], [1], [None], [-5], [10**30], [{"role": "user"}], [{"role": 3, "content": "x"}], ["L0H0 off " * 500],
    ["L0H0 temperature nan"], ["hide 999999999999999999999 1"],
]  # fmt: skip
ASKED = {
    "show": ("id", "input", "changes", "layer", "at", "chosen"),
    "arrays": ("id", "turn", "names"),
    "says": ("id", "turn", "at", "chosen"),
    "who": ("id", "turn", "at", "chosen"),
    "without": ("id", "turn", "at", "chosen", "layer", "head"),
    "exact": ("id", "turn", "input", "part", "layer", "head", "place"),
    "quantity": ("id", "turn", "name"),
    "reads": ("id", "turn", "input", "part", "layer", "head", "query", "key"),
    "why": ("id", "turn", "at", "chosen", "spans"),
    "near": ("id", "input", "changes", "spans", "heads", "chance", "struck"),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ASKED)
def test_whatever_a_key_holds_is_answered_in_a_line_of_our_own(
    kind: str, writer: Model, filler: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No answer is what a library says of its own failure, which is what `reason` makes of other errors than ours."""
    foreign: list[BaseException] = []
    monkeypatch.setattr(session, "reason", lambda error: foreign.append(error) or "")
    for model in (writer, filler):
        live = Live(model)
        show(live, "a cat sat")
        good: dict[str, Any] = {
            "kind": kind,
            "id": 1,
            "part": "self",
            "layer": 0,
            "head": 0,
            "query": 2,
            "key": 0,
        }
        good |= {"input": {"text": "a cat sat"} if kind == "show" else 0, "place": 1, "name": "gradient"}
        tried = [(key, {**good, key: value}) for key in ASKED[kind] for value in ODD]
        tried += [(key, {name: value for name, value in good.items() if name != key}) for key in ASKED[kind]]
        if kind == "show":
            fields = ("text", "pair", "target", "written", "messages")
            tried += [("", {**good, "input": {"text": "a", key: value}}) for key in fields for value in ODD]
        for key, question in tried:
            turn = {} if key == "turn" or kind == "show" else {"turn": live._turn}
            told, _ = live.answer({**question, **turn})
            assert pack(told)  # it can be sent
            if told["kind"] == "error":
                assert "\n" not in told["error"]
                assert 0 < len(told["error"]) < 500, told["error"]
        assert show(live, "a dog ran")["kind"] == "shown"
    assert foreign == []
