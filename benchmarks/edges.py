"""Are the edges of a trained circuit found? Induction, learnt by a small model, and what each edge does by ablation.

    python benchmarks/edges.py             three models, trained anew: minutes
    python benchmarks/edges.py --seeds 1   one
    python benchmarks/edges.py --cost      what scores cost beside attribution patching, of demo-lm

A model of two layers of four heads without MLPs learns to go on with random tokens that repeat after 5 to 15 places. Of
pairs "… a b … d c … a" b is the answer and c the wrong token; in the corrupted prompt a and d (the answer hangs on
where the induction head looks) or b and c (on what it copies) have changed places. What is true of an edge is its
ablation: all else as after the clean prompt, and it alone hands on what its writer gives in the corrupted run. Edges
that change more than 5 % of the gap are the circuit. AUROC: that one of them has a larger score than one of the others.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
import transformers

import headscope as hs
from headscope.analyses.patching.pairs import read
from headscope.analyses.patching.run import _PairRuns  # pyright: ignore[reportPrivateUsage]
from headscope.attention import edges
from headscope.attention.edges import Graph
from headscope.attention.residual import Outputs

WORDS, TOKENS = 64, 32
THRESHOLD = 0.05
"""Of the gap, what the ablation of an edge of the circuit changes at least."""


def repeated(count: int, draw: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Random tokens that repeat after 5 to 15 places ``[count token]``; from which tokens on the next is known."""
    ids = torch.randint(WORDS, (count, TOKENS), generator=draw)
    period = torch.randint(5, 16, (count, 1), generator=draw)
    return ids.gather(1, torch.arange(TOKENS) % period), torch.arange(TOKENS - 1) >= period - 1


def trained(seed: int, steps: int) -> tuple[Any, float]:
    """A model that has learnt induction, and how often it is right."""
    transformers.set_seed(seed)
    config = transformers.GPT2Config(
        vocab_size=WORDS, n_positions=TOKENS, n_embd=64, n_layer=2, n_head=4, n_inner=1, initializer_range=0.1,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    module = transformers.GPT2LMHeadModel(config)
    for layer in module.transformer.h:
        for parameter in layer.mlp.parameters():
            parameter.requires_grad_(False).zero_()
    learns = [parameter for parameter in module.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(learns, lr=3e-3, weight_decay=0.01)
    draw = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        ids, known = repeated(64, draw)
        loss = torch.nn.functional.cross_entropy(module(ids).logits[:, :-1][known], ids[:, 1:][known])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ids, known = repeated(256, draw)
    with torch.no_grad():
        right = module.eval()(ids).logits[:, :-1].argmax(-1) == ids[:, 1:]
    return module, float(right[known].float().mean())


def pairs(count: int, swapped: str, draw: np.random.Generator) -> tuple[torch.Tensor, ...]:
    """Clean and corrupted prompts ``[pair token]``; answers and wrong tokens ``[pair 2]``."""
    clean = np.stack([draw.permutation(WORDS)[:14] for _ in range(count)])
    clean[:, -1] = clean[:, 3]  # a b at 3 and 4, d c at 8 and 9
    corrupted, (one, other) = clean.copy(), {"keys": (3, 8), "values": (4, 9)}[swapped]
    corrupted[:, [one, other]] = clean[:, [other, one]]
    return torch.as_tensor(clean), torch.as_tensor(corrupted), torch.as_tensor(clean[:, [4, 9]])


def auroc(scores: np.ndarray, truth: np.ndarray) -> float:
    """How likely one that is true has a larger score than one that is not."""
    right, wrong = scores[truth][:, None], scores[~truth]
    return float(((right > wrong) + (right == wrong) / 2).mean())


def cost() -> None:
    """Print processor time, the least of three, and the peak of memory so far, by how many pairs run at once."""
    model = hs.load("demo-lm")
    of = read(model, None)[0]
    ready = model.inputs([of[0].clean])
    runs = _PairRuns(model, Outputs(model, ready), noising=False, last=False, batch_size=4)
    graph, room = Graph(model, runs.outputs, ready), edges.AT_ONCE
    for pairs in of[:1], of[:4]:
        inputs = runs.ready(pairs, clean=False), runs.ready(pairs, clean=True)
        score = partial(graph.scores, *inputs, partial(runs.difference, pairs))

        ways: dict[str, tuple[int, Callable[[], Any]]] = {
            "attribution patching": (room, partial(runs.estimate, pairs, lambda _: None)),
            "EAP": (room, partial(score, 0)),
            "EAP-IG, one by one": (0, partial(score, 5)),
            "EAP-IG, in one batch": (room, partial(score, 5)),
        }
        for name, (edges.AT_ONCE, way) in ways.items():
            took: list[float] = []
            for _ in range(3):
                start = time.process_time()
                way()
                took.append(time.process_time() - start)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f"{len(pairs)} pairs, {name}: {min(took):.2f} s, {peak:,.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--pairs", type=int, default=64)
    parser.add_argument("--cost", action="store_true")
    asked = parser.parse_args()
    if asked.cost:
        cost()
        return
    for seed in range(asked.seeds):
        module, right = trained(seed, asked.steps)
        model = hs.load(module)
        print(f"seed {seed}: right {right:.1%}")
        for swapped in ("keys", "values"):
            clean, corrupted, answers = pairs(asked.pairs, swapped, np.random.default_rng(seed))
            base, source = ({"input_ids": ids} for ids in (clean, corrupted))

            def objective(logits: torch.Tensor, answers: torch.Tensor = answers) -> torch.Tensor:
                at = logits[:, -1].gather(1, answers)
                return at[:, 0] - at[:, 1]

            graph = Graph(model, Outputs(model, base), base)
            with torch.no_grad():
                gaps = objective(module(**base).logits) - objective(module(**source).logits)
            places = [
                (writer, reader)
                for writer, reader in graph.edges.nonzero().tolist()
                if "mlp" not in graph.writers[writer] + graph.readers[reader]
            ]
            keep = [torch.ones_like(graph.edges)]
            for place in places:
                keep.append(keep[0].clone())
                keep[-1][place] = False
            given = graph.circuits(base, source, objective, keep)
            lost = ((given[:, :1] - given[:, 1:]).sum(0) / gaps.sum()).numpy()
            truth = np.abs(lost) > THRESHOLD
            writers, readers = zip(*places, strict=True)
            found = {}
            for name, one, other, steps in (
                ("EAP, denoising", source, base, 0),
                ("EAP, noising", base, source, 0),
                ("EAP-IG", base, source, 5),
            ):
                scores = graph.scores(one, other, objective, steps).sum(0)[list(writers), list(readers)]
                found[name] = auroc(scores.abs().numpy(), truth)
            print(f"  {swapped} swapped: gap {float(gaps.mean()):.1f}, {truth.sum()} of {len(places)} edges; AUROC",
                  ", ".join(f"{name} {value:.3f}" for name, value in found.items()))  # fmt: skip
            for place in np.argsort(-np.abs(lost))[: truth.sum()]:
                writer, reader = places[place]
                print(f"    {graph.writers[writer]} → {graph.readers[reader]}: {lost[place]:+.2f}")


if __name__ == "__main__":
    main()
