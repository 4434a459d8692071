"""Jensen–Shannon between all heads: ways to compute it, beside the loop written straight from the formula.

    python benchmarks/distance.py              72 heads × 128 tokens: budget 20 × faster, within 1e-6 nats a token
    python benchmarks/distance.py --heads 144  another size
    python benchmarks/distance.py --memory     peak memory of `hs.distance` at 512 to 4,096 tokens

The loop is that of the released code of Clark et al. 2019: one head against all others at a time, in float64, with
every row mixed with 0.001 of uniform attention. Maps are those of the demo model on the built-in corpus where they
have the size asked for, else drawn; time does not depend on them. Times are medians of repeats that alternate, after
one of each to warm up.
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

import numpy as np
import torch

from headscope.attention.divergence import jensen_shannon
from headscope.core.arrays import AnyFloats


def published(maps: AnyFloats) -> AnyFloats:
    """Sums over rows ``[head head]``, straight from the formula."""
    heads, tokens, _ = maps.shape
    smoothed = 0.999 * maps.astype(np.float64) + 0.001 / tokens
    found = np.zeros((heads, heads))
    for head in range(heads):
        one = smoothed[head][None]
        mean = (one + smoothed) / 2
        both = -one * np.log(mean / one) - smoothed * np.log(mean / smoothed)
        found[head] = (both / 2).sum(-1).sum(-1)
    return found


def headscope_in(dtype: torch.dtype, maps: AnyFloats) -> AnyFloats:
    weights = torch.as_tensor(maps).to(dtype)
    return jensen_shannon(0.999 * weights + 0.001 / weights.shape[-1])


def pairs_in_torch(maps: AnyFloats) -> AnyFloats:
    """The same sums with torch's own logarithm: what a processor would pay without numpy's."""
    weights = (0.999 * torch.as_tensor(maps) + 0.001 / maps.shape[-1]).flatten(1)
    heads = len(weights)
    own = (weights * weights.log()).sum(-1).double()
    found = torch.zeros(heads, heads, dtype=torch.float64)
    for part in (0.5 * weights).split(4096, 1):
        for head in range(heads - 1):
            mean = part[head + 1 :] + part[head]
            found[head, head + 1 :] += (mean * mean.log()).sum(-1)
    found = ((own[:, None] + own) / 2 - found).triu(1)
    return (found + found.T).numpy()


def drawn(heads: int, tokens: int) -> AnyFloats:
    draw = np.random.default_rng(0)
    scores = draw.normal(size=(heads, tokens, tokens)) * draw.choice([0.3, 2.0, 6.0], (heads, 1, 1))
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return (weights / weights.sum(-1, keepdims=True)).astype(np.float32)


def trained(heads: int, tokens: int) -> AnyFloats | None:
    """Maps of the demo model; None where none has that size."""
    import headscope as hs

    try:
        model = hs.load()
    except hs.HeadscopeError:
        return None
    for example in hs.corpora.builtin(pack=tokens).encoded(model):
        if example.tokens is not None and len(example.tokens) >= tokens:
            maps = hs.capture(model, example.tokens)
            weights = np.asarray(maps.weights)  # type: ignore[union-attr]
            found = weights.reshape(-1, *weights.shape[2:])[:, :tokens, :tokens]
            return found if found.shape == (heads, tokens, tokens) else None
    return None


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


def speed(heads: int, tokens: int, repeats: int) -> None:
    maps = trained(heads, tokens)
    kind = "drawn" if maps is None else "the demo model's"
    maps = drawn(heads, tokens) if maps is None else maps
    ways: dict[str, Callable[[], AnyFloats]] = {
        "the published loop, float64": lambda: published(maps),
        "headscope, float32": lambda: headscope_in(torch.float32, maps),
        "headscope, float64": lambda: headscope_in(torch.float64, maps),
        "pairs with torch's logarithm": lambda: pairs_in_torch(maps),
    }
    print(f"{heads} heads × {tokens} tokens, {kind} maps, {torch.get_num_threads()} threads")
    truth = published(maps)
    times = alternating(repeats, *ways.values())
    for (name, way), seconds in zip(ways.items(), times, strict=True):
        off = abs(way() - truth).max() / tokens
        print(
            f"  {name:30} {seconds * 1e3:8.1f} ms  {times[0] / seconds:6.1f} ×  off by {off:.0e} nats a token"
        )
    print("  budget: 20 × within 1e-06 in float32; 1e-08 in float64")


def memory() -> None:
    """Peak memory of a run by length, in processes of their own."""
    for tokens in (512, 1024, 2048, 4096):
        arguments = [sys.executable, __file__, "--apart", str(tokens)]
        found = json.loads(subprocess.run(arguments, check=True, capture_output=True, text=True).stdout)
        print(f"{tokens:>6,} tokens, 24 heads, 4 rows: {found['peak']:.0f} MB, {found['seconds']:.1f} s")


def apart(tokens: int) -> None:
    from transformers import LlamaConfig, LlamaModel

    from headscope.analyses.distance.run import distance
    from headscope.core.tokens import Tokens
    from headscope.corpora import Example
    from headscope.models import Model

    config = LlamaConfig(
        vocab_size=1000,
        hidden_size=384,
        intermediate_size=512,
        num_hidden_layers=2,
        num_attention_heads=12,
        max_position_embeddings=tokens,
        attn_implementation="sdpa",
    )
    ids = np.random.default_rng(0).integers(0, 1000, tokens)
    example = Example(tokens=Tokens(["x"] * tokens, ids=ids), source="random:1")
    started = time.perf_counter()
    distance(Model(LlamaModel(config).eval(), name="small"), [example], rows=4)
    print(json.dumps({"peak": peak(), "seconds": time.perf_counter() - started}))


def peak() -> float:
    """The most memory this process has had, in MB."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024 / 1e6
    import resource

    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--heads", type=int, default=72)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--apart", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    if options.apart:
        apart(options.apart)
    elif options.memory:
        memory()
    else:
        speed(options.heads, options.tokens, options.repeats)


if __name__ == "__main__":
    main()
