"""Are comparisons of groups calibrated? Simulated groups of inputs through the tests of `headscope.compare.groups`.

A run has 72 heads of 16 measures, which correlate within a head (.5) and among heads (.1). The figure of a text is the
mean of as many rows as the text is long, each a share with a gamma distribution of shape .3 (most skewed) to 3, by
measure; texts of a document correlate (.5). All shares have the mean 1 in both groups, whatever their lengths, unless
an effect is planted. A short text has 4 to 12 rows, a long one 32 to 96.

A family error is a run of no effect in which any head has a q of at most .05.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from headscope.analyses.compare.groups.statistics import Length, held_equal
from headscope.core.arrays import Floats, Ints
from headscope.statistics.bootstrap import bootstrap
from headscope.statistics.design import Design, differences
from headscope.statistics.permutation import Tested, permute

HEADS, MEASURES = 72, 16
LEVEL = 0.05
SHORT, LONG = (4, 12), (32, 96)
SHAPES = np.tile(np.geomspace(0.3, 3.0, MEASURES), HEADS)


@dataclass(frozen=True)
class Case:
    """A design, and how inputs are drawn.

    Attributes:
        name: what it is.
        documents: of group A and of group B.
        texts: of a document; 0 for 1 to 9, drawn at random.
        rows: of a text, from and to, in both groups.
        kind: of a figure: a skewed share; normal with a spread three times as large in group A; exponential in both; or
            that in group A and normal in B.
        mixed: documents that hold both labels, beside the others.
        slope: what ln rows adds to a figure, in standard deviations of short texts.
        bar: the most that the family error may be.
    """

    name: str
    documents: tuple[int, int]
    texts: int = 1
    rows: tuple[tuple[int, int], tuple[int, int]] = (SHORT, SHORT)
    kind: Literal["share", "normal", "skewed", "skewed and normal"] = "share"
    mixed: int = 0
    slope: float = 0.0
    bar: float = 0.08


EQUAL = (
    Case("same distribution", (4, 4), bar=0.06),
    Case("same distribution", (20, 20), bar=0.06),
    Case("same distribution", (8, 32), bar=0.06),
    Case("same distribution, 2 documents of both groups", (18, 20), texts=3, mixed=2, bar=0.06),
)
"""Groups of the same distribution."""

UNEQUAL = (
    Case("short and long texts", (10, 10), rows=(SHORT, LONG)),
    Case("short and long texts", (20, 20), rows=(SHORT, LONG)),
    Case("short and long texts", (10, 30), rows=(SHORT, LONG)),
    Case("short and long texts", (30, 10), rows=(SHORT, LONG)),
    Case("short and long texts", (20, 20), texts=3, rows=(SHORT, LONG)),
    Case("normal, 3 times the spread", (10, 30), kind="normal"),
)
"""Groups of equal means, but not of the same distribution."""

LENGTHS = Case("means follow ln length", (20, 20), rows=((6, 40), (10, 60)), slope=1.0)

COVERAGE = (
    Case("same distribution", (5, 5)),
    Case("same distribution", (8, 8)),
    Case("same distribution", (20, 20)),
    Case("same distribution, 1 to 9 texts", (8, 8), texts=0),
    Case("same distribution, 1 to 9 texts", (20, 20), texts=0),
    Case("short and long texts", (8, 8), rows=(SHORT, LONG)),
    Case("short and long texts", (10, 30), rows=(SHORT, LONG)),
    Case("short and long texts, 1 to 9 texts", (20, 20), texts=0, rows=(SHORT, LONG)),
    Case("normal, 3 times the spread", (8, 24), kind="normal"),
    Case("8 documents of both groups beside", (8, 8), texts=3, mixed=8),
)
"""Designs whose intervals are counted."""

SKEWED = (
    Case("exponential", (5, 6), kind="skewed"),
    Case("exponential, 2 documents of both groups", (5, 6), texts=3, mixed=2, kind="skewed"),
    Case("exponential and normal", (8, 24), kind="skewed and normal"),
    Case("exponential and normal, 1 to 9 texts", (8, 24), texts=0, kind="skewed and normal"),
    Case("exponential and normal, 1 to 9 texts", (24, 8), texts=0, kind="skewed and normal"),
    Case("exponential and normal, 1 to 9 texts", (12, 24), texts=0, kind="skewed and normal"),
    Case("exponential", (20, 20), kind="skewed"),
)
"""Documents that are skewed, in both groups or in one."""

FEW = 12
"""Heads of these."""

POWER = (
    Case("same distribution but for the mean", (10, 10)),
    Case("same distribution but for the mean", (20, 20)),
    Case("short and long texts", (20, 20), rows=(SHORT, LONG)),
)
EFFECTS = (1.0, 1.5, 2.0, 2.5)
"""Planted in all measures of one head, in standard deviations of the documents' figures within groups."""


