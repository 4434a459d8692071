"""The section of the report on what heads write."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
import transformers

import headscope as hs
from headscope.analyses.reproduce import Typed
from headscope.analyses.roles.retrieval.section import section as retrieval
from headscope.analyses.study import Study
from headscope.analyses.writes.run import section
from headscope.models import Model
from headscope.views.blobs import Blobs
from tests.helpers.planted_induction import circuit
from tests.helpers.planted_needles import HAY, reader
from tests.helpers.section_blocks import rows, table
from tests.helpers.section_blocks import said as said_in
from tests.helpers.small_models import small

TEXT = hs.corpora.texts([" ".join([HAY] * 4)])


def study(model: Model, examples: int = 1) -> Study:
    return Study(model, TEXT, ["writes"], examples, typed=Typed(options={"-m": "planted"}))


def test_the_head_that_copies(planted: Model) -> None:
    (made,) = section(study(planted))
    info: Any = made.info(Blobs())
    (row,) = rows(info, "writes")
    assert (row["layer"], row["head"], row["itself"]) == (1, 0, 1)
    assert row["positive"] > 0.9
    assert row["copying_q"] < 1e-6
    assert row["promotes"].split(" ")[0] == row["token"]
    (said,) = made.findings()
    assert "".join(part["text"] for part in said) == (
        "By their weights 1 head raises the very token that they look at: L1H0 (100%), of sampled tokens."
    )
    assert said_in(info) == []
    assert info["command"] == "headscope writes -m planted -k 5"


@pytest.mark.slow
def test_the_head_that_says_the_next_token(planted: Model) -> None:
    asked = study(planted)
    retrieval(asked)
    (made,) = section(asked)
    info: Any = made.info(Blobs())
    (said,) = said_in(info)
    terms = rows(info, "logit")
    begin, logit, _ = re.split(r", whose logit is (\d+)", said)
    assert begin == f"After is the model says {terms[0]['token']}"
    assert (terms[0]["layer"], terms[0]["head"]) == (1, 0)
    assert terms[0]["contribution"] == pytest.approx(float(logit), rel=1e-2)
    (rest,) = table(info, "logit")["others"]["contribution"]
    assert sum(term["contribution"] for term in terms) + rest == pytest.approx(float(logit), abs=0.5)
    assert terms[0]["reason"]["example"] == asked.seen["retrieval"][0]


def test_a_head_that_suppresses_stands_below() -> None:
    (made,) = section(study(hs.load((circuit(sign=-1.0).module, reader()))))
    info: Any = made.info(Blobs())
    (row,) = rows(info, "writes")
    assert (row["layer"], row["head"], row["itself"]) == (1, 0, 0)
    assert row["positive"] < 0.1
    assert made.findings() == []


def untrained(seed: int) -> Model:
    torch.manual_seed(seed)
    config = transformers.GPT2Config(vocab_size=90, n_embd=32, n_layer=2, n_head=4, n_positions=16)
    return hs.load(transformers.GPT2LMHeadModel(config))


def test_models_of_other_kinds_have_none() -> None:
    assert section(study(small("bert"))) == []
    asked = study(untrained(0))
    asked.model.module.half()
    assert section(asked) == []
    assert "expected weights in float32" in asked.absent["writes"]
