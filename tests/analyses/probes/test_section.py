"""The section on probes: what it sends to the page, what the summary says, and what probes are scored on."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import xarray as xr

import headscope as hs
from headscope.analyses.probes import section as module
from headscope.analyses.probes.run import KINDS
from headscope.analyses.probes.section import Probes
from headscope.analyses.study import Study
from headscope.corpora import Example
from headscope.errors import InputError
from headscope.measures.dataset import description
from headscope.models import Model
from headscope.views.blobs import Blobs
from tests.helpers import linguistics_sample as sample
from tests.helpers.pages import payload, section
from tests.helpers.section_blocks import rows, said, table

ABOUT = {
    "clusters": "documents",
    "clusters_count": 9,
    "corpus": {"name": "trees", "train": 100, "dev": 30},
}


def test_probes_stand_beside_what_is_printed() -> None:
    numbers: dict[str, Any] = {
        "vectors": "input embeddings of m",
        "uas": 0.6,
        "uas_low": 0.5,
        "uas_high": 0.7,
        "uuas": 0.65,
        "spearman": np.nan,
    }
    numbers |= {"control": 0.4, "selectivity": 0.2, "parameters": 144, "n": 500}
    found = xr.Dataset(
        {name: (("probe",), [value]) for name, value in numbers.items()},
        {"probe": ["attention"]},
        {"meta": json.dumps(ABOUT | {"vectors": {"name": "those of m", "share of words without": 0.625}})},
    )
    info = Probes(found).info(Blobs())
    (own,) = rows(info, "probes")
    assert (own["uas"], own["selectivity"], own["spearman"], own["printed"]) == (0.6, 0.2, None, 0.61)
    others = table(info, "probes")["others"]["probe"]
    assert "attention" not in others
    assert len(others) == 5
    assert said(info) == ["Too small to conclude from: trained on 100 sentences and scored on 30."]
    assert any("100 sentences of trees, scored on 500 words of 30 others" in note for note in info["notes"])
    assert "The words' vectors are those of m; 62.5% of the words have none." in info["notes"]
    assert any("over 9 documents" in note for note in info["notes"])


def test_probes_travel_as_they_are() -> None:
    info: Any = sample.probes().info(Blobs())
    first, second = rows(info, "probes")
    nothing = dict.fromkeys(("spearman", "control", "selectivity", "reason", "cases"))
    assert first == {
        "probe": "right-branching",
        "uas": 0.3,
        "uas_low": 0.25,
        "uas_high": 0.35,
        "uuas": 0.4,
        **nothing,
        "parameters": 0,
        "printed": 0.26,
    }
    assert second == {
        "probe": "attention",
        "uas": 0.6,
        "uas_low": 0.5,
        "uas_high": 0.75,
        "uuas": 0.65,
        "spearman": 0.5,
        "control": 0.45,
        "selectivity": -0.15,
        "parameters": 1440,
        "printed": 0.61,
        "reason": None,
        "cases": None,
    }


def probes_found(p: float = np.nan, train: int = 1000, **uas: float) -> xr.Dataset:
    """The first probe is 19 to 27 points behind the others, with this p."""
    pairs = {"_p": p, "_low": 0.19, "_high": 0.27}
    axes, square = ("probe", "other"), np.ones((len(uas), len(uas)))
    names = [name.replace("_", "-") for name in uas]
    return xr.Dataset(
        {"uas": ("probe", list(uas.values())), "n": ("probe", [50] * len(uas))}
        | {f"uas_difference{end}": (axes, value * square) for end, value in pairs.items()},
        coords={"probe": names, "other": names},
        attrs={"meta": json.dumps({"corpus": {"train": train, "dev": 5}})},
    )


def test_a_probe_stands_beside_taking_the_next_word() -> None:
    found = probes_found(right_branching=0.346, attention=0.574)
    begin = "From the attention of all heads together a probe finds the head of 57% of the words, "
    assert sample.said(Probes(found)) == [begin + "taking the next word finds 35%."]
    known = probes_found(1e-3, right_branching=0.346, attention=0.574)
    line = begin + "taking the next word finds 35% (+19 to +27 points, paired)."
    assert sample.said(Probes(known)) == [line]
    unknown = probes_found(0.2, right_branching=0.346, attention=0.574)
    line = begin + "taking the next word finds 35% (not known to differ)."
    assert sample.said(Probes(unknown)) == [line]
    small = "taking the next word finds 35%, on too few sentences to conclude from."
    assert sample.said(Probes(probes_found(train=999, right_branching=0.346, attention=0.574))) == [
        begin + small
    ]
    assert sample.said(Probes(probes_found(attention=0.5))) == []


def _probes(model: Model, treebank: Any, **options: Any) -> Any:
    study = Study(model, treebank, ["probes"], 0, treebank=treebank, **options)
    return module.section(study)[0]


@pytest.mark.slow
def test_probes_are_scored_on_documents_that_they_did_not_see(
    demo: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every fourth document; every fourth sentence where there are few documents. The first 400 sentences."""
    seen: list[tuple[set[int], set[int]]] = []
    real = module.probe

    def probe(model: Model, train: list[Example], dev: list[Example], **options: Any) -> Any:
        seen.append(({one.document for one in train}, {one.document for one in dev}))
        assert set(options["kinds"]) == {*KINDS} - {"structural"}
        assert len(train) + len(dev) <= 400
        return real(model, train, dev, **{**options, "kinds": ["right-branching"]})

    monkeypatch.setattr(module, "probe", probe)
    trees = hs.corpora.builtin_trees()
    made = _probes(demo, trees)
    documents = {one.document for one in trees}
    train, dev = seen[0]
    assert train | dev == documents
    assert dev == {number for number in documents if number % 4 == 3}
    assert not train & dev
    counted = description(made.result)["corpus"]
    assert (counted["train"] + counted["dev"], counted["name"]) == (130, "built-in treebank")
    wanted = (
        f"Too small to conclude from: trained on {counted['train']} sentences and scored on {counted['dev']}."
    )
    assert made.small == wanted
    counted = description(_probes(demo, trees, limit_sentences=20).result)["corpus"]
    assert (counted["train"], counted["dev"]) == (15, 5)
    with pytest.raises(InputError, match="expected at least 8 sentences for probes, found 7"):
        _probes(demo, trees, limit_sentences=7)


@pytest.mark.slow
def test_probes_say_that_the_built_in_corpus_is_too_small(demo: Model) -> None:
    page = hs.report(demo, hs.corpora.texts(["The cat sat."]), sections=["probes"], examples=0, limit=24)
    info = section(payload(page), "probes")
    assert said(info)[0].startswith("Too small to conclude from")
    assert [row["probe"] for row in rows(info, "probes")] == [
        *(
            "right-branching",
            "distance+words",
            "attention+words, re-initialised",
            "attention",
            "attention+words",
        )
    ]
    others = table(info, "probes")["others"]["probe"]
    assert others == ["structural probe (undirected, not comparable)"]
    assert payload(page)["examples"] == []
