"""`headscope coref`: among what heads choose."""

from __future__ import annotations

from typing import Any, Literal

from headscope.analyses.record import Analysis
from headscope.analyses.shown import ShownResult, of_result


def shown(
    result: Any,
    *,
    analysis: Analysis,
    candidates: Literal["preceding_mentions", "other_mentions", "any_word"] | None = None,
    all_heads: bool = False,
) -> ShownResult:
    """The rules and the heads that find antecedents.

    Args:
        result: from `headscope.coreference`.
        analysis: its record.
        candidates: among what a head chooses; by default all three ways.
        all_heads: every head, not only rules and the best heads.
    """
    chosen = result if candidates is None else result.sel(candidates=[candidates])
    return of_result(chosen, analysis=analysis, all_heads=all_heads)
