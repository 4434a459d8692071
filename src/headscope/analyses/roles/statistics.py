"""What each head does: the roles that its measures support, tested against stated thresholds.

A role is a measure and a threshold. It is given to a head whose score is above the bar: the threshold, or a quarter of
the way from chance (uniform attention over the visible keys) to 1, whichever is more. Scores come with a confidence
interval from Student's t with documents − 1 degrees of freedom and the standard error clustered by document; p is
one-sided, of a score no higher than the bar, and q is p after Benjamini and Hochberg (1995) over all tests of all
heads.
So of the roles that a table names, at most a share `level` is expected to be there by luck.

Where uniform attention itself nearly has a role (more than 0.9: bag of words, where all inputs are one sentence), the
role says nothing and is not tested.
"""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.errors import InputError
from headscope.heads import Head
from headscope.measures.significance import false_discovery

Floats = npt.NDArray[np.float64]

COLUMNS = (
    *("layer", "head", "paper", "role", "score", "ci_low", "ci_high", "threshold", "chance"),
    *("p", "q", "n"),
)
"""Columns of the table; ``threshold`` is the bar that a score had to pass, ``role`` is ``none`` for a head without."""

NONE = "none"
EVIDENT = 0.9
"""A role that uniform attention has to this degree is not tested."""
_ABOVE_CHANCE = 0.25


@dataclass(frozen=True)
class Role:
    """One role.

    Attributes:
        name: what a head with it is called.
        measure: whose score.
        threshold: what the score must exceed; of ``entropy`` a share of the visible tokens.
        why: where the threshold comes from.
        unless: roles that say the same more precisely: where a head has one, this one is not named.
        causal: a role in causal models only.
    """

    name: str
    measure: str
    threshold: float
    why: str
    unless: tuple[str, ...] = ()
    causal: bool = False


_HALF = (
    "more than half of the attention, as Clark et al. 2019, §3.1, count heads of the next and previous token"
)
ROLES: tuple[Role, ...] = (
    Role("previous token", "previous", 0.5, _HALF),
    Role("next token", "next", 0.5, _HALF),
    Role("itself", "current", 0.5, _HALF),
    Role("[CLS]", "cls", 0.5, _HALF),
    Role("separators", "sep", 0.5, _HALF),
    Role(
        "sink",
        "sink",
        0.3,
        "Gu et al. 2024; on inputs of at least 128 tokens, where uniform attention gives 0.035",
        causal=True,
    ),
    Role("delimiters", "delimiter", 0.5, _HALF, unless=("[CLS]", "separators", "sink")),
    Role("punctuation", "punctuation", 0.5, _HALF),
    Role("same word", "same_word", 0.5, _HALF, unless=("duplicate token",)),
    Role("same word, other sentence", "same_word_other", 0.5, _HALF),
    Role("related word", "related_word", 0.5, _HALF, unless=("same word", "duplicate token")),
    Role(
        "related word, other sentence",
        "related_word_other",
        0.5,
        _HALF,
        unless=("same word, other sentence",),
    ),
    Role("pieces of one word", "word_pieces", 0.5, _HALF, unless=("previous token", "next token")),
    Role("rare word", "rare_word", 0.5, "more than half of the tokens; Voita et al. 2019, §5.3, report 66 %"),
    Role(
        "bag of words",
        "bag_of_words",
        0.5,
        "more than half: all attention on half of the sentence, or half of it on all of the sentence",
    ),
    Role(
        "broad",
        "entropy",
        2 / 3,
        "as even as attention to two thirds of the visible tokens: entropy above that of uniform attention − ln 1.5",
        unless=("bag of words",),
    ),
    Role(
        "induction",
        "induction",
        0.5,
        "more than half of the attention goes where an induction head looks, on repeated random tokens",
        causal=True,
    ),
    Role("duplicate token", "duplicate", 0.5, "more than half, on repeated random tokens", causal=True),
)
"""The roles, in the order in which they are named."""


def every(*found: xr.Dataset, confidence: float = 0.95) -> pd.DataFrame:
    """Every head against every role whose measure is there, one row each, with `COLUMNS`.

    Args:
        found: datasets of one model, from `headscope.measure`; a measure is taken from the first that has it.
            Induction and duplicate token are meant to be measured on
            `headscope.analyses.roles.synthetic.repeated_tokens`.
        confidence: of the intervals.

    ``attrs["untested"]`` says which roles were not tested, and why. Raises `InputError` where none was: a test needs
    figures from at least two documents.
    """
    tests, untested = _tests(found, confidence)
    table = _table(tests)
    table.attrs["untested"] = untested
    return table


def roles(*found: xr.Dataset, level: float = 0.05, confidence: float = 0.95) -> pd.DataFrame:
    """The roles of every head: one row each, with `COLUMNS`; a head with none has one row whose role is ``none``.

    Args:
        found, confidence: as in `every`.
        level: the most that q may be: the expected share of wrong roles among those named.

    ``attrs["roles"]`` says where each threshold comes from, ``attrs["tests"]`` how many tests were made, and
    ``attrs["untested"]`` which roles were not tested, and why. Raises `InputError` as `every` does.
    """
    if not 0 < level < 1:
        raise InputError(f"level: expected a number between 0 and 1, found {level!r}")
    tests, untested = _tests(found, confidence)
    held = [test for test in tests if test.q <= level]
    unless = {role.name: role.unless for role in ROLES}
    given = {(test.layer, test.head, test.role) for test in held}
    named = [
        test
        for test in held
        if not any((test.layer, test.head, other) in given for other in unless[test.role])
    ]
    without = {(test.layer, test.head) for test in tests} - {(test.layer, test.head) for test in named}
    named += [_Test(layer, head, NONE) for layer, head in without]
    order = [*(role.name for role in ROLES), NONE]
    table = _table(sorted(named, key=lambda test: (test.layer, test.head, order.index(test.role))))
    table.attrs["roles"] = {role.name: role.why for role in ROLES}
    table.attrs["tests"] = len(tests)
    table.attrs["untested"] = untested
    return table


