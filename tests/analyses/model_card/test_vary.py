"""What moves a list: decoding with a cache moves none, a template's tokens stand around each text, reasons are named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.analyses.model_card import vary
from headscope.analyses.model_card.card import Card
from headscope.analyses.roles.retrieval import needles
from headscope.analyses.roles.retrieval.run import looked_at
from headscope.errors import InputError
from headscope.models import Model
from tests.helpers.planted_induction import circuit
from tests.helpers.planted_needles import HAY, reader


def planted(noise: float = 0.0) -> Model:
    module: Any = circuit().module
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += noise * torch.randn_like(parameter)
    return hs.load((module.double(), reader()), allow_unknown=True)


def test_heads_look_where_they_do_in_one_pass_when_answers_are_decoded_with_a_cache() -> None:
    model = planted(0.02)
    some = 0
    for needle in needles.hidden(model, HAY.split() * 4, 6, (48,), seed=0):
        one, other = looked_at(model, needle, lambda _: None), vary.decoded(model, needle)
        np.testing.assert_array_equal(one["hits"], other["hits"])
        assert one["produced"] == other["produced"]
        some += int(one["produced"])
    assert some > 12


def test_other_tokens_stand_around_a_text() -> None:
    tokenizer = reader()
    other = hs.load((planted().module, vary._around(tokenizer, [7, 5], [6])))
    tokens = other.encode("a cat")
    assert tokens.ids is not None
    assert tokens.ids[:2].tolist() == [7, 5]
    assert tokens.ids[-1] == 6
    assert tokens.mask("special").tolist() == [True, True, False, False, True]
    tokenizer.chat_template = "{% for turn in messages %}The {{ turn.content }} is .{% endfor %}"
    before, after = vary._templated(tokenizer)
    assert tokenizer.decode([*before, *after]).split() == ["The", "is", "."]
    assert len(planted().encode("a cat")) == 2  # its own is as it was


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::headscope.errors.HeadscopeWarning")
def test_a_card_says_what_lists_share_and_why_not() -> None:
    model = planted()
    corpus = hs.corpora.texts([" ".join([HAY] * 4)] * 12)
    before = model.module.config._attn_implementation
    card = hs.card(model, corpus, vary=("template", "special", "dtype", "attention", "cache"))
    assert model.module.config._attn_implementation == before
    told = card.data["varied"]
    for name in ("dtype", "attention", "cache"):
        assert told[name]["retrieval"]["heads"][0] == "L1H0"
        assert told[name]["retrieval"]["chance"] == 0.5
    assert (
        told["dtype"]["copying"]
        == told["template"].pop("copying")
        == "it is told from the weights as they are stored"
    )
    assert all("has no chat template" in why for why in told["template"].values())
    assert told["dtype"]["importance"]["share"] == told["dtype"]["induction"]["share"] == 1
    assert told["cache"]["importance"] == told["cache"]["previous token"]
    assert told["cache"]["previous token"] == "no cache: it is read in one pass"
    assert Card(card.data).text == card.text
    lines = vary.varied_lines(card.data)
    assert lines[0].split()[:4] == ["list", "template", "special", "dtype"]
    assert next(line for line in lines if line.startswith("retrieval")).split()[1] == "–"
    assert {*card.data["model"]["files"]} >= {"tokenizer.json", "tokenizer_config.json"}
    assert card.data["model"]["template"] is None
    with pytest.raises(InputError, match="vary"):
        hs.card(model, corpus, vary=("weather",))  # pyright: ignore[reportArgumentType]
