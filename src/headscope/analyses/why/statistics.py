"""Which spans an answer hangs on: how far a cheap score can be believed, what is no chance, and tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.core.arrays import AnyFloats, Bools, Floats, Ints, quiet
from headscope.core.escapes import beginning
from headscope.core.lazy import module
from headscope.measures.dataset import description
from headscope.statistics.jackknife import ROUNDING, error, false_discovery, interval, p_value, skewness
from headscope.views.digits import fixed, signed

COLUMNS = (
    "span",
    "level",
    "text",
    "effect",
    "ci_low",
    "ci_high",
    "share",
    "p",
    "q",
    "estimate",
    "deleted",
    "lexical",
    "attention",
    "start",
    "end",
    "parent",
)
"""Columns of the table of spans."""

FIGURES = {
    "estimate": (
        "estimate",
        "nats",
        "Derivative of the answer's log-probability by a bias on the attention to the span.",
    ),
    "masked": (
        "effect",
        "nats",
        "What the answer's log-probability loses where no later token sees the span.",
    ),
    "masked_low": (
        "ci_low",
        "nats",
        "Lower end of its 95 % interval, over the answer's tokens, where many carry it.",
    ),
    "masked_high": (
        "ci_high",
        "nats",
        "Upper end of its 95 % interval, over the answer's tokens, where many carry it.",
    ),
    "p": ("p", "probability", "That any token of the vocabulary would lose as much as the answer's do."),
    "q": ("q", "probability", "p, adjusted for all spans."),
    "deleted": ("deleted", "nats", "What it loses where the span is not in the prompt; positions move."),
    "lexical": ("lexical", "share", "The share of the answer's words that stand in the span."),
    "attention": (
        "attention",
        "share",
        "Mean attention to the span of the rows that give the answer, over all heads.",
    ),
}
"""Variables over spans, their columns, units, and what they are."""

MATTERS = float(np.log(2))
"""Nats: what loses less leaves the answer at least half as likely."""

TOKENS, CARRY = 48, 5
"""Tokens of an answer that an interval needs, and how many of them must lose or gain `MATTERS`."""

NOTES = ("looked at and not used", "used without looking")
"""What a note on a span begins with."""

LEAST = 5
"""Spans that a rank correlation needs."""

BELIEVED, ROUGHLY = 0.8, 0.5
"""Rank correlations from which the order of the estimates of all spans is believed, and believed roughly."""


def effect(drops: Floats) -> tuple[Floats, Floats, Floats]:
    """What the tokens of an answer lose together, ``[token ...]``, and its interval: were other such tokens written.

    By the kit's interval of a mean over tokens, of which neighbours are alike, so that fewer tell as much. NaN of fewer
    than 48 tokens, which do not tell how alike they are, and where fewer than 5 lose or gain ln 2: where few carry an
    effect, others like them may be among those that were not written.

    >>> [float(value) for value in effect(np.array([1.0, 2.0]))]
    [3.0, nan, nan]
    """
    count, ones = len(drops), np.ones(drops.shape)
    carrying = (np.abs(drops) >= MATTERS).sum(0) >= CARRY
    n = np.where(carrying & (count >= TOKENS), count / _alike(drops), 1.0)
    se = error(drops, ones) * np.sqrt(count / n)
    low, high = interval(drops.mean(0), se, n, skew=skewness(drops, ones))
    return drops.sum(0), low * count, high * count


def _alike(drops: Floats) -> Floats:
    """How many tokens tell as much as one that is like no other, ``[token ...] -> [...]``, by their correlations.

    (1 + r) / (1 − r), where neighbours correlate by r, or 1 + 2 Σ r of all lags before the first that is near chance,
    whichever is more; r of few is too small by about (1 + 4 r) / n (Kendall 1954).
    """
    count = len(drops)
    rests = drops - drops.mean(0)
    squares = (rests**2).sum(0)
    by_lags, near = np.ones(squares.shape), np.ones(squares.shape, np.bool_)
    neighbours = by_lags
    for lag in range(1, count // 4 + 1):
        with quiet():
            r = np.nan_to_num((rests[lag:] * rests[:-lag]).sum(0) / squares)
        if lag == 1:
            first = np.clip((r + 1 / count) / max(1 - 4 / count, 0.25), 0.0, 0.9)
            neighbours = (1 + first) / (1 - first)
        r = r + by_lags / count
        near &= r > 1 / np.sqrt(count)
        by_lags = by_lags + np.where(near, 2 * r, 0.0)
    return np.maximum(neighbours, by_lags)


def specific(unmasked: AnyFloats, masked: AnyFloats, goal: Ints, groups: Bools) -> Floats:
    """p, of some groups of an answer's tokens ``[group]``: that any token of the vocabulary loses as much.

    What masking does to an answer that does not hang on the span, it does to any token: the drop of a token's logit is
    ranked among those of the whole vocabulary, each less what follows of its logit alone (a parabola through them all:
    the likeliest lose most, whatever is changed), over how much those of its logit differ (another). Of several tokens
    the smallest p counts, times their number: few of them need to hang on a span.

    Args:
        unmasked, masked: logits, ``[token choice]``, with the span and without.
        goal: the choice that each token of the answer is.
        groups: which tokens are taken together, ``[group token]``.
    """
    alone = np.ones(len(goal))
    for token in np.flatnonzero(groups.any(0)):
        scores = _rests(unmasked[token], masked[token])
        others = np.delete(scores, goal[token])
        alone[token] = p_value(int((others >= scores[goal[token]]).sum()), len(others))
    return np.array([min(1.0, group.sum() * alone[group].min()) for group in groups])


def _rests(unmasked: AnyFloats, masked: AnyFloats) -> Floats:
    """How much more the logit of each choice drops than its size lets expect, over how much such ones differ."""
    before = np.asarray(unmasked, np.float64)
    drop = before - np.asarray(masked, np.float64)
    x = before - before.mean()
    x /= x.std() or 1.0
    powers = np.stack([np.ones_like(x), x, x * x])  # of a parabola, by least squares
    solved = np.linalg.pinv(powers @ powers.T, hermitian=True)
    rest = drop - solved @ (powers @ drop) @ powers
    pulled = ((solved @ powers) * powers).sum(0)  # how much a choice pulls the parabola to itself
    rest /= np.sqrt(np.maximum(1 - pulled, ROUNDING))
    size = np.abs(rest)
    size[size <= ROUNDING * np.abs(unmasked).max()] = 0.0
    usual = size.mean()  # of what loses much more, only so much counts: it shall not hide itself
    scatter = solved @ (powers @ np.minimum(size, 8 * usual)) @ powers
    return np.copysign(size, rest) / np.maximum(scatter, usual / 4) if usual else size


def adjusted(p: Floats) -> Floats:
    """q of p values, of which those that are NaN were not tested for want of promise: they count as 1."""
    if not np.isfinite(p).any():
        return np.full(p.shape, np.nan)
    q = false_discovery(np.nan_to_num(p, nan=1.0).reshape(-1)).reshape(p.shape)
    return np.where(np.isfinite(p), q, np.nan)


def agreement(first: Floats, second: Floats) -> float:
    """Spearman's rank correlation over what both know; NaN for fewer than five."""
    known = np.isfinite(first) & np.isfinite(second)
    if known.sum() < LEAST or not np.ptp(first[known]) or not np.ptp(second[known]):
        return float("nan")
    rank = float(module("scipy.stats").spearmanr(first[known], second[known])[0])
    return round(rank, 12)  # so that .5 is no less than .5


