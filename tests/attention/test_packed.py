"""Packed inputs: documents side by side in one row, and what keeps them apart."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.errors import HeadscopeWarning, InputError
from tests.helpers.hybrids import hybrid

BORDER, LENGTH = 5, 10
IDS = torch.arange(20, 20 + LENGTH)[None]
ANEW = torch.tensor([[*range(BORDER), *range(LENGTH - BORDER)]])
DOCUMENT = torch.arange(LENGTH) >= BORDER
APART = (DOCUMENT[:, None] == DOCUMENT)[None, None]
CAUSAL = APART & torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()


@pytest.fixture(scope="module")
def llama() -> Any:
    return hs.load(hybrid("llama"))


@pytest.fixture(scope="module")
def bert() -> Any:
    return hs.load(hybrid("bert"))


def over(maps: Any) -> float:
    """The mean share of attention that goes over the border, from the second document to the first."""
    return float(maps.weights[:, :, BORDER:, :BORDER].sum(-1).mean())


def test_a_call_that_keeps_documents_apart_is_taken_and_says_nothing(llama: Any) -> None:
    inputs = {"input_ids": IDS, "position_ids": ANEW, "use_cache": False}
    with warnings.catch_warnings(action="error"):
        maps = hs.capture(llama, inputs=inputs)
        slopes = hs.gradients(llama, inputs=inputs)
    assert over(maps) == 0
    assert not slopes["self"][0][:, BORDER:, :BORDER].any()
    assert over(hs.view(llama, inputs=inputs).inputs[0].first) == 0


def test_positions_that_begin_anew_warn_where_nothing_keeps_documents_apart(llama: Any) -> None:
    inputs = {"input_ids": IDS, "position_ids": ANEW}
    said = r"position_ids: begin anew at token 5, .* use_cache=False without attention_mask .* \[batch 1 query key\]"
    with pytest.warns(HeadscopeWarning, match=said):
        assert over(hs.capture(llama, inputs=inputs)) > 0.3
    with pytest.warns(HeadscopeWarning, match=said):  # a mask of the tokens keeps transformers from it
        hs.capture(llama, inputs={**inputs, "attention_mask": torch.ones_like(IDS), "use_cache": False})
    with pytest.warns(HeadscopeWarning, match="begin anew"):
        hs.gradients(llama, inputs=inputs)
    with pytest.warns(HeadscopeWarning, match="begin anew"):
        hs.view(llama, inputs=inputs)


def test_a_model_without_a_cache_is_told_of_a_mask(bert: Any) -> None:
    with pytest.warns(
        HeadscopeWarning, match=r"begin anew at token 5, .* attention_mask \[batch 1 query key\]"
    ):
        hs.capture(bert, inputs={"input_ids": IDS, "position_ids": ANEW})


def test_positions_of_padding_do_not_warn(llama: Any) -> None:
    mask = torch.ones_like(IDS)
    mask[:, :3] = 0
    positions = torch.where(mask == 1, mask.cumsum(-1) - 1, 1)
    with warnings.catch_warnings(action="error"):
        hs.capture(llama, inputs={"input_ids": IDS, "attention_mask": mask, "position_ids": positions})


@pytest.mark.parametrize(("kind", "mask"), [("llama", CAUSAL), ("bert", APART)])
def test_a_mask_of_booleans_hides_as_its_numbers_do(kind: str, mask: torch.Tensor, request: Any) -> None:
    model = request.getfixturevalue(kind)
    numbers = torch.zeros(mask.shape).masked_fill(~mask, torch.finfo(torch.float32).min)
    with warnings.catch_warnings(action="error"):
        both = [
            hs.capture(model, inputs={"input_ids": IDS, "position_ids": ANEW, "attention_mask": given})
            for given in (mask, numbers, mask.numpy())
        ]
    assert over(both[0]) == 0
    for other in both[1:]:
        np.testing.assert_array_equal(both[0].weights, other.weights)


def test_masks_of_which_models_make_different_things_are_refused(llama: Any) -> None:
    with pytest.raises(
        InputError, match=r"attention_mask: expected \[batch token\] or .* found the shape \(1, 10, 10\)"
    ):
        hs.capture(llama, inputs={"input_ids": IDS, "attention_mask": CAUSAL[0]})
    with pytest.raises(InputError, match=r"attention_mask: expected booleans .* found int64"):
        hs.capture(llama, inputs={"input_ids": IDS, "attention_mask": CAUSAL.long()})


def test_scalars_are_those_of_the_forward_pass(llama: Any) -> None:
    with pytest.raises(
        InputError, match=r"'use_cash'.: expected an argument .* of LlamaForCausalLM, found False"
    ):
        hs.capture(llama, inputs={"input_ids": IDS, "use_cash": False})
    with pytest.raises(InputError, match="expected what the module takes, such as input_ids"):
        hs.capture(llama, inputs={"use_cache": False})
    first = {"use_cache": False, "input_ids": IDS}  # whatever comes first
    assert hs.capture(llama, inputs=first).weights.shape[-1] == LENGTH
