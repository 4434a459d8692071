"""What tests of several analyses share."""

from __future__ import annotations

from typing import Any

import pytest

from headscope.models import Model
from tests.helpers import linguistics_sample as sample
from tests.helpers.pages import payload


@pytest.fixture(scope="session")
def linguistics(demo: Model, build_once: Any) -> Any:
    """The payload of a report of the demo model on the built-in trees, with syntax, coreference and links."""
    return payload(build_once("linguistics", lambda: sample.of_builtin(demo)))
