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

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope import lazy
from headscope.errors import InputError
from headscope.heads import Head
from headscope.measures.dataset import description
from headscope.measures.significance import false_discovery
from headscope.measures.tidy import tidy

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


_HALF = (
    "more than half of the attention, as Clark et al. 2019, §3.1, count heads of the next and previous token"
)


@dataclass(frozen=True)
class Role:
    """One role.

    Attributes:
        name: what a head with it is called.
        measure: whose score.
        unless: roles that say the same more precisely: where a head has one, this one is not named.
        why: where the threshold comes from.
        threshold: what the score must exceed; of ``entropy`` a share of the visible tokens.
        causal: a role in causal models only.
    """

    name: str
    measure: str
    unless: tuple[str, ...] = ()
    why: str = _HALF
    threshold: float = 0.5
    causal: bool = False


ROLES: tuple[Role, ...] = (
    Role("previous token", "previous"),
    Role("next token", "next"),
    Role("itself", "current"),
    Role("[CLS]", "cls"),
    Role("separators", "sep"),
    Role(
        "sink",
        "sink",
        why="Gu et al. 2024; on inputs of at least 128 tokens, where uniform attention gives 0.035",
        threshold=0.3,
        causal=True,
    ),
    Role("delimiters", "delimiter", unless=("[CLS]", "separators", "sink")),
    Role("punctuation", "punctuation"),
    Role("same word", "same_word", unless=("duplicate token",)),
    Role("same word, other sentence", "same_word_other"),
    Role("related word", "related_word", unless=("same word", "duplicate token")),
    Role("related word, other sentence", "related_word_other", unless=("same word, other sentence",)),
    Role("pieces of one word", "word_pieces", unless=("previous token", "next token")),
    Role("rare word", "rare_word", why="more than half of the tokens; Voita et al. 2019, §5.3, report 66 %"),
    Role(
        "bag of words",
        "bag_of_words",
        why="more than half: all attention on half of the sentence, or half of it on all of the sentence",
    ),
    Role(
        "broad",
        "entropy",
        unless=("bag of words",),
        why="as even as attention to two thirds of the visible tokens: entropy above that of uniform attention "
        "− ln 1.5",
        threshold=2 / 3,
    ),
    Role(
        "induction",
        "induction",
        why="more than half of the attention goes where an induction head looks, on repeated random tokens",
        causal=True,
    ),
    Role("duplicate token", "duplicate", why="more than half, on repeated random tokens", causal=True),
)
"""The roles, in the order in which they are named."""


def units_of(role: str) -> str:
    """The units of a role's score."""
    return "nats" if any(each.name == role and each.measure == "entropy" for each in ROLES) else "share"


def heads_in(table: Any) -> int:
    """How many heads a table has rows of."""
    return len(table[["layer", "head"]].drop_duplicates())


def roles_of(table: pd.DataFrame | None) -> dict[Head, list[str]]:
    """The roles of each head that has one, of a table from `roles`."""
    heads: dict[Head, list[str]] = {}
    rows: Any = table
    for row in () if rows is None else rows[rows["role"] != NONE].itertuples():
        heads.setdefault(Head(row.layer, row.head), []).append(row.role)
    return heads


def leading(table: pd.DataFrame | None) -> dict[Head, str]:
    """The first role of each head that has one."""
    return {head: names[0] for head, names in roles_of(table).items()}


def every(*datasets: xr.Dataset, confidence: float = 0.95) -> pd.DataFrame:
    """Every head against every role whose measure is there, one row each, with `COLUMNS`.

    Args:
        datasets: of one model, from `headscope.measure`; a measure is taken from the first that has it.
            Induction and duplicate token are meant to be measured on repeated random tokens
            (`headscope.analyses.roles.synthetic`).
        confidence: of the intervals.

    ``attrs["untested"]`` says which roles were not tested, and why. Raises `InputError` where none was: a test needs
    figures from at least two documents.
    """
    if not datasets:
        raise InputError("roles: expected at least one dataset, found none")
    tests: list[pd.DataFrame] = []
    untested: dict[str, str] = {}
    most = 0
    for role in ROLES:
        dataset = next((each for each in datasets if role.measure in each.data_vars), None)
        if role.causal and description(datasets[0]).get("model", {}).get("causal") is False:
            untested[role.name] = "a role in causal models only"
            continue
        if dataset is None:
            untested[role.name] = f"no figures of {role.measure}"
            continue
        documents = int(dataset[role.measure].attrs.get("documents", 0))
        most = max(most, documents)
        if documents < 2:
            noun = "document" if documents == 1 else "documents"
            untested[role.name] = f"{role.measure} from {documents} {noun}; an error needs two"
        elif len(rows := _test(role, dataset, documents, confidence)):
            tests.append(rows)
        else:
            untested[role.name] = "uniform attention has it already"
    if not tests and most == 1:
        raise InputError("roles: expected at least two documents, since an error needs two; found 1")
    if not tests:
        raise InputError(
            "roles: expected figures of one role from at least two documents, found "
            + "; ".join(f"{name}: {reason}" for name, reason in untested.items())
        )
    table: Any = pd.concat(tests, ignore_index=True)
    table["q"] = false_discovery(table["p"].to_numpy())
    table.attrs["untested"] = untested
    return table[list(COLUMNS)]


