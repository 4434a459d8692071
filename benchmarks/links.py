"""Links and syntax end to end against the plain forward pass over the same inputs; peak memory.

python benchmarks/links.py TREEBANK.conllu [--limit 2000] [--turns 3]

All read the same sentences in the same batches with the demo model; the plain pass runs its own fused attention. They
take turns, and the fastest turn of each counts.
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import sys
import time
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

from treebank import plain

import headscope as hs


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("treebank", type=Path)
    parser.add_argument("--limit", type=int, default=2000)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    model, treebank = hs.load(), hs.corpora.conllu(options.treebank)
    plain(model, treebank, 64)
    alone, runs = math.inf, {"links": math.inf, "syntax": math.inf}
    for _ in range(options.turns):
        alone = min(alone, plain(model, treebank, options.limit))
        for name in runs:
            started = time.perf_counter()
            getattr(hs, name)(model, treebank, limit=options.limit)
            runs[name] = min(runs[name], time.perf_counter() - started)
    for name, seconds in runs.items():
        print(
            f"{name}, {options.limit:,} sentences: plain pass {alone:.1f} s, end to end {seconds:.1f} s "
            f"({seconds / alone:.2f} ×; budget 1.4)"
        )
    scale = 1 if sys.platform == "darwin" else 1024
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale / 1e9:.2f} GB (budget 2)")


if __name__ == "__main__":
    main()
