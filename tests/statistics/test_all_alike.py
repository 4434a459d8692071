"""What all documents have alike, all right or all wrong, still leaves room for others: no share has an interval of no
width, and no p is 0, whichever analysis prints it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import xarray as xr

from headscope.analyses.context_attribution import statistics as prompts
from headscope.analyses.links.combine.statistics import LabelScores
from headscope.analyses.links.negation.statistics import BASELINES
from headscope.analyses.links.negation.statistics import dataset as negation
from headscope.analyses.roles.retrieval.statistics import Ablation, scores
from headscope.analyses.roles.retrieval.statistics import dataset as retrieval
from headscope.analyses.roles.statistics import ROLES, every
from headscope.analyses.streaming import statistics as streaming
from headscope.core.arrays import Floats
from headscope.measures.dataset import interval_of
from headscope.statistics.resample import HitRatios

MANY = (5, 40)
WILSON = {5: 0.566, 40: 0.912}
"""The lower end where so many of so many are right (Wilson 1927): n / (n + 1.96²)."""

Ends = tuple[Floats, Floats]


def _prompts(many: int, value: float) -> xr.Dataset:
    rows = np.full((many, len(prompts.FIGURES)), value)
    return prompts.figures(prompts.PromptRows(rows, np.arange(float(many)), [""] * many), {}, {}).sel(
        kind="all"
    )


def _attributed(many: int, value: float) -> Ends:
    found = _prompts(many, value).sel(figure=list(prompts.SHARES))
    return found["attributed_low"].values, found["attributed_high"].values


def _measured(many: int, value: float) -> Ends:
    figures = {"m": value, "m_se": 0.0, "m_documents": float(many)}
    found = xr.Dataset({name: (("layer", "head"), np.full((1, 2), one)) for name, one in figures.items()})
    found["m"].attrs["units"] = "share"
    return interval_of(found, "m")


def _role(many: int, value: float) -> Ends:
    measure = next(role.measure for role in ROLES if role.name == "previous token")
    figures = {
        "": value,
        "_se": 0.0,
        "_documents": float(many),
        "_n": 9.0 * many,
        "_chance": 0.1,
        "_skewness": 0.0,
    }
    found = xr.Dataset(
        {measure + end: (("layer", "head"), np.full((1, 2), one)) for end, one in figures.items()},
        {"layer": [0], "head": [0, 1]},
    )
    found[measure].attrs["units"] = "share"
    rows = every(found)
    return rows["ci_low"].to_numpy(), rows["ci_high"].to_numpy()


def _looked(many: int, value: float) -> Ends:
    found = scores(np.full((many, 1, 2), 3 * value), np.full(many, 3.0), 0.01)
    return found["retrieval_low"], found["retrieval_high"]


def _ablated(many: int, value: float) -> Ends:
    figures = scores(np.ones((many, 1, 2)), np.ones(many), 0.01)
    found = retrieval(figures, [0], {}, Ablation(np.full((4, many), value), [[]]))
    return found["accuracy_low"].values, found["accuracy_high"].values


def _streamed(many: int, value: float) -> Ends:
    figures = {name: np.zeros((1, 2)) for name in streaming.FIGURES}
    check = streaming.AnswerCheck(np.full((5, many), value), np.random.default_rng(0).random((5, many)), [])
    found = streaming.dataset(figures, [0], {}, check)
    return found["accuracy_low"].values, found["accuracy_high"].values


def _accuracies(many: int, value: float) -> Ends:
    return HitRatios(np.full((many, 2), value, np.float32), np.ones((many, 1))).interval()


def _chosen(many: int, value: float) -> Ends:
    low, high = HitRatios(np.full((many, 2), value, np.float32), np.ones((many, 1))).best(slice(2)).interval()
    return np.array(low), np.array(high)


def _combined(many: int, value: float) -> Ends:
    one = np.full((2, 1), value)
    found = LabelScores([*range(many)], [one] * many, [np.ones(1)] * many).figures()
    return found["ci_low"][:1], found["ci_high"][:1]


def _negation(many: int, value: float) -> Ends:
    found = negation(np.full((many, 2 + len(BASELINES), 3), [value, 1 - value, 1 - value]), [0])
    return found["f1_low"].values, found["f1_high"].values


@pytest.mark.slow
@pytest.mark.parametrize("value", [0.0, 1.0])
@pytest.mark.parametrize("many", MANY)
@pytest.mark.parametrize(
    "made",
    [_attributed, _measured, _role, _looked, _ablated, _streamed, _accuracies, _chosen, _combined, _negation],
)
def test_all_right_is_no_certainty(made: Callable[[int, float], Ends], many: int, value: float) -> None:
    low, high = made(many, value)
    inner = 1 - high if value == 0 else low
    outer = low if value == 0 else 1 - high
    assert np.size(inner)
    np.testing.assert_array_equal(outer, 0)
    assert (np.abs(inner - WILSON[many]) < 0.06).all()  # of F1 two words a document count


@pytest.mark.parametrize("many", MANY)
@pytest.mark.parametrize("value", [-1.0, 0.0, 1.0])
def test_nor_is_a_difference_or_a_correlation_that_all_have(many: int, value: float) -> None:
    found = _prompts(many, value).sel(figure=list(prompts.WITHIN))
    low, high = found["attributed_low"].values, found["attributed_high"].values
    assert ((low < high - 0.05) & (low <= value) & (value <= high) & (low >= -1) & (high <= 1)).all()
    p = _prompts(many, value).sel(figure="place")["p"].item()
    assert p == (0.5 ** (many - 1) if value else 1.0)


@pytest.mark.parametrize("many", MANY)
def test_nor_is_an_ablation_that_changes_no_answer(many: int) -> None:
    """The same needles answered without the top heads and without others: a loss of 0, of these."""
    figures = scores(np.ones((many, 1, 2)), np.ones(many), 0.01)
    found = retrieval(figures, [0], {}, Ablation(np.ones((4, many)), [[]]))
    assert -0.5 < found["loss_low"].item() == -found["loss_high"].item() < -0.05
