"""The section of the report on which head feeds which."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

import headscope as hs
from headscope.analyses.composition.run import CompositionWork
from headscope.analyses.composition.section import LOOKED_AT, SEQUENCES, TOKENS, section
from headscope.analyses.roles.run import repeated_tokens
from headscope.analyses.study import Study
from headscope.models import Model
from headscope.views.blobs import Blobs
from tests.helpers.planted_induction import circuit
from tests.helpers.planted_needles import HAY, reader
from tests.helpers.section_blocks import rows


def study(model: Model, examples: int = 1) -> Study:
    words = HAY.split()[:12] * 4
    texts = [" ".join(words[start:]) for start in range(12)]  # documents by which roles are tested
    corpus = hs.corpora.texts(texts)
    figures = [hs.measure(model, corpus)] if examples else []
    return Study(model, corpus, ["composition"], examples, figures=figures)


@pytest.mark.slow
def test_an_edge_opens_both_heads_where_it_is_strongest() -> None:
    asked = study(hs.load((circuit().module, reader())))
    (made,) = section(asked)
    info: Any = made.info(Blobs())
    (row,) = rows(info, "composition")
    assert (row["layer"], row["head"], row["kind"], row["writer"]) == (1, 0, "K", "L0H0")
    drawn, edges, _, with_roles = info["blocks"]
    ((name,),) = edges["heads"]["writer"]
    assert [(head["text"], head["title"]) for head in drawn["heads"]] == [
        ("L0H0", "previous token"),
        ("L1H0", "induction"),
    ]
    (edge,) = drawn["edges"]
    assert (edge["writer"], edge["reader"], edge["kind"], edge["reason"]) == (0, 1, "K", row["reason"])
    assert [keys.split()[0] for keys in with_roles["values"]["keys"]] == ["L0H0"]
    assert (name["layer"], name["head"]) == (0, 0)
    example, pin, wrote = (
        row["reason"]["example"],
        row["reason"]["pin"]["place"],
        name["reason"]["pin"]["place"],
    )
    shown: Any = asked.inputs[example]
    ids = shown.first.query.ids
    inputs = repeated_tokens(asked.model, tokens=TOKENS, sequences=SEQUENCES)[:LOOKED_AT]
    sums = [CompositionWork(asked.model).summed(example) for example in inputs]
    at = (0, sums[0][0].index("L1H0"), sums[0][0].index("L0H0"), 0)
    terms = [s[at] for _, s, _, _ in sums]
    assert min(terms) < max(terms)
    np.testing.assert_array_equal(ids, cast("hs.Tokens", inputs[int(np.argmax(terms))].tokens).ids)
    assert ids[wrote - 1] == ids[pin]  # the writer is seen where it noted the token that the reader looks for
    why = {(one["layer"], one["head"], one["query"]): one for one in shown.reads["self"]}
    assert why[1, 0, pin]["by_key"][0]["line"] == [wrote, wrote - 1]  # and there it goes on
    assert why[0, 0, wrote]["key"] == wrote - 1
    (finding,) = made.findings()
    words = "".join(part["text"] for part in finding)
    assert words.startswith(
        "1 induction head reads, in its keys, what the previous token head L0H0 wrote: L1H0 ("
    )
    assert [part["layer"] for part in finding if part["layer"] is not None] == [0, 1]


def test_no_edge_is_said() -> None:
    model = circuit()
    for parameter in model.module.transformer.h[1].attn.parameters():
        parameter.data.zero_()
    (made,) = section(study(hs.load((model.module, reader())), examples=0))
    (note,) = made.info(Blobs())["blocks"]
    assert [part["text"] for part in note["parts"]] == [
        "No head reads what another wrote: that takes two layers, and inputs of several tokens."
    ]
    assert made.findings() == []
    assert np.isnan(made.result["q"]).all()
