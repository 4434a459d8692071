"""What a live page begins with says what the models do."""

from __future__ import annotations

import re

import pytest

import headscope as hs
from headscope.core.demo import DEMO_NAME
from headscope.live.first import first_inputs
from headscope.live.session import Live
from headscope.models import Model
from tests.helpers.standalone_models import FAMILIES, model_of

LINKS: dict[str, list[tuple[int, int] | None]] = {
    "demo": [(2, 15), (7, 5), None],
    "smollm": [(-1, 7), (-1, 1), (-1, 1)],
}
"""From which token to which the head of each example looks, by what is said of it."""
SAID = {"smollm": [("Italy", "the"), ("are", ":"), ("Mary", "Mary")]}
"""The answer before and after."""


@pytest.mark.parametrize("name", ["demo", pytest.param("smollm", marks=pytest.mark.deep)])
def test_what_is_said_of_our_models_is_so(name: str, request: pytest.FixtureRequest) -> None:
    """The head looks where the sentence says, and the figures are those before and after the change."""
    model = request.getfixturevalue(name)
    live = Live(model)
    for place, (example, link) in enumerate(zip(live.info["examples"], LINKS[name], strict=True)):
        look, given, head = example["look"], example["input"], f"L{example['layer']}H{example['head']}"
        assert head in look
        assert example["change"] == f"{head} off"
        if link:
            maps = hs.capture(model, given["text"], pair=given.get("pair"))
            query, key = link
            pieces = [maps.query.pieces[at].strip("Ġ") for at in (query, key)]
            assert f"“{pieces[1]}”" in look
            assert name == "smollm" or f"“{pieces[0]}”" in look
            row = maps[head][query]
            assert row.argmax() == key
            assert row[key] >= 0.6
        asked = {"kind": "show", "id": 1, "input": given, "changes": [example["change"]]}
        says = live.answer(asked)[0]["says"]
        if name == "demo":
            assert [f"{one['number']:.3f}"[1:] for one in says] == re.findall(r"\.\d{3}", look)
            continue
        tops = [max(one["top"], key=lambda each: each["p"])["text"].strip() for one in says]
        assert tuple(tops) == SAID[name][place]
        shares = [
            next(
                each["p"]
                for each in one["top"]
                if each["text"].strip() == tops[0] and each["text"] != tops[0]
            )
            for one in says
        ]
        assert [round(100 * share) for share in shares] == [
            int(text) for text in re.findall(r"\b(?<!H)(?<!L)\d+(?= →| to| %)", look)
        ]


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
    assert (hs.explore(demo).state, hs.explore(demo, layer=0).state) == (
        {"layer": first["layer"], "heads": [first["head"]]},
        {"layer": 0, "heads": [first["head"]]},
    )
