"""The report's section on two models: its figures are those of `hs.compare.models`, its examples have both maps."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.analyses.compare.models.examples import nearest, other
from headscope.analyses.reproduce import Typed
from headscope.models import Model
from headscope.views.blobs import decode
from tests.helpers import section_blocks
from tests.helpers.pages import arrays, payload, said, section
from tests.helpers.section_blocks import rows

TEXTS = [
    f"{who} {what}"
    for who in ("The cat", "A dog", "Nobody", "Some old bird")
    for what in ("sat.", "ran, and slept.", "saw it in the garden.")
]
OPTIONS: dict[str, Any] = {"sections": ["roles", "compare"], "examples": 2}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def page(demo: Model, build_once: Any) -> str:
    return build_once("compare", lambda: hs.report(demo, hs.corpora.texts(TEXTS), typed=Typed(), **OPTIONS))


@pytest.fixture(scope="module")
def found(page: str) -> Any:
    return payload(page)


@pytest.fixture(scope="module")
def untrained(demo: Model) -> Model:
    return hs.load(demo, untrained=0)


def drift(info: Any) -> dict[str, float]:
    """How far each head moved."""
    values = section_blocks.table(info, "heads")["values"]
    names = (f"L{layer}H{head}" for layer, head in zip(values["layer"], values["head"], strict=True))
    return dict(zip(names, values["js"], strict=True))


def seen(info: Any) -> Any:
    """Where heads are seen with the maps of both models."""
    (shown,) = (block["seen"] for block in info["blocks"] if block["kind"] == "measures")
    return shown


def test_figures_are_those_of_the_models_compared_apart(demo: Model, untrained: Model, found: Any) -> None:
    info = section(found, "compare")
    expected = hs.compare.models(demo, untrained, hs.corpora.texts(TEXTS))
    layers = section_blocks.table(info, "layers")["values"]
    for name in ("layer", "js", "js_se", "cosine", "cosine_se"):
        np.testing.assert_allclose(layers[name], expected.layers[name], rtol=1e-4)
    heads = section_blocks.table(info, "heads")["values"]
    for name in ("layer", "head", "measure"):
        assert heads[name] == expected.table[name].tolist()
    for name in ("a", "b", "difference", "se", "js", "js_se", "cosine"):
        np.testing.assert_allclose(np.array(heads[name], float), expected.table[name], rtol=1e-5, atol=1e-12)
    most = [abs(row["difference"]) for row in rows(info, "changed") if row["units"] == "share"]
    assert most == sorted(most, reverse=True)


def test_roles_are_those_of_the_models_compared_apart(demo: Model, untrained: Model, found: Any) -> None:
    expected = hs.compare.roles(demo, untrained, hs.corpora.texts(TEXTS))
    info = section(found, "compare")
    own = [(row["layer"], row["head"], row["role"], row["change"]) for row in rows(info, "roles")]
    columns = ["layer", "head", "role", "change"]
    assert own == list(expected.changes[columns].itertuples(index=False, name=None))
    assert (0, 2, "previous token", "lost") in own
    counts = {row["role"]: (row["heads_a"], row["heads_b"]) for row in rows(info, "became")}
    assert counts == {row.role: (row.heads_a, row.heads_b) for row in expected.by_role.itertuples()}
    labels = [cell.get("label") for cell in section_blocks.table(info, "became")["cells"][1:3]]
    assert labels == ["A, of 72", "B, of 72"]


def test_every_head_opens_on_an_example_with_the_maps_of_both(
    demo: Model, untrained: Model, page: str, found: Any
) -> None:
    info, examples = section(found, "compare"), found["examples"]
    assert len(seen(info)) == 72
    places = sorted({one["example"] for one in seen(info).values()})
    assert 1 <= len(places) <= 4
    assert places[0] >= 2  # behind those of the page itself
    texts = arrays(page)
    for place in places:
        first, second = (one["parts"][0] for one in examples[place]["inputs"])
        assert examples[place]["state"]["side"] == "difference"
        assert [one["label"][0] for one in examples[place]["inputs"]] == ["A", "B"]
        pieces = first["query"]["pieces"]
        assert pieces == second["query"]["pieces"]
        tokens = next(
            own.tokens for own in hs.corpora.texts(TEXTS).encoded(demo) if own.tokens.pieces == tuple(pieces)
        )
        for model, part in ((demo, first), (untrained, second)):
            maps = hs.capture(model, tokens)
            for layer, ref in zip(maps.layers, part["layers"], strict=True):
                arrived = decode({**ref, "data": f"{place}-{ref['data']}"}, texts)
                assert np.abs(arrived - layer).max() < 0.004


@pytest.mark.slow
def test_the_command_below_gives_the_same_figures(found: Any, tmp_path: Path, monkeypatch: Any) -> None:
    import pandas as pd

    from headscope.cli.app import commands

    words = shlex.split(section(found, "compare")["command"])
    assert words[:6] == ["headscope", "compare", "models", "demo", "--untrained", "0"]
    path = tmp_path / "own.txt"
    path.write_text("\n".join(f"{text}\n" for text in TEXTS), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    commands()([*words[1:4], str(path), *words[4:], "--pack", "0"], standalone_mode=False)
    table = pd.read_csv("models.csv").drop_duplicates(["layer", "head"])
    js = table.sort_values(["layer", "head"])["js"]
    np.testing.assert_allclose(js, [*drift(section(found, "compare")).values()], atol=1e-5)
    assert set(pd.read_csv("roles.csv")["change"]) == {
        row["change"] for row in rows(section(found, "compare"), "roles")
    }
    assert Path("drift.svg").read_text().startswith("<svg")


@pytest.mark.slow
def test_an_untrained_model_stands_beside_another_draw(untrained: Model) -> None:
    beside = other(untrained, None)
    assert (beside.kind, beside.model.notes) == ("redrawn", ("untrained, seed 0", "untrained, seed 1"))
    again = hs.load(hs.load(), untrained=1)
    for one, two in zip(beside.model.module.parameters(), again.module.parameters(), strict=True):
        assert torch.equal(one, two)
    found = payload(
        hs.report(
            untrained,
            hs.corpora.texts(TEXTS[:4]),
            typed=Typed(options={"--untrained": "0"}, limit=4),
            limit=4,
            **OPTIONS,
        )
    )
    info = section(found, "compare")
    assert "is itself untrained" in info["about"]
    assert max(drift(info).values()) > 0
    assert info["command"] == "headscope report --untrained 0 --limit 4 --sections compare"


def test_without_documents_there_is_drift_but_there_are_no_roles(demo: Model) -> None:
    found = payload(hs.report(demo, hs.corpora.texts(TEXTS[:1]), **OPTIONS))
    info = section(found, "compare")
    assert len(drift(info)) == 72
    assert set(section_blocks.table(info, "heads")["values"]["js_se"]) == {None}
    assert section_blocks.names(info) == ["heads", "layers", "changed"]
    assert "Roles are not compared" in info["about"]
    (line,) = [line for line in said(found) if line.startswith("Beside")]
    assert "±" not in line


def test_inputs_are_chosen_that_leave_every_head_near_to_one() -> None:
    away = np.array([[[0.0, 9.0]], [[4.0, 4.0]], [[9.0, 0.0]], [[1.0, 9.0]]])
    assert nearest(away, 1) == [1]
    assert nearest(away, 3)[:2] == [1, 0]
    assert sorted(nearest(away, 3)) == [0, 1, 2]
    assert nearest(away, 9) == nearest(away, 4)
    away[:, :, 0] = np.nan  # a head that is not there
    assert nearest(away, 1) == [2]
