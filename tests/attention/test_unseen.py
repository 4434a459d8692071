"""What of a model has no attention map is found from its modules, and said."""

from __future__ import annotations

import pytest

import headscope as hs
from tests.helpers.hybrids import HYBRIDS, KNOWN, hybrid


@pytest.mark.parametrize("kind", KNOWN)
def test_layers_without_a_map_are_named(kind: str) -> None:
    assert hs.load(hybrid(kind)).unseen == HYBRIDS[kind][2]
