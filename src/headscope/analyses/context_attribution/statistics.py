"""How well sources of answers are found: figures over prompts by document, and their table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.context_attribution import spans as by_span
from headscope.core.arrays import Arrays, Bools, Floats, quiet
from headscope.core.types import AnyDict, AnyMapping
from headscope.measures.dataset import describe
from headscope.statistics.jackknife import (
    differs,
    effective,
    error,
    false_discovery,
    interval,
    share_interval,
    skewness,
)
from headscope.views.blocks import Block, rows_of

FIGURES: Mapping[str, str] = {
    "masked_first": "the span whose masking the answer loses most by is a source",
    "estimate_first": "the span with the largest estimate is a source",
    "lexical_first": "the span that shares most words with the answer is a source",
    "attention_first": "the span that is looked at most is a source",
    "longest_first": "the longest span is a source",
    "masked_rank": "reciprocal rank of the first source, by masking",
    "estimate_rank": "the same by estimates",
    "screened": "masking's first span is among those with the largest estimates (where all are masked)",
    "oracle": "what the span of the largest estimate gives, as a share of the most that one span gives",
    "pearson": "correlation of estimates and masking over the spans of a prompt (where all are masked)",
    "agreement": "rank correlation of estimates and masking over the spans of a prompt (where all are masked)",
    "lexical_agreement": "rank correlation of shared words and masking (where all are masked)",
    "warned": "prompts of which the agreement is too low to believe the order",
    "cited": "prompts of which a span is cited (q ≤ .05, and at least ln 2 nats)",
    "cited_right": "spans that are cited which are sources",
    "cited_f1": "F1 of the spans that are cited and the sources",
    "lexical_f1": "the same of the spans that share most words with the answer, as many as there are sources",
    "unsupported": "how often a token of a marked stretch loses less by its best span than another token (AUROC)",
    "context": "nats that the answer loses without any span",
    "joint": "nats that it loses without the first three together",
    "looked": "attention to all spans of the rows that give the answer, over all heads",
    "log_probability": "log-probability of the answer",
    "context_more": "nats that the answer loses without any span, more than in the other model",
    "looked_more": "attention to all spans, more than in the other model",
    "log_probability_more": "log-probability of the answer, more than in the other model",
    "place": "place of masking's first span, from 0 to 1, less that of the source, or less ½ where none is known",
    "source_place": "place of the source, from 0 to 1",
}
"""What is counted of each prompt."""

SHARES = (
    *("masked_first", "estimate_first", "lexical_first", "attention_first", "longest_first"),
    *("screened", "warned", "cited", "masked_rank", "estimate_rank", "cited_right", "looked", "source_place"),
    *("cited_f1", "lexical_f1", "unsupported"),
)
"""Figures that are shares of prompts, or from 0 to 1 in each."""

WITHIN = ("pearson", "agreement", "lexical_agreement", "oracle", "place", "looked_more")
"""Figures that are from −1 to 1."""

DIFFERENCES = ("place", "context_more", "looked_more", "log_probability_more")
"""Figures that are 0 where nothing differs, and have a p."""

COLUMNS = ("kind", "figure", "value", "ci_low", "ci_high", "p", "q", "n", "documents")

ALL, *DEPTHS = GROUPS = ("all", "source at the start", "source at the middle", "source at the end")
"""What no kind of prompt is named: all prompts, and those whose source stands in a third of them."""


@dataclass(frozen=True, eq=False)
class PromptRows:
    """What is known of each prompt.

    Attributes:
        values: `FIGURES` ``[prompt figure]``; NaN where there is no such figure.
        document: of each prompt.
        kind: of each prompt.
        records: its spans and statements (`headscope.analyses.context_attribution.spans.record`).
    """

    values: Floats
    document: Floats
    kind: Sequence[str]
    records: Sequence[str] = ()

    @classmethod
    def none(cls) -> PromptRows:
        """Of no prompt."""
        return cls(np.empty((0, len(FIGURES))), np.empty(0), [])

    def __add__(self, other: Self) -> PromptRows:
        return PromptRows(
            np.concatenate([self.values, other.values]),
            np.concatenate([self.document, other.document]),
            [*self.kind, *other.kind],
            [*self.records, *other.records],
        )

    def __bool__(self) -> bool:
        return bool(len(self.kind))

    def to_arrays(self) -> Arrays:
        """All of it as arrays."""
        texts = {"kind": self.kind, "records": ["\n".join(self.records)]}
        arrays = {name: np.array(value, np.str_) for name, value in texts.items()}
        return {"values": self.values, "document": self.document, **arrays}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> PromptRows:
        """What `to_arrays` gave."""
        kind = [str(name) for name in arrays["kind"]]
        records = str(arrays["records"][0]).splitlines()
        return cls(np.asarray(arrays["values"]), np.asarray(arrays["document"]), kind, records)


def figures(rows: PromptRows, meta: AnyMapping, _: AnyMapping) -> xr.Dataset:
    """Means over prompts with intervals by document: of all, of each kind, and by where the source stands."""
    place = rows.values[:, list(FIGURES).index("source_place")]
    groups = {ALL: np.ones(len(rows.kind), np.bool_)}
    groups |= {kind: np.array(rows.kind) == kind for kind in rows.kind if kind}
    if np.isfinite(place).any():
        third = np.minimum(np.floor(place * 3), 2)  # NaN where none is known
        groups |= {name: third == number for number, name in enumerate(DEPTHS)}
    made = {name: _figures(rows, chosen) for name, chosen in groups.items()}
    names = ("attributed", "attributed_low", "attributed_high", "p", "n", "documents")
    variables: AnyDict = {
        name: (("kind", "figure"), np.stack([one[place] for one in made.values()]))
        for place, name in enumerate(names)
    }
    variables["q"] = (
        ("kind", "figure"),
        false_discovery(variables["p"][1].reshape(-1)).reshape(len(made), -1),
    )
    coords: AnyDict = {"kind": list(made), "figure": list(FIGURES)}
    result = xr.Dataset(variables, coords=coords, attrs=describe(meta))
    result["attributed"].attrs |= {"units": "see figure", "description": "Mean over prompts."}
    return result.assign(by_span.variables(rows.records))


def _figures(rows: PromptRows, chosen: Bools) -> Sequence[Floats]:
    """Value, interval, p (of `DIFFERENCES`), prompts and effective documents, ``[figure]``."""
    names, count = np.unique(rows.document, return_inverse=True)
    values = np.where(chosen[:, None], rows.values, np.nan)
    known = np.isfinite(values)
    s, n = np.zeros((len(names), values.shape[1])), np.zeros((len(names), values.shape[1]))
    np.add.at(s, count, np.where(known, values, 0.0))
    np.add.at(n, count, known)
    with quiet():
        mean = np.where(n.sum(0) > 0, s.sum(0) / n.sum(0), np.nan)
        se, many, skew = error(s, n), effective(n), skewness(s, n)
        ends = zip(
            share_interval(mean, se, many),
            interval(mean, se, many, skew=skew, most=1.0),
            interval(mean, se, many, skew=skew),
            strict=True,
        )
        kinds = [[name in names for name in FIGURES] for names in (SHARES, WITHIN)]
        low, high = (np.select(kinds, (share, within), other) for share, within, other in ends)
        p = np.where([name in DIFFERENCES for name in FIGURES], differs(mean, se, many, skew), np.nan)
    return mean, low, high, p, n.sum(0), many


def table(result: xr.Dataset) -> pd.DataFrame:
    """One row a kind and figure, with `COLUMNS`."""
    names = {"attributed": "value", "attributed_low": "ci_low", "attributed_high": "ci_high"}
    rows: Any = (
        result[[*names, "p", "q", "n", "documents"]].to_dataframe().reset_index().rename(columns=names)
    )
    return rows[rows["n"] > 0].astype({"n": int})[[*COLUMNS]].reset_index(drop=True)


def every_figure(result: xr.Dataset) -> list[Block]:
    """All figures of all kinds."""
    rows = table(result)
    return rows_of(rows, most=len(rows))
