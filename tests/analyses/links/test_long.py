"""Runs over links."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import headscope as hs
from headscope import corpora
from headscope.errors import InputError


@pytest.mark.slow
def test_a_checkpoint_of_other_links_is_refused(demo: Any, tmp_path: Path) -> None:
    words = ["the", "cat", "sat", "on", "it"]
    one, other = (corpora.linked([words] * 8, [[(4, target)]] * 8) for target in (1, 2))
    hs.links(demo, one, resume=tmp_path / "kept", least=1)
    with pytest.raises(InputError, match="a checkpoint of other inputs"):
        hs.links(demo, other, resume=tmp_path / "kept", least=1)
