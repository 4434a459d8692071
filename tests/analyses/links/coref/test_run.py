"""Coreference of a model's heads on real documents, against reference counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headscope import corpora
from headscope.analyses.links.coref.run import coreference
from headscope.analyses.links.coref.statistics import CANDIDATES, RULES


@pytest.mark.slow
def test_the_reference(demo: Any, shared: Path) -> None:
    """Equal in counts: every rule, and every head under each definition of candidates."""
    reference = json.loads((shared / "reference" / "coref.json").read_text())
    documents = corpora.conllu(sorted((shared / "data" / "ontogum").glob("*.conllu")))
    found = coreference(demo, documents)
    assert {kind: int(found["n"].sel(type=kind)) for kind in reference["counts"]} == reference["counts"]
    assert set(reference["baselines"]) == set(RULES)
    for rule, by_type in reference["baselines"].items():
        for kind, accuracy in by_type.items():
            assert found["rules"].sel(rule=rule, type=kind).item() == pytest.approx(accuracy, abs=1e-12)
    assert set(reference["heads"]) == set(CANDIDATES)
    for name, given in reference["heads"].items():
        for kind, accuracy in given["accuracy"].items():
            n = reference["counts"][kind]
            ours = found["accuracy"].sel(candidates=name, type=kind).values
            np.testing.assert_array_equal(np.rint(ours * n), np.rint(np.array(accuracy) * n))
        assert int(found["best"].sel(candidates=name)) == given["best_layer0"] * 12 + given["best_head0"]
