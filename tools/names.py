"""Names that say nothing, or that only this house knows, in `src/headscope`: a line for each place that binds one.

    python tools/names.py            list them
    python tools/names.py --check    exit 1 where one is a file's, class's, function's, attribute's or parameter's

CONTRIBUTING.md says what to call things instead.
"""

from __future__ import annotations

import ast
import re
import sys
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


def bound(path: Path) -> Iterator[tuple[int, str, bool]]:
    """The line, the name, and whether it is seen from elsewhere, of all that a file binds."""
    yield 1, path.stem, True
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name, True
            case ast.arg(arg=name):
                yield node.lineno, name, True
            case ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name, True
            case ast.Name(id=name, ctx=ast.Store()):
                yield node.lineno, name, False
            case _:
                pass


def weak() -> Iterator[tuple[str, bool]]:
    """Each place, and whether it breaks the rule."""
    for path in sorted(SOURCE.rglob("*.py")):
        for line, name, seen in bound(path):
            if words(name) & SLANG or (words(name) & EMPTY and name.strip("_") in EMPTY):
                yield f"{path.relative_to(SOURCE)}:{line}: {name}", seen or bool(words(name) & SLANG)


def main(arguments: list[str]) -> int:
    places = [place for place, broken in weak() if broken or "--check" not in arguments]
    print("\n".join(places))
    return 1 if places and "--check" in arguments else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
