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
from headscope.errors import CorpusError


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


SENTENCE = "1\tAnn\tAnn\tPROPN\t_\t_\t0\troot\t_\t{}\n"


@pytest.mark.slow
def test_what_is_refused(demo: Any, tmp_path: Path) -> None:
    plain = tmp_path / "plain.conllu"
    plain.write_text(SENTENCE.format("_"))
    with pytest.raises(CorpusError, match=r"plain.conllu:1: expected coreference .*, found none"):
        coreference(demo, corpora.conllu(plain))
    long = tmp_path / "long.conllu"
    rows = [
        f"{i}\tword\tword\tNOUN\t_\t_\t{0 if i == 1 else 1}\t{'root' if i == 1 else 'dep'}\t_\tEntity=(1)\n"
        for i in range(1, 200)
    ]
    long.write_text("".join(rows))
    with pytest.raises(
        CorpusError, match="expected at most 128 tokens in a sentence, found 201; give a larger window"
    ):
        coreference(demo, corpora.conllu(long))
    assert coreference(demo, corpora.conllu(long), window=256)["n"].sel(type="all") == 198
