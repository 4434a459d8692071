"""What `headscope compare groups` says of two groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headscope.analyses.shown import Page, Picture, ShownResult
from headscope.core.validation import Level


def shown(
    result: Any,
    *,
    figure: Picture | None = None,
    view: Page | None = None,
    level: Level = 0.05,
) -> ShownResult:
    """The heads that differ.

    Args:
        result: from `headscope.compare.groups`.
        figure: also a figure: .svg, .pdf or .png.
        view: also an input of each group, side by side: .html, .svg, .pdf or .png.
        level: up to which q a head is said to differ.
    """
    from headscope.analyses.compare.groups.section import GroupsSection
    from headscope.views.blobs import Blobs

    def viewed(path: Path) -> str:
        result.view().save(path)
        return "an input of each group"

    def drawn(path: Path) -> str:
        result.figure(level=level).save(path)
        return "a figure"

    section = GroupsSection(result.figures, level=level)
    files = [(figure, drawn), (view, viewed)]
    shown = section.info(Blobs())["blocks"]
    return ShownResult(result.table, shown, result.figures, [section.inputs()], files=files)
