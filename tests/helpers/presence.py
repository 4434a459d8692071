"""What tests need that may not be installed."""

from __future__ import annotations

import importlib.util
import os

import pytest


def needs(*packages: str) -> None:
    """Skip the test where one of these packages is not installed; where all must run (CI is set) it fails."""
    for package in packages:
        if importlib.util.find_spec(package) is None:
            (pytest.fail if os.environ.get("CI") else pytest.skip)(
                f"needs {package}: `make .venv/tools` installs it"
            )
