"""Which roles heads have in one model and not in the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Unpack

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.compare.models.run import Models, counterparts, models, same_tokens
from headscope.analyses.compare.models.statistics import side as side_of
from headscope.analyses.measure.run import measure
from headscope.analyses.options import CorpusOptions, with_options
from headscope.analyses.result import Shows
from headscope.analyses.roles.run import every_role, readings
from headscope.analyses.roles.statistics import NONE, ROLES, heads_in, named
from headscope.core.types import AnyDict
from headscope.core.validation import Level, Seed
from headscope.corpora import Corpus
from headscope.errors import InputError
from headscope.measures.dataset import dataset, description
from headscope.models import Model
from headscope.runs.estimate import unwatched
from headscope.statistics.jackknife import differs, false_discovery, interval
from headscope.views.blocks import Block, paragraph, rows_of

COLUMNS = (
    *("layer", "head", "paper", "role", "a", "b", "change", "q_a", "q_b"),
    *("difference", "se", "ci_low", "ci_high", "p", "q", "paired"),
)
"""Columns of the changes: scores and q in each model, what became of the role, and A − B with its error and test."""

_MEASURES = {role.name: role.variable for role in ROLES}

CHANGES = ("kept", "lost", "gained", "unclear")
"""What may become of a role."""

BY_ROLE = ("role", "heads_a", "heads_b", "share_a", "share_b", "best_a", "best_b")
"""Columns by role: how many heads have it, their share of all heads, and the best score."""


def changes(
    a: pd.DataFrame, b: pd.DataFrame, paired: Sequence[xr.Dataset] = (), *, level: float = 0.05
) -> pd.DataFrame:
    """What each head's roles of A became in B, one row a head and role, from two tables of all tests.

    A role is ``kept`` where both have it. Where one has it, it is ``lost`` (only in A) or ``gained`` (only in B) if the
    scores differ by more than luck: q ≤ `level`, of Student's t over documents, two-sided, Benjamini and Hochberg over
    the rows. Else it is ``unclear``: one model is above the bar by more than luck, the other is not known to be, and
    the scores are not known to differ.

    Args:
        a, b: from `headscope.analyses.roles.run.every_role`.
        paired: comparisons of the two models on the same inputs (`headscope.compare.models`, their ``figures``), whose
            errors are paired by document. Of measures that none has, the errors of both are taken as independent.
        level: of q.

    Raises `InputError` for models whose heads differ in number: they have no counterparts.
    """
    if _heads(a) != _heads(b):
        raise InputError(
            f"roles: {heads_in(a)} heads and {heads_in(b)}, or other layers: heads have no counterparts; "
            "compare them by role"
        )
    keys = ["layer", "head", "paper", "role"]
    both: Any = (a, b)
    tables: Any = [table.set_index(keys) for table in both]
    has = [_having(table, level) for table in (a, b)]
    either = tables[0].index.union(tables[1].index, sort=False)
    either = either[[bool({row} & (has[0] | has[1])) for row in either]]
    first, second = (table.reindex(either) for table in tables)
    passed = [(table["q"] <= level).to_numpy() for table in (first, second)]
    rows: Any = pd.DataFrame(index=either)
    rows = rows.assign(
        a=first["score"],
        b=second["score"],
        q_a=first["q"],
        q_b=second["q"],
        difference=first["score"] - second["score"],
        se=np.hypot(first["se"], second["se"]),
        documents=np.minimum(first["documents"], second["documents"]),
        paired=False,
    ).reset_index()
    _pair(rows, paired)
    value, se, documents = (rows[name].to_numpy(float) for name in ("difference", "se", "documents"))
    low, high = interval(value, se, documents)
    p = differs(value, se, documents)
    q = false_discovery(p)
    apart = np.where(passed[0], "lost", "gained")
    change = np.where(passed[0] & passed[1], "kept", np.where(q <= level, apart, "unclear"))
    rows = rows.assign(ci_low=low, ci_high=high, p=p, q=q, change=change)
    return rows[list(COLUMNS)].sort_values(["layer", "head", "role"], ignore_index=True)


def _having(tests: pd.DataFrame, level: float) -> set[tuple[Any, ...]]:
    rows: Any = named(tests, level)
    return set(zip(rows["layer"], rows["head"], rows["paper"], rows["role"], strict=True))


def _pair(rows: Any, paired: Sequence[xr.Dataset]) -> None:
    """Take differences and their errors from the first comparison that has the measure of a role."""
    measures = rows["role"].map(_MEASURES)
    for figures in reversed(paired):
        there = measures.isin(figures["measure"].values)
        keys = {"measure": measures, "layer": rows["layer"], "head": rows["head"]}
        one = figures.sel({name: xr.DataArray(key[there], dims="row") for name, key in keys.items()})
        for name in ("difference", "se", "documents"):
            rows.loc[there, name] = one[name].values
        rows.loc[there, "paired"] = True


def by_role(a: pd.DataFrame, b: pd.DataFrame) -> pd.DataFrame:
    """How many heads have each role in each model, with `BY_ROLE`, from two tables of `headscope.roles`.

    For models of any shape.
    """
    roles: list[AnyDict] = []
    tables: AnyDict = {"a": a, "b": b}
    for role in dict.fromkeys(role for table in tables.values() for role in table["role"]):
        row: AnyDict = {"role": role}
        for name, table in tables.items():
            scores = table.loc[table["role"] == role, "score"]
            row[f"heads_{name}"] = len(scores)
            row[f"share_{name}"] = len(scores) / heads_in(table)
            row[f"best_{name}"] = scores.max()
        if role != NONE:
            roles.append(row)
    return pd.DataFrame(roles, columns=list(BY_ROLE))


def _heads(table: Any) -> set[tuple[int, int]]:
    return set(zip(table["layer"], table["head"], strict=True))


@dataclass(frozen=True, eq=False, repr=False)
class ComparedRoles(Shows):
    """The roles of two models.

    Attributes:
        a, b: the table of each, from `headscope.roles`.
        tests: of A and of B: every head against every role.
        paired: what `headscope.compare.models` gives for the measures of roles; empty where the models do not read the
            same tokens, or their heads have no counterparts.
        level: of q.
    """

    a: pd.DataFrame
    b: pd.DataFrame
    tests: tuple[pd.DataFrame, pd.DataFrame]
    paired: Sequence[xr.Dataset] = ()
    level: float = 0.05

    @property
    def changes(self) -> pd.DataFrame:
        """What each head's roles became, as `changes` gives it; for models of one shape."""
        return self._of(changes(*self.tests, self.paired, level=self.level))

    @property
    def by_role(self) -> pd.DataFrame:
        """How many heads have each role in each model, with `headscope.analyses.compare.roles.run.BY_ROLE`."""
        return self._of(by_role(self.a, self.b))

    def _of(self, rows: pd.DataFrame) -> pd.DataFrame:
        rows.attrs["meta"] = {"a": self.a.attrs["meta"], "b": self.b.attrs["meta"]}
        return rows

    def _meta(self) -> AnyDict:
        a, b = self.a.attrs["meta"], self.b.attrs["meta"]
        return {**a, "models": [a["model"], b["model"]]}

    def _blocks(self) -> Sequence[Block]:
        return lines(self.by_role)


