"""The cheap score is a derivative, and masking is an edited forward pass, in models of many kinds."""

from __future__ import annotations

import math

import pytest
import torch

import headscope as hs
from headscope.analyses.why.asked import AskedPrompt
from headscope.analyses.why.passes import Masked, Passes, by_head
from tests.helpers.asked import KINDS, Doubled, by_hand, sources, sure


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.slow
def test_slopes_are_derivatives_and_masks_are_edits(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headscope.analyses.why.passes.CHUNK", 3)
    asked = KINDS[kind]()
    double = asked.model.dtype == torch.float64
    if double:
        with Doubled():
            slopes_and_masks(asked, step=1e-5, close=1e-7)
    else:  # experts run in float32 alone
        slopes_and_masks(asked, step=2e-2, close=2e-3)


def slopes_and_masks(asked: AskedPrompt, *, step: float, close: float) -> None:
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
    every = [Masked(one) for one in ((0,), (2,), (0, 1), (0, 2), (0, 1, 2))]
    every.append(Masked((1,), frozenset(only)))
    measured: dict[int, float] = {}

    def receive(rows: list[int], scores: torch.Tensor) -> None:
        measured.update(zip(rows, asked.log_p(scores).sum(1).tolist(), strict=True))

    for size in (8, 1):  # in a batch, and without the tokens that no other sees
        passes = Passes(asked, spans, size)
        passes.slopes(torch.ones(1, len(asked.targets)))
        measured.clear()
        passes.masked(every, receive)
        for number, one in enumerate(every):
            with hs.edit(asked.model, by_hand(passes, 0.0, spans=list(one.spans), only=one.heads)):
                assert measured[number] == pytest.approx(sure(asked), abs=close), one


@pytest.mark.parametrize(
    ("kind", "dtype", "drops"),
    [
        ("GPT-2", torch.float64, True),
        ("Llama", torch.float32, True),
        ("Llama", torch.bfloat16, True),
        ("Mistral", torch.float64, False),
    ],
)
def test_tokens_that_no_other_sees_are_left_out(kind: str, dtype: torch.dtype, drops: bool) -> None:
    asked = KINDS[kind]()
    asked.model.module.to(dtype)
    passes = Passes(asked, sources(asked), 1)
    passes.slopes(torch.ones(1, len(asked.targets)))

    def tokens(*spans: int) -> int:
        before = passes.runs
        passes.masked([Masked(spans)], lambda rows, scores: None)
        return round((passes.runs - before) * asked.length)

    if not drops:  # windows are counted in tokens that are there
        assert tokens(0, 1, 2) == asked.length
        return
    assert tokens(0, 1, 2) == 4  # one between the spans, the prompt's last, and the answer
    assert tokens(0) == 10
    assert tokens(1) == 6
    assert tokens(0, 1) == 6  # behind the second span: up to it as without the first alone
    with hs.edit(asked.model, "L0H0 off"):  # an edit may be of tokens by their number
        passes.slopes(torch.ones(1, len(asked.targets)))
        assert tokens(0) == 10
        assert tokens(0, 1, 2) == 10


def test_nothing_is_kept_for_gradients_of_weights() -> None:
    asked = KINDS["Llama"]()
    kept: list[int] = []
    for trained in (False, True):
        asked.model.module.requires_grad_(trained)
        sizes: list[int] = []

        def keep(tensor: torch.Tensor, sizes: list[int] = sizes) -> torch.Tensor:
            sizes.append(tensor.numel())
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            Passes(asked, sources(asked)).slopes(torch.ones(1, len(asked.targets)))
        kept.append(sum(sizes))
    assert kept[0] == kept[1]
