"""The kernel that reduces rows as it attends: on a GPU where there is one, else by Triton's interpreter.

The interpreter cannot form products in bfloat16 (Triton's documentation, "Debugging"), so these are tried on a GPU only.
"""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import LlamaConfig, LlamaModel

from headscope.attention import fused
from headscope.attention.record import AttentionRecord
from headscope.attention.rows import RowStatistics, WantedStatistics
from headscope.core.tokens import Tokens
from headscope.errors import HeadscopeWarning
from headscope.measures.choose import choose
from headscope.models import Model
from headscope.runs.task import Task
from tests.helpers.attention_calls import (
    BLOCKS_ONLY,
    CASES,
    EVERYTHING,
    additive,
    classes,
    compare,
    expected,
    make,
    near,
    whole,
)
from tests.helpers.attention_calls import lower as causal
from tests.helpers.patience import PATIENCE
from tests.helpers.small_models import sizes

pytestmark = pytest.mark.slow

if sys.platform == "linux" and os.environ.get("CI"):
    import triton  # pyright: ignore[reportMissingImports]  # noqa: F401
else:
    pytest.importorskip("triton", reason="needs triton, which Linux has")

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
WANTED = replace(EVERYTHING, output=True)
CALLS = {name: call for name, call in {**CASES, **BLOCKS_ONLY}.items() if name != "given"}


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel is used on a processor, as it is on a GPU."""
    monkeypatch.setattr(fused, "DEVICES", ("cpu", "cuda"))
    monkeypatch.setattr(fused, "_known", {})


def of(record: AttentionRecord, dtype: torch.dtype = torch.float16) -> AttentionRecord:
    return replace(record, q=record.q.to(dtype), k=record.k.to(dtype), v=record.v.to(dtype))


def placed(record: AttentionRecord) -> AttentionRecord:
    """A call where kernels run."""
    tensors = {name: getattr(record, name) for name in ("q", "k", "v", "mask", "bias", "sinks", "given")}
    return replace(record, **{name: each.to(DEVICE) for name, each in tensors.items() if each is not None})


def by_kernel(record: AttentionRecord, columns: torch.Tensor) -> RowStatistics:
    """All statistics by the kernel, back on the processor."""
    return fused.kernel_statistics(placed(record), columns, WANTED).map(torch.Tensor.cpu)


@pytest.mark.parametrize("case", CALLS)
def test_the_kernel_equals_whole_maps(case: str) -> None:
    """Of float32 to 1e-5 where scores are small, and of half precision to 1e-3 of what float64 gives for the same queries and keys."""
    record = CALLS[case]()
    calls = [
        (record, near(record)),
        (of(record), 1e-3),
        *([(of(record, torch.bfloat16), 1e-2)] if DEVICE == "cuda" else []),
    ]
    for call, off in calls:
        found = by_kernel(call, classes(call))
        compare(found, expected(call, classes(call)), off)
        truth = whole(call) @ call.values.double()
        torch.testing.assert_close(found.output.double(), truth, atol=2 * off, rtol=0)


@pytest.mark.parametrize(
    "change",
    [
        {"is_causal": True},
        {"mask": causal(150, window=20)},
        {"is_causal": True, "q": make(1, 2, 70, dim=8).q},
    ],
    ids=["causal", "window", "more keys"],
)
def test_an_input_of_many_blocks(change: dict[str, Any]) -> None:
    """150 keys are three blocks, of which the last is not full."""
    record = replace(make(1, 2, 150, dim=8, key_heads=1), **change)
    columns = classes(record, 5)
    compare(by_kernel(record, columns), expected(record, columns))


def test_a_mask_of_half_precision_hides() -> None:
    """The lowest number of float16 is far above that of float32; rows that see nothing have zeros."""
    seen = causal(19).clone()
    seen[..., 4, :] = False
    record = make(mask=seen)
    own = replace(of(record), mask=additive(seen, torch.finfo(torch.float16).min).half())
    found = by_kernel(own, classes(record))
    compare(found, expected(of(record), classes(record)), 1e-3)
    assert not found.output[..., 4, :].any()


@pytest.mark.usefixtures("here")
def test_what_the_kernel_takes() -> None:
    record = placed(of(make()))
    columns = classes(record)
    assert fused.fused(record, columns, EVERYTHING) is not None
    refused = {
        "float32": (placed(make()), EVERYTHING),
        "given": (placed(replace(record, given=torch.rand(2, 2, 19, 19).softmax(-1))), EVERYTHING),
        "smoothed": (record, WantedStatistics(entropy=True, smoothing=1e-2)),
        "extras": (record, WantedStatistics(extras=(lambda weights, items, rows, seen: weights.amax(-1),))),
        "wide": (placed(of(make(dim=300))), EVERYTHING),
    }
    for name, (call, wanted) in refused.items():
        assert fused.fused(call, columns, wanted) is None, name


def test_a_processor_takes_blocks() -> None:
    record = of(make())
    assert fused.fused(record, classes(record), EVERYTHING) is None


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("broken", ["off", "raises", "not a number"])
def test_a_kernel_that_is_wrong_is_not_used(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    record = placed(of(make()))
    right = fused.kernel_statistics

    def wrong(call: AttentionRecord, columns: torch.Tensor, wanted: WantedStatistics) -> object:
        if broken == "raises":
            raise RuntimeError("no room in shared memory")
        found = right(call, columns, wanted)
        found.mass[0, 0, 3] += 0.05 if broken == "off" else torch.nan
        return found

    monkeypatch.setattr(fused, "kernel_statistics", wrong)
    said = "no room in shared memory" if broken == "raises" else "it is off by"
    with pytest.warns(
        HeadscopeWarning, match=rf"fused kernel for float16 on {DEVICE}\S* is not used, as .*{said}"
    ):
        assert fused.fused(record, classes(record), EVERYTHING) is None
    with warnings.catch_warnings(action="error"):
        assert fused.fused(record, classes(record), EVERYTHING) is None  # told once


@pytest.mark.usefixtures("here")
def test_a_model_is_measured_by_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two inputs of different lengths, so that one is padded; the second layer sees what the kernel gave in the first."""
    torch.manual_seed(0)
    config = LlamaConfig(vocab_size=64, **sizes(inner=32, keys=2), attn_implementation="sdpa")
    model = Model(LlamaModel(config).half().eval().to(DEVICE), name="small")
    inputs = [Tokens([str(i) for i in ids], ids=ids) for ids in (range(3, 40), range(1, 20))]
    task = Task(model, choose(["entropy", "largest", "previous", "current"]))
    found = task.run(inputs)
    assert [*task.routes] == ["a fused kernel"]
    monkeypatch.setattr(fused, "DEVICES", ())
    blocks = Task(model, task.measures)
    truth = blocks.run(inputs)
    assert [*blocks.routes] == ["blocks of rows"]
    assert found.divisors.tolist() == truth.divisors.tolist()
    error = abs(found.sums - truth.sums) / truth.divisors
    assert 0 < error.max() < 1e-3


