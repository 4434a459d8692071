"""Runs on 1, 2 and 4 workers beside what `headscope.runs.plan` says of them.

    python benchmarks/plan.py                  the demo model on the built-in corpus, again and again
    python benchmarks/plan.py wiki.txt -m gpt2

Costs are measured on the same text just before. Workers have loaded the model, and have a thread each; they share the
cores of this machine with the client. Target: within a fifth.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

from reader import built_in

import headscope as hs
from headscope.measures.dataset import description
from headscope.runs.plan import measured, plan

WORKERS = 1, 2, 4


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", nargs="?", type=Path)
    parser.add_argument("-m", "--model")
    parser.add_argument("--bytes", type=int, default=2_000_000, help="of the built-in corpus")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = asked.corpus or built_in(Path(folder), asked.bytes)
        model = hs.load(asked.model) if asked.model else hs.load()
        corpus = hs.corpora.text(path, pack=128)
        costs = measured(model, corpus)
        print(costs)
        for workers in WORKERS:
            with hs.engines.Processes(f"cpu:{workers}") as engine:
                hs.measure(model, corpus, limit=8 * workers, engine=engine)
                started = time.perf_counter()
                stats = hs.measure(model, corpus, engine=engine)
                took = time.perf_counter() - started
            tokens = description(stats)["corpus"]["tokens"]
            told = plan(costs, tokens, workers, os.cpu_count()).seconds
            print(
                f"{workers} workers, {tokens:,} tokens: {took:.1f} s, planned {told:.1f} s, {told / took:.2f} ×"
            )


if __name__ == "__main__":
    main()
