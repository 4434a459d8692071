"""What `headscope syntax` says of dependency relations."""

from __future__ import annotations

from typing import Any

from headscope.analyses.shown import Shown, on_screen


def shown(dataset: Any, *, all_heads: bool = False) -> Shown:
    """The heads of each relation.

    Args:
        dataset: from `headscope.syntax`.
        all_heads: every head and direction, not only the best of each relation.
    """
    from headscope.analyses.clusters import CHOSEN_ON, note
    from headscope.analyses.links.syntax import statistics
    from headscope.corpora.relations import in_words
    from headscope.measures.dataset import description

    described = description(dataset)
    best: Any = statistics.table(dataset)
    few, remarks = [bool(one) for one in best["few"]], list[str]()
    if any(few):
        remarks.append(
            f"{sum(few)} of {len(few)} rows have fewer than {described['least']} instances, and no best head"
        )
    remarks.append(note(described))
    if all_heads:
        every: Any = statistics.every_head(dataset)
        read = every.assign(relation=every["relation"].map(in_words))
        return Shown(every, on_screen(read), dataset, remarks=remarks)
    if not all(few):
        remarks.append(
            f"split: the head that is best on {CHOSEN_ON} of the {best['clusters'][0]}, scored on the rest; the "
            f"head named was the choice so many times of {best['choices'].max()}"
        )
    read = best.assign(relation=best["relation"].map(in_words))
    return Shown(best, on_screen(read, few, dropped=_DROPPED), dataset, remarks=remarks)


_DROPPED = ("few", "p", "difference_low", "difference_high", "choices", "clusters")
"""Columns that files have and a screen has no room for."""
