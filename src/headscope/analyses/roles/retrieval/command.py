"""What `headscope retrieval` says of heads that retrieve."""

from __future__ import annotations

from typing import Any

from headscope.analyses.shown import SHOWN, Picture, Shown, drawn, on_screen
from headscope.core.counts import plural


def shown(result: Any, *, figure: Picture | None = None, needles: int, k: int) -> Shown:
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
        f"the model produces {about['produced']:,} of {about['answers']:,} tokens of answers to "
        f"{plural(needles, 'needle')}; {int((rows['score'] > BAR).sum())} of {len(rows)} heads score above {BAR:g}, "
        f"{int((rows['q'] <= 0.05).sum())} of them surely (q ≤ .05)",
        on_screen(rows.head(SHOWN), dropped=("chance", "n")),
    ]
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
