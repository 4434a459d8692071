"""`headscope.table` is the table of whatever was found."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

import headscope as hs
from headscope.analyses.distance import statistics as distance
from headscope.analyses.links.coref import statistics as coref
from headscope.analyses.links.negation import statistics as negation
from headscope.analyses.links.syntax import statistics as relations
from headscope.analyses.probes import statistics as probes
from headscope.errors import InputError
from headscope.measures import dataset as measured
from headscope.models import Model


@pytest.mark.slow
def test_what_every_function_finds_has_its_table(demo: Model) -> None:
    trees = hs.corpora.builtin_trees()
    few = list(trees.encoded(demo))[:12]
    found = hs.measure(demo, hs.corpora.builtin(), limit=2)
    assert hs.table(found).equals(measured.table(found))
    found = hs.syntax(demo, few, least=5)
    assert hs.table(found).equals(relations.table(found))
    assert set(hs.table(found)["relation"]) >= {"all", "det"}
    found = hs.coreference(demo, trees, limit=20)
    assert hs.table(found).equals(coref.table(found))
    found = hs.distance(demo, hs.corpora.builtin(), limit=2)
    assert hs.table(found).equals(distance.table(found))
    found = hs.probe(demo, few[:8], few[8:], kinds=["right-branching"])
    assert hs.table(found).equals(probes.table(found))
    counts = np.ones((3, 2 + len(negation.BASELINES), 3))
    scored = negation.dataset(counts, [0], seed=0)
    assert hs.table(scored).equals(negation.table(scored))


@pytest.mark.parametrize(("given", "kind"), [("stats", "'stats'"), (None, "None")])
def test_what_was_not_found_has_no_table(given: object, kind: str) -> None:
    with pytest.raises(
        InputError, match=rf"result: expected a result of headscope \(xarray.Dataset\), found {kind}"
    ):
        hs.table(cast(Any, given))
