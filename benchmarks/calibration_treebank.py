"""How often intervals of accuracies hold the truth, and how often tests of heads err: syntax, coreference, negation.

All figures are of corpora that are drawn with a seed. In a document words are right with a chance of its own: of a beta
distribution for one predictor, and of a normal one for many, so that two words of a document have the correlation that
is given.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from headscope.core.arrays import Bools, Floats, Ints, Singles
from headscope.statistics import jackknife
from headscope.statistics.jackknife import share_interval
from headscope.statistics.resample import HitRatios

Row = dict[str, Any]

SHARES = (0.02, 0.05, 0.2, 0.5, 0.8, 0.95)
HEADS, OFFSETS, RULES = 144, 10, 4
LEVELS = (0.05, 0.005)


def sizes(draw: np.random.Generator, documents: int, words: int, equal: bool) -> Ints:
    """Words of each document: as many in each, or log-normal with a standard deviation of 1."""
    if equal:
        return np.full(documents, words)
    drawn = np.exp(draw.normal(-0.5, 1.0, documents))
    return np.maximum(1, np.rint(words * drawn)).astype(np.int64)


def coverage(documents: int, words: int, equal: bool, correlation: float, runs: int) -> Row:
    """How often the interval of one given head or rule holds its accuracy, for each of `SHARES`."""
    draw = _random("coverage", documents, words, equal, correlation)
    row: Row = {
        "documents": documents,
        "words each": words,
        "sizes": _said(equal),
        "correlation": correlation,
    }
    for share in SHARES:
        held = told = 0
        for _ in range(runs):
            n = sizes(draw, documents, words, equal)
            right = draw.binomial(n, _chances(draw, share, correlation, documents)).astype(np.float64)
            effective = float(jackknife.effective(n))
            if effective >= jackknife.LEAST:
                se = float(jackknife.error(right, n.astype(np.float64)))
                low, high = share_interval(right.sum() / n.sum(), se, effective, float(n.sum()))
                held, told = held + bool(low <= share <= high), told + 1
        row[f"{share:.2f}"] = held / told if told else np.nan
    return row


def _chances(draw: np.random.Generator, share: float, correlation: float, documents: int) -> Floats:
    if not correlation:
        return np.full(documents, share)
    spread = (1 - correlation) / correlation
    return draw.beta(share * spread, (1 - share) * spread, documents)


def answers(draw: np.random.Generator, chances: Floats, n: Ints, correlation: float, shared: float) -> Bools:
    """Which words each predictor is right on, ``[word predictor]``; so much of what they know is the words' own."""
    from scipy.stats import norm

    document = np.repeat(np.arange(len(n)), n)
    shape = len(document), len(chances)
    own = np.sqrt(correlation) * _normal(draw, (len(n), len(chances)))[document]
    words = np.sqrt(shared) * _normal(draw, (shape[0], 1))
    rest = np.sqrt(1 - shared - correlation) * _normal(draw, shape)
    return own + words + rest < norm.ppf(chances).astype(np.float32)


def _normal(draw: np.random.Generator, shape: tuple[int, ...]) -> Singles:
    return draw.standard_normal(shape, np.float32)


def scene(draw: np.random.Generator, name: str, gain: float, others: int) -> Floats:
    """Chances of 144 heads, then of baselines.

    ``noise``: all alike. ``noise, one baseline``: the other baselines are worse; ``noise, others .05 less``:
    they are worse by that. ``one head``: one head is better than the best baseline by `gain`, the others know less
    than either. ``rivals``: the others come close; ``rivals, others .05 less``: so do the baselines.
    """
    heads = np.full(HEADS, 0.3)
    rest = np.full(others, 0.3)
    kind, _, beside = name.partition(", ")
    best = 0.4 if kind in ("one head", "rivals") else 0.3
    if name != "noise":
        close = beside.startswith("others")
        rest = np.full(others, best - float(beside.split()[1])) if close else np.linspace(0.02, 0.2, others)
        rest[0] = best
    if kind in ("one head", "rivals"):
        heads = draw.uniform(0.05, 0.3 if kind == "one head" else 0.4, HEADS)
        heads[0] = 0.4 + gain
    return np.concatenate([heads, rest])


