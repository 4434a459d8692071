"""What a live page begins with says what the models do."""

from __future__ import annotations

import pytest

import headscope as hs
from headscope.core.demo import DEMO_NAME
from headscope.live.first import first_inputs
from headscope.live.session import Live
from headscope.models import Model
from tests.helpers.standalone_models import FAMILIES, model_of

LINKS = {"demo": ["wet", "paris"], "smollm": ["Rome", "keys", "Mary"]}
"""The token that the head of each example looks at, by what is said of it."""
FLIPS = ("Italy", "the")
"""The answer before and after the first example's change."""


@pytest.mark.parametrize("name", ["demo", pytest.param("smollm", marks=pytest.mark.deep)])
def test_what_is_said_of_our_models_is_so(name: str, request: pytest.FixtureRequest) -> None:
    """The head looks where the sentence says, from the token that stands out, and without it the answer is another."""
    model = request.getfixturevalue(name)
    live = Live(model)
    said = [example for example in live.info["examples"] if "look" in example]
    for place, (example, link) in enumerate(zip(said, LINKS[name], strict=True)):
        look, given, head = example["look"], example["input"], f"L{example['layer']}H{example['head']}"
        assert look.startswith(f"{head} looks ")
        assert example["change"] == f"{head} off"
        maps = hs.capture(model, given["text"], pair=given.get("pair"))
        row = maps[head][example["place"]]
        assert maps.key.pieces[int(row.argmax())].strip("Ġ") == link
        assert f"“{link}”" in look.replace("Paris", "paris")
        assert row.max() >= (0.4 if name == "demo" else 0.6)
        asked = {"kind": "show", "id": 1, "input": given, "changes": [example["change"]]}
        before, after = live.answer(asked)[0]["says"]
        if name == "demo":
            assert before["number"] - after["number"] >= 0.04
            continue
        assert example["place"] == len(maps.query) - 1
        texts = [max(one["top"], key=lambda each: each["p"])["text"].strip() for one in (before, after)]
        shares = [
            next(each["p"] for each in one["top"] if each["text"].strip() == texts[0])
            for one in (before, after)
        ]
        assert shares[1] < shares[0]
        assert (tuple(texts) == FLIPS) == (place == 0)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_other_models_begin_with_what_their_kind_is_known_for(family: str) -> None:
    """Three texts that they can read, of which nothing is said that was not seen."""
    model = model_of(family)
    assert model.name != DEMO_NAME
    live = Live(model)
    found = live.info["examples"]
    assert found == first_inputs(model)
    assert len({each["name"] for each in found}) == 3
    for example in found:
        assert "Whether this model does, is to be seen." in example["look"]
        assert not {"layer", "head", "change"} & set(example)
        answer = live.answer({"kind": "show", "id": 1, "input": example["input"]})[0]
        assert "error" not in answer
        kind = answer["says"][0]["kind"]
        assert ("language model" in example["look"].lower()) == (kind in ("next", "mask"))


def test_a_model_without_a_tokenizer_offers_none(demo: Model) -> None:
    assert first_inputs(Model(demo.module)) == []


def test_a_notebook_begins_with_the_first_of_them(demo: Model) -> None:
    """What is given beside it stays."""
    first = first_inputs(demo)[0]
    assert hs.explore(demo, changes=["L0H0 off"], heads=[4]).asked == {
        "input": first["input"],
        "changes": ["L0H0 off"],
        "chosen": None,
    }
    assert (hs.explore(demo).state, hs.explore(demo, layer=0).state) == ({}, {"layer": 0})
