"""Write the formats of docs/json.md, from the columns that are registered.

python tools/json_table.py            write them
python tools/json_table.py --check    exit 1 when they are out of date
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from headscope.console.formats import formats

PAGE = Path(__file__).resolve().parents[1] / "docs" / "json.md"
BEGIN, END = "<!-- formats: python tools/json_table.py -->\n", "<!-- end of formats -->"


def names(made: Any) -> str:
    """The properties of an object, by their types."""
    kinds: defaultdict[str, list[str]] = defaultdict(list)
    for name, of in made["properties"].items():
        kind = of.get("type", "any")
        if name != "format":
            kinds[kind if isinstance(kind, str) else kind[0]].append(
                name + "?" * (name not in made["required"])
            )
    return "; ".join(f"{kind} `{' '.join(some)}`" for kind, some in kinds.items())


def page() -> str:
    """The page."""
    lines: list[str] = []
    for _, made in sorted(formats().items()):
        rows = made["properties"].get("rows")
        tables = rows["items"].get("anyOf", [rows["items"]]) if rows else [made]
        name = made["properties"]["format"]["const"]
        lines.append(f"- `{name}`{', rows' if rows else ''}: {'; or '.join(map(names, tables))}\n")
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    return f"{before}{BEGIN}{''.join(lines)}{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        sys.exit(PAGE.read_text(encoding="utf-8") != page())
    PAGE.write_text(page(), encoding="utf-8")
