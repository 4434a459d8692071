"""What several processes gain, and what sending a block to one costs, as ratios in one run.

    python benchmarks/engines.py              both
    python benchmarks/engines.py --speed      2 processes beside this one, one thread each, BERT-base's size and 128
                                              tokens: target 1.7 × as fast on two free cores (--workers for more)
    python benchmarks/engines.py --overhead   a block of 256 inputs to one process and back, with a model that takes no
                                              time: milliseconds, and bytes each way

Processes have loaded the model before time is taken. Weights are random: time does not depend on them. Runs alternate,
after one of each to warm up; what is told is the median, and how far the pairs lie apart.
"""

from __future__ import annotations

import argparse
import os
import pickle
import statistics
import time
from collections.abc import Callable, Iterable

import numpy as np
import torch
from transformers import BertConfig, BertModel

from headscope.analyses.measure.run import measure
from headscope.core.tokens import Tokens
from headscope.corpora import Example
from headscope.engines import Here, Processes
from headscope.measures.choose import choose
from headscope.models import Model
from headscope.runs.batches import BLOCK, cut
from headscope.runs.checkpoint import SentBlock
from headscope.runs.task import Task

MEASURES = ["surface"]


def examples(count: int, length: int = 128) -> list[Example]:
    draw = np.random.default_rng(0)
    found: list[Example] = []
    for number in range(count):
        ids = draw.integers(5, 1000, length)
        classes = {"sep": np.arange(length) == length - 1, "cls": np.arange(length) == 0}
        tokens = Tokens([f"piece{each}" for each in ids], ids, classes=classes)
        found.append(Example(tokens=tokens, document=number // 4, source=f"drawn:{number + 1}"))
    return found


def alternating(runs: Iterable[Callable[[], object]], repeats: int) -> list[list[float]]:
    """Seconds of each run, after one of each to warm up."""
    runs = list(runs)
    seconds: list[list[float]] = [[] for _ in runs]
    for repeat in range(repeats + 1):
        for place, run in enumerate(runs):
            started = time.perf_counter()
            run()
            if repeat:
                seconds[place].append(time.perf_counter() - started)
    return seconds


def speed(inputs: int, layers: int, workers: int, repeats: int) -> None:
    settings = BertConfig(attn_implementation="sdpa", num_hidden_layers=layers)
    model = Model(BertModel(settings).eval(), name="BERT-base's size")
    corpus = examples(inputs)
    with Processes(f"cpu:{workers}") as engine:
        here, there = alternating(
            [
                lambda: measure(model, corpus, measures=MEASURES, engine=Here()),
                lambda: measure(model, corpus, measures=MEASURES, engine=engine),
            ],
            repeats,
        )
    ratios = [a / b for a, b in zip(here, there, strict=True)]
    print(f"{layers} layers, {inputs:,} inputs of 128 tokens in blocks of {BLOCK}, {os.cpu_count()} cores")
    print(f"here {statistics.median(here):.1f} s, {workers} processes {statistics.median(there):.1f} s")
    print(f"{statistics.median(ratios):.2f} × as fast ({min(ratios):.2f} to {max(ratios):.2f})")


def overhead(blocks: int, repeats: int) -> None:
    config = BertConfig(
        hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8, vocab_size=1000
    )
    model = Model(BertModel(config).eval(), name="no time")
    corpus = examples(blocks * BLOCK)
    with Processes("cpu:1") as engine:
        here, there = alternating(
            [
                lambda: measure(model, corpus, measures=["previous"], engine=Here()),
                lambda: measure(model, corpus, measures=["previous"], engine=engine),
            ],
            repeats,
        )
    more = [(b - a) / blocks for a, b in zip(here, there, strict=True)]
    block = next(cut(corpus, 32, model))
    sent = len(pickle.dumps([SentBlock(0, list(block))], 5))
    given = Task(model, choose(MEASURES)).block([corpus[:32]])
    own, added = statistics.median(here) / blocks, statistics.median(more)
    print(f"a block of {BLOCK} inputs of 128 tokens: {1e3 * own:.0f} ms here")
    print(f"to a process and back {1e3 * added:+.0f} ms ({1e3 * min(more):+.0f} to {1e3 * max(more):+.0f})")
    print(f"{sent / 1e6:.2f} MB there, {len(pickle.dumps(given, 5)) / 1e3:.0f} kB back")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--overhead", action="store_true")
    parser.add_argument("--inputs", type=int, default=2048)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--blocks", type=int, default=24)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    if asked.speed or not asked.overhead:
        speed(asked.inputs, asked.layers, asked.workers, asked.repeats)
    if asked.overhead or not asked.speed:
        overhead(asked.blocks, asked.repeats)


if __name__ == "__main__":
    main()
