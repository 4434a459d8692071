from __future__ import annotations

import os
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import pytest

SHARED = Path(__file__).resolve().parents[1].parent / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Real data, models and reference figures that stand beside the repository."""
    if not SHARED.is_dir():
        message = f"needs {SHARED.parent.name}/shared beside the repository (real data and reference figures)"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return SHARED


@pytest.fixture(scope="session")
def demo():
    """The demo model, checked."""
    import torch

    import headscope as hs

    torch.set_num_threads(
        max(1, (os.cpu_count() or 2) // max(1, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))))
    )
    return hs.load()


@pytest.fixture(scope="session")
def stories(shared: Path):
    """A small trained causal model with grouped-query attention, checked."""
    import headscope as hs

    return hs.load(shared / "models" / "stories260K")
