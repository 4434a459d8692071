"""Probes on a treebank: table 3 with the spread over seeds, what one byte a weight costs, time and memory.

    python benchmarks/probe.py TREEBANK.conllu                three seeds
    python benchmarks/probe.py TREEBANK.conllu --precision    the same probe on maps of 1, 2 and 4 bytes a weight
    python benchmarks/probe.py TREEBANK.conllu --cost         one epoch: budget two minutes on two cores, and 2 GB

Probes train on the first 1,500 sentences and are scored on the rest, with the demo model. Peak memory is that of a
process of its own.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import torch

import headscope as hs
from headscope.analyses.probes.run import KINDS, probe
from headscope.analyses.probes.statistics import table

SENTENCES = 1500
KEYS = ("uas", "uas_punct", "uuas", "spearman", "depth_spearman", "root_accuracy", "selectivity")


def sides(model: Any, path: str) -> tuple[list[Any], list[Any]]:
    examples = list(hs.corpora.conllu(path).encoded(model))
    return examples[:SENTENCES], examples[SENTENCES:]


def seeds(path: str, count: int, kinds: list[str]) -> None:
    model = hs.load()
    train, dev = sides(model, path)
    found: dict[str, list[dict[str, float]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(count):
            rows: Any = table(probe(model, train, dev, kinds=kinds, seed=seed, resume=folder))
            for row in rows.to_dict("records"):
                found[row["probe"]].append(row)
            print(f"seed {seed} done", file=sys.stderr)
    print(
        f"{model.name}: trained on {len(train):,} sentences, scored on {len(dev):,}; mean ± deviation, {count} seeds"
    )
    for name, rows in found.items():
        figures = [(key, [row[key] for row in rows]) for key in KEYS]
        told = [f"{key} {spread(values)}" for key, values in figures if values[0] == values[0]]
        print(f"  {name}: {', '.join(told)}")


def spread(values: list[float]) -> str:
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{100 * statistics.mean(values):.1f} ± {100 * deviation:.1f}"


def precisions(path: str) -> None:
    model = hs.load()
    train, dev = sides(model, path)
    for precision in ("uint8", "float16", "float32"):
        rows: Any = table(
            probe(model, train, dev, kinds=["attention", "attention+words"], precision=precision)
        )
        told = [f"{row['probe']} {100 * row['uas']:.2f}" for row in rows.to_dict("records")]
        print(f"maps as {precision}: UAS {', '.join(told)}")


def cost(path: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for epochs, what in ((1, "maps, and one epoch"), (2, "one more epoch")):
            arguments = [sys.executable, __file__, path, "--apart", folder, "--epochs", str(epochs)]
            found = json.loads(subprocess.run(arguments, check=True, capture_output=True, text=True).stdout)
            print(
                f"attention+words, {what}, of the trees and of the control task, scored: {found['seconds']:.0f} s "
                f"({found['cpu']:.0f} s of the processor), "
                f"peak memory {found['peak']:,.0f} MB (budget 120 s, 2,000 MB)"
            )


def alone(path: str, folder: str, epochs: int) -> None:
    model = hs.load()
    train, dev = sides(model, path)
    started, cpu = time.perf_counter(), time.process_time()
    probe(model, train, dev, kinds=["attention+words"], epochs=epochs, resume=folder)
    print(
        json.dumps(
            {"seconds": time.perf_counter() - started, "cpu": time.process_time() - cpu, "peak": peak()}
        )
    )


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
    parser.add_argument("treebank")
    parser.add_argument("--precision", action="store_true")
    parser.add_argument("--cost", action="store_true")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--kind", action="append", choices=KINDS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--apart", help=argparse.SUPPRESS)
    parser.add_argument("--epochs", type=int, default=1, help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.apart:
        alone(options.treebank, options.apart, options.epochs)
    elif options.precision:
        precisions(options.treebank)
    elif options.cost:
        cost(options.treebank)
    else:
        seeds(options.treebank, options.seeds, options.kind or list(KINDS))


if __name__ == "__main__":
    main()
