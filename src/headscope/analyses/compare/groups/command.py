"""What `headscope compare groups` says of two groups."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from headscope.analyses.shown import Page, Picture, Shown, drawn, of_section
from headscope.core.validation import Level


def shown(
    result: Any,
    *,
    figure: Picture | None = None,
    view: Page | None = None,
    level: Level = 0.05,
) -> Shown:
    """The heads that differ.

    Args:
        result: from `headscope.compare.groups`.
        figure: also a figure: .svg, .pdf or .png.
        view: also an input of each group, side by side: .html, .svg, .pdf or .png.
        level: up to which q a head is said to differ.
    """
    from headscope.analyses.compare.groups.section import Groups

    def viewed(path: Path) -> str:
        result.view().save(path)
        return "an input of each group"

    section = Groups(result.figures, level=level)
    files = [(figure, drawn(partial(result.figure, level=level))), (view, viewed)]
    shown = of_section(section, result.table, files, findings=False)
    return replace(shown, dataset=result.figures, remarks=[section.inputs()])
