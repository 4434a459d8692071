"""Circuits written into weights: each head has its role, the logit that it writes, and the effect of patching it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.analyses.roles.copying import copying
from headscope.analyses.roles.run import repeated_tokens
from headscope.analyses.roles.statistics import NONE, every, named
from headscope.models import Model
from tests.helpers.planted_induction import WORDS, circuit

TO = 3
"""The token after which a name is moved."""
NAMES = range(5, WORDS - 15)


def mover() -> Model:
    """L1H0 looks from `TO` at a name, wherever it stands, and copies it (a name mover, Wang et al. 2022); L0 is blank."""
    model = circuit()
    first, second = (layer.attn for layer in model.module.transformer.h)
    width, names = second.c_attn.weight.shape[0], torch.tensor([*NAMES])
    with torch.no_grad():
        for part in (first.c_attn, first.c_proj):
            part.weight.zero_()
        second.c_attn.weight[:, : 2 * width] = 0  # queries and keys
        second.c_attn.weight[TO, 0] = 8.0
        second.c_attn.weight[names, width] = 8.0
    return hs.load(model.module)


def tokens(ids: Any) -> hs.Tokens:
    return hs.Tokens([str(number) for number in ids], ids=np.asarray(ids))


def induction_pairs() -> list[dict[str, Any]]:
    """``… a b … a``, where b is c in the corrupted prompt."""
    rows = [([30, 31, a, b, 32, a], [30, 31, a, c, 32, a], b, c) for a, b, c in _triples()]
    return [_pair(*row) for row in rows]


def name_pairs() -> list[dict[str, Any]]:
    """``… b … to``, where b is c in the corrupted prompt."""
    rows = [([30, 31, b, 32, 33, TO], [30, 31, c, 32, 33, TO], b, c) for _, b, c in _triples()]
    return [_pair(*row) for row in rows]


def _triples() -> list[tuple[int, int, int]]:
    return [(5 + number, 11 + number, 17 + number) for number in range(6)]


def _pair(clean: list[int], corrupted: list[int], answer: int, wrong: int) -> dict[str, Any]:
    return {"clean": tokens(clean), "corrupted": tokens(corrupted), "answer": answer, "wrong": wrong}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "pairs", "roles", "sign"),
    [
        (circuit, induction_pairs, ["induction"], 1),
        (lambda: circuit(sign=-1.0), induction_pairs, ["anti-induction"], -1),
        (mover, name_pairs, [NONE], 1),
    ],
    ids=["induction", "copy suppression", "name mover"],
)
def test_the_head_of_a_circuit(make: Any, pairs: Any, roles: list[str], sign: int) -> None:
    model, rows = make(), pairs()
    better, worse = ("answer", "wrong")[::sign]  # a head that suppresses makes the other token likelier
    asked = [{**row, "answer": row[better], "wrong": row[worse]} for row in rows]
    patched = hs.patching(model, asked, exact="all")
    np.testing.assert_allclose(patched["patching"], [[0, 0], [1, 0]], atol=1e-3)
    # Pairs that differ alike have a test of signs: of six no p is below 2 / 64, and there are four heads.
    assert (patched["q"].values <= 8 / 2**6).tolist() == [[False, False], [True, False]]
    for row in rows:
        terms = hs.attribute(model, row["clean"], token=row["answer"])
        heads = terms["heads"].sum("source").values
        logit = float(terms["logit"])
        assert sign * logit > 1
        np.testing.assert_allclose(heads, [[0, 0], [logit, 0]], atol=0.02 * abs(logit))
        source = int(np.abs(terms["heads"].values[1, 0]).argmax())
        assert row["clean"].ids[source] == row["answer"]
    repeated = repeated_tokens(model, tokens=25, sequences=8)
    copies = copying(model, repeated)
    assert not isinstance(copies, str)
    table: Any = named(every(hs.measure(model, repeated, measures=["synthetic"]), copies))
    one = table[(table["layer"] == 1) & (table["head"] == 0)]
    assert one["role"].tolist() == roles
