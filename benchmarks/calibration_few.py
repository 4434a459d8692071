"""Do intervals hold and tests keep their level where there are few units: pairs, needles, texts, rotations, documents?

Every figure goes through the library's own statistics. A cell draws many figures that are independent; units are drawn
from distributions of mean 0 and standard deviation 1, from normal to heavily skewed (`KINDS`), with their tail to the
right or to the left. A level is given as p ≤ .05 over .05 and so on: 1 is right, above 1 is too often.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm

from headscope.core.arrays import Floats, quiet
from headscope.statistics import jackknife

Row = dict[str, Any]

KINDS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], Floats]] = {
    "normal": lambda draw, shape: draw.standard_normal(shape),
    "exponential": lambda draw, shape: draw.standard_exponential(shape) - 1,
    "gamma, shape .3": lambda draw, shape: (draw.standard_gamma(0.3, shape) - 0.3) / np.sqrt(0.3),
    "log-normal": lambda draw, shape: (
        (draw.lognormal(0, 1, shape) - np.exp(0.5)) / np.sqrt((np.e - 1) * np.e)
    ),
}
TAILS = (("normal", ""), *((kind, tail) for kind in list(KINDS)[1:] for tail in ("right", "left")))
LEVELS = (0.05, 0.01, 0.001)
UNITS = (6, 8, 12, 24, 48)
LONG = (48, 96, 192)
HEADS = 72


def drawn(draw: np.random.Generator, kind: str, tail: str, shape: tuple[int, ...]) -> Floats:
    """Units of a kind."""
    return KINDS[kind](draw, shape) * (-1 if tail == "left" else 1)


def needles(runs: int) -> list[Row]:
    """Streaming: what a key head loses, a mean over needles whose truth is the bar."""
    from headscope.analyses.streaming.statistics import BAR, over_needles, p_values

    rows: list[Row] = []
    for kind, tail in TAILS:
        for units in UNITS:
            draw = _random("needles", kind, tail, units)
            losses = BAR + 0.1 * drawn(draw, kind, tail, (units, runs))
            found = over_needles(losses)
            about = {"losses": kind, "tail": tail, "needles": units}
            rows.append(about | _held(found.low, found.high, BAR) | _levels(p_values(losses)))
    return rows


def pairs(runs: int) -> list[Row]:
    """Patching: effects of heads over pairs of unequal gaps; true effects are those that most heads have."""
    from headscope.analyses.patching.statistics import chance, effects, p_values, told_apart

    rows: list[Row] = []
    for kind, tail in TAILS:
        for units in UNITS:
            draw = _random("pairs", kind, tail, units)
            held: list[Floats] = []
            p: list[Floats] = []
            for _ in range(max(1, runs // HEADS)):
                gaps = draw.lognormal(1, 0.4, units)
                truth = draw.normal(0, 0.02, HEADS)
                noise = draw.lognormal(-2, 1.0, HEADS)  # some heads vary much more over pairs than most
                changes = truth * gaps[:, None] + noise * drawn(draw, kind, tail, (units, HEADS))
                found = effects(changes, gaps)
                held.append(
                    np.where(np.isnan(found.low), np.nan, (found.low <= truth) & (truth <= found.high))
                )
                p.append(p_values(found, chance(found.value), units, told_apart(gaps)))
            about = {"changes": kind, "tail": tail, "pairs": units}
            rows.append(about | {"interval": _mean(np.concatenate(held))} | _levels(np.concatenate(p)))
    return rows


def looked(runs: int) -> list[Row]:
    """Retrieval: the share of tokens of needles that a head looks at, all of a needle or not one, or in part."""
    from headscope.analyses.roles.retrieval.statistics import BAR, scores

    rows: list[Row] = []
    for alike in (0.3, 0.9):
        for units in (8, 12, 24, 48):
            row: Row = {"correlation": alike, "needles": units}
            draw = _random("looked", alike, units)
            counts = draw.integers(4, 9, units).astype(np.float64)
            spread = (1 - alike) / alike
            for share in (0.02, BAR, 0.3, 0.9):
                chances = draw.beta(share * spread, (1 - share) * spread, (units, 1, runs))
                hits = draw.binomial(counts.astype(int)[:, None, None], chances).astype(np.float64)
                found = scores(hits, counts, 0.01)
                row |= {
                    f"{share:g}": _held(found["retrieval_low"], found["retrieval_high"], share)["interval"]
                }
                if share == BAR:
                    levels = _levels(found["p"])
            rows.append(row | levels)
    return rows


def conditions(runs: int) -> list[Row]:
    """Whole answers of needles (retrieval, streaming): an accuracy, and how much larger one is than another."""
    from headscope.statistics.resample import Gain

    rows: list[Row] = []
    for units in (6, 12, 24):
        row: Row = {"needles": units}
        many = np.full(runs, float(units))
        for share in (0.05, 0.3, 0.5, 0.9):
            draw = _random("conditions", units, share)
            right = (draw.random((units, runs)) < share).astype(np.float64)
            ends = jackknife.share_interval(right.mean(0), jackknife.error(right, np.ones_like(right)), many)
            more = right - (draw.random((units, runs)) < 0.3)
            ones = np.ones_like(more)
            gain = Gain(more.mean(0), jackknife.error(more, ones), many)
            row[f"accuracy {share:g}"] = _held(*ends, share)["interval"]
            row[f"loss {share - 0.3:g}"] = _held(*gain.interval(), share - 0.3)["interval"]
        rows.append(row)
    return rows


def layers(runs: int) -> list[Row]:
    """Two models: how far 12 layers moved, a skewed figure of each document, and whether one moved more than all."""
    import xarray as xr

    from headscope.analyses.compare.models.statistics import by_layer

    rows: list[Row] = []
    for documents, unequal in ((5, False), (8, False), (13, False), (30, False), (8, True), (30, True)):
        draw = _random("layers", documents, unequal)
        held: list[Floats] = []
        q: list[float] = []
        for _ in range(max(1, runs // 12)):
            n = draw.lognormal(5, 0.8 if unequal else 0.0, (documents, 1))
            own = draw.standard_gamma(2.0, (documents, 1)) * draw.standard_gamma(2.0, (documents, 12)) * 0.01
            parts = {"js_layer": own * n, "js_excess": (own - own.mean(1, keepdims=True)) * n}
            figures = {name: ("layer", s.sum(0) / n.sum()) for name, s in parts.items()}
            figures |= {f"{name}_se": ("layer", jackknife.error(s, n)) for name, s in parts.items()}
            figures |= {f"{name}_skewness": ("layer", jackknife.skewness(s, n)) for name, s in parts.items()}
            figures |= {f"cosine_layer{end}": ("layer", np.ones(12)) for end in ("", "_se")}
            figures["js_documents"] = ((), float(jackknife.effective(n)[0]))
            found: Any = by_layer(xr.Dataset(figures, {"layer": np.arange(12)}))
            low, high = found["js_low"].to_numpy(), found["js_high"].to_numpy()
            held.append(np.where(np.isnan(low), np.nan, (low <= 0.04) & (high >= 0.04)))
            q.append(float(found["excess_q"].min()))
        told = np.array([each for each in q if each == each])
        about = {"documents": documents, "sizes": "unequal" if unequal else "equal"}
        any_layer = float((told <= 0.05).mean()) if len(told) else np.nan
        rows.append(
            about | {"interval of js": _mean(np.concatenate(held)), "some excess_q ≤ 0.05": any_layer}
        )
    return rows


def changes(runs: int) -> list[Row]:
    """Roles of two models: the difference of a head's scores, of pairs of documents or of other documents."""
    rows: list[Row] = []
    for documents, unequal in ((5, False), (8, False), (20, False), (60, False), (20, True)):
        for paired in (True, False):
            row: Row = {"documents": documents, "sizes": "unequal" if unequal else "equal", "paired": paired}
            for centre in (0.5, 0.9):
                draw = _random("changes", documents, unequal, paired, centre)
                n = draw.lognormal(5, 0.8 if unequal else 0.0, (2, documents, runs)).round()
                n[1] = n[0] if paired else n[1]
                s = n * draw.beta(centre * 8, (1 - centre) * 8, n.shape)
                value = s.sum(1) / n.sum(1)
                difference = value[0] - value[1]
                each = [jackknife.effective(one) for one in n]
                if paired:
                    se, count = jackknife.error(s[0] - s[1], n[0]), each[0]
                else:
                    se = np.hypot(*(jackknife.error(*two) for two in zip(s, n, strict=True)))
                    count = np.minimum(*each)
                covers = _held(*jackknife.interval(difference, se, count), 0.0)["interval"]
                levels = _levels(jackknife.differs(difference, se, count))
                row |= {f"{name}, mean {centre}": rate for name, rate in levels.items()}
                row[f"interval, mean {centre}"] = covers
            rows.append(row)
    return rows


