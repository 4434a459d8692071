"""Links, syntax, coreference and negation go through the same blocks: resumed, sharded, and merged to the last digit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import xarray as xr

import headscope as hs
from headscope import corpora
from headscope.errors import InputError
from headscope.runs import batches
from tests.helpers.links_sample import RUNS


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "BLOCK", 3)


def same(one: xr.Dataset, other: xr.Dataset) -> None:
    xr.testing.assert_identical(one.drop_attrs(), other.drop_attrs())
    mine, theirs = (json.loads(each.attrs["meta"]) for each in (one, other))
    for name in ("options", "corpus", "clusters", "clusters_count", "seed"):
        assert mine[name] == theirs[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["links", "negation"])
def test_a_run_that_was_ended_goes_on(
    demo: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    from headscope.analyses.links.engine import LinkEngine

    function, read, options = RUNS[name]
    corpus = read(tmp_path)
    whole = function(demo, corpus, **options)
    run, calls = LinkEngine.run, 0

    def failing(self: LinkEngine, batch: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        return run(self, batch)

    monkeypatch.setattr(LinkEngine, "run", failing)
    with pytest.raises(KeyboardInterrupt):
        function(demo, corpus, **options, resume=tmp_path / "kept")
    done = calls
    same(function(demo, corpus, **options, resume=tmp_path / "kept"), whole)
    again = calls - done
    monkeypatch.setattr(LinkEngine, "run", run)
    assert done + again == 1 + len(list(corpus)) // 3  # the blocks before were not run again
    with pytest.raises(InputError, match="a checkpoint of another run: options"):
        function(demo, corpus, **{**options, "limit": 10}, resume=tmp_path / "kept")


@pytest.mark.slow
def test_a_checkpoint_of_other_links_is_refused(demo: Any, tmp_path: Path) -> None:
    words = ["the", "cat", "sat", "on", "it"]
    one, other = (corpora.linked([words] * 8, [[(4, target)]] * 8) for target in (1, 2))
    hs.links(demo, one, resume=tmp_path / "kept", least=1)
    with pytest.raises(InputError, match="a checkpoint of other inputs"):
        hs.links(demo, other, resume=tmp_path / "kept", least=1)
