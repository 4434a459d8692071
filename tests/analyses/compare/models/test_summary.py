"""Sentences on two models: each goes the way of its figures."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headscope.analyses.compare.models.section import Compare
from headscope.core.heads import Head
from headscope.views.blobs import Blobs
from tests.helpers.section_blocks import rows

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


def compared(js: Any, error: float = 0.01, layer_error: float = 0.01, over: str = "pieces") -> xr.Dataset:
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
    sides = {
        "a": {"name": "org/bert", "notes": []},
        "b": {"name": "org/bert", "notes": ["re-initialised with seed 0"]},
    }
    meta = {"over": over, "corpus": corpus, "absent": {"sink": "no input is that long"}, **sides}
    return xr.Dataset(variables, coords, {"meta": json.dumps(meta)})


MOVED = [[0.1, 0.6, 0.2], [0.05, 0.1, 0.1]]


def compare(
    js: Any = MOVED,
    a: Held | None = None,
    b: Held | None = None,
    kind: Any = "untrained",
    shown: Any = None,
    why: tuple[str, ...] = (),
    **options: Any,
) -> Compare:
    roles = None if a is None or b is None else (table(a), b if isinstance(b, pd.DataFrame) else table(b))
    names = ("mine", "its/other")
    return Compare(kind, names, None if js is None else compared(js, **options), roles, shown or {}, why=why)


def said(one: Compare) -> list[str]:
    return ["".join(part["text"] for part in line) for line in one.findings()]


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


def test_names_open_heads_on_the_example_of_both() -> None:
    one = compare(shown={Head(0, 1): 7})
    parts = {part["text"]: part for part in one.findings()[0] if part["head"] is not None}
    reason = parts["L0H1"]["reason"]
    assert (reason["says"], reason["figure"], reason["example"]) == ("drift", "0.60 nats", 7)
    reason = parts["L1H0"]["reason"]
    assert reason is not None
    assert "example" not in reason
