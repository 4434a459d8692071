"""Write frontend/src/protocol.ts from the typed dictionaries of headscope.views.payload.

python tools/protocol.py            write it
python tools/protocol.py --check    exit 1 when it is out of date
"""

from __future__ import annotations

import inspect
import sys
import types
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "frontend" / "src" / "protocol.ts"
HEADER = "// Generated from src/headscope/views/payload.py by tools/protocol.py: edit that, and run this.\n"
SIMPLE = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null", Any: "unknown"}


def typescript(annotation: Any) -> str:
    if annotation in SIMPLE:
        return SIMPLE[annotation]
    if is_typeddict(annotation):
        return annotation.__name__
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " | ".join(f'"{value}"' if isinstance(value, str) else str(value).lower() for value in args)
    if origin in (Union, types.UnionType):
        return " | ".join(typescript(arg) for arg in args)
    if origin is list:
        inner = typescript(args[0])
        return f"({inner})[]" if "|" in inner else f"{inner}[]"
    if origin is dict and args[0] is str:
        return f"Record<string, {typescript(args[1])}>"
    raise TypeError(f"{annotation!r} has no TypeScript type: add it to tools/protocol.py")


def interface(cls: Any) -> str:
    lines: list[str] = []
    if doc := inspect.getdoc(cls):
        lines += ["/**", *(f" * {line}".rstrip() for line in doc.splitlines()), " */"]
    lines.append(f"export interface {cls.__name__} {{")
    for name, annotation in get_type_hints(cls).items():
        mark = "" if name in cls.__required_keys__ else "?"
        lines.append(f"  {name}{mark}: {typescript(annotation)};")
    return "\n".join([*lines, "}\n"])


def generate() -> str:
    sys.path.insert(0, str(ROOT / "src"))
    from headscope.views import blobs, payload, payload_compare, payload_linguistics

    modules = (blobs, payload_linguistics, payload_compare, payload)
    found = [value for module in modules for value in vars(module).values()]
    classes = list(dict.fromkeys(value for value in found if is_typeddict(value)))
    return "\n".join([HEADER, *(interface(cls) for cls in classes)])


def main(arguments: list[str]) -> int:
    text = generate()
    if arguments == ["--check"]:
        if not TARGET.exists() or TARGET.read_text(encoding="utf-8") != text:
            print(f"{TARGET.relative_to(ROOT)} is out of date: run python tools/protocol.py", file=sys.stderr)
            return 1
        return 0
    if arguments:
        print(__doc__, file=sys.stderr)
        return 2
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
