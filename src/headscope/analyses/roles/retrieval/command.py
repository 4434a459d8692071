"""What `headscope retrieval` says of heads that retrieve."""

from __future__ import annotations

from typing import Any

from headscope.analyses.shown import SHOWN, Picture, Shown, drawn, on_screen
from headscope.core.counts import plural


def shown(result: Any, *, figure: Picture | None = None, needles: int, k: int, chat: bool) -> Shown:
    """The heads that score most, and what the model answers without them.

    Args:
        result: from `headscope.retrieval`.
        figure: the scores as a map of heads: .svg, .png or .pdf.
    """
    from headscope.analyses.roles.retrieval.statistics import BAR
    from headscope.measures.dataset import description
    from headscope.statistics.jackknife import LEAST, between, needs

    rows: Any = result.table()
    about = description(result)
    lines = [
        "a score counts literal copies: how often a head looks most at the very token that is produced; one that "
        "looks at a word and writes another scores 0 (headscope attribute tells what a head writes)",
        f"the model produces {about['produced']:,} of {about['answers']:,} tokens of answers to "
        f"{plural(needles, 'needle')}; {int((rows['score'] > BAR).sum())} of {len(rows)} heads score above {BAR:g}, "
        f"{int((rows['q'] <= 0.05).sum())} of them surely (q ≤ .05)",
        on_screen(rows.head(SHOWN), dropped=("chance", "n")),
    ]
    if chat:
        lines.append(_templates(result))
    if k:
        accuracy = [
            f"{name.replace('k', str(k)) if name != 'all heads' else name} {value:.2f}{between(low, high)}"
            for name, value, low, high in zip(
                *(result[key].values for key in ("condition", "accuracy", "accuracy_low", "accuracy_high")),
                strict=True,
            )
        ]
        lines.append(
            f"answers that are right, of the needles that did not choose the heads: {'; '.join(accuracy)}"
        )
    if needles < 2 * LEAST:
        lines.append(needs("needles, and answers as many that did not choose the heads"))
    produced = bool(about["produced"])
    return Shown(
        rows,
        "\n".join(lines),
        result,
        files=[(figure if produced else None, drawn(result.figure))],
        after=[] if produced else ["no scores: the model produced no token of an answer"],
    )


def _templates(result: Any) -> str:
    """The highest heads without and with the chat template, and how many are in both lists."""
    from headscope.analyses.roles.retrieval.statistics import highest
    from headscope.core.heads import Head
    from headscope.statistics.overlap import TOP

    layers = result["layer"].values.tolist()
    scores = (result["retrieval"].values, result["chat"].values)
    top = min(TOP, len(highest(scores[0])) // 2)
    without, within = (
        ", ".join(str(Head(layers[layer], head)) for layer, head in highest(score)[:top]) for score in scores
    )
    share = float(result["overlap"])
    both = (
        f"{round(share * top)} of {top} are in both lists ({float(result['overlap_chance']) * top:.1f} by chance)"
        if share == share
        else "a list without scores has no overlap"
    )
    produced = int(result["chat_produced"])
    return (
        f"highest without the chat template: {without or 'none'}; with it ({plural(produced, 'token')} produced): "
        f"{within or 'none'}; {both}"
    )
