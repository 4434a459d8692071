"""`headscope align`: what it prints, writes and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.helpers.typed import Typed

TOGETHER = ("align", "speech.wav", "--text", "so it was", "-m", "whisper-tiny")


@pytest.fixture
def folder(workspace: Path) -> Path:
    """The current folder, with a model of its own."""
    from tests.helpers.small_models import save_whisper

    (workspace / "own").mkdir()
    save_whisper(workspace / "own")
    return workspace


@pytest.mark.slow
def test_times_are_printed_and_written(typed: Typed, folder: Path) -> None:
    told = typed(*TOGETHER)
    assert [line.split()[0] for line in told.out.splitlines()] == ["word", "so", "it", "was"]
    assert "heads: L1H0, L1H1, L1H2, L1H3 (no alignment_heads in the generation config" in told.err
    printed = typed(*TOGETHER, "--heads", "L1H2", "-o", "words.csv", "--meta", "how.json")
    rows = pd.read_csv("words.csv")
    assert rows.columns.tolist() == ["word", "start", "end", "mass"]
    assert json.loads((folder / "how.json").read_text())["heads"] == [[1, 2]]
    printed = printed
    in_english = pd.DataFrame(typed(*TOGETHER, "--heads", "L1H2", "--language", "en", "--json").rows)
    assert printed.out == ""
    assert not in_english["mass"].equals(rows["mass"])


@pytest.mark.slow
def test_heads_are_ranked_and_written(typed: Typed, folder: Path) -> None:
    choosing = ("align", "--choose", "speech.jsonl", "-m", "own")
    stored = folder / "own" / "generation_config.json"
    before = stored.read_text()
    typed(*choosing, "-o", "heads.csv")
    rows = pd.read_csv("heads.csv")
    assert len(rows) == 8
    assert rows["accuracy"].is_monotonic_decreasing
    assert stored.read_text() == before

    printed = typed(*choosing, "--best", "2", "--write")
    names = ", ".join(f"L{layer}H{head}" for layer, head in rows[["layer", "head"]].to_numpy()[:2])
    assert f"own: alignment_heads of the generation config: {names}; before: none" in printed.err
    heads = json.loads(stored.read_text())["alignment_heads"]
    assert heads == rows[["layer", "head"]].to_numpy()[:2].tolist()
    assert f"heads: {names} (generation config: alignment_heads)" in typed(*TOGETHER[:-1], "own").err
