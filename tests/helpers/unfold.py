"""What a report folds, unfolded."""

from __future__ import annotations

from typing import Any


def unfolded(page: Any) -> Any:
    """The same page with all rows of its tables, and nothing folded."""
    page.evaluate(
        """() => {
            for (const button of document.querySelectorAll(".allrows[aria-expanded=false]")) button.click();
            for (const details of document.querySelectorAll(".page details")) details.open = true;
        }"""
    )
    return page
