"""The section on probes: what it sends to the page, what the summary says, and what probes are scored on."""

from __future__ import annotations

from typing import Any

import pytest

import headscope as hs
from headscope.analyses.probes import section as module
from headscope.analyses.probes.run import KINDS
from headscope.analyses.study import Study
from headscope.corpora import Example
from headscope.errors import InputError
from headscope.measures.dataset import description
from headscope.models import Model


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
