"""Draw the rooms of the house in docs/architecture.md from the imports of the code, and check them.

python tools/rooms.py            write the picture
python tools/rooms.py --check    exit 1 where an import goes upward or in a circle, or the picture is out of date
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "headscope"
PAGE = ROOT / "docs" / "architecture.md"

FACE = {"__init__", "compare", "contribution", "engines", "probes"}
"""Modules of public names."""

ROOMS: Mapping[str, set[str]] = {
    "core": set(),
    "statistics": {"core"},
    "corpora": {"core"},
    "models": {"core"},
    "attention": {"core", "models"},
    "measures": {"core", "statistics"},
    "runs": {"core", "statistics", "corpora", "models", "attention", "measures"},
    "views": {"core", "measures"},
    "live": {"core", "corpora", "models", "attention", "measures", "views"},
    "analyses": {"core", "statistics", "corpora", "models", "attention", "measures", "runs", "views", "live"},
    "console": {"core", "corpora", "models", "attention", "measures", "runs", "analyses"},
    "reports": {"core", "corpora", "models", "attention", "measures", "runs", "views", "live", "analyses"},
    "bertviz": {"core", "models", "attention", "views", "live"},
    "cli": {"core", "corpora", "measures", "runs", "views", "live", "console", "analyses", "reports"},
    "face": {"core", "corpora", "attention", "runs", "analyses", "reports", "live"},
}
"""Each room, from the ground up, and which rooms it may import."""

TORCH_FREE = {"core", "statistics", "corpora", "measures", "views", "console", "reports", "cli"}
TORCH_FREE_FILES = {"statistics", "section", "examples", "figure", "command", "__init__"}
"""Files of an analysis that import neither torch nor transformers themselves."""

_BEGIN, _END = "<!-- rooms: python tools/rooms.py -->\n", "<!-- end of rooms -->"


def modules() -> dict[str, Path]:
    """Every module below headscope by its name, such as ``views.page``."""
    found: dict[str, Path] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


def imports(path: Path, known: Mapping[str, Path]) -> tuple[set[str], set[str]]:
    """The modules of headscope that a file imports, at once or later, and the other packages."""
    own: set[str] = set()
    others: set[str] = set()
    for name in _imported(path):
        package, _, rest = name.partition(".")
        if package != "headscope":
            others.add(package)
            continue
        own.add(rest if rest in known else rest.rpartition(".")[0] or "__init__")
    return own, others


@cache
def _imported(path: Path) -> list[str]:
    names: list[str] = []
    for node in _statements(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield child
            yield from _statements(child)


def room(module: str) -> str:
    """The room of a module."""
    first = module.split(".")[0]
    if first == "__main__":
        return "cli"
    return first if first in ROOMS else "face" if first in FACE else "core"


def faults() -> list[str]:
    """What breaks the order of the house, a line each."""
    known = modules()
    graph = {name: imports(path, known) for name, path in known.items()}
    lines: list[str] = []
    for name, (own, others) in graph.items():
        here, last = room(name), name.split(".")[-1]
        for other in sorted(own):
            if other != "__init__" and room(other) not in ROOMS[here] | {here}:
                lines.append(f"{name} imports {other}: {here} may not import {room(other)}")
        free = here in TORCH_FREE or (here == "analyses" and last in TORCH_FREE_FILES)
        lines += [f"{name} imports {other}" for other in sorted(others & {"torch", "transformers"}) if free]
    return lines + circles({name: own - {"__init__"} for name, (own, _) in graph.items()})


def circles(files: Mapping[str, set[str]]) -> list[str]:
    """A circle of files that import each other, and one of folders of analyses, a line each."""
    folders: dict[str, set[str]] = {}
    for name, own in files.items():
        if folder := _folder(name):
            folders.setdefault(folder, set()).update({_folder(other) for other in own} - {"", folder})
    found = (find_circle(files), find_circle(folders))
    return [f"a circle of imports: {' → '.join(circle)}" for circle in found if circle]


def _folder(module: str) -> str:
    """The folder of analyses that a module is in; empty for others."""
    parts = module.split(".")
    return (
        ".".join(parts[:2])
        if parts[0] == "analyses" and (SOURCE / "analyses" / "/".join(parts[1:2])).is_dir()
        else ""
    )


def find_circle(graph: Mapping[str, set[str]]) -> list[str]:
    """Modules that import each other in a circle, the first again at the end; none: an empty list."""
    done: set[str] = set()

    def walk(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return []
        for other in sorted(graph.get(name, ())):
            if circle := walk(other, [*path, name]):
                return circle
        done.add(name)
        return []

    return next((circle for name in graph if (circle := walk(name, []))), [])


def picture() -> str:
    """The rooms from the roof down, and what each imports."""
    known = modules()
    lines: list[str] = []
    for name in reversed(ROOMS):
        inside = [path for module, path in known.items() if room(module) == name]
        below = {room(other) for path in inside for other in imports(path, known)[0] - {"__init__"}} - {name}
        lines.append(f"{name:<10} {' '.join(other for other in ROOMS if other in below)}".rstrip())
    return "\n".join(lines) + "\n"


def drawn(text: str) -> str:
    """The page with the picture of now."""
    body = f"{_BEGIN}```text\n{picture()}```\n{_END}"
    return re.sub(f"{_BEGIN}.*?{_END}", lambda _: body, text, flags=re.DOTALL)


def main(arguments: list[str]) -> int:
    text = PAGE.read_text(encoding="utf-8")
    now = drawn(text)
    if not arguments:
        PAGE.write_text(now, encoding="utf-8")
    lines = faults()
    if now != text and arguments:
        lines.append("docs/architecture.md: the picture is out of date: run python tools/rooms.py")
    for line in lines:
        print(line, file=sys.stderr)
    return 1 if lines else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
