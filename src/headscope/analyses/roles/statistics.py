"""What each head does: the roles that its measures support, tested against stated thresholds.

A role is a measure and a threshold. It is given to a head whose score is above the bar: the threshold, or a quarter of
the way from chance to 1, whichever is more (of retrieval the threshold, as published). Chance is uniform attention over
the visible keys or, where that scores more, the head's own offsets: what a head would score that looks at places alone,
each as often as this one does (`headscope.analyses.roles.offsets`). So a head that looks at the previous token has no
role for the pieces of a word.

Scores come with intervals of Student's t over documents (`headscope.statistics.jackknife`); p is one-sided, of a score
no higher than the bar, corrected for skewness. q is p after Benjamini and Hochberg (1995) over the roles of one family
in all heads: families are tested apart, since many heads of one would let more false ones of another pass. So of the
roles of a family that a table names, at most a share `level` is expected to be there by luck.

Where uniform attention itself nearly has a role (more than 0.9: bag of words, where all inputs are one sentence), the
role says nothing and is not tested. ``broad`` is no pattern but the absence of one, and does not count among roles.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.roles.definitions import (
    BROAD,
    EVIDENT,
    NONE,
    OF_TWO,
    ROLES,
    SINK,
    Role,
    roles_on,
    units_of,
)
from headscope.core.arrays import Floats
from headscope.core.heads import Head
from headscope.core.tokens import Kind
from headscope.core.types import AnyDict
from headscope.errors import FewError, InputError
from headscope.measures.dataset import STAYS, chance_of, description, documents_of
from headscope.measures.tidy import tidy
from headscope.statistics.jackknife import LEAST, above, false_discovery, interval, share_interval

TESTED = (
    *("layer", "head", "paper", "role", "score", "ci_low", "ci_high", "threshold", "chance"),
    *("p", "q", "n", "offsets", "se", "documents", "family", "copying", "stays"),
)
COLUMNS = (*TESTED, "nearest", "nearest_score")
"""Columns of the table; ``threshold`` is the bar that a score had to pass, ``role`` is ``none`` for a head without.

Such a head has its ``nearest`` role, the one of whose way from chance (or its own offsets) to the bar it goes most, and
``nearest_score`` there; of other heads these are empty.

A role of two scores (``induction``: prefix matching, and ``copying``) has the second in ``copying``; both had to pass,
and p is the larger of theirs (Berger 1982, an intersection-union test).

``chance`` is what uniform attention scores, ``offsets`` what the head's own offsets do; ``documents`` is how many
documents of equal size would tell as much; ``stays`` is in which share of draws of documents the head is among the
highest of all heads by this score.
"""


def kind_of(dataset: xr.Dataset) -> Kind:
    """What kind of inputs figures are of."""
    kind: Kind = description(dataset).get("corpus", {}).get("kind", "text")
    return kind


def heads_in(table: Any) -> int:
    """How many heads a table has rows of."""
    return len(table[["layer", "head"]].drop_duplicates())


def roles_of(table: pd.DataFrame | None, *, broad: bool = False) -> dict[Head, list[str]]:
    """The roles of each head that has one, of a table from `roles`. `broad` counts the absence of a pattern, too."""
    heads: dict[Head, list[str]] = {}
    rows: Any = table
    none = [NONE] if broad else [NONE, BROAD]
    for row in () if rows is None else rows[~rows["role"].isin(none)].itertuples():
        heads.setdefault(Head(row.layer, row.head), []).append(row.role)
    return heads


def leading(table: pd.DataFrame | None) -> dict[Head, str]:
    """The first role of each head that has one, or ``broad``."""
    return {head: names[0] for head, names in roles_of(table, broad=True).items()}


def broad_heads(table: pd.DataFrame) -> list[Head]:
    """The heads that attend broadly, and have no role."""
    return [head for head, names in roles_of(table, broad=True).items() if names == [BROAD]]


def every(*datasets: xr.Dataset, confidence: float = 0.95) -> pd.DataFrame:
    """Every head against every role whose measure is there, one row each, with `COLUMNS`.

    Args:
        datasets: of one model, from `headscope.measure`; a measure is taken from the first that has it.
            Induction and duplicate token are meant to be measured on repeated random tokens
            (`headscope.analyses.roles.run`), retrieval on needles (`headscope.retrieval`).
        confidence: of the intervals.

    ``attrs["untested"]`` says which roles were not tested, and why, ``attrs["lists"]`` how far the list of each role's
    highest heads holds (`headscope.statistics.overlap.Overlap`; of too few documents nothing). Raises `InputError`
    where none was: a test needs figures from at least `headscope.statistics.jackknife.LEAST` effective documents.
    """
    if not datasets:
        raise InputError("roles: expected at least one dataset, found none")
    tests: list[pd.DataFrame] = []
    untested: dict[str, str] = {}
    lists: dict[str, AnyDict] = {}
    documents: list[float] = []
    for role in roles_on(kind_of(datasets[0])):
        dataset = next((candidate for candidate in datasets if role.variable in candidate.data_vars), None)
        second = next((candidate for candidate in datasets if role.also in candidate.data_vars), None)
        if role.also is not None and second is None:
            dataset = None
        if role.of is not None:
            if dataset is not None and len(parked := _parked(tests)):
                rows = _test(role, dataset, confidence, second)
                tests.append(rows.merge(parked) if len(rows) else rows)
        elif role.causal and description(datasets[0]).get("model", {}).get("causal") is False:
            untested[role.name] = "a role in causal models only"
        elif dataset is None:
            untested[role.name] = _why_absent(role.also or role.measure, datasets)
        elif (most := _most(documents_of(dataset, role.measure))) < LEAST:
            documents.append(most)
            untested[role.name] = f"{role.measure} from {_documents(most)}; a test needs {LEAST:.0f}"
        elif len(rows := _test(role, dataset, confidence, second)):
            tests.append(rows)
            if f"{role.variable}{STAYS}" in dataset:
                lists[role.name] = dict(dataset[f"{role.variable}{STAYS}"].attrs)
        else:
            untested[role.name] = "uniform attention has it already"
    if not tests and documents:
        few, least = _documents(max(documents)), f"{LEAST:.0f}"
        raise FewError(
            f"{few}, where a test needs {least}",
            f"roles: expected at least {least} effective documents, found {few}: add some, or say where documents end "
            "(documents= of the corpus, --documents)",
        )
    if not tests:
        raise InputError(
            "roles: expected figures of one role, found "
            + "; ".join(f"{name}: {reason}" for name, reason in untested.items())
        )
    table: Any = pd.concat([rows for rows in tests if len(rows)], ignore_index=True)
    for family in dict.fromkeys(table["family"]):
        members = table["family"] == family
        table.loc[members, "q"] = false_discovery(table.loc[members, "p"].to_numpy())
    table.attrs |= {"untested": untested, "lists": lists}
    return table[list(TESTED)]


def _parked(tests: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The heads whose score as a sink is above the bar: those that are looked at off it."""
    every: Any = pd.concat(tests) if tests else pd.DataFrame(columns=[*TESTED])
    parked = (every["role"] == SINK) & (every["score"] > every["threshold"])
    return every.loc[parked, ["layer", "head"]]