COMPILE = """
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
import triton
from headscope.attention import fused_kernel

kernel = fused_kernel.rows_kernel
fixed = dict(HIDDEN=-1e30, CAUSAL=True, BIAS=True, SOFTCAP=True, MASK=2, OUTPUT=True, OFFSETS=2, HALF=True, DIM=64,
    VALUE_DIM=64, CLASSES=16, ROWS=128, KEYS=64)
types = dict.fromkeys(("q", "k", "v", "bias", "mask", "output"), "*bf16")
types |= dict.fromkeys(("columns", "lse", "largest", "entropy", "mass", "offsets"), "*fp32")
types |= {"places": "*i32"} | dict.fromkeys(("scaling", "softcap", "hides"), "fp32")
signature = {name: "constexpr" if name in fixed else types.get(name, "i32") for name in kernel.arg_names}
for target, code in (GPUTarget("cuda", 80, 32), "cubin"), (GPUTarget("hip", "gfx942", 64), "hsaco"):
    done = triton.compile(ASTSource(kernel, signature=signature, constexprs=fixed), target=target, options=dict(num_warps=8, num_stages=2))
    print(target.backend, len(done.asm[code]) > 0, done.metadata.shared <= 64 * 1024)
"""


@pytest.mark.deep
def test_the_kernel_compiles_for_gpus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """For an NVIDIA and an AMD GPU in bfloat16, whose products the interpreter cannot form; neither is needed for it."""
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", COMPILE], capture_output=True, text=True, timeout=2 * PATIENCE
    )
    assert ran.stdout.splitlines() == ["cuda True True", "hip True True"], ran.stderr