_FEWER = {"length": 2, "coverage": 4, "power": 8}  # a cell of these has so many times fewer runs


def drawn(case: Case, random: np.random.Generator) -> tuple[Floats, Design, Ints]:
    """The figures of a case, ``[input figure]``, its design, and the rows of each input."""
    of_each = (*case.documents, case.mixed)
    kind = np.repeat([0, 1, 2], of_each)
    texts = random.integers(1, 10, len(kind)) if case.texts == 0 else np.full(len(kind), case.texts)
    texts = np.where(kind == 2, np.maximum(texts, 2), texts)
    document = np.repeat(np.arange(len(kind)), texts)
    place = np.arange(len(document)) - np.repeat(np.cumsum(texts) - texts, texts)
    second = np.where(kind[document] == 2, place % 2 == 1, kind[document] == 1)
    low, high = np.array(case.rows)[second.astype(int)].T
    rows = random.integers(low, high + 1)
    latent = _latent(len(document), random)
    if texts.max() > 1:
        latent = np.sqrt(0.5) * (latent + _latent(len(kind), random)[document])
    if case.kind == "normal":
        values = latent * np.where(second, 1.0, 3.0)[:, None]
    elif case.kind != "share":
        from scipy.stats import norm

        skewed = -norm.logsf(latent) - 1
        values = np.where(second[:, None], latent, skewed) if case.kind == "skewed and normal" else skewed
    else:  # Wilson and Hilferty's cube of a normal number is a gamma number, but for its mean, which is made 1
        shape = rows[:, None] * SHAPES
        centre, spread = 1 - 1 / (9 * shape), 1 / (3 * np.sqrt(shape))
        values = (centre + spread * latent) ** 3 / (centre**3 + 3 * centre * spread**2)
    values = values + case.slope * np.log(rows)[:, None] / np.sqrt(8 * SHAPES)
    return values, Design(second, document), rows


def _latent(count: int, random: np.random.Generator) -> Floats:
    """Standard normal numbers ``[thing figure]`` that correlate within heads and among them."""
    parts = [random.normal(size=(count, *shape)) for shape in ((1, 1), (HEADS, 1), (HEADS, MEASURES))]
    return sum(np.sqrt(by) * part for by, part in zip((0.1, 0.4, 0.5), parts, strict=True)).reshape(count, -1)


def outcome(null: str, values: Floats, design: Design, seed: int, covariates: Floats | None) -> Tested:
    """The test of a null, heads as families, with as few draws as it takes."""
    heads = np.repeat(np.arange(HEADS), MEASURES)
    if null == "equal means":
        return bootstrap(values, design, heads, covariates=covariates, draws=1, seed=seed)
    return permute(values, design, heads, permutations=1, seed=seed)


def found(case: Case, null: str, effect: float, length: Length | None, run: Sequence[int]) -> bool:
    """Whether one run finds any head, or, of a planted effect, that head."""
    random = np.random.default_rng(run)
    values, design, rows = drawn(case, random)
    if effect:
        first, second = values[~design.second, :MEASURES], values[design.second, :MEASURES]
        spread = np.sqrt((first.var(0) + second.var(0)) / 2)
        values[np.ix_(design.second, np.arange(MEASURES))] += effect * spread
    covariates = None if length is None else held_equal(rows, length)
    q = outcome(null, values, design, run[-1], covariates).q
    return bool((q[:MEASURES] if effect else q).min() <= LEVEL)


