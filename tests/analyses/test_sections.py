"""What sections send to the page and say in the summary, and what figures draw, of results that are known."""

from __future__ import annotations

# ruff: noqa: F401 (golden files name them)
import json
import pprint
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import headscope as hs
from headscope.analyses.distance.arrangement import head_map
from headscope.analyses.distance.statistics import PairDocuments
from headscope.analyses.distance.statistics import dataset as of_distances
from headscope.analyses.links.coref.section import Coref
from headscope.analyses.links.coref.statistics import CANDIDATES, RULES
from headscope.analyses.links.coref.statistics import dataset as of_coref
from headscope.analyses.links.section import Drawn, Linked
from headscope.analyses.links.statistics import dataset as of_links
from headscope.analyses.links.sums import FIGURES, LinkSums
from headscope.analyses.links.syntax.section import Syntax
from headscope.analyses.links.syntax.statistics import DIRECTIONS
from headscope.analyses.links.syntax.statistics import dataset as of_syntax
from headscope.analyses.measure.figure import figure as of_measures
from headscope.analyses.measure.section import every_head
from headscope.analyses.probes.section import Probes
from headscope.analyses.roles.section import Roles
from headscope.analyses.roles.statistics import COLUMNS
from headscope.core.heads import Head
from headscope.errors import InputError
from headscope.views.blobs import Blobs
from headscope.views.blocks import LinkSentence
from headscope.views.page import script_json
from tests.analyses.compare.models.test_summary import compare, compared, table
from tests.helpers import golden, report_sample
from tests.helpers import linguistics_sample as sample

EVERY = [*np.ndindex(2, 3)]


def known_relations(right: dict[str, float], least: int = 10) -> xr.Dataset:
    """40 sentences of the relations named and a root: one head is right in these shares, an offset in a half."""
    words = LinkSums(DIRECTIONS, [3, 7], 2, (-1, 1))
    for number in range(40):
        found = np.zeros((2, 2, 2, len(right) + 1), np.bool_)
        baselines = np.zeros((2, len(right) + 1), np.bool_)
        for place, share in enumerate(right.values()):
            found[0, 1, 0, place] = number % 10 < round(10 * share)
            baselines[1, place] = number % 2 == 0
        words.add([*right, "root"], found, baselines)
    return of_syntax(words, least=least)


