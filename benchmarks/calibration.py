"""Do intervals cover, and are tests right as often as they say? The simulations of docs/statistics.md.

    python benchmarks/calibration.py                               all tables on stdout
    python benchmarks/calibration.py --part roles --runs 200       one part, fewer runs
    python benchmarks/calibration.py --write benchmarks/calibration.md    each table between its marks in the log

Parts:
    intervals   coverage of 95 % intervals of a figure, by how many documents there are and how unequal they are
    roles       how often a head whose true score is the bar passes for a role, on documents of Wikipedia
    families    how many of the roles that are named are wrong, where many heads are broad
    accuracies, near, levels, power, sided, scopes   syntax, coreference, negation (calibration_treebank.py)
    groups, skewed   groups of inputs (calibration_groups.py)
    needles, pairs, looked and others   all that has few units (calibration_few.py)

Everything is drawn with a seed. The documents of `roles` are real: what each head of the
demo model does in each of the articles of ../shared/data/text; those drawn from them with replacement are a corpus.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import calibration_few
import calibration_groups
import calibration_treebank
import numpy as np

from headscope.core.arrays import Floats
from headscope.statistics.jackknife import (
    above,
    effective,
    error,
    false_discovery,
    interval,
    share_interval,
    skewness,
)

Part = Callable[[int, int, int], str]
"""Makes a table, given how many runs, the seed, and how many processes."""
LEVELS = (0.05, 0.01, 0.001)
TEXT = Path(__file__).parents[2] / "shared" / "data" / "text" / "wikitext2-valid.txt"
WANTED = (
    *("previous", "next", "cls", "delimiter", "punctuation", "same_word", "related_word", "word_pieces"),
    *("bag_of_words", "entropy"),
)
HEADING = 40
"""Documents of fewer tokens are headings."""


def intervals(runs: int, seed: int = 0, jobs: int = 1) -> str:
    """Coverage of a ratio's interval: documents have a mean of their own, and rows around it."""
    draw = np.random.default_rng(seed)
    rows: list[list[str]] = []
    for unequal in (False, True):
        for documents in (5, 8, 13, 30, 50, 200):
            cells = [f"{documents}{', unequal' if unequal else ''}"]
            for centre in (0.5, 0.9):
                n, s = _documents(draw, runs, documents, centre, unequal=unequal)
                se, count, value = error(s, n), effective(n), s.sum(0) / n.sum(0)
                low, high = share_interval(value, se, count)
                known = np.isfinite(low)
                plain = np.sqrt(((s - value * n) ** 2).sum(0) * documents / (documents - 1)) / n.sum(0)
                truth = centre
                old = np.abs(value - truth) <= 1.96 * plain
                new = (low <= truth) & (truth <= high)
                covers = f"{new[known].mean():.3f}" if known.any() else "–"
                cells += [f"{old.mean():.3f}", covers, f"{1 - known.mean():.0%}"]
            rows.append(cells)
    titles = ["documents"]
    for centre in (0.5, 0.9):
        titles += [f"±1.96, mean {centre}", f"jackknife, mean {centre}", "no interval"]
    return _table(titles, rows)


def _documents(
    draw: np.random.Generator, runs: int, documents: int, centre: float, *, unequal: bool
) -> tuple[Floats, Floats]:
    """N and S of documents, ``[document run]``: sizes alike, or of a lognormal distribution."""
    sizes = draw.lognormal(5.0, 0.8 if unequal else 0.0, (documents, runs)).round().clip(10)
    spread = 8.0  # of a document's own mean: beta with these many pseudo-rows
    means = draw.beta(centre * spread, (1 - centre) * spread, sizes.shape)
    return sizes, draw.binomial(sizes.astype(int), means).astype(float)


