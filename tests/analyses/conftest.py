"""What tests of several analyses share."""

from __future__ import annotations

from typing import Any

import pytest

import headscope as hs
from headscope.models import Model
from tests.helpers import linguistics_sample as sample


@pytest.fixture(scope="session")
def linguistics(demo: Model, build_once: Any) -> Any:
    """The payload of a report of the demo model on the built-in trees, with syntax and coreference."""
    trees = hs.corpora.builtin_trees()
    texts = hs.corpora.texts(["The cat sat on the mat."])
    options: dict[str, Any] = {"treebank": trees, "coref": trees, "sections": ["syntax", "coref"]}
    return sample.payload(build_once("linguistics", lambda: hs.report(demo, texts, examples=2, **options)))
