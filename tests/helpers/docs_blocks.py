"""The code blocks of a page of documentation: what they are, and whether what came out is what the page shows."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

_FENCE = re.compile(r"^( *)```(.*)$")
_MARK = re.compile(r"^ *<!-- no-run: (.+) -->$")
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")


@dataclass
class Block:
    """A fenced block.

    Attributes:
        page, line: where its first fence stands.
        kind: its info string: ``python``, ``console``, ``text``, …
        lines: what is inside.
        reason: why it is not run; from a comment ``<!-- no-run: REASON -->`` on the line before.
        shown: of Python, the lines of the ``text`` block that follows: what it prints.
    """

    page: str
    line: int
    kind: str
    lines: list[str]
    reason: str | None = None
    shown: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def code(self) -> str:
        """With as many lines before it as on the page, so that a traceback names the page's line."""
        return "\n" * self.line + "\n".join(self.lines)

    def commands(self) -> list[tuple[str, list[str]]]:
        """Of a console block: each command and the output shown below it."""
        found: list[tuple[str, list[str]]] = []
        going_on = False
        for line in self.lines:
            if going_on:
                found[-1] = (f"{found[-1][0]} {line.strip()}", [])
            elif line.startswith("$ "):
                found.append((line[2:], []))
            elif line or found:
                assert found, f"{self.name}: a console block begins with a command"
                found[-1][1].append(line)
            going_on = found[-1][0].endswith("\\")
            if going_on:
                found[-1] = (found[-1][0][:-1].strip(), [])
        return found


def blocks(path: Path, root: Path) -> list[Block]:
    """The blocks of a page, in order."""
    found: list[Block] = []
    page = str(path.relative_to(root))
    lines = path.read_text(encoding="utf-8").splitlines()
    place, between = 0, []
    while place < len(lines):
        fence = _FENCE.match(lines[place])
        if fence is None:
            between.append(lines[place])
            place += 1
            continue
        indent, kind = len(fence[1]), fence[2].strip()
        mark = _MARK.match(lines[place - 1]) if place else None
        start = place
        place += 1
        inside: list[str] = []
        while lines[place].strip() != "```":
            inside.append(lines[place][indent:])
            place += 1
        place += 1
        follows = bool(found) and found[-1].kind == "python" and not "".join(between).strip()
        if kind == "text" and follows:
            found[-1].shown = inside
        found.append(Block(page, start + 1, kind, inside, mark[1] if mark else None))
        between = []
    return found


def same(shown: str, came: str) -> bool:
    """Whether a line that came out is the one shown, but for white space and the last digit or two of its numbers."""
    if [_NUMBER.sub("#", word) for word in shown.split()] != [
        _NUMBER.sub("#", word) for word in came.split()
    ]:
        return False
    pairs = zip(_NUMBER.findall(shown), _NUMBER.findall(came), strict=True)
    return all(_near(one, other) for one, other in pairs)


def _near(shown: str, came: str) -> bool:
    if shown == came:
        return True
    one, other = float(shown.replace(",", "")), float(came.replace(",", ""))
    if "e-" in shown:  # rounding noise: its size is all that is said
        return max(one, other) < 1e-5 or abs(one - other) <= 0.5 * one
    decimals = len(shown.partition(".")[2])
    return decimals > 0 and abs(one - other) <= 2.01 * 10.0**-decimals


def missing(shown: list[str], *streams: str) -> list[str]:
    """The first run of lines that is shown and did not come out; empty where all did.

    A line ``…`` stands for any lines. What stands between two of them must be together, in order, in one stream.
    """
    runs: list[list[str]] = [[]]
    for line in shown:
        if line.strip() == "…":
            runs.append([])
        else:
            runs[-1].append(line)
    texts = [[part.split("\r")[-1] for part in stream.split("\n")] for stream in streams]
    at = [0] * len(texts)
    for run in runs:
        while run and not run[-1].strip():
            run.pop()
        if not run:
            continue
        for which, lines in enumerate(texts):
            for place in range(at[which], len(lines) - len(run) + 1):
                if all(same(*pair) for pair in zip(run, lines[place:], strict=False)):
                    at[which] = place + len(run)
                    break
            else:
                continue
            break
        else:
            return run
    return []