def lexical(answer: str, texts: Sequence[str]) -> Floats:
    """The share of the answer's words that stand in each text.

    >>> lexical("In Oslo", ["Maria lives in Oslo.", "Cairo"]).tolist()
    [1.0, 0.0]
    """
    wanted = _words(answer)
    return np.array([len(wanted & _words(text)) / max(len(wanted), 1) for text in texts])


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


def table(result: xr.Dataset) -> pd.DataFrame:
    """One row a span, with `COLUMNS`: those that were masked first, then the others, the largest first."""
    frame: Any = pd.DataFrame(
        {
            "span": result["span"].values,
            **{name: result[name].values for name in ("level", "text", "start", "end", "parent")},
            **{column: result[name].values for name, (column, *_) in FIGURES.items()},
        }
    )
    context = float(result["context"])
    frame["share"] = frame["effect"] / context if abs(context) >= MATTERS else np.nan
    return frame.sort_values(["effect", "estimate"], ascending=False, ignore_index=True)[list(COLUMNS)]


def heads(result: xr.Dataset, span: int | None = None) -> pd.DataFrame:
    """Through which heads a span reaches the answer, by default the first of the table: one row a head.

    ``estimate`` is the head's part of the span's, ``effect`` what the answer loses where this head alone does not see
    the span (NaN where that was not measured).
    """
    chosen = first(result) if span is None else span
    estimates = result["estimate_by_head"].isel(span=chosen, drop=True)
    effects = xr.full_like(estimates, np.nan)
    if "through_masked" in result and chosen == description(result)["through"]["span"]:
        at = result["through_place"].values, result["through_head"].values
        effects.values[at] = result["through_masked"].values
    rows: Any = xr.Dataset({"estimate": estimates, "effect": effects}).to_dataframe().reset_index()
    rows = rows.dropna(subset="estimate").sort_values("estimate", key=np.abs, ascending=False, kind="stable")
    rows = rows.sort_values("effect", key=np.isnan, kind="stable", ignore_index=True)
    return rows[["part", "layer", "head", "estimate", "effect"]]


def first(result: xr.Dataset) -> int:
    """The span whose masking the answer loses most by."""
    return int(np.nanargmax(result["masked"].values))


