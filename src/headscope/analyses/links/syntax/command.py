"""What `headscope syntax` says of dependency relations."""

from __future__ import annotations

from typing import Any

from headscope.analyses.links.command import best_heads
from headscope.analyses.shown import Shown


def shown(dataset: Any, *, all_heads: bool = False) -> Shown:
    """The heads of each relation.

    Args:
        dataset: from `headscope.syntax`.
        all_heads: every head and direction, not only the best of each relation.
    """
    from headscope.analyses.links.syntax import statistics
    from headscope.corpora.relations import in_words

    every = statistics.every_head(dataset) if all_heads else None
    return best_heads(
        dataset,
        statistics.table(dataset),
        every,
        _DROPPED,
        read=lambda rows: rows.assign(relation=rows["relation"].map(in_words)),
    )


_DROPPED = ("few", "p", "difference_low", "difference_high", "choices", "clusters")
"""Columns that files have and a screen has no room for."""
