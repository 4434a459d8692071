"""Write docs/files.md: what people have, and the command that takes it, from the formats that are known.

python tools/files_table.py            write it
python tools/files_table.py --check    exit 1 when it is out of date
"""

from __future__ import annotations

import sys
from pathlib import Path

from headscope.corpora.formats import COMMANDS, KNOWN

PAGE = Path(__file__).resolve().parents[1] / "docs" / "files.md"
HEAD = """# What you have, and the command

`headscope look FILE` says what a file is (by what it holds, not by its name), how its first input is read, what was
left out, and which commands take it. `headscope measure` takes the texts of all but times of speech. LongBench-Cite's
and Codex's were never tried on real files:

"""


def page() -> str:
    """The page."""
    lines: list[str] = []
    for known in KNOWN:
        takes = [COMMANDS[kind][0] for kind in COMMANDS if known.reads.get(kind)]
        if takes:
            name = known.name[0].upper() + known.name[1:]
            lines.append(f"- {name}: {', '.join(f'`{command}`' for command in takes)}")
    return HEAD + "\n".join(sorted({*lines})) + "\n"


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        sys.exit(PAGE.read_text(encoding="utf-8") != page())
    PAGE.write_text(page(), encoding="utf-8")