def covered(case: Case, run: Sequence[int]) -> float:
    """The share of a run's figures whose interval holds the difference, which is 0; NaN where there is none."""
    values, design, _ = drawn(case, np.random.default_rng(run))
    made = differences(values, design)
    there = np.isfinite(made.low)
    return float(((made.low <= 0) & (made.high >= 0))[there].mean()) if there.any() else np.nan


def skewed(runs: int, seed: int = 0) -> str:
    """A table of `SKEWED`: p of equal means, runs that name one of `FEW` heads, and intervals."""
    lines = [
        "| groups | documents | texts each | p ≤ 0.05 | p ≤ 0.005 | a run names a head | interval |",
        "|---|---|---|---|---|---|---|",
    ]
    heads = np.repeat(np.arange(FEW), MEASURES)
    for number, case in enumerate(SKEWED):
        p: list[Floats] = []
        named: list[bool] = []
        held: list[float] = []
        for run in range(runs):
            values, design, _ = drawn(case, np.random.default_rng((seed, 2000 + number, run)))
            test = bootstrap(values[:, : len(heads)], design, heads, draws=1, seed=run)
            p.append(test.p)
            named.append(bool(np.nanmin(test.q) <= LEVEL))
            held.append(covered(case, (seed, 2000 + number, run)))
        told = np.concatenate(p)
        texts = "1 to 9" if case.texts == 0 else str(case.texts)
        documents = " + ".join(map(str, (*case.documents, *([case.mixed] if case.mixed else []))))
        rates = (np.mean(told <= 0.05), np.mean(told <= 0.005), np.mean(named), np.nanmean(held))
        lines.append(
            f"| {case.name} | {documents} | {texts} | {' | '.join(f'{rate:.3f}' for rate in rates)} |"
        )
    return "\n".join(lines)


