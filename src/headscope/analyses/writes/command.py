"""What `headscope writes` says of what heads write."""

from __future__ import annotations

from typing import Any

from headscope.analyses.shown import SHOWN, Shown, on_screen


def shown(result: Any, *, head: str | None = None, k: int) -> Shown:
    """The heads that copy most, or the one that was asked for."""
    from headscope.analyses.writes import statistics
    from headscope.measures.dataset import description

    rows: Any = result.table()
    about = description(result)
    few = rows if head is not None else statistics.ranked(rows, result).head(SHOWN)
    lines = [
        f"copying: eigenvalues from -1 to 1, by chance within ±{float(result['copying_chance'].max()):.2f}; positive: "
        f"the share of them, by chance .5 ± {float(result['positive_chance'].max()):.2f}; itself: the share of "
        f"{about['sample']:,} sampled tokens among the {k} that they promote most, by chance "
        f"{float(result['itself_chance']):.2g}",
        on_screen(
            few.rename(columns={"copying_q": "q"}),
            dropped=(
                *("copying_chance", "copying_p", "positive_chance"),
                *("itself_chance", "itself_low", "itself_high"),
            ),
        ),
    ]
    return Shown(rows, "\n".join(lines), result)
