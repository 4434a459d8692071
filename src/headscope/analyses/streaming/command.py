"""The files that `headscope streaming` writes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from headscope.analyses.record import Analysis
from headscope.analyses.shown import Picture, ShownResult, of_result


def shown(
    result: Any, *, analysis: Analysis, figure: Picture | None = None, duo: Path | None = None
) -> ShownResult:
    """The key heads that lose most.

    Args:
        result: from `headscope.streaming`.
        analysis: its record.
        figure: the estimates as a map: .svg, .png or .pdf.
        duo: write the files that DuoAttention loads.
    """
    from headscope.analyses.streaming.duo import save_duo_attention

    def saved(path: Path) -> str:
        save_duo_attention(result, path)
        return "the files that DuoAttention loads"

    shown = of_result(result, analysis=analysis, figure=figure)
    return replace(shown, files=[*shown.files, (duo, saved)])
