"""What `headscope compare groups` says of two groups."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from headscope.analyses.shown import SHOWN, Page, Picture, Shown, Theme, drawn, first_rows, on_screen
from headscope.core.validation import Level


def shown(
    result: Any,
    *,
    figure: Picture | None = None,
    view: Page | None = None,
    level: Level = 0.05,
    theme: Theme = "auto",
) -> Shown:
    """The heads that differ.

    Args:
        result: from `headscope.compare.groups`.
        figure: also a figure: .svg, .pdf or .png.
        view: also an input of each group, side by side: .html, .svg, .pdf or .png.
        level: up to which q a head is said to differ.
        theme: colours of the figure.
    """
    from headscope.analyses.compare.groups.statistics import no_interval
    from headscope.measures.dataset import description

    def viewed(path: Path) -> str:
        result.view(theme=theme).save(path)
        return "an input of each group"

    about, rows = description(result.figures), result.differing(level)
    remarks = [
        f"group {name}: label {group['label']}, {group['inputs']:,} inputs of {group['tokens']:.1f} tokens on average"
        for name, group in zip("AB", about["groups"], strict=True)
    ]
    remarks += filter(None, [no_interval(about)])
    lines = [result.sentence(level)]
    if len(rows):
        few = rows.head(SHOWN).assign(**{name: rows[name].map("{:.2g}".format) for name in ("p", "q")})
        lines += first_rows(rows, on_screen(few))
    save = drawn(partial(result.figure, level=level), theme)
    return Shown(
        result.table,
        "\n".join(lines),
        result.figures,
        remarks=remarks,
        files=[(figure, save), (view, viewed)],
    )
