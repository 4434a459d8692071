"""The import table of docs/architecture.md."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parents[1] / "src" / "headscope"
CORE = {"errors", "heads", "tokens", "words", "maps", "neurons", "mapfile", "store", "kernels"}
MAY_IMPORT = {
    "corpora": CORE,
    "models": CORE,
    "attention": CORE | {"models"},
    "measures": CORE,
    "probes": CORE | {"corpora", "models", "attention", "measures"},
    "compare": CORE | {"measures"},
    "views": CORE | {"measures", "compare"},
    "run": CORE | {"corpora", "models", "attention", "measures", "probes", "compare", "views"},
    "bertviz": CORE | {"models", "attention", "views", "run"},
    "cli": CORE | {"corpora", "models", "attention", "measures", "probes", "compare", "views", "run"},
}
HEAVY = {"torch", "transformers"}
TORCH_FREE = CORE | {"corpora", "measures", "compare", "views"}


def part(path: Path) -> str:
    return path.relative_to(SRC).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.add(node.module or "")
            if node.module == "headscope":
                found |= {f"headscope.{name.name}" for name in node.names}
    return found


PUBLIC = {"__init__.py", "compare/__init__.py"}  # names that load what they need when they are first used
FILES = [path for path in sorted(SRC.rglob("*.py")) if path.relative_to(SRC).as_posix() not in PUBLIC]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SRC)))
def test_nothing_imports_upward(path: Path) -> None:
    here = part(path)
    allowed = MAY_IMPORT.get(here, CORE) | {here}
    for name in imports(path):
        if name.startswith("headscope."):
            assert name.split(".")[1] in allowed, f"{here} imports {name}"
        if here in TORCH_FREE:
            assert name.split(".")[0] not in HEAVY, f"{here} imports {name}"


def test_import_is_light() -> None:
    code = "import sys, headscope; dir(headscope); print(*[m for m in ('torch', 'transformers', 'xarray', 'pandas') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == ""


def test_maps_are_read_without_torch(tmp_path: Path) -> None:
    import numpy as np

    from headscope import store, wrap

    store.save(wrap(np.full((1, 2, 3, 3), 1 / 3), ["a", "b", "c"]), tmp_path / "maps.safetensors")
    code = f"import sys, headscope.store as s; print(s.load({str(tmp_path / 'maps.safetensors')!r}).weights.shape, 'torch' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "(1, 2, 3, 3) False"


def test_every_public_name_exists() -> None:
    import headscope

    assert all(getattr(headscope, name) is not None for name in headscope.__all__)
