"""Names in `src/headscope` that say nothing, that only this house knows, or that two classes share: a line a place.

Exits 1 where there is one. CONTRIBUTING.md says what to call things instead.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src" / "headscope"

SLANG = {"beside", "carried", "crew", "door", "doors", "hands", "sense", "senses", "station", "telling"}
"""Words for which the field has others."""

EMPTY = {"again", "each", "found", "own", "said", "told", "whole"}
"""Words that say nothing of what they name."""


def words(name: str) -> set[str]:
    """The words of a name, in either case."""
    return set(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().split("_"))


def bound(path: Path) -> Iterator[tuple[int, str]]:
    """The line and the name of all that a file binds."""
    yield 1, path.stem
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
                | ast.arg(arg=name)
                | ast.Attribute(attr=name, ctx=ast.Store())
                | ast.Name(id=name, ctx=ast.Store())
            ):
                yield node.lineno, name
            case _:
                pass


def weak() -> Iterator[str]:
    """Each place."""
    for path in sorted(SOURCE.rglob("*.py")):
        for line, name in bound(path):
            if words(name) & SLANG or name.strip("_") in EMPTY:
                yield f"{path.relative_to(SOURCE)}:{line}: {name}"


def shared() -> Iterator[str]:
    """Each class whose name another class has."""
    places: dict[str, list[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(f"{path.relative_to(SOURCE)}:{node.lineno}")
    for name, classes in places.items():
        if len(classes) > 1:
            yield f"{', '.join(classes)}: class {name}"


if __name__ == "__main__":
    places = [*weak(), *shared()]
    print(*places, sep="\n", end="\n" if places else "")
    raise SystemExit(1 if places else 0)
