"""The order of the house, as docs/architecture.md draws it: tools/rooms.py reads it from the imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import rooms


def test_nothing_imports_upward_or_in_a_circle() -> None:
    assert rooms.faults() == []


def test_the_picture_is_drawn_from_the_code() -> None:
    page = rooms.PAGE.read_text(encoding="utf-8")
    assert rooms.picture() in page, "run python tools/rooms.py"
    assert rooms.drawn(page) == page, "run python tools/rooms.py"


def test_a_circle_is_found_wherever_it_begins() -> None:
    assert rooms.find_circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert rooms.find_circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_a_circle_of_folders_is_found_where_files_make_none() -> None:
    files = {"analyses.links.run": {"analyses.roles.run"}, "analyses.roles.section": {"analyses.links.sums"}}
    told = ["a circle of imports: analyses.links → analyses.roles → analyses.links"]
    assert rooms.circles({**files, "analyses.roles.run": set(), "analyses.links.sums": set()}) == told


def test_imports_within_functions_and_for_types_count(tmp_path: Path) -> None:
    file = tmp_path / "file.py"
    file.write_text(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from headscope.views.page import page\n"
        "def later():\n    from headscope.analyses import record\n    import torch\n"
    )
    known = dict.fromkeys(("views.page", "analyses.record"), file)
    assert rooms.imports(file, known) == ({"views.page", "analyses.record"}, {"typing", "torch"})


def test_import_is_light() -> None:
    code = "import sys, headscope; dir(headscope); print(*[m for m in ('torch', 'transformers', 'xarray', 'pandas') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == ""


def test_maps_are_read_without_torch(tmp_path: Path) -> None:
    import numpy as np

    from headscope import wrap

    wrap(np.full((1, 2, 3, 3), 1 / 3), ["a", "b", "c"]).save(tmp_path / "maps.safetensors")
    code = f"import sys, headscope.core.store as s; print(s.open_maps({str(tmp_path / 'maps.safetensors')!r}).weights.shape, 'torch' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "(1, 2, 3, 3) False"


def test_every_public_name_exists() -> None:
    import headscope

    assert all(getattr(headscope, name) is not None for name in headscope.__all__)
