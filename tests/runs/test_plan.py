"""What a run will take, told from the costs of a block: worked by hand."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

import headscope as hs
from headscope.errors import InputError
from headscope.runs.plan import Costs, measured, plan, planned

COSTS = Costs(1000, 1, 2, 5, 1, 1, sent=100, back=900, memory=1e9)  # 2 s of the client, 8 of a worker


@pytest.mark.parametrize(
    ("workers", "cores", "seconds"),
    [(1, None, 80), (2, None, 40), (3, None, 32), (100, None, 20), (4, 2, 50), (1, 2, 80)],
)
def test_the_slower_side_sets_the_pace(workers: int, cores: int | None, seconds: float) -> None:
    """Ten blocks; three workers need four rounds, many wait for the client, and two cores share 100 s."""
    assert plan(COSTS, 9_500, workers, cores).seconds == seconds


def test_bytes() -> None:
    found = plan(COSTS, 9_500, 2)
    assert (found.wire, found.parts) == (10_000, 9_000)
    assert (found.client, found.worker) == (1e9 + 12 * 1000, 1e9)
    assert plan(replace(COSTS, sent=1e9), 9_500, 2).client == 1e9 + (1 << 29)


@pytest.mark.slow
def test_costs_are_of_what_is_read(tmp_path: Path, demo: hs.Model) -> None:
    path = tmp_path / "text.txt"
    lines = [example.text or "" for example in hs.corpora.builtin(pack=None)][:8]
    path.write_text("\n".join(lines), encoding="utf-8")
    model, corpus = demo, hs.corpora.text(path, pack=128, documents="line")
    found = measured(model, corpus)
    assert found.tokens == sum(len(each.tokens or ()) for each in corpus.encoded(model))
    assert found.forward > 0
    assert found.back > 0
    path.write_text("\x01\n", encoding="utf-8")
    with pytest.raises(InputError, match="expected at least one"):
        measured(model, hs.corpora.text(path, pack=128, documents="line"))


@pytest.mark.slow
def test_one_line_of_what_is_cut_on_no_bytes() -> None:
    line = planned(hs.load(), hs.corpora.builtin(), workers=2, limit=4)
    assert re.match(
        r"4 inputs, [\d,]+ tokens: about \d+ s on 2 workers of .*B of memory, .* of the client's, ", line
    )
