"""What measuring costs beside the model's plain forward pass, as ratios in one run.

    python benchmarks/throughput.py            all three
    python benchmarks/throughput.py --short    128 tokens, BERT-base's size: budget 1.08 × the plain pass
    python benchmarks/throughput.py --long     8,192 tokens, causal, 12 heads: 1.5 × its time, 1.3 × its memory
    python benchmarks/throughput.py --memory   memory over a corpus and ones of 4 and 16 times its size, and of inputs
                                               of 2,048 to 32,768 tokens (one causal layer; --lengths for others)
    python benchmarks/throughput.py --gpu      bf16 on a GPU, causal, 32 heads of 128: budget 1.15 × at 2,048 tokens and
                                               1.5 × at 32,768 (not one of "all")

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
from functools import partial
from pathlib import Path

import numpy as np
import torch
from transformers import BertConfig, BertModel, LlamaConfig, LlamaModel, PreTrainedModel

from headscope.analyses.measure.run import measure
from headscope.core.tokens import Tokens
from headscope.corpora import Example
from headscope.measures.choose import choose
from headscope.models import Model
from headscope.runs.task import Task, route

LONG = 8192
LENGTHS = "2048,8192,32768"
CORPUS = 300


def bert() -> PreTrainedModel:
    return BertModel(BertConfig(attn_implementation="sdpa")).eval()


def causal(layers: int, length: int, heads: int = 12, size: int = 768) -> PreTrainedModel:
    """Layers with rotary positions; by default of BERT-base's size, 12 heads of 64."""
    config = LlamaConfig(
        vocab_size=8192,
        hidden_size=size,
        intermediate_size=size * 8 // 3,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        max_position_embeddings=length,
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
        f"{measured / one:.3f} × (budget 1.08), {route(task.routes)}"
    )


def long(repeats: int, names: list[str] | None) -> None:
    model = Causal(causal(3, LONG), name="causal, random weights")
    batch = inputs(1, LONG)
    task = Task(model, choose(names))
    one, measured = alternating(repeats, lambda: plain(model, batch), lambda: task.run(batch))
    print(
        f"{LONG:,} tokens, causal, 3 × 12 heads: plain {one:.2f} s, measured {measured:.2f} s, "
        f"{measured / one:.2f} × (budget 1.5), {route(task.routes)}"
    )
    own, both = (apart(f"{way} {LONG} 3", names)["peak"] for way in ("plain", "measured"))
    print(
        f"the same, peak memory: plain {own:.0f} MB, measured {both:.0f} MB, {both / own:.3f} × (budget 1.3)"
    )


def gpu(repeats: int, names: list[str] | None) -> None:
    if not torch.cuda.is_available():
        raise SystemExit("--gpu: torch finds no GPU")
    print(torch.cuda.get_device_name())

    def waited(run: Callable[[], object]) -> None:
        run()
        torch.cuda.synchronize()

    for length, budget in ((2048, 1.15), (32768, 1.5)):
        model = Causal(
            causal(3, length, heads=32, size=4096).bfloat16().cuda(), name="causal, random weights"
        )
        batch = inputs(1, length)
        task = Task(model, choose(names))
        one, measured = alternating(
            repeats, partial(waited, partial(plain, model, batch)), partial(waited, partial(task.run, batch))
        )
        print(
            f"{length:,} tokens, bf16, causal, 3 × 32 heads: plain {one * 1e3:.1f} ms, "
            f"measured {measured * 1e3:.1f} ms, {measured / one:.3f} × (budget {budget}), {route(task.routes)}"
        )


def memory(names: list[str] | None, count: int, lengths: list[int]) -> None:
    """Peak memory by the size of the corpus, in short documents and in one, and by an input's length."""
    for kind, about in (("short", "documents of 3 inputs"), ("one", "one document")):
        print(f"peak memory over inputs of 128 tokens, {about} (constant: 1)")
        first = 0.0
        for times in (1, 4, 16):
            found = apart(f"corpus {count * times} {kind}", names)
            first = first or found["peak"]
            ratio = found["peak"] / first
            print(
                f"  {count * times:>7,} inputs {found['peak']:7.0f} MB {ratio:6.3f} × {found['seconds']:7.1f} s"
            )
    print(
        "peak memory by length, one causal layer of 12 heads, above what the process has before it (budget 1.3)"
    )
    for length in lengths:
        own, both = (apart(f"{way} {length} 1", names) for way in ("plain", "measured"))
        more, all_ = own["peak"] - own["before"], both["peak"] - both["before"]
        print(
            f"  {length:>7,} tokens: plain {own['peak']:6.0f} MB, measured {both['peak']:6.0f} MB, "
            f"{both['peak'] / own['peak']:.3f} ×; above the loaded model {more:.0f} and {all_:.0f} MB "
            f"({1e6 * all_ / length / 1024:.1f} KB a token); {own['seconds']:.2f} and {both['seconds']:.2f} s"
        )


def apart(way: str, names: list[str] | None) -> dict[str, float]:
    """Memory in MB (``before`` and ``peak``) and seconds of one way in a process of its own."""
    arguments = ["--apart", way, *(["--measures", ",".join(names)] if names else [])]
    arguments += ["--threads", str(torch.get_num_threads())]
    found = subprocess.run(
        [sys.executable, __file__, *arguments], check=True, capture_output=True, text=True
    ).stdout
    return json.loads(found)


def alone(way: str, names: list[str] | None) -> None:
    kind, number, more = way.split()
    if kind == "corpus":
        config = BertConfig(
            hidden_size=96, num_hidden_layers=4, num_attention_heads=12, intermediate_size=192
        )
        model = Model(BertModel(config).eval(), name="small")
        tokens = inputs(16, 128)
        examples = (
            Example(
                tokens=tokens[place % 16],
                document=0 if more == "one" else place // 3,
                source=f"random:{place}",
            )
            for place in range(int(number))
        )

        def run() -> object:
            return measure(model, examples, measures=names)

    else:
        length = int(number)
        long_model = Causal(causal(int(more), length), name="causal, random weights")
        batch = inputs(1, length)

        def run() -> object:
            if kind == "plain":
                return plain(long_model, batch)
            return Task(long_model, choose(names)).run(batch)

    before, started = peak(), time.perf_counter()
    run()
    print(json.dumps({"before": before, "peak": peak(), "seconds": time.perf_counter() - started}))


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
    for name in ("short", "long", "memory", "gpu"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--measures", help="names, parted by commas; default: all")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--lengths", default=LENGTHS, help=f"of --memory, in tokens; default: {LENGTHS}")
    parser.add_argument("--inputs", type=int, default=CORPUS, help=f"of --memory's corpus; default: {CORPUS}")
    parser.add_argument("--apart", help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.manual_seed(0)
    if options.threads:
        torch.set_num_threads(options.threads)
    names = options.measures.split(",") if options.measures else None
    if options.apart:
        alone(options.apart, names)
        return
    every = not (options.short or options.long or options.memory or options.gpu)
    print(
        f"torch {torch.__version__}, {torch.get_num_threads()} threads, {torch.backends.cpu.get_cpu_capability()}"
    )
    if options.short or every:
        short(options.repeats or 15, names)
    if options.long or every:
        long(options.repeats or 3, names)
    if options.gpu:
        gpu(options.repeats or 15, names)
    if options.memory or every:
        memory(names, options.inputs, [int(each) for each in options.lengths.split(",")])


if __name__ == "__main__":
    main()