def roles(*datasets: xr.Dataset, level: float = 0.05, confidence: float = 0.95) -> pd.DataFrame:
    """The roles of every head: one row each, with `COLUMNS`; a head with none has one row whose role is ``none``.

    Args:
        datasets, confidence: as in `every`.
        level: the most that q may be: the expected share of wrong roles among those named.

    ``attrs["roles"]`` says where each threshold comes from, ``attrs["tests"]`` how many tests were made, and
    ``attrs["untested"]`` which roles were not tested, and why. Raises `InputError` as `every` does.
    """
    if not 0 < level < 1:
        raise InputError(f"level: expected a number between 0 and 1, found {level!r}")
    tests: Any = every(*datasets, confidence=confidence)
    passed = tests[tests["q"] <= level]
    unless = {role.name: {*role.unless} for role in ROLES}
    given = roles_of(passed)
    kept = [unless[row.role].isdisjoint(given[Head(row.layer, row.head)]) for row in passed.itertuples()]
    named = passed[np.array(kept, np.bool_)]
    heads = tests[["layer", "head", "paper"]].drop_duplicates().sort_values(["layer", "head"])
    table = heads.merge(named, how="left").fillna({"role": NONE, "n": 0}).astype({"n": int})
    table.attrs = {
        "roles": {role.name: role.why for role in ROLES},
        "tests": len(tests),
        "untested": tests.attrs["untested"],
    }
    return table


def sinks(dataset: xr.Dataset, above: float = 0.3) -> xr.DataArray:
    """The share of heads, by layer, whose first token gets more than `above`, and more than uniform attention gives it.

    The sink metric of Gu et al. 2024, on inputs of at least 128 tokens; ``attrs["all"]`` is the share of all heads.
    Raises `InputError` where the dataset has no measure ``sink``.
    """
    if "sink" not in dataset.data_vars:
        raise InputError("sinks: expected a dataset with the measure sink (inputs of 128 tokens), found none")
    score = dataset["sink"].transpose("layer", "head").values
    there = np.isfinite(score)
    high = there & (score > np.maximum(above, dataset["sink_chance"].values[:, None]))
    return xr.DataArray(
        high.sum(1) / there.sum(1),
        coords={"layer": dataset["layer"]},
        dims="layer",
        name="sinks",
        attrs={"units": "share of heads", "above": above, "all": float(high.sum() / there.sum())},
    )


def bar(role: Role, chance: Floats) -> Floats:
    """What the score of a role must exceed, given what uniform attention scores."""
    if role.measure == "entropy":
        return chance + math.log(role.threshold)
    return np.maximum(role.threshold, chance + _ABOVE_CHANCE * (1 - chance))


def _test(role: Role, dataset: xr.Dataset, documents: int, confidence: float) -> pd.DataFrame:
    """Every head against one role; none where uniform attention has it. p is not adjusted yet."""
    student = lazy.module("scipy.stats").t
    names = {role.measure: "score", **{f"{role.measure}_{part}": part for part in ("se", "n", "chance")}}
    columns = ("layer", "head", "paper", *names)
    rows: Any = tidy(dataset, columns, role.measure, ("layer", "head")).rename(columns=names)
    if role.measure != "entropy":
        rows = rows[~(rows["chance"] > EVIDENT)]
    threshold = bar(role, rows["chance"].to_numpy())
    se = np.maximum(rows["se"], 1 / rows["n"])
    width = float(student.ppf(0.5 + confidence / 2, documents - 1)) * se
    return rows.assign(
        role=role.name,
        ci_low=rows["score"] - width,
        ci_high=rows["score"] + width,
        threshold=threshold,
        p=student.sf((rows["score"] - threshold) / se, documents - 1),
        n=rows["n"].astype(int),
    )
