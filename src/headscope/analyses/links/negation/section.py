"""What is said of the scope of negations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.clusters import CHOSEN_ON, note
from headscope.analyses.links.negation.statistics import SCORES, table
from headscope.core.heads import Head
from headscope.measures.dataset import description
from headscope.views.blocks import Block, rows_of
from headscope.views.digits import probability, signed


def section(result: xr.Dataset | pd.DataFrame) -> tuple[list[str | Block], Sequence[str]]:
    """The heads that tell the scope, or those of which it changed between two models; and what the intervals are."""
    if isinstance(result, pd.DataFrame):
        return changed(result), [note(result.attrs["meta"]["after"])]
    return findings(result), [note(description(result))]


def findings(result: xr.Dataset) -> list[str | Block]:
    """The heads of the largest F1, a column a score; the best baseline; the best head, chosen on other sentences."""
    rows: Any = table(result)
    heads = rows[rows["system"] == "head"]
    values = {score: heads.loc[heads["score"] == score, "value"].to_numpy() for score in SCORES}
    wide = heads[heads["score"] == "f1"].assign(**values)
    wide = wide.sort_values("f1", ascending=False, kind="stable")
    columns = ["layer", "head", "paper", *SCORES, "ci_low", "ci_high", "difference", "q", "n"]
    rules = rows[rows["score"].eq("f1") & rows["layer"].isna()]
    chosen = rules.iloc[-1]
    best = rules.iloc[:-1].sort_values("value", ascending=False, kind="stable").head(3)
    known = ", ".join(f"{row.system} {row.value:.3f}" for row in best.itertuples())
    lines: list[str | Block] = [
        "the heads of the largest F1, with its 95 % interval (given the choice), and what it is more than that "
        "of the best baseline",
        *rows_of(wide[columns]),
        f"baselines of the largest F1, which know the cue alone: {known}",
    ]
    if chosen["choices"]:
        head = Head(int(wide["layer"].iloc[0]), int(wide["head"].iloc[0]))
        between = (
            f" ({chosen['ci_low']:.3f} to {chosen['ci_high']:.3f})"
            if chosen["ci_low"] == chosen["ci_low"]
            else ""
        )
        gain = f" (p {probability(chosen['p'])})" if chosen["p"] == chosen["p"] else ""
        lines.append(
            f"the head that is best on {CHOSEN_ON} of the {chosen['clusters']}, {head} in {chosen['times']} of "
            f"{chosen['choices']} choices, has an F1 of {chosen['value']:.3f}{between} on the rest; beside the best "
            f"baseline: {signed(chosen['difference'], 3)}{gain}"
        )
    return lines


def changed(rows: Any) -> list[str | Block]:
    """The heads whose F1 changed most."""
    f1 = rows[rows["score"] == "f1"].drop(columns="score")
    f1 = f1.loc[f1["difference"].abs().sort_values(ascending=False, kind="stable").index]
    return ["the heads whose F1 changed most, with the 95 % interval of the change", *rows_of(f1)]