def guessed(documents: int, heads: int, share: float) -> Syntax:
    """Five sentences of four words a document, of which every head guesses a share."""
    draw = np.random.default_rng(3)
    words = LinkSums(DIRECTIONS, [0, 1], heads, (-1, 1))
    for number in range(5 * documents):
        right = draw.random((2, 2, heads, 4)) < share
        words.add(["det"] * 4, right, np.zeros((2, 4), np.bool_), number // 5)
    words.clusters.kinds = {"documents"}
    return Syntax(of_syntax(words, least=10))


def coref(documents: int, head: float, rule: float) -> Coref:
    """One head of 20 and one rule are right in these shares, the others less."""
    draw = np.random.default_rng(1)
    mentions = LinkSums(CANDIDATES, [0], 20, RULES)
    chances = np.full((len(CANDIDATES), 1, 20, 1), 0.2)
    chances[:, 0, 3] = head
    for number in range(documents):
        right = draw.random((len(CANDIDATES), 1, 20, 8)) < chances
        rules = draw.random((len(RULES), 8)) < np.array([rule, 0.1, 0.1, 0.1])[:, None]
        mentions.add(["pronoun"] * 8, right, rules, number)
    return Coref(of_coref(mentions))


def linked(least: int = 10) -> xr.Dataset:
    """40 inputs "pronoun name": L1H0 is right on pronouns by its rows in 9 of 10, the nearest candidate in half of them.

    On names all heads are wrong but L0H1, by its columns, as often as the offset +1 is right.
    """
    sums = LinkSums(["row", "column"], [0, 1], 2, ["+1", "nearest"])
    for number in range(40):
        right = np.zeros((2, 2, 2, 2), np.bool_)
        right[0, 1, 0, 0] = number % 10 > 0
        right[1, 0, 1, 1] = number % 2
        rules = np.array([[False, number % 2 == 1], [number % 2 == 0, False]])
        sums.add(["pronoun", "name"], right, rules, number)
    whole = 1 + np.arange(8.0 * len(FIGURES)).reshape(-1, 2, 2, 2)
    whole[FIGURES.index("asked")] = [[[0.5]], [[1]]]
    sums.figures = {"pronoun": 40 * whole, "name": 40 * whole * [[[0]], [[1]]]}
    return of_links(sums, least=least, meta={"inputs": 40})


def probes(p: float = np.nan, train: int = 1000, **uas: float) -> Probes:
    """The first probe is 19 to 27 points behind the others, with this p."""
    pairs = {"_p": p, "_low": 0.19, "_high": 0.27}
    axes, square = ("probe", "other"), np.ones((len(uas), len(uas)))
    names = [name.replace("_", "-") for name in uas]
    return Probes(
        xr.Dataset(
            {"uas": ("probe", list(uas.values())), "n": ("probe", [50] * len(uas))}
            | {f"uas_difference{end}": (axes, value * square) for end, value in pairs.items()},
            coords={"probe": names, "other": names},
            attrs={"meta": json.dumps({"corpus": {"train": train, "dev": 5}})},
        )
    )


def measures(*axes: str, meta: Any, coords: Any = None, **arrays: Any) -> xr.Dataset:
    """Figures over measures and other axes, of two layers of three heads."""
    names = ["previous", "entropy", "a_to_b"]
    titles = {
        "title": ("measure", [f"title of {name}" for name in names]),
        "units": ("measure", ["share", "nats", "share"]),
    }
    places = {"measure": names, "layer": [0, 1], "head": [0, 1, 2], **(coords or {})}
    return xr.Dataset(
        {name: (axes, array) for name, array in arrays.items()}, places | titles, {"meta": json.dumps(meta)}
    )


def effects() -> xr.Dataset:
    """Of two groups: L1H2 differs in one measure, and one head has no effect."""
    effect = np.random.default_rng(0).normal(scale=0.3, size=(3, 2, 3))
    effect[1, 1, 2], effect[0, 0, 0] = -3.5, np.nan
    q = np.full_like(effect, 0.9)
    q[1, 1, 2] = 0.001
    groups = [{"label": "same", "inputs": 1200}, {"label": "other", "inputs": 34}]
    meta = {"groups": groups, "permutations": 20_000, "permuted": "labels", "model": {"name": "org/small"}}
    return measures("measure", "layer", "head", meta=meta, effect=effect, q=q)


def training(
    names: Sequence[str] = ("step-0", "step-500", "step-1000"), *, missing: bool = False
) -> xr.Dataset:
    """Three checkpoints: entropy moves, L1H1 to the top."""
    value = np.full((3, len(names), 2, 3), 0.2) + np.arange(6).reshape(2, 3) / 100
    value[1, :, 1, 1] = np.linspace(0.2, 0.9, len(names))
    value[0, :, 0, 1] = np.nan
    if missing:
        value[0] = np.nan
    meta, axes = {"corpus": {"examples": 1234}}, ("measure", "checkpoint", "layer", "head")
    return measures(*axes, meta=meta, coords={"checkpoint": list(names)}, value=value)


def distances() -> xr.Dataset:
    """Three layers of four heads, two clusters and one head far from all."""
    draw = np.random.default_rng(0)
    points = draw.normal(scale=0.05, size=(12, 2)) + np.array([[0.0, 0.0], [1.0, 0.0]])[np.arange(12) % 2]
    points[7] = 0.5, 0.9
    apart = np.sqrt(((points[:, None] - points) ** 2).sum(-1))
    documents = PairDocuments()
    documents.add(0, [Head(place // 4, place % 4) for place in range(12)], apart * 50, 50, 50, 50)
    return of_distances(documents.close(), meta={"model": {"name": "org/small"}})


def without(data: xr.Dataset) -> xr.Dataset:
    """The same, and L2H3 has no figure."""
    data["previous"].values[2, 3] = np.nan
    return data


def roles(*held: tuple[int, str], **attrs: Any) -> Roles:
    """Heads of layer 1 with these roles."""
    row = {**dict.fromkeys(COLUMNS, 0.0), "layer": 1, "paper": "2-1", "score": 0.9}
    near = {"none": "previous token"}
    rows = [{**row, "head": head, "role": role, "nearest": near.get(role)} for head, role in held]
    frame = pd.DataFrame(rows)
    frame.attrs.update(attrs)
    return Roles(frame)


def plain(value: Any) -> Any:
    """With three digits of each number, for any processor."""
    if isinstance(value, float):
        return float(f"{value:.3g}") + 0.0
    if isinstance(value, dict):  # what columns are called stands in one registry for all
        return {name: plain(one) for name, one in value.items() if name not in ("columns", "more")}
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


def written(value: Any) -> str:
    return pprint.pformat(plain(value), width=160, compact=True, sort_dicts=False)


def sent(asked: str) -> str:
    made = eval(asked)
    info: Any = made.info(Blobs())
    assert script_json(info)  # no NaN
    return f"{written(info)}\n{made.headline()}\n{sorted(made.covered)}"


def told(asked: str) -> str:
    found = eval(asked)
    return found if isinstance(found, str) else "\n".join(sample.said(found))


def drawn(asked: str) -> str:
    try:
        figure = eval(asked)
    except InputError as error:
        return str(error)
    assert figure.picture("svg").startswith(b"<svg")
    return f"{figure.about}\n{figure.caption}\n{written(figure.charts)}"


@pytest.mark.slow
def test_sections_findings_and_figures() -> None:
    """Of golden/sections.txt, findings.txt and figures.txt: each call gives what stands below it."""
    golden.check("sections.txt", ">>> ", sent)
    golden.check("findings.txt", ">>> ", told)
    golden.check("figures.txt", ">>> ", drawn)
