"""What measuring costs beside the model's plain forward pass, as ratios in one run.

    python benchmarks/throughput.py            all three
    python benchmarks/throughput.py --short    128 tokens, BERT-base's size: budget 1.15 × the plain pass
    python benchmarks/throughput.py --long     8,192 tokens, causal, 12 heads: 2.5 × its time, 1.3 × its memory
    python benchmarks/throughput.py --memory   memory over a corpus and one of four times its size

The plain pass is the model with its fused attention (``sdpa``), on the same batches. Weights are random: time
does not depend on them. Times are medians of repeats that alternate, after one of each to warm up; memory is the
peak of a process of its own.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import BertConfig, BertModel, LlamaConfig, LlamaModel, PreTrainedModel

from headscope.corpora import Example
from headscope.measures.choose import choose
from headscope.models import Model
from headscope.run.measure import measure
from headscope.run.stream import Task
from headscope.tokens import Tokens

LONG = 8192


def bert() -> PreTrainedModel:
    return BertModel(BertConfig(attn_implementation="sdpa")).eval()


def causal(layers: int = 3) -> PreTrainedModel:
    """Layers of BERT-base's size, 12 heads of 64, rotary positions."""
    config = LlamaConfig(
        vocab_size=8192,
        hidden_size=768,
        intermediate_size=2048,
        num_hidden_layers=layers,
        num_attention_heads=12,
        num_key_value_heads=12,
        max_position_embeddings=LONG,
        attn_implementation="sdpa",
    )
    return LlamaModel(config).eval()


class Causal(Model):
    """A model that is known to be causal without a check on loading."""

    @property
    def causal(self) -> bool:
        return True


def inputs(count: int, length: int, seed: int = 0) -> list[Tokens]:
    """Random tokens, [CLS] a [SEP] b [SEP] with some punctuation."""
    draw = np.random.default_rng(seed)
    found: list[Tokens] = []
    for _ in range(count):
        ids = draw.integers(1000, 8000, length)
        place = np.arange(length)
        separators = (place == length // 2) | (place == length - 1)
        classes = {"sep": separators, "cls": place == 0, "punctuation": draw.random(length) < 0.1}
        found.append(Tokens([str(number) for number in ids], ids=ids, classes=classes))
    return found


def plain(model: Model, batch: list[Tokens]) -> None:
    more = {} if isinstance(model.module, BertModel) else {"use_cache": False}
    with torch.no_grad():
        model.module(**model.inputs(batch), **more)


def alternating(repeats: int, *runs: Callable[[], object]) -> list[float]:
    """The median time of each run, in seconds."""
    times: list[list[float]] = [[] for _ in runs]
    for run in runs:
        run()
    for _ in range(repeats):
        for own, run in zip(times, runs, strict=True):
            started = time.perf_counter()
            run()
            own.append(time.perf_counter() - started)
    return [statistics.median(own) for own in times]


def short(repeats: int, names: list[str] | None) -> None:
    model = Model(bert(), name="BERT-base, random weights")
    batch = inputs(8, 128)
    task = Task(model, choose(names))
    one, measured = alternating(repeats, lambda: plain(model, batch), lambda: task.run(batch))
    print(
        f"128 tokens, 12 × 12 heads, batch 8: plain {one * 1e3:.0f} ms, measured {measured * 1e3:.0f} ms, "
        f"{measured / one:.3f} × (budget 1.15), {task.route}"
    )


def long(repeats: int, names: list[str] | None) -> None:
    model = Causal(causal(), name="causal, random weights")
    batch = inputs(1, LONG)
    task = Task(model, choose(names))
    one, measured = alternating(repeats, lambda: plain(model, batch), lambda: task.run(batch))
    print(
        f"{LONG:,} tokens, causal, 3 × 12 heads: plain {one:.2f} s, measured {measured:.2f} s, "
        f"{measured / one:.2f} × (budget 2.5), {task.route}"
    )
    alone, both = (apart(way, names) for way in ("plain", "measured"))
    print(
        f"the same, peak memory: plain {alone:.0f} MB, measured {both:.0f} MB, {both / alone:.3f} × (budget 1.3)"
    )


def memory(names: list[str] | None) -> None:
    small, large = (apart(f"corpus {count}", names) for count in (300, 1200))
    print(
        f"peak memory over 300 and 1,200 inputs of 128 tokens: {small:.0f} and {large:.0f} MB, "
        f"{large / small:.3f} × (constant: 1)"
    )


def apart(way: str, names: list[str] | None) -> float:
    """Peak memory in MB of one way in a process of its own."""
    arguments = ["--apart", way, *(["--measures", ",".join(names)] if names else [])]
    arguments += ["--threads", str(torch.get_num_threads())]
    found = subprocess.run(
        [sys.executable, __file__, *arguments], check=True, capture_output=True, text=True
    ).stdout
    return float(json.loads(found)["peak"])


def alone(way: str, names: list[str] | None) -> None:
    if way.startswith("corpus "):
        config = BertConfig(
            hidden_size=192, num_hidden_layers=12, num_attention_heads=12, intermediate_size=768
        )
        tokens = inputs(16, 128)
        examples = (
            Example(tokens=tokens[place % 16], document=place // 3, source=f"random:{place}")
            for place in range(int(way.split()[1]))
        )
        measure(Model(BertModel(config).eval(), name="small"), examples, measures=names)
    else:
        model: Any = Causal(causal(), name="causal, random weights")
        batch = inputs(1, LONG)
        if way == "plain":
            plain(model, batch)
        else:
            Task(model, choose(names)).run(batch)
    print(json.dumps({"peak": peak()}))


def peak() -> float:
    """The most memory this process has had, in MB. Where Linux tells, not what it was forked from."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024 / 1e6
    import resource

    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name in ("short", "long", "memory"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--measures", help="names, parted by commas; default: all")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--apart", help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.manual_seed(0)
    if options.threads:
        torch.set_num_threads(options.threads)
    names = options.measures.split(",") if options.measures else None
    if options.apart:
        alone(options.apart, names)
        return
    every = not (options.short or options.long or options.memory)
    print(
        f"torch {torch.__version__}, {torch.get_num_threads()} threads, {torch.backends.cpu.get_cpu_capability()}"
    )
    if options.short or every:
        short(options.repeats or 15, names)
    if options.long or every:
        long(options.repeats or 3, names)
    if options.memory or every:
        memory(names)


if __name__ == "__main__":
    main()
