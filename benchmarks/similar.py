"""How often unrelated texts seem to have a reason to be near: the level of `headscope.similar`, and what it costs.

    python benchmarks/similar.py SENTENCES.txt [--pairs 100] [--seed 0] [-m MODEL]

SENTENCES.txt has a sentence a line, and those near one another may be of one text: pairs are drawn far apart. Printed
is the share of pairs with a pair of words, or a word, at q ≤ .05, by length; then the time of a pair beside that of two
plain encodings in batches of one, and without chance.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import headscope as hs
from headscope.analyses.similar.run import TextReader


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sentences", type=Path)
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-m", "--model")
    asked = parser.parse_args()
    lines = [line for line in asked.sentences.read_text("utf-8").splitlines() if 3 <= len(line.split()) <= 25]
    model = hs.load(asked.model)
    random = np.random.default_rng(asked.seed)
    passed: list[tuple[int, bool, bool]] = []
    for _ in range(asked.pairs):
        first = int(random.integers(len(lines)))
        second = (first + len(lines) // 4 + int(random.integers(len(lines) // 2))) % len(lines)
        found = hs.similar(model, lines[first], lines[second], chance=True)
        words = len(lines[first].split()) + len(lines[second].split())
        passed.append((words, bool((found["q_pair"] <= 0.05).any()), bool((found["q"] <= 0.05).any())))
    for low, high in ((0, 18), (18, 30), (30, 99), (0, 99)):
        some = [one for one in passed if low <= one[0] < high]
        shares = [np.mean([one[column] for one in some]) if some else np.nan for column in (1, 2)]
        print(
            f"{low:2} to {high} words: {len(some)} pairs, a pair of words {shares[0]:.3f}, a word {shares[1]:.3f}"
        )
    a, b = "The invoice was paid three weeks late.", "Payment of the bill was delayed."
    reader = TextReader(model, "word", None, None, 32)
    plain = [(reader.text(text, "a").tokens, None) for text in (a, b)]
    inputs = [(tokens, np.zeros(len(tokens), np.bool_)) for tokens, _ in plain]
    times: dict[str, list[float]] = {"two encodings": [], "similar": []}
    for _ in range(9):
        for name, run in (
            ("two encodings", lambda: [reader.without([one]) for one in inputs]),
            ("similar", lambda: hs.similar(model, a, b, chance=False)),
        ):
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    print({name: round(float(np.median(some)), 4) for name, some in times.items()})


if __name__ == "__main__":
    main()