def choice(
    name: str, gain: float, others: int, documents: int, words: int, equal: bool, shared: float, runs: int
) -> Row:
    """How often the best head is said to beat the best baseline, and the intervals, choice included, hold."""
    draw = _random("choice", name, gain, others, documents, words, equal, shared)
    p: list[float] = []
    held: list[tuple[bool, bool]] = []
    heads, baselines = slice(HEADS), slice(HEADS, None)
    for _ in range(runs):
        n = sizes(draw, documents, words, equal)
        chances = scene(draw, name, gain, others)
        right = answers(draw, chances, n, 0.05, shared)
        starts = np.concatenate([[0], np.cumsum(n)[:-1]])
        scores = HitRatios(
            np.add.reduceat(right, starts, axis=0, dtype=np.float32), n[:, None].astype(np.float64)
        )
        if scores.documents[0] < jackknife.LEAST:
            continue
        best = scores.best(heads)
        more, none = scores.gain(best, baselines)
        truth = _truth(scores, chances[heads])
        rule = chances[baselines][scores.value[baselines].argmax()]
        ends = (truth, *best.interval()), (truth - rule, *more.interval())
        held.append((ends[0][1] <= ends[0][0] <= ends[0][2], bool(ends[1][1] <= ends[1][0] <= ends[1][2])))
        p.append(float(none))
    told = np.array(p)
    rates = {f"p ≤ {level}": float((told <= level).mean()) for level in LEVELS}
    rates |= zip(("accuracy", "difference"), np.mean(held, 0).tolist(), strict=True)
    about: Row = {
        "heads": name,
        "gain": gain,
        "beside": f"{others} {'offsets' if others == OFFSETS else 'rules'}",
    }
    about |= {"documents": documents, "words each": words, "sizes": _said(equal), "words' own": shared}
    return about | rates


def near(
    share: float, documents: int, words: int, equal: bool, rivals: bool, correlation: float, runs: int
) -> Row:
    """How often the intervals of the best of 24 heads near 1 hold, given and choice included, and how wide they are."""
    draw = _random("near", share, documents, words, equal, rivals, correlation)
    ends: list[tuple[float, ...]] = []
    for _ in range(runs):
        n = sizes(draw, documents, words, equal)
        chances = draw.uniform(0.05, 0.5, 24)
        chances[0] = share
        if rivals:
            chances[1:6] = 1 - (1 - share) * np.array([1.3, 1.6, 2, 3, 4])
        right = answers(draw, chances, n, correlation, 0.2)
        starts = np.concatenate([[0], np.cumsum(n)[:-1]])
        scores = HitRatios(
            np.add.reduceat(right, starts, axis=0, dtype=np.float32), n[:, None].astype(np.float64)
        )
        if scores.documents[0] >= jackknife.LEAST:
            given = (float(end[0]) for end in scores.interval())
            ends.append((*scores.best(slice(24)).interval(), _truth(scores, chances), *given, share))
    low, high, truth, own_low, own_high, own = np.array(ends).T
    return {
        "accuracy": share,
        "documents": documents,
        "correlation": correlation,
        "split": float(((low <= truth) & (truth <= high)).mean()),
        "width": float((high - low).mean()),
        "from below .5": float((low < 0.5).mean()),
        "given": float(((own_low <= own) & (own <= own_high)).mean()),
    }


