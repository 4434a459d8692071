"""The rates of docs/statistics.md and the summary of benchmarks/calibration.md: ranges over each simulation's rows.

python benchmarks/calibration_summary.py            write both
python benchmarks/calibration_summary.py --check    exit 1 when they differ from the log
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
LOG, PAGE = ROOT / "benchmarks" / "calibration.md", ROOT / "docs" / "statistics.md"
BEGIN = "<!-- simulated: python benchmarks/calibration_summary.py -->\n"
END = "<!-- end of simulated -->"
HEADING = "## All that has an interval or a p"


class Part(NamedTuple):
    """One simulation: what is drawn, and which columns of its tables hold coverages and levels."""

    what: str
    covers: str = ""
    """A pattern of the columns that say how often a 95 % interval holds."""
    level: str = ""
    """A pattern of the columns that say how often p is at most .05."""
    far: str = ""
    """The same of .005 or .001."""
    multiple: bool = True
    """Whether a level is told as a multiple of what it should be."""


PARTS = {
    "intervals": Part("shares by document, 5 to 200 documents", "jackknife"),
    "together": Part("72 shares at once", "no lower end"),
    "figures": Part("means that are no shares, 5 to 30 documents", "normal|exponential|gamma|log"),
    "roles": Part("Wikipedia, 8 to 100 documents", "interval", "corrected, 0.05", "corrected, 0.001"),
    "families": Part("72 heads, 0 to 72 of them broad", level="families apart", multiple=False),
    "accuracies": Part("words of a head, 8 to 100 documents", r"0\.\d\d$"),
    "near": Part("the best of 24 heads, near 1", "split|given"),
    "levels": Part("the best of 144 heads, no gain", "accuracy|difference", "p ≤ 0.05", "p ≤ 0.005", multiple=False),
    "power": Part("the best of 144 heads, with a gain", "accuracy|difference"),
    "sided": Part("the best of 72 heads beside 4 rules", level="p ≤ 0.05", far="p ≤ 0.005", multiple=False),
    "scopes": Part("F1 of negation", "coverage"),
    "groups": Part("two groups, 72 heads: a run names one", "holds", "equal means", multiple=False),
    "skewed": Part("two skewed groups", "interval", "p ≤ 0.05", "p ≤ 0.005", multiple=False),
    "changes": Part("a role in two models", "interval", "p ≤ 0.05", "p ≤ 0.001"),
    "layers": Part("layers of two models", "interval", "excess_q", multiple=False),
    "pairs": Part("patching, 6 to 48 pairs", "interval", "p ≤ 0.05", "p ≤ 0.001"),
    "needles": Part("losses of 6 to 48 needles", "interval", "p ≤ 0.05", "p ≤ 0.001"),
    "looked": Part("scores of 8 to 48 needles", r"^0\.\d+$", "p ≤ 0.05", "p ≤ 0.001"),
    "conditions": Part("answers of 6 to 24 needles", "accuracy|loss"),
    "sentences": Part("kurtosis of sentences", "interval", "p ≤ 0.05", "p ≤ 0.001"),
    "terms": Part("shares of writers, 6 to 48 documents", "^interval", "p ≤ 0.05", "p ≤ 0.001"),
    "turns": Part("what one head hands another, turned at random", level="p ≤ 0.05", far="p ≤ 0.001"),
    "rotations": Part("circuits without relation", "itself", "p ≤ 0.05", "p ≤ 0.001"),
    "probes": Part("two probes that know the same", "difference|spearman", "p ≤ 0.05", "p ≤ 0.001"),
    "arrangement": Part("distances that layers do not explain", level="p ≤ 0.05", far="p ≤ 0.001"),
    "prompts": Part("figures over 5 to 40 documents", "first|rank|oracle|agree|place", "p ≤ 0.05", "p ≤ 0.001"),
    "answers": Part("tokens of an answer, 48 to 192", r"^\d+ tokens"),
    "vocabulary": Part("a span that the answer does not hang on", level="p ≤ 0.05", far="p ≤ 0.001"),
    "halves": Part("a list's ten highest heads, in two halves", "interval"),
    "wrote": Part("logits that heads write, 12 to 48 needles", "interval", "p ≤ 0.05", "p ≤ 0.001"),
    "lists": Part("two lists' ten highest heads, in two halves", "interval"),
    "circuits": Part("circuits of two halves of 12 to 48 pairs", "interval"),
    "unrelated": Part("sentences that have nothing to do with each other", level="[pq] ≤ 0.05", multiple=False),
    "areas": Part("areas of 6 to 48 models, CPR and CMD of as many pairs", "area|CPR|CMD"),
    "scores": Part("correlations and accuracies of 10 to 200 pairs", "correlation|accuracy|difference"),
    "heeded": Part("words of a class in 8 to 50 documents, and pairs", "^(?!documents)"),
}  # fmt: skip


def columns(log: str, part: str) -> list[tuple[str, list[float]]]:
    """The columns of a part's tables: their titles and what of them is a number."""
    text = log.split(f"--part {part} -->\n")[1].split(f"<!-- end of {part} -->")[0]
    found = list[tuple[str, list[float]]]()
    for table in text.strip().split("\n\n"):
        titles, _, *rows = (
            [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()
        )
        for at, title in enumerate(titles):
            cells = (re.match(r"[\d.]*\d", row[at]) for row in rows)
            found.append((title, [float(cell[0]) for cell in cells if cell]))
    return found


def rates(log: str, name: str, kind: str) -> list[float]:
    """What a simulation's tables have of a kind: the columns that its pattern names."""
    part = PARTS[name]
    pattern = getattr(part, kind)
    times = {"level": 0.05, "far": 0.001}.get(kind, 1.0) if part.multiple else 1.0
    named = (column for title, column in columns(log, name) if pattern and re.search(pattern, title))
    return [times * cell for column in named for cell in column]


def span(found: list[float], digits: int = 3) -> str:
    """The least and the largest."""
    ends = [f"{end:.{digits}f}".removeprefix("0") for end in (min(found), max(found))] if found else []
    return " to ".join(dict.fromkeys(ends))


def summary(log: str) -> str:
    """The table at the head of the log: a row a simulation."""
    lines = [
        "| simulation | what is drawn | 95 % intervals hold in | p (q) ≤ .05 comes in | p ≤ .001 or .005 |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, part in PARTS.items():
        cells = [part.what, span(rates(log, name, "covers")), span(rates(log, name, "level"))]
        lines.append(f"| `{name}` | {' | '.join(cells)} | {span(rates(log, name, 'far'), 4)} |")
    return "\n".join(lines) + "\n"


def ranges(log: str, row: str) -> str:
    """A row of the page: with the rates over all simulations that it names."""
    *cells, _, _, named, end = row.split(" |")
    parts = re.findall(r"`(\w+)`", named)
    tested = re.search(r"`(\w+_)?[pq]`", cells[1])
    covers = span([rate for name in parts for rate in rates(log, name, "covers")])
    level = span([rate for name in parts for rate in rates(log, name, "level") if tested])
    return " |".join([*cells, f" {covers}", f" {level}", named, end])


def main() -> None:
    """Write both tables, or compare them."""
    log, page = LOG.read_text(encoding="utf-8"), PAGE.read_text(encoding="utf-8")
    before, _, rest = log.partition(BEGIN)
    head, rows = page.split(HEADING)
    lines = (ranges(log, row) if row.startswith("| `") else row for row in rows.split("\n"))
    new = {
        LOG: before + BEGIN + summary(log) + END + rest.split(END)[1],
        PAGE: head + HEADING + "\n".join(lines),
    }
    for path, text in new.items():
        if "--check" in sys.argv and text != path.read_text(encoding="utf-8"):
            sys.exit(f"{path.name} is not what the simulations say")
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