def sentences(runs: int) -> list[Row]:
    """Sentence heads: kurtosis over sentences that receive normal or exponential weights, of one text or of several."""
    from headscope.analyses.sentences.run import dataset, kurtosis

    rows: list[Row] = []
    for texts, many in ((1, 10), (1, 20), (1, 50), (5, 20), (8, 20), (12, 20), (30, 20), (8, 50)):
        draw = _random("sentences", texts, many)
        row: Row = {"texts": texts, "sentences": many}
        for kind in ("normal", "exponential"):
            truth = float(kurtosis(KINDS[kind](draw, (200_000, many))).mean())
            values = [KINDS[kind](draw, (1, runs, many)) for _ in range(texts)]
            found = dataset(values, [0], {}, None)
            ends = found["kurtosis_low"].values, found["kurtosis_high"].values
            row[f"interval, {kind}"] = _held(*ends, truth)["interval"]
            if kind == "normal":
                row |= _levels(found["p"].values)
        rows.append(row)
    return rows


def rotations(runs: int) -> list[Row]:
    """What heads write: copying scores of circuits without relation, and how many tokens promote themselves."""
    from headscope.analyses.writes.run import DRAWS
    from headscope.analyses.writes.statistics import eigenvalue_scores

    rows: list[Row] = []
    for size, rank in ((4, 4), (16, 16), (16, 3), (64, 64)):
        draw = _random("rotations", size, rank)
        p: list[Floats] = []
        for seed in range(max(1, runs // 100 // max(1, size // 8))):
            left, right = draw.standard_normal((2, 24, size, rank))
            found = eigenvalue_scores(left @ np.swapaxes(right, 1, 2), DRAWS, seed)
            p.append(found["copying_p"])
        row: Row = {"dimensions": size, "rank": rank} | _levels(np.concatenate(p))
        sample = np.full(runs, 256.0)
        for share in (0.01, 0.1, 0.5):
            itself = draw.binomial(256, share, runs) / sample
            ends = jackknife.share_interval(itself, np.zeros(runs), sample)
            row[f"itself {share:g}"] = _held(*ends, share)["interval"]
        rows.append(row)
    return rows


def probes(runs: int) -> list[Row]:
    """Two probes on the same sentences: a correlation's interval, and the difference of their accuracies."""
    from headscope.analyses.probes.statistics import ByCluster

    rows: list[Row] = []
    for documents, each in ((8, 10), (20, 10), (60, 5)):
        draw = _random("probes", documents, each)
        clusters = np.repeat(np.arange(documents), each)
        held: list[list[float]] = []
        p: list[float] = []
        for _ in range(max(1, runs // 20)):
            lengths = draw.integers(5, 30, len(clusters))
            by = ByCluster(lengths, clusters)
            ease = 0.2 * draw.standard_normal(documents)[clusters]
            sentence = np.repeat(np.arange(len(clusters)), lengths)
            means = []
            for _ in range(2):
                hard = (
                    ease
                    + 0.3 * draw.standard_normal(len(clusters))
                    + 0.1 * draw.standard_normal(documents)[clusters]
                )
                means.append(by.share(hard[sentence] + draw.standard_normal(len(sentence)) < 0.8, sentence))
            more = means[0].minus(means[1])
            rho = by.by_length(np.tanh(0.8 + ease + 0.3 * draw.standard_normal(len(clusters))))
            truth = _spearman_truth()
            held.append([bool(more.ends[0] <= 0 <= more.ends[1]), bool(rho.ends[0] <= truth <= rho.ends[1])])
            p.append(float(more.gain.differs()))
        covers = np.mean(held, 0).tolist()
        about: Row = {"documents": documents, "sentences each": each}
        rows.append(about | {"difference": covers[0], "spearman": covers[1]} | _levels(np.array(p)))
    return rows


def figures(runs: int) -> list[Row]:
    """Figures that are no shares, such as importance in nats: a mean over documents that are skewed."""
    rows: list[Row] = []
    for documents, unequal in ((5, False), (8, False), (13, False), (30, False), (13, True), (30, True)):
        row: Row = {"documents": documents, "sizes": "unequal" if unequal else "equal"}
        for kind in KINDS:
            draw = _random("figures", documents, unequal, kind)
            n = draw.lognormal(5.0, 0.8 if unequal else 0.0, (documents, runs)).round().clip(10)
            s = n * drawn(draw, kind, "right", n.shape)
            value, se, skew = s.sum(0) / n.sum(0), jackknife.error(s, n), jackknife.skewness(s, n)
            row[kind] = _held(*jackknife.interval(value, se, jackknife.effective(n), skew=skew), 0.0)[
                "interval"
            ]
        rows.append(row)
    return rows


def _spearman_truth() -> float:
    """The mean of what `probes` draws as correlations."""
    points, weights = np.polynomial.hermite_e.hermegauss(40)
    return float((weights * np.tanh(0.8 + np.hypot(0.2, 0.3) * points)).sum() / weights.sum())


def arrangement(runs: int) -> list[Row]:
    """Distances: whether heads of one layer are nearer to each other, where layers say nothing of distances."""
    import xarray as xr

    from headscope.analyses.distance.arrangement import same_layer

    rows: list[Row] = []
    for depth, heads in ((3, 4), (6, 4), (12, 12)):
        draw = _random("arrangement", depth, heads)
        count = depth * heads
        at = np.repeat(np.arange(depth), heads)
        p: list[float] = []
        for seed in range(max(1, runs // 40)):
            places = draw.standard_normal((count, 5))
            apart = np.sqrt(((places[:, None] - places) ** 2).sum(-1))
            names = [f"L{layer}H{number}" for number, layer in enumerate(at)]
            coords = {
                name: (f"head_{side}", value)
                for side in "ab"
                for name, value in (
                    (f"head_{side}", names),
                    (f"layer_{side}", at),
                    (f"index_{side}", np.arange(count)),
                )
            }
            found = xr.Dataset({"distance": (("head_a", "head_b"), apart)}, coords)
            p.append(same_layer(found, permutations=999, seed=seed).p)
        rows.append({"layers": depth, "heads": heads} | _levels(np.array(p)))
    return rows


def together(runs: int) -> list[Row]:
    """The report's summary: intervals of all heads that hold at once (Bonferroni)."""
    rows: list[Row] = []
    for documents in (5, 8, 13, 30, 100):
        row: Row = {"documents": documents}
        for centre in (0.5, 0.9):
            draw = _random("together", documents, centre)
            n = np.full((documents, max(1, runs // HEADS), HEADS), 100.0)
            s = n * draw.beta(centre * 8, (1 - centre) * 8, n.shape)
            value, count = s.sum(0) / n.sum(0), jackknife.effective(n)
            low = jackknife.share_interval(value, jackknife.error(s, n), count, confidence=1 - 0.05 / HEADS)[
                0
            ]
            row[f"no lower end of {HEADS} is above, mean {centre}"] = float((low <= centre).all(-1).mean())
        rows.append(row)
    return rows


def prompts(runs: int) -> list[Row]:
    """Sources of many answers: figures of each prompt, of which some are nearly always the same; p is of a place."""
    from headscope.analyses.context_attribution.statistics import ALL, FIGURES, PromptRows, figures

    names = list(FIGURES)
    shares = dict(zip(names[:5], (0.05, 0.5, 0.8, 0.95, 0.99), strict=True))

    def values(draw: np.random.Generator, documents: int, each: int) -> Floats:
        """``[prompt figure]``; prompts of a document correlate."""
        z = np.sqrt(0.3) * draw.standard_normal((documents, 1, len(names))) if each > 1 else 0.0
        z = z + np.sqrt(0.7 if each > 1 else 1.0) * draw.standard_normal((documents, each, len(names)))
        u, made = norm.cdf(z).reshape(-1, len(names)), np.full((documents * each, len(names)), np.nan)
        for name, share in shares.items():
            at = names.index(name)
            made[:, at] = u[:, at] < share
        rank, chosen, alike, place = (
            names.index(name) for name in ("masked_rank", "oracle", "agreement", "place")
        )
        made[:, rank] = 1 / np.ceil(np.log(u[:, rank]) / np.log(0.2)).clip(1, 8)
        made[:, chosen] = np.where(u[:, chosen] < 0.8, 1.0, 1 - (u[:, chosen] - 0.8) / 0.2)
        made[:, alike] = np.tanh(1.2 + 0.8 * norm.ppf(u[:, alike]))
        made[:, place] = np.where(np.abs(u[:, place] - 0.5) < 0.4, 0.0, 2 * u[:, place] - 1)
        return made

    truth = values(_random("prompts"), 1_000_000, 1).mean(0)
    rows: list[Row] = []
    for documents, each in ((5, 1), (8, 1), (12, 1), (40, 1), (5, 4), (8, 4), (12, 4), (40, 4)):
        draw, held, p = _random("prompts", documents, each), [], []
        for _ in range(max(1, runs // 10)):
            many = np.repeat(np.arange(float(documents)), each)
            found = figures(PromptRows(values(draw, documents, each), many, [""] * len(many)), {}, {}).sel(
                kind=ALL
            )
            low, high = found["attributed_low"].values, found["attributed_high"].values
            held.append((low <= truth) & (truth <= high))
            p.append(found["p"].sel(figure="place").item())
        covers = dict(zip(names, np.mean(held, 0).tolist(), strict=True))
        row: Row = {"documents": documents, "prompts each": each}
        row |= {f"first, {share:g}": covers[name] for name, share in shares.items()}
        row |= {"rank": covers["masked_rank"]} | {
            name: covers[name] for name in ("oracle", "agreement", "place")
        }
        rows.append(row | _levels(np.array(p)))
    return rows


DROPS: dict[str, Callable[[np.random.Generator, Floats], Floats]] = {
    "all alike, 1 ± .5": lambda draw, z: 1 + 0.5 * z,
    "normal, 0 ± 1": lambda draw, z: z,
    "log-normal, 1.5": lambda draw, z: np.exp(1.5 * z - 1.125),
    **{
        f"{share:g} carry": lambda draw, z, share=share: (
            (norm.cdf(z) < share) * draw.exponential(2.0, z.shape) + draw.normal(0, 0.05, z.shape)
        )
        for share in (0.05, 0.1, 0.3)
    },
    "0.1 carry, others 0": lambda draw, z: (norm.cdf(z) < 0.1) * draw.exponential(2.0, z.shape),
}
"""What an answer's tokens lose, given normal scores of which neighbours correlate; carriers lose 2 nats, on average."""


def answers(runs: int) -> list[Row]:
    """The effect of a span on an answer: a sum over its tokens; how often it has an interval, which holds how often."""
    from headscope.analyses.why.statistics import effect

    rows: list[Row] = []
    for kind, make in DROPS.items():
        for alike in (0.0, 0.3, 0.6, 0.8):
            row: Row = {"drops": kind, "neighbours": alike}
            truth = float(
                make(_random("answers", kind), _random("answers").standard_normal(4_000_000)).mean()
            )
            for tokens in (24, *LONG):
                draw = _random("answers", kind, alike, tokens)
                z = draw.standard_normal((tokens, runs))
                for token in range(1, tokens):
                    z[token] = alike * z[token - 1] + np.sqrt(1 - alike**2) * z[token]
                _, low, high = effect(make(draw, z))
                given = float(np.isfinite(low).mean())
                row[f"{tokens} tokens"] = (
                    _held(low, high, truth * tokens)["interval"] if given >= 0.01 else np.nan
                )
                row[f"given, {tokens}"] = f"{given:.2f}"
            rows.append(row)
    return rows


MASKED: dict[str, Callable[[np.random.Generator, Floats], Floats]] = {
    "normal": lambda draw, z: 0.8 * z + 0.3 * draw.standard_normal(z.shape),
    "Student's t, 3": lambda draw, z: 0.8 * z + 0.3 * draw.standard_t(3, z.shape),
    "normal, grows": lambda draw, z: (
        0.8 * z + 0.3 * np.maximum(0.1, 1 + z / 2) * draw.standard_normal(z.shape)
    ),
    "normal, grows by powers": lambda draw, z: 0.8 * z + 0.3 * np.exp(z / 2) * draw.standard_normal(z.shape),
    "along a parabola": lambda draw, z: 0.8 * z - 0.1 * z * z + 0.3 * draw.standard_normal(z.shape),
}
"""What masking makes of logits that are standard normal: changes along a line or not, of one size or growing."""


def vocabulary(runs: int) -> list[Row]:
    """p of a span that an answer does not hang on: masking changes all logits alike, and at random."""
    from headscope.analyses.why.statistics import specific

    rows: list[Row] = []
    for answer in ("any token", "the likeliest"):
        for change, make in MASKED.items():
            for tokens in (1, 10):
                draw = _random("vocabulary", answer, change, tokens)
                p: list[float] = []
                for _ in range(runs):
                    whole = draw.standard_normal((tokens, 2_000))
                    masked = make(draw, whole)
                    goal = whole.argmax(1) if answer == "the likeliest" else draw.integers(0, 2_000, tokens)
                    p += specific(whole, masked, goal, np.ones((1, tokens), np.bool_)).tolist()
                rows.append({"answer": answer, "change": change, "tokens": tokens} | _levels(np.array(p)))
    return rows


def halves(runs: int) -> list[Row]:
    """Overlaps of the top ten: how often the interval of one corpus holds the overlap of two others half its size."""
    from headscope.statistics.overlap import overlap

    def corpus(
        draw: np.random.Generator, truth: Floats, noise: float, documents: int
    ) -> tuple[Floats, Floats]:
        n = np.round(20 * draw.pareto(1.5, (documents, 1)) + 10)
        odds = np.log(truth / (1 - truth)) + draw.normal(0, noise, (documents, len(truth)))
        s = draw.binomial(n.astype(int), 1 / (1 + np.exp(-odds))).astype(np.float64)
        return s, np.broadcast_to(n, s.shape)

    rows: list[Row] = []
    for documents in (12, 30, 100):
        for heads, noise in ((72, 0.2), (72, 0.8), (300, 0.8)):
            draw = _random("halves", documents, heads, noise)
            held, own, others = np.zeros((3, max(1, runs // 40)))
            for run in range(len(held)):
                truth = draw.beta(0.5, 3, heads).clip(1e-3, 1 - 1e-3)
                found = overlap(*corpus(draw, truth, noise, documents), draws=200, seed=run)
                assert found is not None
                tops = []
                for _ in range(2):
                    s, n = corpus(draw, truth, noise, documents // 2)
                    tops.append({*np.argsort(-s.sum(0) / n.sum(0), kind="stable")[: found.top].tolist()})
                others[run], own[run] = len(tops[0] & tops[1]) / found.top, found.share
                held[run] = found.low <= others[run] <= found.high
            figures = {
                "interval": float(held.mean()),
                "share": float(own.mean()),
                "of two others": float(others.mean()),
            }
            rows.append({"documents": documents, "heads": heads, "noise": noise} | figures)
    return rows


def wrote(runs: int) -> list[Row]:
    """Written scores: logits that a head adds to the tokens of answers, of which some needles have none."""
    from headscope.analyses.patching.statistics import chance, effects, p_values, told_apart

    rows: list[Row] = []
    for kind, tail in TAILS:
        for units, share in ((12, 1.0), (32, 1.0), (48, 0.4)):
            draw = _random("wrote", kind, tail, units)
            held: list[Floats] = []
            p: list[Floats] = []
            for _ in range(max(1, runs // HEADS)):
                counts = draw.integers(4, 9, units) if share == 1 else draw.binomial(1, share, units)
                counts = counts.astype(np.float64)
                truth, noise = draw.normal(0, 0.02, HEADS), draw.lognormal(-2, 1.0, HEADS)
                found = effects(
                    counts[:, None] * (truth + noise * drawn(draw, kind, tail, (units, HEADS))), counts
                )
                held.append(
                    np.where(np.isnan(found.low), np.nan, (found.low <= truth) & (truth <= found.high))
                )
                p.append(p_values(found, chance(found.value), units, told_apart(counts)))
            about = {"logits": kind, "tail": tail, "needles": units, "answered": share}
            rows.append(about | {"interval": _mean(np.concatenate(held))} | _levels(np.concatenate(p)))
    return rows


def lists(runs: int) -> list[Row]:
    """Two lists of heads that are alike in part: the overlap of one, from half of the units, with the other's."""
    from headscope.statistics.overlap import Sums, overlap

    def corpus(draw: np.random.Generator, truth: Floats, units: int) -> list[Sums]:
        both = truth[:, None] + 1.5 * draw.standard_normal((2, units, truth.shape[1]))
        return [(one, np.ones_like(one)) for one in both]

    rows: list[Row] = []
    for units in (16, 32, 64):
        for alike in (0.0, 0.6, 1.0):
            draw = _random("lists", units, alike)
            held, own, others = np.zeros((3, max(1, runs // 40)))
            for run in range(len(held)):
                one, more = draw.standard_normal((2, 270))
                truth = np.stack([one, alike * one + np.sqrt(1 - alike**2) * more])
                first, second = corpus(draw, truth, units)
                found = overlap(*first, against=second, draws=200, seed=run)
                assert found is not None
                tops: list[set[int]] = []
                for which in range(2):
                    s, _ = corpus(draw, truth, units // 2)[which]
                    tops.append({*np.argsort(-s.mean(0), kind="stable")[: found.top].tolist()})
                others[run], own[run] = len(tops[0] & tops[1]) / found.top, found.share
                held[run] = found.low <= others[run] <= found.high
            figures = (held, own, others)
            names = ("interval", "share", "of two others")
            rows.append({"units": units, "alike": alike}
                | {name: float(one.mean()) for name, one in zip(names, figures, strict=True)})  # fmt: skip
    return rows


def circuits(runs: int) -> list[Row]:
    """Jaccard of circuits of two halves of the pairs: of 3,000 edges the largest, whatever their sign."""
    from headscope.statistics.overlap import overlaps

    rows: list[Row] = []
    sizes = (10, 100, 600)
    for pairs in (12, 24, 48):
        for noise in (0.3, 2.0):
            draw = _random("circuits", pairs, noise)
            held, own, others = np.zeros((3, max(1, runs // 400), len(sizes)))

            def made(draw: np.random.Generator, truth: Floats, pairs: int, noise: float) -> Floats:
                gaps = draw.lognormal(1, 0.4, (pairs, 1))
                return gaps * truth * (1 + noise * draw.standard_normal((pairs, len(truth))))

            for run in range(len(held)):
                truth = draw.lognormal(-5, 1.8, 3_000) * draw.choice([-1, 1], 3_000)
                s = made(draw, truth, pairs, noise)
                found = overlaps((s, np.ones_like(s)), sizes, signed=False, draws=100, seed=run)
                ranked = [
                    np.argsort(-np.abs(made(draw, truth, pairs // 2, noise).sum(0)), kind="stable")
                    for _ in range(2)
                ]
                for place, (size, one) in enumerate(zip(sizes, found, strict=True)):
                    assert one is not None
                    share, low, high, _ = one.jaccard()
                    first, second = ({*order[:size].tolist()} for order in ranked)
                    others[run, place] = len(first & second) / len(first | second)
                    own[run, place] = share
                    held[run, place] = low <= others[run, place] <= high
            for place, size in enumerate(sizes):
                rows.append({"pairs": pairs, "noise": noise, "edges": size}
                    | {"interval": float(held[:, place].mean()), "Jaccard": float(own[:, place].mean()),
                       "of two others": float(others[:, place].mean())})  # fmt: skip
    return rows


def terms(runs: int) -> list[Row]:
    """Reads and composition: shares of contrasts over documents of unequal contrasts, each with a share of its own."""
    from headscope.analyses.composition.statistics import LEAST

    rows: list[Row] = []
    for kind, tail in TAILS:
        for documents in (6, 8, 12, 24, 48):
            draw = _random("terms", kind, tail, documents)
            n = draw.lognormal(3.0, 0.6, (documents, runs))  # contrasts, in logits
            own = 0.1 * drawn(draw, kind, tail, n.shape)
            count, skew = jackknife.effective(n), jackknife.skewness(n * own, n)
            value, se = (n * own).sum(0) / n.sum(0), jackknife.error(n * own, n)
            p = jackknife.differs(value, se, count, skew)  # a share less that of shuffled keys
            value, se = value + LEAST, jackknife.error(n * (LEAST + own), n)
            ends = jackknife.interval(value, se, count, skew=skew)
            about: Row = {"shares": kind, "tail": tail, "documents": documents, **_held(*ends, LEAST)}
            above = _mean(np.where(np.isnan(ends[0]), np.nan, ends[0] > LEAST))
            rows.append(about | {"low end above": above} | _levels(p))
    return rows


def turns(runs: int) -> list[Row]:
    """Composition: z of a head whose writing is turned at random, where documents are alike, and where they are not."""
    rows: list[Row] = []
    width, tokens = 48, 12
    for rank in (1, 4, 48):
        for alike in (0.0, 0.7, 1.0):
            draw = _random("turns", rank, alike)
            z: list[float] = []
            for _ in range(max(1, runs // 10)):
                made = [_told(draw, rank, alike, 8, tokens, width) for _ in range(2)]
                turn = np.linalg.qr(draw.standard_normal((width, width)))[0]
                turn *= draw.choice([-1.0, 1.0], width)
                total = float((made[0] @ turn * made[1]).sum())
                grams = [part @ part.swapaxes(-1, -2) for part in made]
                z.append(total / np.sqrt((grams[0] * grams[1]).sum((1, 2)) / width).sum())
            rows.append({"directions": rank, "alike in documents": alike} | _levels(norm.sf(np.array(z))))
    return rows


def _told(
    draw: np.random.Generator, rank: int, alike: float, documents: int, tokens: int, width: int
) -> Floats:
    """What is written, or read, in some directions, ``[document token dim]``."""
    directions = draw.standard_normal((rank, width))
    common, own = draw.standard_normal((1, tokens, rank)), draw.standard_normal((documents, tokens, rank))
    return (alike * common + np.sqrt(1 - alike**2) * own) @ directions


def unrelated(runs: int) -> list[Row]:
    """Sentences of English EWT that stand far apart, read by the demo model: what seems to make them near."""
    import headscope as hs

    trees = Path(__file__).parents[2] / "shared" / "data" / "ud_ewt" / "en_ewt-ud-test.conllu"
    text = trees.read_text("utf-8")
    lines = [line for line in re.findall(r"# text = (.*)", text) if 3 <= len(line.split()) <= 25]
    model, draw = hs.load(), np.random.default_rng(0)
    passed: list[tuple[int, list[float]]] = []
    for _ in range(runs):
        first = int(draw.integers(len(lines)))
        second = (first + len(lines) // 4 + int(draw.integers(len(lines) // 2))) % len(lines)
        found = hs.similar(model, lines[first], lines[second], chance=True)
        words = len(lines[first].split()) + len(lines[second].split())
        few = [found[name].values <= 0.05 for name in ("q_pair", "q", "p_pair", "p")]
        passed.append((words, [few[0].any(), few[1].any(), few[2].mean(), few[3].mean()]))
    rows: list[Row] = []
    for low, high in ((6, 12), (12, 18), (18, 25), (25, 51), (6, 51)):
        some = np.array([one for words, one in passed if low <= words < high], np.float64).reshape(-1, 4)
        levels = [_mean(column) for column in some.T]
        rows.append(
            {"words of both": f"{low} to {high - 1}", "pairs of texts": len(some)}
            | {"any interaction at q ≤ 0.05": levels[0], "any effect at q ≤ 0.05": levels[1]}
            | {"interactions at p ≤ 0.05": levels[2], "effects at p ≤ 0.05": levels[3]}
        )
    return rows


def scores(runs: int) -> list[Row]:
    """Pairs with a score, and triplets, of two models: a correlation, an accuracy, and their differences."""
    rows: list[Row] = []
    for pairs in (10, 20, 50, 200):
        row: Row = {"pairs": pairs}
        for true in (0.0, 0.5, 0.8, 0.95):
            draw = _random("scores", pairs, true)
            truth = 6 / np.pi * np.arcsin(true / 2)
            held: list[list[bool]] = []
            for _ in range(runs if pairs < 200 else runs // 4):
                gold, *own = draw.standard_normal((3, pairs))
                near = [true * gold + np.sqrt(1 - true**2) * one for one in own]
                table = _by_label(near, [str(one) for one in gold], pairs)
                held.append([_within(table, 0, "correlation", truth), _within(table, 2, "correlation", 0)])
            covers = np.mean(held, 0).tolist()
            row |= {f"correlation {true:g}": covers[0], f"difference of correlations {true:g}": covers[1]}
        for share in (0.5, 0.9):
            draw = _random("triplets", pairs, share)
            held = []
            for _ in range(runs):
                ease = draw.standard_normal(pairs)
                right = [norm.ppf(share) > np.sqrt(0.5) * (ease + draw.standard_normal(pairs)) for _ in "ab"]
                near = [np.stack([np.full(pairs, 0.5), np.where(one, 0.1, 0.9)], 1).ravel() for one in right]
                table = _by_label(near, ["right", "wrong"] * pairs, pairs)
                held.append([_within(table, 0, "below", share), _within(table, 2, "below", 0)])
            covers = np.mean(held, 0).tolist()
            row |= {f"accuracy {share:g}": covers[0], f"difference of accuracies {share:g}": covers[1]}
        rows.append(row)
    return rows


def heeded(runs: int) -> list[Row]:
    """Documents drawn from English EWT, read by the demo model: how much words of a class are heeded in all of them.

    Beside it how near pairs are whose distance is log-normal.
    """
    import headscope as hs
    from headscope.analyses.similar.heed import heeded as heed
    from headscope.analyses.similar.reader import TextReader
    from headscope.corpora import conllu

    trees = Path(__file__).parents[2] / "shared" / "data" / "ud_ewt" / "en_ewt-ud-test.conllu"
    words: Any = heed([TextReader(hs.load(), "word", None, None, 32)], conllu(trees))
    sums: Any = words.groupby(["document", "label"])[0].agg(["sum", "count"]).unstack(fill_value=0)
    rows: list[Row] = []
    for count in (8, 10, 20, 50):
        draw = _random("heeded", count)
        drawn = draw.integers(len(sums), size=(count, runs))
        row: Row = {"documents or pairs": count}
        for label in sums["sum"]:
            s, n = (sums[name][label].to_numpy(float) for name in ("sum", "count"))
            row[label] = _covered(s[drawn], n[drawn], s.sum() / n.sum())
        near = 1 - draw.lognormal(-3.0, 0.7, drawn.shape)
        truth = 1 - float(np.exp(-3.0 + 0.7**2 / 2))
        rows.append(row | {"similarity of pairs": _covered(near, np.ones(near.shape), truth)})
    return rows


def _covered(s: Floats, n: Floats, truth: float) -> float:
    with quiet():
        value = s.sum(0) / n.sum(0)
    se, documents = jackknife.error(s, n), jackknife.effective(n)
    ends = jackknife.interval(value, se, documents, skew=jackknife.skewness(s, n))
    return float(_held(*ends, truth)["interval"])


def _by_label(near: list[Floats], labels: list[str], texts: int) -> Any:
    import xarray as xr

    from headscope.analyses.similar.statistics import NEAR, by_label

    of = np.repeat(np.arange(texts), len(labels) // texts)
    made = {name: ("input", one) for name, one in zip(NEAR, near, strict=False)}
    coords = {"label": ("input", labels), "text_a": ("input", of)}
    return by_label(xr.Dataset(made, {"input": range(len(labels)), **coords}))


def _within(table: Any, place: int, name: str, truth: float) -> bool:
    row = table[table[name].notna()].iloc[place]
    return bool(row[f"{name}_low"] <= truth <= row[f"{name}_high"])


def areas(runs: int) -> list[Row]:
    """The bench of circuits: a mean area over models, many of which have 1; CPR and CMD over pairs of unequal gaps."""
    from headscope.analyses.bench.circuits import SHARES, integrated, mean_of

    rows: list[Row] = []
    for units in (6, 10, 20, 48):
        row: Row = {"models or pairs": units}
        for centre in (0.6, 0.8, 0.95):
            draw = _random("areas", units, centre)
            truth = np.minimum(1.0, draw.normal(centre, 0.15, 1_000_000)).mean()
            made = [mean_of(np.minimum(1.0, draw.normal(centre, 0.15, units))) for _ in range(runs // 10)]
            row[f"mean of areas about {centre:g}"] = float(
                np.mean([one["ci_low"] <= truth <= one["ci_high"] for one in made])
            )
        faithful = np.concatenate([[0.0], np.minimum(1.4, 3.0 * np.array(SHARES[:-1]) ** 0.4), [1.0]])
        widths = np.diff(SHARES)
        for name, true in (("CPR", faithful[1:]), ("CMD", np.abs(1 - faithful[1:]))):
            truth = float(widths @ (true[1:] + true[:-1]) / 2)
            for kind, tail in TAILS:
                draw = _random("areas", name, kind, tail, units)
                held: list[bool] = []
                for _ in range(runs // 40):
                    gaps = draw.lognormal(1, 0.4, units)
                    noise = 0.3 * drawn(draw, kind, tail, (units, 1)) + 0.1 * draw.standard_normal(
                        (units, len(faithful))
                    )
                    noise[:, [0, -1]] = 0.0
                    found = integrated(gaps[:, None] * faithful + noise, distance=name == "CMD")
                    held.append(bool(found["ci_low"] <= truth <= found["ci_high"]))
                row[f"{name}, {kind} {tail}".strip()] = float(np.mean(held))
        rows.append(row)
    return rows


PARTS: dict[str, tuple[Callable[[int], list[Row]], int]] = {
    "needles": (needles, 40_000),
    "pairs": (pairs, 40_000),
    "looked": (looked, 20_000),
    "conditions": (conditions, 40_000),
    "layers": (layers, 24_000),
    "changes": (changes, 20_000),
    "sentences": (sentences, 20_000),
    "rotations": (rotations, 40_000),
    "terms": (terms, 20_000),
    "turns": (turns, 40_000),
    "probes": (probes, 20_000),
    "arrangement": (arrangement, 20_000),
    "together": (together, 72_000),
    "figures": (figures, 20_000),
    "prompts": (prompts, 20_000),
    "answers": (answers, 10_000),
    "vocabulary": (vocabulary, 2_000),
    "halves": (halves, 20_000),
    "unrelated": (unrelated, 170),
    "wrote": (wrote, 40_000),
    "lists": (lists, 20_000),
    "circuits": (circuits, 40_000),
    "scores": (scores, 400),
    "heeded": (heeded, 20_000),
    "areas": (areas, 20_000),
}
"""Each part, and how many figures a row of it takes."""


def markdown(rows: list[Row]) -> str:
    """Rows as a table of Markdown; levels with two digits."""

    def text(name: str, value: Any) -> str:
        if isinstance(value, float):
            return "–" if np.isnan(value) else f"{value:.{2 if name.startswith('p ≤') else 3}f}"
        return str(value)

    lines = ["| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
    return "\n".join(lines + ["| " + " | ".join(text(*cell) for cell in row.items()) + " |" for row in rows])


def _held(low: Floats, high: Floats, truth: Floats | float) -> Row:
    """How often intervals hold the truth, where there are any."""
    return {"interval": _mean(np.where(np.isnan(low), np.nan, (low <= truth) & (truth <= high)))}


def _mean(values: Floats) -> float:
    return float(np.nanmean(values)) if np.isfinite(values).any() else np.nan


def _levels(p: Floats) -> Row:
    """How often p is at most a level, by that level."""
    told = p[np.isfinite(p)]
    return {
        f"p ≤ {level:g}": float((told <= level).mean() / level) if told.size else np.nan for level in LEVELS
    }


def _random(*names: object) -> np.random.Generator:
    """Numbers of their own for each row, whatever else is run."""
    return np.random.default_rng(zlib.crc32(repr(names).encode()))
