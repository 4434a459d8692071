"""Is a comparison of groups honest? Shuffled labels, and one head edited in one group.

    python benchmarks/compare.py              200 runs of each: at most 18 shuffled ones may find anything (q < 0.05)
    python benchmarks/compare.py --runs 20    fewer

Inputs are pairs of neighbouring lines of the built-in corpus, read by the demo model: every measure of the groups
surface and patterns in 72 heads, 20,000 permutations a run. A shuffled run deals out labels at random, half and half:
what it finds, it finds by chance, so about one in twenty may find something (18 of 200 is more than two standard
deviations above that). A planted run moves each measure of one random head of the last layer two standard deviations up
or down, in group B only: it is right where it finds that head and no other.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np

import headscope as hs
from headscope.analyses.compare.groups.run import Values, values
from headscope.analyses.compare.groups.statistics import compare
from headscope.core.arrays import Singles
from headscope.corpora import Example
from headscope.measures.choose import choose

MEASURES = ("surface", "patterns")


def pairs() -> Values:
    """The values of each pair of lines."""
    model = hs.load()
    lines = [(one.text or "", one.document) for one in hs.corpora.builtin(pack=None)]
    examples = [
        Example(tokens=model.encode(a, b), label="", document=place)
        for place, ((a, _), (b, _)) in enumerate(zip(lines[::2], lines[1::2], strict=False))
    ]
    return values(model, examples, MEASURES)


def run(seed: int, own: Singles, names: list[str], effect: float) -> tuple[int, bool]:
    """How many heads one run finds, and whether the planted one is among them."""
    draw = np.random.default_rng(seed)
    inputs, measures, layers, heads = own.shape
    second = draw.permutation(np.arange(inputs) % 2 == 0)
    head = int(draw.integers(heads))
    if effect:
        own = own.copy()
        spread = np.nanstd(own[:, :, -1, head], axis=0)
        own[second, :, -1, head] += effect * spread * draw.choice([-1, 1], measures)
    q = compare(own, second, np.arange(inputs), choose(names), range(layers), seed=seed)["q"].values
    differs = (np.nan_to_num(q, nan=1.0) < 0.05).any(0)
    return int(differs.sum()), bool(differs[layers - 1, head])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument(
        "--effect", type=float, default=2.0, help="of the planted runs, in standard deviations"
    )
    asked = parser.parse_args()
    found = pairs()
    inputs, measures, layers, heads = found.values.shape
    print(f"{inputs} inputs, {measures} measures, {layers} × {heads} heads, {asked.runs} runs")
    given = {"own": found.values, "names": [one.name for one in found.measures]}
    with ProcessPoolExecutor(asked.jobs) as pool:
        shuffled = list(pool.map(partial(run, **given, effect=0.0), range(asked.runs)))
        most = round(0.09 * asked.runs)
        count = sum(one > 0 for one, _ in shuffled)
        print(
            f"shuffled labels: {count} of {asked.runs} runs find something (at most {most}): {verdict(count <= most)}"
        )
        planted = list(pool.map(partial(run, **given, effect=asked.effect), range(asked.runs)))
    there = sum(right for _, right in planted)
    alone = sum(right and one == 1 for one, right in planted)
    print(
        f"one head moved by {asked.effect:g} standard deviations: found in {there} of {asked.runs}, alone in {alone}"
    )


def verdict(kept: bool) -> str:
    return "kept" if kept else "BROKEN"


if __name__ == "__main__":
    main()
