"""`headscope streaming`: how many heads it measures, and what it says of those that need the whole text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headscope.analyses.shown import Picture, Shown, drawn, tabulated
from headscope.core.validation import Number


def run(model: Any, corpus: Any, *, exact: Number = 8, all_heads: bool = False, **options: Any) -> Any:
    """The heads that need the whole text.

    Args:
        model: from `headscope.load`.
        corpus: of texts.
        exact: so many key heads are measured, those with the largest estimates.
        all_heads: measure all key heads.
        **options: of `headscope.streaming`.
    """
    from headscope.analyses.streaming.run import streaming

    return streaming(model, corpus, exact="all" if all_heads else exact, **options)


def shown(
    result: Any,
    *,
    figure: Picture | None = None,
    duo: Path | None = None,
    sink: int,
    recent: int,
    needles: int,
) -> Shown:
    """The key heads that lose most.

    Args:
        result: from `headscope.streaming`.
        figure: the estimates as a map: .svg, .png or .pdf.
        duo: write the files that DuoAttention loads.
    """
    from headscope.analyses.streaming.duo import save_duo_attention
    from headscope.analyses.streaming.statistics import BAR, name_of
    from headscope.statistics.jackknife import LEAST, between, needs

    rows: Any = result.table()
    losses = rows["loss"].dropna()
    lines = [
        f"{int((losses > BAR).sum())} of {len(losses)} key heads measured, of {len(rows)}, lose more than {BAR:g} "
        f"nats a token of the answer when they see the first {sink} and last {recent} tokens alone, "
        f"{int((rows['q'] <= 0.05).sum())} of them surely (q ≤ .05)",
        tabulated(
            rows.assign(key_head=[*map(name_of, rows["layer"], rows["key_head"])]),
            dropped=("estimate_low", "estimate_high"),
        ),
        "answers that are right, and nats a token, of the needles that did not choose the heads:",
    ]
    names = ["all see everything", "all see the window alone"]
    many = result.sizes["top"]
    names += [f"all but the {kind} {many}" for kind in ("top", "other")]
    columns = ("accuracy", "accuracy_low", "accuracy_high", "nats")
    for name, value, low, high, nats in zip(
        names, *(result[column].values for column in columns), strict=True
    ):
        lines.append(f"  {name}: {value:.2f}{between(low, high)}, {nats:.3f}")
    if needles < 2 * LEAST:
        lines.append(needs("needles, and answers as many that did not choose the heads"))
    wrote = [] if duo is None else [f"wrote {save_duo_attention(result, duo)}"]
    files = [(figure, drawn(result.figure))]
    return Shown(rows, "\n".join(lines), result, files=files, after=wrote)
