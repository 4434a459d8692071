"""Put a badge that opens it in Colab above each notebook of examples/, once the repository has an address.

python tools/colab.py https://github.com/OWNER/REPO
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SITE = "https://colab.research.google.com"
BADGE = re.compile(rf"\[!\[Open in Colab\]\({SITE}/.*\n\n")


def main(arguments: list[str]) -> int:
    address = re.fullmatch(r"https://github\.com/([\w.-]+/[\w.-]+?)(\.git)?/?", " ".join(arguments))
    if not address:
        print(__doc__, file=sys.stderr)
        return 2
    for path in EXAMPLES.glob("*.ipynb"):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        link = f"{SITE}/github/{address[1]}/blob/main/examples/{path.name}"
        badge = f"[![Open in Colab]({SITE}/assets/colab-badge.svg)]({link})\n\n"
        heading = notebook["cells"][0]
        text = badge + BADGE.sub("", "".join(heading["source"]))
        heading["source"] = text.splitlines(keepends=True)
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