def roles(runs: int, seed: int = 0, jobs: int = 1, *, inputs: int = 1500) -> str:
    """How often p is at most a level for heads whose true score is the bar, by that level."""
    names, s, n = population(inputs)
    from headscope.analyses.roles.statistics import ROLES

    draw = np.random.default_rng(seed)
    pooled: dict[tuple[str, int], list[Floats]] = {}
    for name in names:
        doubt = next((role.doubt for role in ROLES if role.measure == name), 0.0)
        own_s, own_n = s[name], n[name]
        truth = own_s.sum(0) / own_n.sum()
        near = (truth > 2.0) if name == "entropy" else (truth > 0.25) & (truth < 0.95)
        kind = name if name in ("entropy", "bag_of_words") else "other shares"
        for documents in (8, 13, 30, 100):
            picked = draw.integers(0, len(own_n), (documents, runs))
            sizes = own_n[picked][..., None]
            drawn = own_s[:, near][picked]  # [document run head]
            value, count, bar = drawn.sum(0) / sizes.sum(0), effective(sizes), truth[near]
            se = error(drawn, sizes)
            low, high = (interval if name == "entropy" else share_interval)(value, se, count)
            there = np.isfinite(low)
            found = [((low <= bar) & (bar <= high))[there]]
            for skew in (None, skewness(drawn, sizes)):
                p = above(value, bar, se, count, skew, doubt)[there]
                found += [p <= level for level in LEVELS]
            pooled.setdefault((kind, documents), []).append(np.stack(found).reshape(len(found), -1))
    rows: list[list[str]] = []
    for (kind, documents), parts in pooled.items():
        covers, *rates = np.concatenate(parts, 1).mean(1)
        times = [f"{rate / level:.2f}" for rate, level in zip(rates, LEVELS * 2, strict=True)]
        rows.append([kind, str(documents), f"{covers:.3f}", *times])
    titles = ["measure", "documents", "interval covers"]
    titles += [f"t, {level:g}" for level in LEVELS] + [f"corrected, {level:g}" for level in LEVELS]
    return _table(titles, sorted(rows, key=lambda row: (row[0], int(row[1]))))


def population(inputs: int) -> tuple[list[str], dict[str, Floats], dict[str, Floats]]:
    """S ``[document head]`` and N ``[document]`` of the demo model's measures in each article, by measure."""
    import headscope as hs
    from headscope.measures.choose import choose
    from headscope.measures.sums import Documents
    from headscope.runs.batches import RunOptions, examples, over_blocks
    from headscope.runs.task import Task

    wanted = list(WANTED)
    model, corpus = hs.load(), hs.corpora.text(TEXT, pack=64)
    task = Task(model, choose(wanted))
    sums: dict[int, Documents] = {}
    read = examples(model, corpus, inputs)
    for block in over_blocks(
        model, corpus, task.measured, RunOptions(batch_size=32, limit=inputs), inputs=read
    ):
        for batch, found in block:
            for place, example in enumerate(batch):
                own = sums.setdefault(example.document, Documents(wanted))
                of = (found.sums[place], found.chance[place], found.divisors[place])
                own.add(0, found.tokens[place], found.layers, *of)
    closed = [own.close() for own in sums.values()]
    s = np.stack([each.s.reshape(len(wanted), -1) for each in closed], 1)  # [measure document head]
    n = np.stack([each.n.max((1, 2)) for each in closed], 1)
    articles = n[wanted.index("entropy")] >= HEADING
    there = {name: articles & (n[place] > 0) for place, name in enumerate(wanted)}
    return (
        wanted,
        {name: s[place][there[name]] for place, name in enumerate(wanted)},
        {name: n[place][there[name]] for place, name in enumerate(wanted)},
    )


