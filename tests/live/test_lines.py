"""Why a line of a picture is there, as a live page asks and as a saved page carries it."""

from __future__ import annotations

from typing import Any

import pytest

import headscope as hs
from headscope.live.lines import BARS, MOST, Lines
from headscope.live.session import Live
from tests.helpers.planted_induction import circuit
from tests.helpers.planted_needles import HAY, reader
from tests.helpers.small_models import translator

TEXT = " ".join(HAY.split()[:6] * 2)
LAST = 10  # a word that was there before: position 4, with 5 behind it


@pytest.fixture(scope="module")
def model() -> hs.Model:
    return hs.load((circuit().module, reader()))


def asked(live: Live, turn: int, **question: Any) -> dict[str, Any]:
    told, _ = live.answer({"kind": "reads", "id": 7, "turn": turn, "input": 0, "part": "self", **question})
    return dict(told)


def test_a_live_page_is_told_what_reads_tells_and_where_the_writer_is_seen(model: hs.Model) -> None:
    live = Live(model)
    turn = live.answer({"kind": "show", "id": 1, "input": {"text": TEXT}})[0]["turn"]
    why = asked(live, turn, layer=1, head=0, query=LAST)["why"]
    found = hs.reads(model, TEXT, "L1H0", query=LAST)
    assert (why["query"], why["key"]) == (LAST, 5)
    for side in ("key", "query"):
        bars = why[f"by_{side}"]
        assert sum(bar["term"] for bar in bars) == pytest.approx(float(found["contrast"]), abs=1e-3)
        assert why["contrast"] == pytest.approx(float(found["contrast"]), abs=1e-3)
        assert bars[-1]["name"] == "the rest"
        for bar in bars[:-1]:
            term = float(found["term"].sel(side=side, writer=bar["name"]))
            assert bar["term"] == pytest.approx(term, abs=1e-3)
    assert (why["by_key"][0]["name"], why["by_key"][0]["line"]) == ("L0H0", [5, 4])
    assert asked(live, turn, layer=1, head=0, query=LAST, key=11)["error"].startswith("key: expected a key")
    assert asked(live, turn, layer=1, head=0, query=LAST, part="cross")["error"].startswith("input, part")


def test_a_widget_is_told_what_a_live_page_is(model: hs.Model) -> None:
    live, view = Live(model), hs.view(model, TEXT, quantities=())
    turn = live.answer({"kind": "show", "id": 1, "input": {"text": TEXT}})[0]["turn"]
    question = {"kind": "reads", "id": 7, "input": 0, "part": "self", "layer": 1, "head": 0, "query": LAST}
    assert view.payload["explains"]
    assert view.answer(question) == live.answer({**question, "turn": turn})
    assert view.answer({**question, "input": 1})[0]["error"].startswith("input, part: expected one with")
    assert "explains" not in hs.view(hs.capture(model, TEXT)).payload


def test_a_writer_of_another_part_is_seen_in_the_picture_of_that_part() -> None:
    view = hs.view(
        translator(), "the cat sat", target="the dog sat", part="cross", layer=1, heads=[2], reads=True
    )
    (told,) = (part["reads"] for part in view.payload["inputs"][0]["parts"] if "reads" in part)
    lines = [bar for line in told for bar in (*line["by_key"], *line["by_query"]) if "head" in bar]
    parts = view.inputs[0].parts
    assert {bar.get("part", "cross") for bar in lines} == {"encoder", "decoder", "cross"}
    for bar in lines:
        (layer, head), (query, key) = bar["head"], bar["line"]
        assert key == parts[bar.get("part", "cross")][layer, head][query].argmax()


def test_of_a_changed_model_the_writer_that_is_off_wrote_nothing(model: hs.Model) -> None:
    live = Live(model)
    question = {"kind": "show", "id": 1, "input": {"text": TEXT}, "changes": ["L0H0 off"]}
    turn = live.answer(question)[0]["turn"]
    line = {"layer": 1, "head": 0, "query": LAST, "key": 5}
    plain, changed = (asked(live, turn, input=place, **line)["why"] for place in (0, 1))
    assert plain["by_key"][0]["name"] == "L0H0"
    assert "L0H0" not in [bar["name"] for bar in changed["by_key"]]
    assert abs(changed["contrast"]) < 0.1 * plain["contrast"]


def test_a_saved_page_carries_the_chain(model: hs.Model) -> None:
    view = hs.view(model, TEXT, layer=1, heads=[0], quantities=(), reads=True)
    lines = view.payload["inputs"][0]["parts"][0]["reads"]
    of = {(one["layer"], one["head"], one["query"]): one for one in lines}
    assert len(of) == len(lines) <= 12 + MOST
    assert {query for layer, _, query in of if layer == 1} == set(
        range(2, 12)
    )  # the others have nothing to compare
    wrote = of[1, 0, LAST]["by_key"][0]
    assert wrote["line"] == [5, 4]
    behind = of[0, 0, 5]
    assert (behind["key"], behind["by_query"][0]["name"]) == (4, "token and position")
    assert all(len(one[side]) <= BARS + 1 for one in lines for side in ("by_key", "by_query"))
    assert "reads" not in hs.view(model, TEXT, quantities=()).payload["inputs"][0]["parts"][0]


def test_where_few_lines_have_room_those_of_the_largest_terms_are_followed(
    model: hs.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Lines.chains, "__defaults__", (1,))
    lines = hs.view(model, TEXT, layer=1, heads=[0], quantities=(), reads=True).payload["inputs"][0]["parts"][
        0
    ]["reads"]
    (further,) = [one for one in lines if one["layer"] == 0]
    bars = [bar for one in lines for side in ("by_key", "by_query") for bar in one[side] if "line" in bar]
    largest = max(bars, key=lambda bar: bar["term"])
    assert [[0, further["head"]], [further["query"], further["key"]]] == [largest["head"], largest["line"]]
