"""The cheap score is a derivative, and masking is an edited forward pass, in models of many kinds."""

from __future__ import annotations

import math

import pytest
import torch

import headscope as hs
from headscope.analyses.why.asked import Asked
from headscope.analyses.why.passes import Masked, Passes, by_head
from tests.helpers.asked import KINDS, Doubled, by_hand, sources, sure


@pytest.mark.parametrize("kind", KINDS)
def test_slopes_are_derivatives_and_masks_are_edits(kind: str) -> None:
    asked = KINDS[kind]()
    double = asked.model.dtype == torch.float64
    if double:
        with Doubled():
            slopes_and_masks(asked, step=1e-5, close=1e-7)
    else:  # experts run in float32 alone
        slopes_and_masks(asked, step=2e-2, close=2e-3)


def slopes_and_masks(asked: Asked, *, step: float, close: float) -> None:
    spans = sources(asked)
    passes = Passes(asked, spans)
    slopes = passes.slopes(torch.ones(1, len(asked.targets)))
    alone = sure(asked)
    assert float(slopes.log_p.sum()) == pytest.approx(alone, abs=close)
    heads = by_head(slopes)
    place = slopes.places[0]
    only = {(place[0], hs.Head(place[1], 1))}
    for span in range(len(spans)):
        for chosen, slope in ((None, float(heads[..., span].sum())), (only, float(heads[0, 1, span]))):
            ends: list[float] = []
            for sign in (-1, 1):
                with hs.edit(asked.model, by_hand(passes, math.exp(sign * step), spans=[span], only=chosen)):
                    ends.append(sure(asked))
            assert slope == pytest.approx((ends[1] - ends[0]) / (2 * step), rel=close, abs=close)
    every = [Masked((0,)), Masked((2,)), Masked((0, 1)), Masked((1,), frozenset(only))]
    measured: dict[int, float] = {}

    def receive(rows: list[int], scores: torch.Tensor) -> None:
        measured.update(zip(rows, asked.log_p(scores).sum(1).tolist(), strict=True))

    passes.masked(every, receive)
    for number, one in enumerate(every):
        with hs.edit(asked.model, by_hand(passes, 0.0, spans=list(one.spans), only=one.heads)):
            assert measured[number] == pytest.approx(sure(asked), abs=close), one