def families(runs: int, seed: int = 0, jobs: int = 1) -> str:
    """The share of the roles of other families that are named wrongly, where many heads are broad."""
    draw = np.random.default_rng(seed)
    rows: list[list[str]] = []
    documents, heads, others = 13, 72, 5
    for broad in (0, 36, 72):
        shares: list[list[float]] = [[], []]
        for _ in range(runs):
            true = np.zeros((others, heads), bool)
            true[draw.integers(0, others, 4), draw.integers(0, heads, 4)] = True
            values = draw.standard_t(6, (documents, others, heads)) + np.where(true, 4.0, -0.5)
            values[:, ~true & (draw.random((others, heads)) < 0.3)] += 0.5  # at the bar
            n = np.ones((documents, 1, 1))
            p = above(values.mean(0), 0.0, error(values, n), effective(n), skewness(values, n))
            entropy = np.where(np.arange(heads) < broad, 1e-9, draw.random(heads))
            together = false_discovery(np.concatenate([p.ravel(), entropy]))[: p.size].reshape(p.shape)
            apart = false_discovery(p.ravel()).reshape(p.shape)
            for place, q in enumerate((together, apart)):
                named = q <= 0.05
                shares[place].append(float((named & ~true).sum() / max(1, named.sum())))
        rows.append([str(broad), *(f"{np.mean(each):.3f}" for each in shares)])
    return _table(["broad heads of 72", "one family", "families apart"], rows)


def of_treebanks(make: Callable[[int, int], list[calibration_treebank.Row]]) -> Part:
    """A part whose corpora have seeds of their own."""
    return lambda runs, seed, jobs: calibration_treebank.markdown(make(runs, jobs))


def of_few(make: Callable[[int], list[calibration_few.Row]]) -> Part:
    """The same, in one process."""
    return lambda runs, seed, jobs: calibration_few.markdown(make(runs))


def groups(runs: int, seed: int = 0, jobs: int = 1) -> str:
    """Comparisons of groups: four tables, and a line for each rate that is not where it must be."""
    made = calibration_groups.rows(runs, seed, jobs)
    for line in calibration_groups.broken(made):
        print(f"BROKEN: {line}")
    return calibration_groups.tables(made)


PARTS: dict[str, tuple[Part, int]] = {
    "intervals": (intervals, 20_000),
    "roles": (roles, 2_000),
    "families": (families, 2_000),
    "accuracies": (of_treebanks(calibration_treebank.accuracies), 3_000),
    "near": (of_treebanks(calibration_treebank.nears), 400),
    "levels": (of_treebanks(calibration_treebank.levels), 2_000),
    "power": (of_treebanks(calibration_treebank.power), 400),
    "sided": (of_treebanks(calibration_treebank.sided), 500),
    "scopes": (of_treebanks(calibration_treebank.scopes), 300),
    "groups": (groups, 400),
    "skewed": (lambda runs, seed, jobs: calibration_groups.skewed(runs, seed), 100),
    **{name: (of_few(make), runs) for name, (make, runs) in calibration_few.PARTS.items()},
}
"""Each part, and how many corpora a row of it takes."""


def written(page: str, part: str, table: str) -> str:
    """A page with a part's table between its marks."""
    begin, end = f"<!-- {part}: python benchmarks/calibration.py --part {part} -->", f"<!-- end of {part} -->"
    before, rest = page.split(begin)
    return f"{before}{begin}\n{table}\n{end}{rest.split(end)[1]}"


def main() -> None:
    """Print or write the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", choices=list(PARTS), action="append")
    parser.add_argument("--runs", type=int, help="corpora a row")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="processes, where a part takes several"
    )
    parser.add_argument("--write", type=Path, metavar="PAGE")
    given = parser.parse_args()
    for part in given.part or PARTS:
        make, runs = PARTS[part]
        started = time.monotonic()
        table = make(given.runs or runs, given.seed, given.jobs)
        print(f"{part} ({time.monotonic() - started:.0f} s)\n{table}\n", flush=True)
        if given.write:
            page = given.write.read_text(encoding="utf-8")
            given.write.write_text(written(page, part, table), encoding="utf-8")


def _table(titles: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


if __name__ == "__main__":
    main()
