"""What is text of why texts are near."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from headscope.analyses.reproduce import see_head
from headscope.analyses.similar import statistics
from headscope.core.counts import plural
from headscope.core.escapes import beginning
from headscope.core.heads import Head
from headscope.measures.dataset import description
from headscope.models.embedding import SIMILARITIES
from headscope.views.blocks import Block, rows_of
from headscope.views.digits import fixed, signed

COLUMNS = (
    "interaction: what two words give only together; direction: whether the absence of each moves its text's vector "
    "alike; effect: what\nthe similarity loses without the word; p, q: the share of unrelated texts of the same length "
    "where this word, or any, does as much"
)
"""What the columns are."""

LABELS = (
    "below: the share of pairs to which a paraphrase of the same text, or of a triplet the right one, is nearer; 1\n"
    "where a model heeds the change. heed: what the absence of a word of the class does to its text's vector, as a\n"
    "multiple of any word's"
)
"""What the columns of a table of pairs are."""

MOST = 8
"""So many pairs of words are listed."""


def section(result: xr.Dataset) -> list[str | Block]:
    """The pairs of words that make two texts near, what each word does, and whether unrelated texts do as much."""
    if "label" in result.coords:
        every: Any = statistics.by_label(result)
        parts = (
            [every] if "heed" not in every else [every[every["heed"].isna()], every[every["heed"].notna()]]
        )
        tables = [block for some in parts for block in rows_of(some.dropna(axis=1, how="all"), of="similar")]
        return [*tables, LABELS, *notes(result)]
    lines: list[str | Block] = []
    if "ranked" in result:
        ranks: Any = statistics.ranked(result)
        ranks["text"] = [beginning(text, 70) for text in ranks["text"]]
        lines += rows_of(ranks, of="similar")
    if "alike" in result:
        counts = ", ".join(f"{int(one)} {one['precision'].item()}" for one in result["alike"])
        lines.append(f"of these {result.sizes['document']} an index of quantised vectors finds: {counts}")
    units: Any = statistics.table(result)
    every: Any = statistics.pairs(result)
    for number in result["input"].values.tolist()[: 2 if "ranked" in result else 1]:
        of_pairs, of_units = (
            frame[frame["input"] == number].drop(columns="input") for frame in (every, units)
        )
        lines.append(sentence(result, number))
        first = of_pairs.reindex(
            of_pairs["interaction"].abs().sort_values(ascending=False, kind="stable").index
        )
        lines += rows_of(first.head(MOST), of="similar", dropped=["unit_a", "unit_b", *unknown(of_pairs)])
        largest = of_units.reindex(of_units["effect"].abs().sort_values(ascending=False, kind="stable").index)
        lines += rows_of(largest.head(MOST), of="similar", dropped=["unit", *unknown(of_units)])
    if "through_head" in result:
        lines += through(result)
    if "ranked" in result and result.sizes["input"] > 1:
        lines.append(rather(result))
    return [*lines, COLUMNS, *notes(result)]


def unknown(frame: Any) -> list[str]:
    """The columns that say nothing."""
    return frame.columns[(frame.isna() | frame.eq(False)).all()].tolist()


def notes(result: xr.Dataset) -> list[str]:
    """How a vector is made, with which prompts, and of how much of each text."""
    about = description(result)
    before = [text for text in dict.fromkeys(about["prompts"]) if text]
    lines = [f"vector: {about['vector']}" + (f"; prompts {', '.join(map(repr, before))}" if before else "")]
    if count := about["passed_over"]:
        lines.append(
            f"{plural(count, 'unit')} are not measured: of these one pass and its derivatives expect less"
        )
    if count := about["cut"]:
        lines.append(
            f"of {plural(count, 'text')} the first {about['most']} tokens are read, as an index has them"
        )
    if result.sizes["pair"] and result["interaction"].isnull().all():
        lines.append(f"interactions are not measured, as they take more than {statistics.PASSES} passes")
    return lines


def sentence(result: xr.Dataset, number: int = 0) -> str:
    """How near two texts are, through which words, whether that is news, and what is left without these."""
    about, one = description(result), result.sel(input=number)
    kind = SIMILARITIES[about["similarity"]]
    value, left, share = (float(one[name]) for name in ("similarity", "left", "percentile"))
    rows: Any = statistics.pairs(result)
    rows = rows[rows["input"] == number]
    passing: Any = rows[statistics.passing(rows["interaction"].to_numpy(), rows["q"].to_numpy())]
    first = passing.sort_values("interaction", key=np.abs, ascending=False).head(2)
    more, less = (
        " and ".join(
            f"“{beginning(row.text_a, 24)}” with “{beginning(row.text_b, 24)}” ({signed(row.interaction, 3)})"
            for row in some.itertuples()
        )
        for some in (first[first["interaction"] > 0], first[first["interaction"] < 0])
    )
    text = f"the {kind} is {fixed(abs(value) if kind == 'distance' else value, 3)}"
    if kind.endswith("MaxSim"):
        text += f", of which terms of words are {fixed(rows['interaction'].sum(), 3)}"
    text += f", above all by {more}" if more else ""
    text += f", in spite of {less}" if less else ""
    if np.isfinite(left):
        which = "these" if len(passing) < 3 else f"the words of the {len(passing)} strongest pairs"
        text += f". Without {which} it is {fixed(left, 3)}"
    if np.isfinite(share):
        text += f". {fixed(100 * share, 0)} % of unrelated texts of this length are less near"
    if not len(first) and np.isfinite(share):
        near = ": these two are near as most texts are here" if share < 1 - statistics.LEVEL else ""
        text += f", and no pair of words does more than in these{near}"
    if np.isfinite(agreement := float(one["agreement"])):
        text += f". Hidden and deleted words agree by {fixed(agreement, 2)} (rank correlation)"
    return text


def through(result: xr.Dataset) -> list[str]:
    """Through which heads the first word of either text reaches its vector, and how to see the first of them."""
    table: Any = statistics.table(result)
    units = table.set_index(["input", "side", "unit"])["text"]
    lines: list[str] = []
    rows: Any = statistics.through(result)
    for key, heads in rows.groupby(["input", "side", "unit"], sort=False):
        named = ", ".join(
            f"{Head(row.layer, row.head)} {signed(row.estimate, 3)} (masked alone {signed(row.effect, 3)})"
            for row in heads.itertuples()
        )
        lines.append(f"“{beginning(units[key], 40)}” of {key[1].upper()} reaches its vector through {named}")
        text = str(result[f"text_{key[1]}"].values[key[0]])
        lines.append(see_head(text, heads.iloc[0], description(result)))
    return lines


def rather(result: xr.Dataset) -> str:
    """Which words of the query put the first document before the second."""
    units: Any = statistics.table(result)
    first, second = (
        units[(units["input"] == number) & (units["side"] == "a")].set_index("unit") for number in (0, 1)
    )
    change: Any = (first["effect"] - second["effect"]).sort_values(key=np.abs, ascending=False, kind="stable")
    named = ", ".join(f"{first['text'][unit]} {signed(value, 3)}" for unit, value in change.head(4).items())
    near = result["similarity"].values
    return f"the first before the second, by {fixed(near[0] - near[1], 3)}: words of the query give {named}"