def rows(runs: int = 400, seed: int = 0, jobs: int = 1) -> list[dict[str, Any]]:
    """What the simulations give, a row a cell.

    Args:
        runs: of a cell.
        seed: of the simulations.
        jobs: processes.

    Returns:
        Rows with ``part`` ("family error", "length", "coverage", "power"), ``case``, ``documents`` (of A and of B),
        ``texts`` (a document), ``null``, ``length``, ``effect``, ``rate``, its Monte Carlo ``error``, and ``low`` and
        ``high``, between which the rate must be (None where nothing is asked).
    """
    cells: list[tuple[str, Case, str, Length | None, float]] = []
    for case in (*EQUAL, *UNEQUAL):
        cells.append(("family error", case, "equal means", None, 0.0))
    for case in (EQUAL[1], EQUAL[3], UNEQUAL[1]):
        cells.append(("family error", case, "equal distributions", None, 0.0))
    for length in (None, "covariate", "stratum"):
        cells.append(("length", LENGTHS, "equal means", length, 0.0))
    for case in POWER:
        for effect in EFFECTS:
            nulls = ("equal means", "equal distributions")[: 1 if case.rows[1] == LONG else 2]
            cells.extend(("power", case, null, None, effect) for null in nulls)
    made: list[dict[str, Any]] = []
    for number, (part, case, null, length, effect) in enumerate(cells):
        numbers = [(seed, number, run) for run in range(max(1, runs // _FEWER.get(part, 1)))]
        row = _row(part, case, _mapped(partial(found, case, null, effect, length), numbers, jobs))
        asked = part == "family error" and (null == "equal means" or case in EQUAL)
        asked = asked or (part == "length" and length == "covariate")
        about = {"null": null, "length": length, "effect": effect or None}
        made.append(row | about | {"low": None, "high": case.bar if asked else None})
    for number, case in enumerate(COVERAGE):
        numbers = [(seed, 1000 + number, run) for run in range(max(1, runs // _FEWER["coverage"]))]
        row = _row("coverage", case, _mapped(partial(covered, case), numbers, jobs))
        made.append(row | {"null": None, "length": None, "effect": None, "low": 0.93, "high": 0.98})
    return made


def _mapped(
    work: Callable[[Sequence[int]], float], numbers: Sequence[Sequence[int]], jobs: int
) -> list[float]:
    """What each run gives, in their order."""
    if jobs == 1:
        return [work(run) for run in numbers]
    with ProcessPoolExecutor(jobs) as pool:
        return list(pool.map(work, numbers, chunksize=5))


def _row(part: str, case: Case, rates: Iterable[float]) -> dict[str, Any]:
    every = np.array(list(rates), np.float64)
    known = every[np.isfinite(every)]
    return {
        "part": part,
        "case": case.name,
        "documents": " + ".join(map(str, (*case.documents, *([case.mixed] if case.mixed else [])))),
        "texts": "1 to 9" if case.texts == 0 else str(case.texts),
        "runs": len(known),
        "rate": float(known.mean()) if len(known) else np.nan,
        "error": float(known.std() / np.sqrt(len(known))) if len(known) else np.nan,
    }


def broken(made: Sequence[dict[str, Any]]) -> list[str]:
    """The cells whose rate is not where it must be, by more than two Monte Carlo errors, in words."""
    return [
        f"{row['part']}, {row['case']}, {row['documents']} documents: {row['rate']:.3f}"
        for row in made
        if (row["high"] is not None and row["rate"] - 2 * row["error"] > row["high"])
        or (row["low"] is not None and row["rate"] + 2 * row["error"] < row["low"])
    ]


def tables(made: Sequence[dict[str, Any]]) -> str:
    """The rows as tables in Markdown."""
    return "\n\n".join((_errors(made), _lengths(made), _coverages(made), _powers(made)))


def _errors(made: Sequence[dict[str, Any]]) -> str:
    lines = [
        "| groups | documents | texts each | tested: equal means | tested: equal distributions |",
        "|---|---|---|---|---|",
    ]
    own = [row for row in made if row["part"] == "family error"]
    for row in own:
        if row["null"] == "equal means":
            same = ("case", "documents", "texts")
            other = [
                one
                for one in own
                if one["null"] != row["null"] and all(one[name] == row[name] for name in same)
            ]
            cells = [row["case"], row["documents"], row["texts"], _rate(row), _rate(*other)]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _lengths(made: Sequence[dict[str, Any]]) -> str:
    own = [row for row in made if row["part"] == "length"]
    names = {None: "not held equal", "covariate": "`covariate`", "stratum": "`stratum`"}
    cells = [_rate(row) for row in own]
    return "\n".join(
        (
            f"| {own[0]['case']} | {' | '.join(names[row['length']] for row in own)} |",
            "|---|---|---|---|",
            f"| {own[0]['documents']} documents: a run names a head | {' | '.join(cells)} |",
        )
    )


def _coverages(made: Sequence[dict[str, Any]]) -> str:
    lines = [
        "| groups | documents | texts each | the 95 % interval holds the difference |",
        "|---|---|---|---|",
    ]
    for row in made:
        if row["part"] == "coverage":
            lines.append(f"| {row['case']} | {row['documents']} | {row['texts']} | {_rate(row)} |")
    return "\n".join(lines)


def _powers(made: Sequence[dict[str, Any]]) -> str:
    lines = [
        f"| one head differs by | documents | tested | {' | '.join(f'{effect:g} SD' for effect in EFFECTS)} |",
        "|---|---|---|" + "---|" * len(EFFECTS),
    ]
    own = [row for row in made if row["part"] == "power"]
    for row in own:
        if row["effect"] == EFFECTS[0]:
            same = ("case", "documents", "null")
            every = [one for one in own if all(one[name] == row[name] for name in same)]
            cells = [row["case"], row["documents"], row["null"], *(f"{one['rate']:.2f}" for one in every)]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _rate(*given: dict[str, Any]) -> str:
    return f"{given[0]['rate']:.3f} ± {given[0]['error']:.3f}" if given else ""