def lines(rows: pd.DataFrame) -> Sequence[Block]:
    """How many heads have each role; or that none has one."""
    return rows_of(rows, most=len(rows)) if len(rows) else [paragraph("no head of either has a role")]


@with_options()
def roles(
    a: Model,
    b: Model,
    corpus: Corpus,
    *,
    level: Level = 0.05,
    seed: Seed = 0,
    **options: Unpack[CorpusOptions],
) -> ComparedRoles:
    """The roles of the heads of two models, of any shapes and tokenizers, on the same corpus.

    Differences of scores are paired by document where both models read the same tokens and have as many heads.

    Args:
        a, b: from `headscope.load`.
        corpus: of at least five documents; each model reads it with its own tokenizer.
        level, seed: as in `headscope.roles`.

    >>> hs.compare.roles(model, model, hs.corpora.builtin(), limit=12).changes["change"].unique().tolist()
    ['kept']
    """
    both: list[Models] = []
    if counterparts(a, b) is None and same_tokens(a, b, corpus):
        with unwatched():  # unknown pieces are told where roles are
            for inputs, measures in readings(a, corpus, limit=options.get("limit"), seed=seed):
                both.append(models(a, b, inputs, measures=measures, **options))
                options = {**options, "progress": False}
    first = every_role(a, corpus, seed=seed, measured=_measuring(both, "a"), **options)
    second = every_role(b, corpus, seed=seed, measured=_measuring(both, "b"), **options)
    tables = [named(result, level) for result in (first, second)]
    for table, result in zip(tables, (first, second), strict=True):
        table.attrs["meta"] = result.attrs["meta"] | {"level": level, "tests": len(result)}
    return ComparedRoles(tables[0], tables[1], (first, second), [pair.figures for pair in both], level)


def _measuring(compared: Sequence[Models], side: Literal["a", "b"]) -> Callable[..., xr.Dataset]:
    """What gives the readings of one of two models that were compared, one after another, or measures."""
    made = iter(compared)

    def measured(model: Model, *_: object, **__: object) -> xr.Dataset:
        pair = next(made)
        sums = side_of(pair.sums, pair.measures, side)
        meta = description(pair.figures)
        about = {**meta[side], "layers": len(sums.layers), "heads": sums.s.shape[2]}
        meta = {name: value for name, value in meta.items() if name not in ("a", "b", "over", "difference")}
        return dataset(sums, pair.measures, causal=model.causal, meta={**meta, "model": about})

    return measured if compared else measure
