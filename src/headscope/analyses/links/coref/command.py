"""What `headscope coref` says of antecedents."""

from __future__ import annotations

from typing import Any, Literal

from headscope.analyses.shown import Shown, on_screen
from headscope.core.heads import Head
from headscope.views.digits import signed


def shown(
    dataset: Any,
    *,
    candidates: Literal["preceding_mentions", "other_mentions", "any_word"] | None = None,
    all_heads: bool = False,
) -> Shown:
    """The rules and the heads that find antecedents.

    Args:
        dataset: from `headscope.coreference`.
        candidates: among what a head chooses; by default all three ways.
        all_heads: every head, not only rules and the best heads.
    """
    from headscope.analyses.clusters import note
    from headscope.analyses.links.coref import statistics
    from headscope.measures.dataset import description

    if candidates is not None:
        dataset = dataset.sel(candidates=[candidates])
    remarks = [note(description(dataset))]
    if all_heads:
        every: Any = statistics.every_head(dataset)
        return Shown(every, on_screen(every), dataset, remarks=remarks)
    best: Any = statistics.table(dataset)
    leading = best[best["type"].eq("all") & best["system"].eq("best_head")]
    remarks += [_held_out(row) for row in leading.itertuples()]
    return Shown(best, on_screen(best, dropped=statistics.CHOSEN), dataset, remarks=remarks)


def _held_out(row: Any) -> str:
    """What choosing the best head on some documents and scoring it on others gives, beside the best rule."""
    from headscope.analyses.clusters import CHOSEN_ON

    head = Head(int(row.layer), int(row.head))
    if not row.choices:
        return f"{row.candidates}: {head} is best; with one document nothing is left to score a choice on"
    between = f" ({row.split_low:.3f} to {row.split_high:.3f})" if row.split_low == row.split_low else ""
    gain = (
        f" ({signed(row.difference_low, 3)} to {signed(row.difference_high, 3)}, p = {row.p:.2g})"
        if row.p == row.p
        else ""
    )
    return (
        f"{row.candidates}: the head that is best on {CHOSEN_ON} of the documents, {head} in {row.times} of "
        f"{row.choices} choices, is right in {row.split:.3f}{between} of the rest; beside the best rule: "
        f"{signed(row.difference, 3)}{gain}"
    )
