"""The report's section on two groups of texts: its figures are those of `hs.compare.groups`, said honestly."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import headscope as hs
from headscope.analyses.compare.groups import statistics
from headscope.analyses.reproduce import Typed
from headscope.core.heads import Head
from headscope.models import Model
from headscope.statistics.bootstrap import bootstrap
from tests.helpers import section_blocks
from tests.helpers.compared_models import PAIRS, pairs
from tests.helpers.pages import payload, said, section

TEXTS = hs.corpora.texts([a for a, _ in PAIRS])


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fifth of the draws."""
    monkeypatch.setattr(
        statistics, "bootstrap", lambda *given, draws, **more: bootstrap(*given, draws=draws // 5, **more)
    )


def write(path: Path, labels: list[int], copied: bool) -> Path:
    """Pairs with a label; where `copied`, text B of those labelled 0 is text A again."""
    lines = [
        f"{label}\t{a}\t{a if copied and not label else b}"
        for label, (a, b) in zip(labels, pairs(), strict=True)
    ]
    path.write_text("same\ttext_a\ttext_b\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_what_differs_is_what_the_command_finds(demo: Model, tmp_path: Path) -> None:
    path = write(tmp_path / "pairs.tsv", [place % 2 for place in range(36)], copied=True)
    corpus = hs.corpora.pairs(path, label="same")
    page = hs.report(
        demo,
        TEXTS,
        pairs=corpus,
        sections=["groups"],
        examples=1,
        typed=Typed(options={"-m": "some/model"}, sections={"--pairs": ["pairs.tsv"], "--label": ["same"]}),
    )
    found = payload(page)
    info = section(found, "groups")
    expected = hs.compare.groups(demo, corpus)
    rows = expected.differing()
    listed = section_blocks.rows(info, "groups")
    assert len(listed) == min(300, len(rows)) > 10
    for own in ("layer", "head", "measure", "group_a", "group_b", "effect", "p", "q"):
        assert [row[own] for row in listed] == rows[own].head(300).tolist()
    assert section_blocks.said(info)[0].lower() == f"{expected.sentence()}.".lower()
    assert "A is 18 inputs labelled 0" in info["about"]
    assert "B is 18 inputs labelled 1" in info["about"]
    assert info["command"] == "headscope compare groups pairs.tsv -m some/model --label same"
    (line,) = [line for line in said(found) if line.startswith("Between texts labelled 0 and 1, ")]
    top = rows.iloc[0]
    assert f"most L{top['layer']}H{top['head']} in “" in line
    assert f"{len(rows.drop_duplicates(['layer', 'head']))} heads differ (q ≤ 0.05)" in line

    row = listed[0]
    first, second = found["examples"][row["reason"]["example"]]["inputs"]
    assert [first["label"], second["label"]] == ["A · 0", "B · 1"]
    reason = row["reason"]
    assert (reason["says"], reason["over"]) == (f"{row['title']}, A − B", "between the groups")
    row = next(
        row for row in listed if row["measure"] == "previous" and row["reason"].get("example") is not None
    )
    head = Head(row["layer"], row["head"])
    maps = hs.capture(demo, expected.typical("previous", head)[0])
    back = np.abs(np.diagonal(maps.layers[head.layer][head.head], -1) - row["group_a"])
    wanted = {"side": "from", "place": 1 + int(np.where(maps.query.special_mask[1:], np.inf, back).argmin())}
    assert row["reason"]["pin"] == wanted


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_where_nothing_differs_that_is_what_is_said(demo: Model, tmp_path: Path) -> None:
    labels = [int(label) for label in "100110011001" * 3]
    corpus = hs.corpora.pairs(write(tmp_path / "pairs.tsv", labels, copied=False), label="same")
    expected = hs.compare.groups(demo, corpus)
    assert not len(expected.differing())  # so the rest of the test says something
    found = payload(hs.report(demo, TEXTS, pairs=corpus, sections=["groups"], examples=0))
    info = section(found, "groups")
    told, listed = section_blocks.said(info)
    assert told.startswith("No head differs between the groups at q ≤ 0.05")
    assert listed == "The 8 smallest q, none of them at most 0.05:"
    nearest = section_blocks.rows(info, "groups")
    assert len(nearest) == 8
    assert min(row["q"] for row in nearest) == expected.table["q"].min() > 0.05
    assert {row["reason"].get("example") for row in nearest} == {None}
    (line,) = [line for line in said(found) if line.startswith("Between texts")]
    assert re.fullmatch(
        r"Between texts labelled 0 and 1, no head is known to differ: the smallest q is [\d.]+\.", line
    )