def _truth(scores: HitRatios, chances: Floats) -> float:
    """What the choices would get on documents that nobody has seen: the mean of their chances, by what they score."""
    from headscope.statistics.resample import PARTS, divisions

    parts = divisions(len(scores.size), scores.seed)
    outside = (parts[:, None] != np.arange(PARTS)[:, None]).astype(np.float64)
    choices = (outside @ scores.right[:, : len(chances)]).argmax(-1)
    picked = np.take_along_axis(choices, parts, 1)
    return float((chances[picked] * scores.size[:, 0]).sum() / (scores.size.sum() * len(parts)))


def negation(documents: int, heads: float, baseline: float, runs: int) -> Row:
    """How often a head of negation passes at q < .05 whose F1 is that of the best baseline, or more, and coverage."""
    from headscope.analyses.links.negation.statistics import BASELINES, dataset

    draw = _random("negation", documents, heads, baseline)
    one = held = told = 0
    chances = np.full(HEADS // 2 + 1, 0.2)
    chances[0], chances[-1] = heads, baseline
    truth = 2 * heads / (1 + heads + heads / 2)
    for _ in range(runs):
        counts: list[Floats] = []
        for lines in draw.integers(1, 6, documents):
            own = np.clip(chances * draw.gamma(20, 1 / 20), 0, 0.95)  # a document's own ease
            right, wrong = draw.binomial(8 * lines, own), draw.binomial(8 * lines, own / 2)
            counts.append(np.stack([right, wrong, 8 * lines - right], -1).astype(np.float64))
        others = np.zeros((documents, len(BASELINES) - 1, 3))
        result = dataset(np.concatenate([np.stack(counts), others], 1), [0])
        low, high = float(result["f1_low"][0, 0]), float(result["f1_high"][0, 0])
        one += bool(result["q"][0, 0] < 0.05)
        held, told = held + (low <= truth <= high), told + 1
    about: Row = {"documents": documents, "found by the head": heads, "by the baseline": baseline}
    return about | {"said to beat it": one / told, "coverage of its F1": held / told}


def _random(*names: object) -> np.random.Generator:
    """Numbers of their own for each row, whatever else is run."""
    return np.random.default_rng(zlib.crc32(repr(names).encode()))


def _said(equal: bool) -> str:
    return "equal" if equal else "unequal"


SHAPES = tuple(product((8, 20, 100), (5, 20), (True, False), (0.0, 0.05, 0.1)))
KINDS = tuple(
    product(("noise", "noise, one baseline", "one head", "rivals"), ((20, 5), (20, 15), (60, 5), (12, 30)))
)
RIVALS = (
    ("noise, others .05 less", 60, 5, True),
    ("noise, others .05 less", 6, 100, True),
    ("noise, others .05 less", 20, 20, True),
    ("noise, others .05 less", 12, 30, False),
    ("noise, others .15 less", 20, 5, False),
)
"""Baselines that come close to the best: documents, words of each, and whether they are as many."""
SIZED = ((20, 5), (60, 5), (20, 15), (100, 5), (100, 10))
"""Documents, and words of the relation in each: 100 to 1,000 words."""
GAINS = (0.05, 0.1, 0.15)
NEGATION = ((8, 0.4, 0.4), (20, 0.4, 0.4), (60, 0.4, 0.4), (20, 0.5, 0.4), (60, 0.5, 0.4))


def accuracies(runs: int, jobs: int = 1) -> list[Row]:
    """Coverage of the intervals of given heads, a row a kind of corpus."""
    return _rows([partial(coverage, *shape, runs) for shape in SHAPES], jobs)


def nears(runs: int, jobs: int = 1) -> list[Row]:
    """Coverage near 1, of splits and of given heads: means over sizes of documents and over rivals."""
    corpora = tuple(product((5, 20), (True, False), (False, True)))
    shapes = tuple(product((0.9, 0.97, 0.99), (10, 20, 40), (0.05, 0.3)))
    made = _rows(
        [partial(near, *shape[:2], *corpus, shape[2], runs) for shape in shapes for corpus in corpora], jobs
    )
    groups = [made[start : start + len(corpora)] for start in range(0, len(made), len(corpora))]
    about = ("accuracy", "documents", "correlation")
    return [
        {
            name: value if name in about else float(np.mean([row[name] for row in rows]))
            for name, value in rows[0].items()
        }
        for rows in groups
    ]


def levels(runs: int, jobs: int = 1) -> list[Row]:
    """Level of the tests of the best head against the best offset or rule, and coverage of what choosing gives."""
    cells = [(name, OFFSETS, *size, size[0] == 60, 0.2) for name, size in KINDS]
    cells += [(name, RULES, 24, 40, False, 0.2) for name in ("noise", "one head", "rivals")]
    cells += [(name, OFFSETS, *rest, shared) for name, *rest in RIVALS for shared in (0.2, 0.0)]
    return _rows([partial(choice, name, 0.0, *rest, runs) for name, *rest in cells], jobs)


def power(runs: int, jobs: int = 1) -> list[Row]:
    """How often a head that is better by 5, 10 or 15 points is found."""
    cells = [("rivals", OFFSETS, *size, False) for size in SIZED] + [("rivals", RULES, 24, 40, False)]
    cells += [(f"rivals, {name.partition(', ')[2]}", OFFSETS, *rest) for name, *rest in RIVALS]
    return _rows(
        [partial(choice, name, gain, *rest, 0.2, runs) for gain in GAINS for name, *rest in cells], jobs
    )


def scopes(runs: int, jobs: int = 1) -> list[Row]:
    """Negation: heads as good as the best baseline, and better, and coverage of F1."""
    return _rows([partial(negation, *case, runs) for case in NEGATION], jobs)


def sided(runs: int, jobs: int = 1) -> list[Row]:
    """Coreference: how often 72 heads or 4 rules are said to find more where the best of both know as much."""
    shapes = ((8, 40, True), (24, 20, True), (24, 20, False))
    cells = [(name, *shape) for name in ("noise", "noise, one baseline", "one head") for shape in shapes]
    return _rows([partial(_two_sided, *cell, runs) for cell in cells], jobs)


def _two_sided(name: str, documents: int, words: int, equal: bool, runs: int) -> Row:
    draw = _random("sided", name, documents, words, equal)
    p: list[float] = []
    heads, rules = slice(HEADS // 2), slice(HEADS // 2, None)
    for _ in range(runs):
        n = sizes(draw, documents, words, equal)
        chances = np.delete(scene(draw, name, 0.0, RULES), slice(HEADS // 2, HEADS))
        right = answers(draw, chances, n, 0.05, 0.2)
        starts = np.concatenate([[0], np.cumsum(n)[:-1]])
        scores = HitRatios(
            np.add.reduceat(right, starts, axis=0, dtype=np.float32), n[:, None].astype(np.float64)
        )
        if scores.documents[0] >= jackknife.LEAST:
            more = scores.gain(scores.best(heads), rules)[1], scores.gain(scores.best(rules), heads)[1]
            p.append(min(1.0, 2 * float(min(more))))
    told = np.array(p)
    about: Row = {"heads": name, "documents": documents, "words each": words, "sizes": _said(equal)}
    return about | {f"p ≤ {level}": float((told <= level).mean()) for level in LEVELS}


def _rows(work: Sequence[partial[Row]], jobs: int) -> list[Row]:
    if jobs == 1:
        return [_call(each) for each in work]
    with ProcessPoolExecutor(jobs) as pool:
        return list(pool.map(_call, work))


def _call(job: partial[Row]) -> Row:
    return job()


def markdown(rows: Iterable[Row]) -> str:
    """Rows as a table of Markdown."""
    rows = list(rows)
    lines = ["| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
    for row in rows:
        texts = [
            f"{each:.3f}".lstrip("0") if isinstance(each, float) and 0 < each < 1 else str(each)
            for each in row.values()
        ]
        lines.append("| " + " | ".join(texts) + " |")
    return "\n".join(lines)
