"""Row statistics against whole maps in float64."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from headscope.attention.recording import recording
from headscope.attention.rows import WantedStatistics, row_statistics
from headscope.measures.choose import choose
from headscope.models import Model
from headscope.runs.rows import RowSums
from tests.helpers.attention_calls import (
    BLOCKS_ONLY,
    CASES,
    EVERYTHING,
    classes,
    compare,
    expected,
    lower,
    make,
    near,
    padded,
    whole,
)


@pytest.mark.slow
@pytest.mark.parametrize("elements", [None, 97], ids=lambda count: f"blocks of {count}")
@pytest.mark.parametrize("case", {**CASES, **BLOCKS_ONLY})
def test_blocks_equal_whole_maps(case: str, elements: int | None) -> None:
    record = {**CASES, **BLOCKS_ONLY}[case]()
    columns = classes(record)
    found = row_statistics(record, columns, EVERYTHING, elements)
    compare(found, expected(record, columns), near(record))


@pytest.mark.slow
@pytest.mark.parametrize("elements", [None, 97], ids=lambda count: f"blocks of {count}")
@pytest.mark.parametrize("case", {**CASES, **BLOCKS_ONLY})
def test_blocks_attend_in_place_of_the_model(case: str, elements: int | None) -> None:
    record = {**CASES, **BLOCKS_ONLY}[case]()
    found = row_statistics(record, classes(record), WantedStatistics(entropy=True, output=True), elements)
    torch.testing.assert_close(
        found.output.double(), whole(record) @ record.values.double(), atol=2 * near(record), rtol=0
    )


def test_a_model_whose_attention_is_measured_gives_what_it_gives_else(demo: Model) -> None:
    inputs = [demo.encode("The old bridge."), demo.encode("She crossed the river before it was light.")]
    ready = demo.inputs(inputs)
    with torch.no_grad():
        own = demo.module(**ready).last_hidden_state
        rows = RowSums(demo, choose(None), inputs, 0.0, Counter())
        with recording(demo.module, rows.reduce, fused=True):
            measured = demo.module(**ready).last_hidden_state
    seen = ready["attention_mask"].bool()
    torch.testing.assert_close(measured[seen], own[seen], atol=1e-5, rtol=0)


@pytest.mark.parametrize("shared", [0.0, 1.0], ids=["spread", "shared by all keys"])
def test_large_scores_keep_their_digits(shared: float) -> None:
    """Scores near 200: with a large part that all keys share entropies stay exact, and none is negative."""
    record = make(dim=64, queries=64)
    if shared:
        direction = torch.nn.functional.normalize(
            torch.randn(64, generator=torch.Generator().manual_seed(3)), dim=0
        )
        record.q, record.k = record.q + 40 * direction, record.k + 40 * direction
        tolerance = 5e-5  # what keys do not share makes scores of some 25
    else:
        record.q, tolerance = 60 * record.q, 2e-4  # float32 itself knows scores this large to 1e-5
    scores = record.q.double() @ record.k.double().mT * record.scaling
    assert scores.logsumexp(-1).max() > 180
    compare(row_statistics(record, classes(record), EVERYTHING), expected(record, classes(record)), tolerance)


def test_a_sink_with_scores_that_all_keys_share() -> None:
    """Taking the mean key off must not change what the sink gets."""
    record = make(heads=4, sinks=torch.tensor([3.0, 10.0, 20.0, 40.0]))
    record.k = record.k + 3.0
    truth = expected(record, classes(record))
    assert truth.largest is not None
    assert truth.mass.sum() > 0.1
    assert whole(record).sum(-1).min() < 0.5
    compare(row_statistics(record, classes(record), EVERYTHING), truth)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_other_dtypes(dtype: torch.dtype) -> None:
    """The statistics are those of the queries and keys as they are, computed at least in float32."""
    record = make(is_causal=True)
    record.q, record.k = record.q.to(dtype), record.k.to(dtype)
    truth = expected(record, classes(record))
    found = row_statistics(record, classes(record), EVERYTHING)
    assert found.mass.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    compare(found, truth)


def test_smoothed_entropy_is_over_visible_keys() -> None:
    record = make(mask=padded(19, 7, width=19) & lower(19))
    weights = whole(record)
    seen = (padded(19, 7, width=19) & lower(19)).double()
    mixed = (1 - 1e-2) * weights + 1e-2 * seen / seen.sum(-1, keepdim=True)
    found = row_statistics(record, classes(record), WantedStatistics(entropy=True, smoothing=1e-2))
    torch.testing.assert_close(found.entropy.double(), torch.special.entr(mixed).sum(-1), atol=1e-5, rtol=0)


def test_rows_that_see_nothing_are_zero() -> None:
    record = make(mask=padded(19, 7, width=19, side="left") & lower(19))
    found = row_statistics(record, classes(record), EVERYTHING)
    assert not found.entropy[1, :, :12].any()
    assert not found.mass[1, :, :12].any()
    assert not any(weight[1, :, :12].any() for weight in found.offsets.values())
    assert found.entropy[1, :, 14:].all()


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    batch=st.integers(1, 3),
    key_heads=st.integers(1, 3),
    groups=st.integers(1, 3),
    queries=st.integers(1, 40),
    dim=st.integers(1, 20),
    count=st.integers(0, 12),
    elements=st.integers(1, 4000),
    seed=st.integers(0, 1000),
    hide=st.sampled_from(["nothing", "causal", "some"]),
)
def test_any_call_in_any_blocks(
    batch: int,
    key_heads: int,
    groups: int,
    queries: int,
    dim: int,
    count: int,
    elements: int,
    seed: int,
    hide: str,
) -> None:
    record = make(batch, key_heads * groups, queries, dim=dim, seed=seed, key_heads=key_heads)
    record.is_causal = hide == "causal"
    if hide == "some":
        record.mask = (
            torch.rand(batch, 1, queries, queries, generator=torch.Generator().manual_seed(seed)) < 0.5
        )
    columns = classes(record, count)
    truth = expected(record, columns)
    compare(row_statistics(record, columns, EVERYTHING, elements), truth)


@pytest.mark.slow
def test_memory_is_linear() -> None:
    """No tensor as large as a map is made, nor of queries in half precision a whole copy in float32."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Sizes(TorchDispatchMode):
        largest = 0

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = func(*args, **(kwargs or {}))
            for tensor in out if isinstance(out, tuple) else (out,):
                if isinstance(tensor, Tensor) and tensor.dtype == torch.float32:
                    self.largest = max(
                        self.largest, tensor.untyped_storage().nbytes() // tensor.element_size()
                    )
            return out

    record = make(1, 4, 2048, dim=8, is_causal=True)
    for wanted in (EVERYTHING, replace(EVERYTHING, output=True)):
        with Sizes() as sizes:
            row_statistics(record, classes(record), wanted)
        assert 0 < sizes.largest < 4 * 2048 * 2048 / 8
    record = make(1, 8, 1024, dim=64, key_heads=1, is_causal=True)
    record = replace(record, q=record.q.bfloat16(), k=record.k.bfloat16())
    with Sizes() as sizes:
        row_statistics(record, classes(record), EVERYTHING, elements=1 << 14)
    assert 0 < sizes.largest < record.q.numel()
