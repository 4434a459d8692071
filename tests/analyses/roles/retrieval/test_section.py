"""The section of the report on retrieval, and where roles of inputs of their own are seen."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

import headscope as hs
from headscope.analyses.reproduce import Typed
from headscope.analyses.roles import statistics as roles
from headscope.analyses.roles.retrieval.section import section
from headscope.analyses.roles.section import Roles
from headscope.analyses.study import Study
from headscope.models import Model
from headscope.views.blobs import Blobs
from headscope.views.explorer import Input
from tests.helpers.planted_needles import HAY
from tests.helpers.section_blocks import rows
from tests.helpers.small_models import small

TEXT = hs.corpora.texts([" ".join([HAY] * 4)])


def study(model: Model, examples: int = 1) -> Study:
    return Study(model, TEXT, ["retrieval"], examples, typed=Typed(options={"-m": "planted", "--pack": "9"}))


@pytest.mark.slow
def test_the_planted_head_and_what_is_lost_without_it(planted: Model) -> None:
    asked = study(planted)
    (made,) = section(asked)
    info: Any = made.info(Blobs())
    (row,) = rows(info, "retrieval")
    assert (row["layer"], row["head"], row["score"]) == (1, 0, 1)
    assert row["q"] <= 0.05
    every, top, others = (each["accuracy"] for each in rows(info, "answers"))
    assert every == others > 0.5 > top == 0  # digits of the text lead the circuit astray
    assert info["command"] == "headscope retrieval -m planted --needles 16 --length 64 -k 1"
    (said,) = made.findings()
    assert "".join(part["text"] for part in said) == (
        "1 head looks at the token that the model copies from far back: L1H0 (100%). Of the questions for it the "
        "model answers 62%, without the top head 0%, without another 62%."
    )
    # It opens where the head looks at what is copied.
    reason = row["reason"]
    shown = cast("Input", asked.inputs[reason["example"]])
    maps = shown.first
    weights = np.asarray(maps.layers[1][0][reason["pin"]["place"]])
    pieces = maps.query.pieces
    assert pieces[reason["pin"]["place"]] == "is"
    assert pieces[int(weights.argmax())] == pieces[reason["pin"]["place"] + 1]


def test_heads_of_copying_roles_open_on_the_same_example(planted: Model) -> None:
    asked = study(planted)
    columns = dict.fromkeys(roles.COLUMNS, 0.0) | {"layer": 1, "head": 0, "paper": "2-1", "score": 0.9}
    table = pd.DataFrame([columns | {"role": "induction"}, columns | {"role": "previous token"}])
    kept = Roles(table, seen=asked.seen)
    section(asked)
    info: Any = kept.info(Blobs())
    first, second = (row["reason"] for row in rows(info, "roles"))
    assert (first["example"], first["over"]) == (asked.seen["induction"][0], "on repeated random tokens")
    assert (second.get("example"), second["measure"]) == (None, "previous")


def test_what_cannot_be_told_is_said(planted: Model) -> None:
    assert section(study(small("bert"))) == []
    asked = study(planted)
    with hs.ablate(planted, "L1H0"):
        assert section(asked) == []
    assert asked.absent == {"retrieval": "the model produced no token of an answer to a needle"}