def _why_absent(measure: str, datasets: Sequence[xr.Dataset]) -> str:
    """The reason that the datasets give."""
    reasons = [description(dataset).get("absent", {}).get(measure) for dataset in datasets]
    return next((str(reason) for reason in reasons if reason), f"no figures of {measure}")


def _most(documents: Floats) -> float:
    return float(np.nan_to_num(documents).max(initial=0.0))


def _documents(effective: float) -> str:
    """Say in words how many effective documents there are.

    >>> _documents(1.0), _documents(3.27)
    ('1 document', '3.3 effective documents')
    """
    if effective == round(effective):
        return f"{effective:.0f} document{'' if effective == 1 else 's'}"
    return f"{effective:.1f} effective documents"


def roles(*datasets: xr.Dataset, level: float = 0.05, confidence: float = 0.95) -> pd.DataFrame:
    """The roles of every head: one row each, with `COLUMNS`; a head with none has one row whose role is ``none``.

    Args:
        datasets, confidence: as in `every`.
        level: the most that q may be: the expected share of wrong roles among those of a family that are named.

    ``attrs["roles"]`` says where each threshold comes from, ``attrs["tests"]`` how many tests were made,
    ``attrs["not_found"]`` the best head of each role that was tested and that no head has. The others, and what is
    raised, are those of `every`.
    """
    return named(every(*datasets, confidence=confidence), level)


def named(tests: pd.DataFrame, level: float = 0.05) -> pd.DataFrame:
    """The roles that a table of all tests supports, as `roles` gives them."""
    if not 0 < level < 1:
        raise InputError(f"level: expected a number between 0 and 1, found {level!r}")
    rows: Any = pd.DataFrame(tests)  # without attributes, which pandas would copy at each step
    passed = rows[rows["q"] <= level]
    unless = {role.name: {*role.unless} for role in ROLES}
    given = roles_of(passed, broad=True)
    kept = [unless[row.role].isdisjoint(given[Head(row.layer, row.head)]) for row in passed.itertuples()]
    heads = rows[["layer", "head", "paper"]].drop_duplicates().sort_values(["layer", "head"])
    table = heads.merge(passed[np.array(kept, np.bool_)], how="left").fillna({"role": NONE, "n": 0})
    table = table.astype({"n": int}).merge(_nearest(rows), how="left")
    table.loc[table["role"] != NONE, ["nearest", "nearest_score"]] = [None, np.nan]
    table.attrs = {
        "roles": {role.name: role.why for role in ROLES},
        "tests": len(rows),
        **tests.attrs,
        "not_found": _not_found(rows, set(passed["role"])),
    }
    return table