def sinks(found: xr.Dataset, above: float = 0.3) -> xr.DataArray:
    """The share of heads, by layer, whose first token gets more than `above`, and more than uniform attention gives it.

    The sink metric of Gu et al. 2024, on inputs of at least 128 tokens; ``attrs["all"]`` is the share of all heads.
    Raises `InputError` where the dataset has no measure ``sink``.
    """
    if "sink" not in found.data_vars:
        raise InputError("sinks: expected a dataset with the measure sink (inputs of 128 tokens), found none")
    score = found["sink"].transpose("layer", "head").values
    there = np.isfinite(score)
    high = there & (score > np.maximum(above, found["sink_chance"].values[:, None]))
    return xr.DataArray(
        high.sum(1) / there.sum(1),
        coords={"layer": found["layer"]},
        dims="layer",
        name="sinks",
        attrs={"units": "share of heads", "above": above, "all": float(high.sum() / there.sum())},
    )


def bar(role: Role, chance: Floats) -> Floats:
    """What the score of a role must exceed, given what uniform attention scores."""
    if role.measure == "entropy":
        return chance + math.log(role.threshold)
    return np.maximum(role.threshold, chance + _ABOVE_CHANCE * (1 - chance))


class _Test(NamedTuple):
    """One head against one role."""

    layer: int
    head: int
    role: str
    score: float = math.nan
    low: float = math.nan
    high: float = math.nan
    threshold: float = math.nan
    chance: float = math.nan
    p: float = math.nan
    q: float = math.nan
    n: int = 0


def _tests(found: Sequence[xr.Dataset], confidence: float) -> tuple[list[_Test], dict[str, str]]:
    """Every head against every role, with p and q; and why roles were not tested."""
    if not found:
        raise InputError("roles: expected at least one dataset, found none")
    tests: list[_Test] = []
    untested: dict[str, str] = {}
    documents = 0
    for role in ROLES:
        dataset = next((one for one in found if role.measure in one.data_vars), None)
        if role.causal and _causal(found[0]) is False:
            untested[role.name] = "a role in causal models only"
            continue
        if dataset is None:
            untested[role.name] = f"no figures of {role.measure}"
            continue
        own_documents = int(dataset[role.measure].attrs.get("documents", 0))
        documents = max(documents, own_documents)
        if own_documents < 2:
            untested[role.name] = (
                f"{role.measure} from {own_documents} document{'s' * (own_documents != 1)}; an error needs two"
            )
        elif own := list(_of_role(role, dataset, own_documents, confidence)):
            tests += own
        else:
            untested[role.name] = "uniform attention has it already"
    if not tests and documents == 1:
        raise InputError("roles: expected at least two documents, since an error needs two; found 1")
    if not tests:
        raise InputError(
            "roles: expected figures of one role from at least two documents, found "
            + "; ".join(f"{name}: {reason}" for name, reason in untested.items())
        )
    q = false_discovery(np.array([test.p for test in tests]))
    return [test._replace(q=float(own)) for test, own in zip(tests, q, strict=True)], untested


def _of_role(role: Role, dataset: xr.Dataset, documents: int, confidence: float) -> Iterator[_Test]:
    """Every head against one role, q left open."""
    stats: Any = importlib.import_module("scipy.stats")
    name = role.measure
    score, error, n = (dataset[name + part].transpose("layer", "head").values for part in ("", "_se", "_n"))
    chance = dataset[f"{name}_chance"].values
    limit = bar(role, chance)
    width = float(stats.t.ppf(0.5 + confidence / 2, documents - 1))
    for (layer, head), own in np.ndenumerate(score):
        if not np.isfinite(own) or (name != "entropy" and chance[layer] > EVIDENT):
            continue
        se = max(float(error[layer, head]), 1 / float(n[layer, head]))
        p = float(stats.t.sf((own - limit[layer]) / se, documents - 1))
        index, place = int(dataset["layer"].values[layer]), int(dataset["head"].values[head])
        interval = (float(own - width * se), float(own + width * se))
        figures = (float(limit[layer]), float(chance[layer]), p, math.nan, int(n[layer, head]))
        yield _Test(index, place, role.name, float(own), *interval, *figures)


def _table(tests: Sequence[_Test]) -> pd.DataFrame:
    rows = [(test.layer, test.head, Head(test.layer, test.head).paper, *test[2:]) for test in tests]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _causal(found: xr.Dataset) -> bool | None:
    """Whether the model is causal; None where the dataset does not say."""
    meta: dict[str, Any] = json.loads(found.attrs.get("meta", "{}"))
    causal: Any = meta.get("model", {}).get("causal")
    return None if causal is None else bool(causal)
