"""Syntax and coreference end to end against the plain forward pass over the same inputs; peak memory.

python benchmarks/treebank.py TREEBANK.conllu [--limit 2000] [--coref FILE.conllu ...]

Both sides read the same sentences in the same batches with the demo model; the plain pass runs its own fused attention.
They take turns, and the fastest turn of each counts.
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

import torch

import headscope as hs
from headscope.analyses.links.coref.run import coreference
from headscope.analyses.links.syntax.run import syntax
from headscope.corpora import Corpus, blocks
from headscope.models import Model
from headscope.runs.batches import TOKENS_PER_INPUT


def plain(model: Model, treebank: Corpus, limit: int) -> float:
    """Seconds of the forward pass alone, batches made beforehand."""
    examples = [example for example, _ in zip(treebank.encoded(model), range(limit), strict=False)]
    ready = [
        model.inputs([example.tokens for example in batch if example.tokens is not None])
        for block in blocks(examples, batch_size=32, tokens_per_batch=32 * TOKENS_PER_INPUT)
        for batch in block
    ]
    started = time.perf_counter()
    with torch.no_grad():
        for each in ready:
            model.backbone(**each)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("treebank", type=Path)
    parser.add_argument("--limit", type=int, default=2000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--coref", type=Path, nargs="*", default=[])
    options = parser.parse_args()
    model = hs.load()
    treebank = hs.corpora.conllu(options.treebank)
    plain(model, treebank, 64)
    alone, whole, n = math.inf, math.inf, 0
    for _ in range(options.turns):
        alone = min(alone, plain(model, treebank, options.limit))
        started = time.perf_counter()
        found = syntax(model, treebank, limit=options.limit)
        whole = min(whole, time.perf_counter() - started)
        n = int(found["n"].sel(relation="all"))
    print(
        f"syntax, {options.limit:,} sentences, {n:,} words: plain pass {alone:.1f} s, end to end {whole:.1f} s "
        f"({whole / alone:.2f} ×; budget 1.5)"
    )
    if options.coref:
        documents = hs.corpora.conllu(options.coref)
        started = time.perf_counter()
        pairs = coreference(model, documents)
        print(
            f"coreference, {len(options.coref)} files, {int(pairs['n'].sel(type='all')):,} mentions: "
            f"{time.perf_counter() - started:.1f} s"
        )
    scale = 1 if sys.platform == "darwin" else 1024
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale / 1e9:.2f} GB (budget 2)")


if __name__ == "__main__":
    main()
