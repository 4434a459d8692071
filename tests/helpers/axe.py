"""What axe-core finds wrong with a page for people who do not see it, or use no mouse."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

AXE = Path(__file__).resolve().parents[2] / "frontend/node_modules/axe-core/axe.min.js"


def violations(page: Any, where: str = "html", **options: Any) -> list[str]:
    """Each element that breaks a rule, and which. The test is skipped where axe-core is not installed."""
    if not AXE.is_file():
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"no {AXE}: run npm ci in frontend/")
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    run = "([where, options]) => axe.run(where, { resultTypes: ['violations'], ...options })"
    found = page.evaluate(run, [where, options])["violations"]
    return [
        f"{rule['id']}: {node['target']} {node['html'][:160]}" for rule in found for node in rule["nodes"]
    ]
