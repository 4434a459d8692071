"""Sentences on two models: each goes the way of its figures."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from headscope.analyses.compare.models.section import Compare
from headscope.core.heads import Head
from headscope.views.blobs import Blobs
from headscope.views.page import script_json
from tests.helpers import golden
from tests.helpers.section_blocks import names, rows
from tests.helpers.section_blocks import table as table_of

Held = dict[tuple[int, int], tuple[str, ...]]


def table(held: Held, layers: int = 2, heads: int = 3) -> pd.DataFrame:
    """Every head against three roles."""
    rows: list[dict[str, Any]] = []
    for layer in range(layers):
        for head in range(heads):
            for role in ("punctuation", "itself", "broad"):
                there = role in held.get((layer, head), ())
                score, q = (0.9, 1e-9) if there else (0.2, 1.0)
                place = {"layer": layer, "head": head, "paper": Head(layer, head).paper, "role": role}
                figures = {"score": score, "chance": 0.1, "offsets": np.nan, "threshold": 0.5}
                rows.append({**place, **figures, "q": q, "se": 0.02, "documents": 9.0, "n": 50})
    found = pd.DataFrame(rows)
    found.attrs["untested"] = {}
    return found


def figures(js: Any, error: float = 0.01, layer_error: float = 0.01, over: str = "pieces") -> xr.Dataset:
    """Drift of every head ``[layer head]``, and two measures of which the second changed most, in L0H1."""
    js = np.array(js, float)
    layers, heads = js.shape
    difference = np.zeros((2, layers, heads))
    if heads > 1:
        difference[0, 0, 0], difference[1, 0, 1] = 0.2, -0.5
    axes = ("measure", "layer", "head")
    one = ("layer", "head")
    variables: dict[str, Any] = {
        "a": (axes, np.full(difference.shape, 0.5)),
        "b": (axes, 0.5 - difference),
        "difference": (axes, difference),
        "se": (axes, np.full(difference.shape, error)),
        "n": (axes, np.full(difference.shape, 77.0)),
        "js": (one, js),
        "js_se": (one, np.full(js.shape, error)),
        "cosine": (one, 1 - js),
        "cosine_se": (one, np.full(js.shape, error)),
        "js_layer": ("layer", np.nanmean(js, 1)),
        "js_layer_se": ("layer", np.full(layers, layer_error)),
        "cosine_layer": ("layer", 1 - np.nanmean(js, 1)),
        "cosine_layer_se": ("layer", np.full(layers, layer_error)),
        "js_excess": ("layer", np.nanmean(js, 1) - np.nanmean(js)),
        "js_excess_se": ("layer", np.full(layers, layer_error)),
        "js_documents": ((), 9.0),
        "documents": (axes, np.full(difference.shape, 9.0)),
        "js_all": ((), np.nanmean(js)),
        "js_all_se": ((), error),
    }
    coords: dict[str, Any] = {
        "measure": ["previous", "next"],
        "layer": np.arange(layers),
        "head": np.arange(heads),
        "title": ("measure", ["previous token", "next token"]),
        "units": ("measure", ["share", "share"]),
    }
    corpus = {"name": "text.txt", "documents": 9, "examples": 30, "tokens": 1234}
    meta = {"over": over, "corpus": corpus, "absent": {"sink": "no input is that long"}}
    return xr.Dataset(variables, coords, {"meta": json.dumps(meta)})


MOVED = [[0.1, 0.6, 0.2], [0.05, 0.1, 0.1]]


def compare(
    js: Any = MOVED, a: Held | None = None, b: Held | None = None, kind: Any = "untrained", **options: Any
) -> Compare:
    roles = None if a is None or b is None else (table(a), table(b))
    names = ("mine", "its/other")
    return Compare(kind, names, None if js is None else figures(js, **options), roles)


def said(one: Compare) -> list[str]:
    return ["".join(part["text"] for part in line) for line in one.findings()]


def test_each_sentence_goes_the_way_of_its_figures() -> None:
    """Of golden/compared.txt: what is found is told by the lines below it."""
    names = {"compare": compare, "np": np, "EVERY": [*np.ndindex(2, 3)]}
    golden.check("compared.txt", ">>> ", lambda asked: "\n".join(said(eval(asked, names))))


PUNCTUATION, ITSELF, BROAD = ("punctuation",), ("itself",), ("broad",)


def test_a_role_that_may_be_as_it_was_is_not_called_lost() -> None:
    one = compare(a={(0, 1): PUNCTUATION}, b={})
    other = one.roles[1]
    other.loc[(other["layer"] == 0) & (other["head"] == 1) & (other["role"] == "punctuation"), "score"] = 0.89
    assert said(one)[-1] == (
        "1 role is known in one of the two models, and its score is not known to differ in the other: "
        "punctuation L0H1."
    )
    (row,) = rows(one.info(Blobs()), "roles")
    assert (row["change"], row["a"], row["b"], row["q_b"]) == ("unclear", 0.9, 0.89, 1.0)


def test_other_shapes_are_counted() -> None:
    roles = table({(0, 1): PUNCTUATION}), table({(0, 1): ITSELF, (3, 3): ITSELF, (3, 2): BROAD}, 4, 4)
    one = Compare("other", ("mine", "its/other"), None, roles, why=("mine has 2 layers",))
    assert said(one) == [
        "Here 1 of 6 heads has a role, in other 2 of 16 heads have a role; as the models differ in shape, no head has a counterpart."
    ]
    info = one.info(Blobs())
    assert [cell.get("label") for cell in table_of(info, "roles")["cells"][1:3]] == ["A, of 6", "B, of 16"]
    expected = [("punctuation", 1, 0), ("itself", 0, 2), ("broad", 0, 1)]
    assert [(row["role"], row["heads_a"], row["heads_b"]) for row in rows(info, "roles")] == expected
    assert "mine has 2 layers." in info["about"]
    assert script_json(info)


def test_names_open_heads_on_the_example_of_both() -> None:
    one = Compare("untrained", ("a", "b"), figures(MOVED), None, {Head(0, 1): 7})
    parts = {part["text"]: part for part in one.findings()[0] if part["head"] is not None}
    reason = parts["L0H1"]["reason"]
    assert (reason["says"], reason["figure"], reason["example"]) == ("drift", "0.60 nats", 7)
    reason = parts["L1H0"]["reason"]
    assert reason is not None
    assert "example" not in reason


def test_what_travels() -> None:
    js = [[0.1, 0.6, np.nan], [0.05, 0.1, 0.1]]
    info = Compare("untrained", ("a", "b"), figures(js, error=np.nan), None, {Head(0, 1): 7}).info(Blobs())
    heads = table_of(info, "heads")["values"]
    of_next = [place for place, name in enumerate(heads["measure"]) if name == "next"]
    own = {name: [values[place] for place in of_next] for name, values in heads.items()}
    assert (own["layer"], own["head"]) == ([0, 0, 1, 1, 1], [0, 1, 0, 1, 2])
    (shown,) = (block for block in info["blocks"] if block["kind"] == "measures")
    assert shown.get("seen") == {"L0H1": {"example": 7, "pin": None}}
    assert table_of(info, "changed")["values"]["measure"] == ["next", "previous"]  # the largest change first
    assert own["difference"] == [0.0, -0.5, 0.0, 0.0, 0.0]
    assert own["se"] == own["js_se"] == [None] * 5
    assert info["about"].startswith("A is a, B is b.")
    assert any("1,234 pieces of 30 inputs of 9 documents of text.txt" in note for note in info["notes"])
    assert any(note == "Not measured here: sink (no input is that long)." for note in info["notes"])
    assert script_json(info)  # no NaN


@pytest.mark.slow
def test_nothing_is_told_of_roles_that_nobody_has() -> None:
    info = compare(a={}, b={}).info(Blobs())
    assert names(info) == ["heads", "layers", "changed"]
    assert "No head of either has one of the roles." in info["about"]
    assert not any("broad" in note or "Roles" in note for note in info["notes"])
    broad = compare(a={}, b={(0, 0): BROAD}).info(Blobs())
    assert "No head" not in broad["about"]
    assert any("attends almost evenly" in note for note in broad["notes"])
    other = compare(a={}, b={(0, 0): ITSELF}).info(Blobs())
    assert not any("attends almost evenly" in note for note in other["notes"])