def named(result: xr.Dataset, span: int) -> str:
    """A span by its first words, as sentences say it."""
    return f"“{beginning(str(result['text'].values[span]), 40)}”"


def notes(result: xr.Dataset) -> list[str]:
    """What the attention to each span says beside its effect: looked at and not used, or used without looking.

    It is looked at where each of its tokens gets at least twice what one of any span gets on average, and not where
    that is less than half; used where the effect is ln 2 or more, and q, where there is one, at most .05.
    """
    tokens = (result["last_token"] - result["first_token"] + 1).values
    attention, effects = result["attention"].values, result["masked"].values
    usual = attention.sum() / tokens.sum()
    looked = attention / tokens / (usual if usual > 0 else np.nan)
    passes = np.nan_to_num(result["q"].values, nan=0.0) <= 0.05
    unused, unseen = (looked >= 2) & (np.abs(effects) < MATTERS), (looked <= 0.5) & (effects >= MATTERS)
    tests = dict(zip(NOTES, (unused, unseen & passes), strict=True))
    return [
        next(
            (f"{words}: {times:.1f} × the usual attention" for words, there in tests.items() if there[span]),
            "",
        )
        for span, times in enumerate(looked)
    ]


def sentences(result: xr.Dataset) -> list[str]:
    """What the figures of an input allow to say, in sentences."""
    context, joint = float(result["context"]), float(result["joint"])
    about = description(result)
    count, top = result.sizes["span"], len(about["joint"])
    every = "the one span" if count == 1 else f"any of the {count} spans"
    lines = [f"the answer loses {fixed(context, 2)} nats without {every}"]
    if "against" in about:
        this, that = (f"“{beginning(about[name].strip(), 40)}”" for name in ("answer", "against"))
        lines[0] = (
            f"{this} rather than {that}: without {every} the answer loses {fixed(context, 2)} nats against the other"
        )
    if top > 1:
        lines[0] += f", {fixed(joint, 2)} without the first {top} together"
    if "against" in about:
        lines.append("a difference has no p, q and interval: their level was not simulated")
    elif max(joint, context) < MATTERS:
        lines.append(
            "no part of the prompt matters much: without it the answer stays at least half as likely"
        )
    elif joint < MATTERS:
        lines.append("no few spans matter much: it is the context as a whole")
    masked = np.isfinite(result["masked"].values)
    rank = float(result["agreement"])
    if np.isnan(rank):
        trust = "too few spans were masked to say whether their order can be believed"
    else:
        words = (
            ("do not believe their order on this input", "another order"),
            ("their order can be believed roughly", "roughly this order"),
            ("their order can be believed on this input", "about this order"),
        )[int(rank >= ROUGHLY) + int(rank >= BELIEVED)]
        first, others = int(masked.sum()), int((~masked).sum())
        trust = f"of the {first} spans that they put first, masking has {words[1]}" if others else words[0]
        trust += f" (rank correlation {fixed(rank, 2)} over {first} spans)"
        if others:
            trust += f", which says nothing of the other {others}"
    more = "" if masked.all() else "; exact=all masks every span, subsets=32 random halves of them"
    lines.append(f"estimates beside masking: {trust}{more}")
    written = int(np.isfinite(result["drop"].values).any(0).sum())
    if written > 1 and "against" not in about and np.isnan(result["masked_low"].values).all():
        lines.append(
            f"effects have no interval over {written} tokens: one needs {TOKENS}, of which {CARRY} become half as "
            "likely, or twice"
        )
    if "datamodelling" in result:
        lines.append(
            f"linear datamodelling score over {about['subsets']} random subsets: estimates "
            f"{fixed(float(result['datamodelling']), 2)}"
            + (f", effects {fixed(float(result['datamodelling_masked']), 2)}" if masked.all() else "")
        )
    by_words = float(result["lexical_agreement"])
    if by_words == by_words:
        these = "them" if masked.all() else "those that were masked"
        lines.append(
            f"the words that spans share with the answer order {these} at a rank correlation of {fixed(by_words, 2)}"
        )
    by_note: dict[str, list[str]] = {}
    for span, note in enumerate(notes(result)):
        if note:
            by_note.setdefault(note.partition(":")[0], []).append(named(result, span))
    lines += [
        f"{words}: {', '.join(spans[:3])}" + (f" and {len(spans) - 3} more" if len(spans) > 3 else "")
        for words, spans in by_note.items()
    ]
    if "pair" in result.dims:
        for place in range(result.sizes["pair"]):
            more_than = float(result["interaction"][place])
            if abs(more_than) >= MATTERS:
                one, other = int(result["first"][place]), int(result["second"][place])
                kind = "either is enough" if more_than > 0 else "both are needed"
                lines.append(
                    f"{named(result, one)} and {named(result, other)}: {kind} (together {signed(more_than, 2)} "
                    "nats beside their sum)"
                )
    return lines
