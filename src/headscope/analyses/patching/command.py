"""What `headscope patch` says of the heads that made an answer."""

from __future__ import annotations

import shlex
from typing import Any

from headscope.analyses.shown import Picture, Shown, drawn, tabulated
from headscope.core.counts import plural

_DROPPED = ("chance", "n", "estimate_low", "estimate_high")


def shown(
    result: Any,
    *,
    figure: Picture | None = None,
    model: Any,
    noising: bool,
    exact: Any,
    edges: int,
    curve: bool,
) -> Shown:
    """The heads of the largest effects, and how one is seen.

    Args:
        result: from `headscope.patching`.
        figure: the effects as a map of heads, or with --curve the faithfulness of circuits: .svg, .png or .pdf.
    """
    from headscope.analyses.patching.statistics import curve_table, first_edges
    from headscope.measures.dataset import description
    from headscope.views.terminal import FEW

    rows: Any = result.table()
    heads, paths = (rows[here] for here in (rows["to"] == "", rows["to"] != ""))
    about = description(result)
    lines = [
        f"{about['corpus']['name']}: {plural(about['pairs'], 'pair')}; logit of the answer less that of the other "
        f"token: {float(result['clean']):.2f} after clean prompts (above 0 in {float(result['solved']):.0%}), "
        f"{float(result['corrupted']):.2f} after corrupted ones",
        f"effect: share of that gap that a head's output {'takes away' if noising else 'brings back'}; by chance "
        f"within ±{2 * float(result['chance']):.3f}; estimates agree with it (correlation "
        f"{float(result['agreement']):.2f})",
        tabulated(heads, dropped=("to", *_DROPPED)),
    ]
    if edges:
        lines += [
            "edges: what a head hands to another, or to the logits directly, all other heads held",
            tabulated(paths, dropped=("estimate", *_DROPPED)),
        ]
    if curve:
        tables: list[Any] = [first_edges(result, FEW), curve_table(result)]
        lines += [
            f"edges by integrated gradients, of {int(result['integrated'].notnull().sum()):,}; below them the share of "
            "the gap that circuits of the first of them bring back, beside circuits of as many in other orders",
            *map(tabulated, tables),
        ]
    if about["example"] is not None:
        lines.append(_opens(about["example"], rows.iloc[0], model.model))
    none = "no interval, p or q: the model does not tell the clean prompts from the corrupted, or there are too few"
    return Shown(
        rows,
        "\n".join(lines),
        result,
        files=[(figure, drawn(result.figure))],
        after=[none] if rows["q"].isna().all() and exact != 0 else [],
    )


def _opens(prompt: str, first: Any, model: str | None) -> str:
    """How the first head is seen on a prompt."""
    named = f" -m {shlex.quote(model)}" if model else ""
    return (
        f"to see a head, here the first: headscope view {shlex.quote(prompt)}{named} --layer {first['layer']} "
        f"--head {first['head']}"
    )