def _nearest(tests: Any) -> pd.DataFrame:
    """Find the role that each head comes nearest to, and its score there."""
    shares = tests[
        (tests["role"].map(units_of) == "share") & tests["score"].notna() & ~tests["role"].isin(OF_TWO)
    ]
    start = np.fmax(shares["chance"], shares["offsets"])
    way = (shares["score"] - start) / (shares["threshold"] - start)
    best = shares.assign(way=way).sort_values("way", ascending=False, kind="stable")
    best = best.drop_duplicates(["layer", "head"])[["layer", "head", "role", "score"]]
    return best.rename(columns={"role": "nearest", "score": "nearest_score"})


def _not_found(tests: Any, named: Collection[str]) -> dict[str, str]:
    """The best head of each role that was tested and that none has, beside chance or, if higher, its own offsets."""
    highest: dict[str, str] = {}
    for role, rows in tests[tests["score"].notna()].groupby("role", sort=False):
        if role not in named and units_of(str(role)) == "share":
            best = rows.loc[rows["score"].idxmax()]
            head = Head(int(best["layer"]), int(best["head"]))
            offsets = best.get("offsets", np.nan)
            baseline = "its own offsets" if offsets > best["chance"] else "chance"
            copying = best.get("copying", np.nan)
            highest[str(role)] = (
                f"highest {head} {best['score']:.3f}, {baseline} {np.fmax(best['chance'], offsets):.3f}"
                + ("" if np.isnan(copying) else f"; copying {copying:.3f}, chance 0.500")
            )
    return highest


def sinks(dataset: xr.Dataset, above: float = 0.3) -> xr.DataArray:
    """The share of heads, by layer, whose first token gets more than `above`, and more than uniform attention gives it.

    The sink metric of Gu et al. 2024, on inputs of at least 128 tokens; ``attrs["all"]`` is the share of all heads.
    Raises `InputError` where the dataset has no measure ``sink``.
    """
    if "sink" not in dataset.data_vars:
        raise InputError("sinks: expected a dataset with the measure sink (inputs of 128 tokens), found none")
    score = dataset["sink"].transpose("layer", "head").values
    there = np.isfinite(score)
    high = there & (score > np.maximum(above, chance_of(dataset, "sink")))
    return xr.DataArray(
        high.sum(1) / there.sum(1),
        coords={"layer": dataset["layer"]},
        dims="layer",
        name="sinks",
        attrs={"units": "share of heads", "above": above, "all": float(high.sum() / there.sum())},
    )


def bar(role: Role, chance: Floats) -> Floats:
    """What the score of a role must exceed, given what chance scores."""
    if role.measure == "entropy":
        return chance + math.log(role.threshold)
    return np.maximum(role.threshold, chance + role.way * (1 - chance))


def _test(
    role: Role, dataset: xr.Dataset, confidence: float, second: xr.Dataset | None = None
) -> pd.DataFrame:
    """Every head against one role; none where uniform attention has it. p is not adjusted yet."""
    rows: Any = _tested(role, role.variable, dataset, confidence)
    if role.also is None or second is None:
        return rows.assign(copying=np.nan)
    also: Any = _tested(role, role.also, second, confidence)
    also = also.rename(columns={"score": "copying", "p": "second"})[["layer", "head", "copying", "second"]]
    both = rows.merge(also, on=["layer", "head"])
    both["p"] = np.maximum(both["p"], both.pop("second"))
    return both.assign(copying=1 - both["copying"]) if role.also == "suppressing" else both


def _tested(role: Role, figure: str, dataset: xr.Dataset, confidence: float) -> pd.DataFrame:
    """Every head's score in one figure of a role."""
    parts = ("se", "n", "chance", "documents", "skewness", "offsets", "stays")
    names = {figure: "score", **{f"{figure}_{part}": part for part in parts}}
    columns = ("layer", "head", "paper", *(name for name in names if name in dataset.data_vars))
    rows: Any = tidy(dataset, columns, figure, ("layer", "head")).rename(columns=names)
    rows = rows.assign(**{name: np.nan for name in ("offsets", "stays") if name not in rows})
    if role.measure != "entropy":
        rows = rows[~(rows["chance"] > EVIDENT)]
    threshold = bar(role, np.fmax(rows["chance"].to_numpy(), rows["offsets"].to_numpy()))
    score, documents = rows["score"].to_numpy(), rows["documents"].to_numpy()
    se = np.maximum(rows["se"], 1 / rows["n"]).to_numpy()
    skew = rows["skewness"].to_numpy()
    if role.measure == "entropy":
        low, high = interval(score, se, documents, confidence=confidence, skew=skew)
    else:
        low, high = share_interval(score, se, documents, confidence=confidence)
    return rows.assign(
        role=role.name,
        family=role.family,
        se=se,
        ci_low=low,
        ci_high=high,
        threshold=threshold,
        p=above(score, threshold, se, documents, skew, role.doubt),
        n=rows["n"].astype(int),
    )
