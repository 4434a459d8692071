"""Activation patching and attribution patching of the outputs of heads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, Literal, Unpack

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from headscope.analyses.options import BatchOptions, with_options
from headscope.analyses.patching import statistics
from headscope.analyses.patching.curve import OTHER_STEPS, STEPS, circuits, looks
from headscope.analyses.patching.curve import dataset as circuits_dataset
from headscope.analyses.patching.pairs import Given, Pair, read
from headscope.analyses.result import returns_result
from headscope.attention.edges import Graph
from headscope.attention.parts import doubles
from headscope.attention.residual import Outputs, Put, unembedding
from headscope.core.arrays import Arrays, Floats
from headscope.core.heads import Head
from headscope.core.types import AnyDict, AnyMapping
from headscope.core.validation import Number
from headscope.errors import InputError
from headscope.models import Model
from headscope.models.weights import not_finite
from headscope.runs.long import Kind, described
from headscope.runs.options import RunOptions
from headscope.runs.steps import Step, StepRows, Steps

Spot = tuple[int, int]
"""The place of a layer among those with heads, and a head."""

Edge = tuple[Spot, Spot | None]


def _by_pair(rows: Sequence[Arrays], order: Sequence[int]) -> dict[str, Floats]:
    """What is known of each pair, of rows whose pairs are in this order."""
    places = np.argsort(order)
    return {name: np.concatenate([row[name] for row in rows])[places] for name in rows[0]}


def _figures(sums: StepRows, meta: AnyDict, about: AnyMapping) -> xr.Dataset:
    given = _by_pair(sums.rows, about["order"])
    clean, gaps = given["clean"], given["gap"]
    estimates, effects = (statistics.effects(given[name], gaps) for name in ("change", "changed"))
    spread = statistics.chance(estimates.value)
    several = spread, len(gaps), statistics.told_apart(gaps)
    p = statistics.p_values(effects, *several)
    every = about["every"]
    tested = effects.named("patching") | {"p": p, "q": statistics.adjusted(p, len(every))}
    shape = len(about["layers"]), max(head for _, head in every) + 1
    figures = statistics.placed(shape, (about["heads"], tested), (every, estimates.named("estimate")))
    scalars = {
        "clean": float(clean.mean()),
        "corrupted": float((clean - gaps).mean()),
        "solved": float((clean > 0).mean()),
        "chance": spread,
        "agreement": statistics.agreement(figures["patching"], figures["estimate"]),
    }
    paths = None
    if "paths" in about:
        along = statistics.effects(given["passed"], gaps)
        paths = statistics.Paths(about["paths"], along, statistics.p_values(along, *several))
    result = statistics.dataset(figures, scalars, about["layers"], meta, paths)
    return result.assign(circuits_dataset(given, about).data_vars) if "size" in about else result


KIND = Kind("patching", StepRows.from_arrays, _figures)


@returns_result
@with_options()
def patching(
    model: Model,
    pairs: Given | None = None,
    *,
    noising: bool = False,
    positions: Literal["all", "last"] = "all",
    exact: Number | Literal["all"] = 20,
    edges: Number = 0,
    curve: bool = False,
    **options: Unpack[BatchOptions],
) -> xr.Dataset:
    """Which heads carry the answer: activation patching of each head's output between two prompts.

    Of each pair of prompts, the *gap* is how much larger the logit difference ``logit(answer) − logit(wrong)`` is after
    the clean prompt than after the corrupted one. A head's output (``z``, before W_O) is then put from the one run into
    the other, and all that comes after it is computed anew. Its **effect** is the share of the gap that this brings:
    ``Σ change / Σ gap`` over the pairs, 0 for nothing and 1 for all of it; below 0 where it widens the gap.

    - **Denoising**, the default: the clean run's output in the corrupted run, and how much of the answer comes back.
      Noising: the corrupted run's output in the clean run, and how much is lost. The first asks what suffices, the
      second what is needed.
    - **estimate**: attribution patching, for every head at once from one backward pass a pair: the change of the output
      times its gradient. It is the effect to the first order. Those with the largest estimates are patched
      exactly; ``agreement`` is the correlation of both.
    - **Edges**, on request, among the heads with the largest effects: path patching. Every head of the run that is
      patched is held at its own output but the sender, which gets the other run's; what the receiver would then give
      is put in its place, and nothing else. MLPs compute anew: an edge is what one head hands to another by the
      residual stream, and what MLPs make of it. The receiver ``logits`` is the answer: the sender's direct effect.
    - **Curve**, on request: the scores of all edges among heads, MLPs, what else mixes tokens, the embedding and the
      logits by integrated gradients (EAP-IG), and the **faithfulness** of circuits of the edges with the largest
      scores: the share of the gap that is there when all other edges hand on what they do in the corrupted run. Beside
      it that of circuits of as many edges in the order by attention alone (how much both ends look at the tokens that
      differ) and at random (the mean of three). An edge **stays** in a circuit of a size in a share of draws: as many
      pairs drawn again (or ``groups`` of them, such as paraphrases), halves of the pairs, other numbers of steps
      between the prompts. Of circuits of two halves it gives the **Jaccard** index, which other halves have within its
      interval, and by chance.
    - **Intervals**: of a ratio over pairs, by Student's t, further out where pairs are skew; none with fewer than five
      pairs. **p**: that the effect is one that most heads of this model
      have, with ``chance``, 1.4826 times the median size of all estimates, as their standard deviation. **q** is
      adjusted for all heads, those not patched among them; of edges for all edges. Where the gap is not surely above
      0 the model does not tell the prompts apart, and there is none of these.

    Source: Wang et al. 2022, "Interpretability in the Wild"; Zhang and Nanda 2024, "Towards Best Practices of
    Activation Patching"; Nanda 2023, "Attribution Patching"; Kramár et al. 2024, "AtP*"; Hanna et al. 2024, "Have Faith
    in Faithfulness".

    Args:
        model: a causal language model from `headscope.load`, in float32 or float64, whose heads' outputs enter a W_O.
        pairs: a file of JSON lines, or dictionaries, each with ``clean`` and ``corrupted``, prompts of as many tokens,
            and ``answer`` and ``wrong``, texts of one token each (mind the space: ``" Paris"``), pieces or ids; and
            as one likes the ``group`` of the pair. In Python prompts may be `Tokens`. By default the pairs that ship in
            the package.
        noising: put the corrupted run's outputs in the clean run, the other way: what is lost.
        positions: at which tokens outputs are patched: ``all``, or the ``last`` alone, from which the answer is read.
        exact: how many heads are patched one by one, by their estimates; ``"all"`` for all of them.
        edges: among how many of those heads edges are measured: path patching.
        curve: score all edges by integrated gradients, and run circuits of the first of them, at all tokens. Each
            circuit takes up to as many passes as a layer has heads.
        batch_size: prompts that run at once; those of one length do.
        limit: use at most this many pairs.

    Returns:
        A dataset over ``(layer, head)``: ``patching`` (NaN for heads that were not patched) and ``estimate``, each with
        ``_low`` and ``_high``; ``p`` and ``q``; and ``clean`` and ``corrupted``, the mean logit differences;
        ``solved``, the share of pairs in which that after the clean prompt is above 0; ``chance`` and ``agreement``.
        With ``edges`` also ``edge``, ``edge_low``, ``edge_high``, ``edge_p`` and ``edge_q`` over ``(path)``, whose
        coordinates are the ``sender`` and the ``receiver``. Its table has one row a head, then one an edge, whose
        column ``to`` is the receiver. With ``curve`` also ``integrated`` over ``(writer, reader)`` (NaN where there is
        no edge) and ``faithfulness`` over ``(order, size)``, each with ``_low`` and ``_high``; ``stays`` over ``(draw,
        size, writer, reader)``; and ``jaccard`` over ``size`` with ``_low``, ``_high`` and ``_chance``.

    Raises:
        InputError: a pair that is none of that; the message names the line.
        RefusedError: an encoder or encoder-decoder, weights of half precision, or heads whose outputs enter no W_O as
            they are.

    >>> import transformers
    >>> config = transformers.GPT2Config(vocab_size=20, n_embd=8, n_layer=2, n_head=2, n_positions=8)
    >>> small = headscope.load(transformers.GPT2LMHeadModel(config))
    >>> one, other = (headscope.Tokens(list("abc"), ids=ids) for ids in ([3, 4, 5], [3, 6, 5]))
    >>> found = patching(small, [{"clean": one, "corrupted": other, "answer": 4, "wrong": 6}], exact="all")
    >>> found["patching"].shape, bool(found["patching"].isnull().any())
    ((2, 2), False)
    """
    unembedding(model)
    through = RunOptions(**options)
    read_pairs, name, example = read(model, pairs)
    read_pairs = read_pairs[: through.limit]
    first = model.inputs([read_pairs[0].clean])
    runs = _PairRuns(model, Outputs(model, first), noising, positions == "last", through.batch_size)
    many = [(place, head) for place, count in enumerate(runs.outputs.heads) for head in range(count)]
    if exact != "all" and exact > len(many):
        raise InputError(f"exact: expected at most the {len(many)} heads of {model.name}, found {exact}")
    if edges > (most := len(many) if exact == "all" else exact):
        raise InputError(f"edges: expected at most the {most} heads that are patched (exact), found {edges}")
    asked = {"noising": noising, "positions": positions, "exact": exact, "edges": edges}
    asked |= {"curve": True} if curve else {}

    def of(batch: list[int]) -> list[Pair]:
        return [read_pairs[number] for number in batch]

    def identity_of(batch: list[int]) -> object:
        return batch, [pair.identity() for pair in of(batch)]

    batches, decides = runs.batches(read_pairs), {**asked, "batch_size": through.batch_size}
    order = [*chain(*batches)]
    with Steps(KIND, model, batches, decides, through, digest=identity_of, size=len) as steps:

        def go(
            stage: str,
            title: str,
            work: Step[list[Pair]],
            among: Sequence[Any] | None = None,
            last: bool = False,
        ) -> dict[str, Floats]:
            """What is known of each pair after a pass, `among` heads or edges; after the last nothing is asked."""
            times = 1 if among is None else len(among)
            steps.through(stage, title, lambda batch, done: work(of(batch), done), among, times, last=last)
            return {} if last else _by_pair(steps.rows, order)

        given = go("estimates", "estimating", runs.estimate)
        gaps = given["gap"]
        ranked = np.argsort(-np.abs(statistics.effects(given["change"], gaps).value), kind="stable")
        chosen: list[int] = sorted(ranked[: len(many) if exact == "all" else exact].tolist())
        heads = [many[which] for which in chosen]
        given = go("heads", "patching", partial(runs.patched, heads), chosen, not (edges or curve))
        layers = runs.outputs.layers
        about: AnyDict = {"order": order, "layers": layers, "every": many, "heads": heads}
        if edges:
            ranked = np.argsort(-np.abs(statistics.effects(given["changed"], gaps).value), kind="stable")
            first_heads: list[int] = ranked[:edges].tolist()
            between = _edges(sorted(heads[which] for which in first_heads))
            go("paths", "paths", partial(runs.passed, between), between, not curve)
            about["paths"] = [[_named(layers, spot) for spot in edge] for edge in between]
        if curve:
            graph = Graph(model, runs.outputs, first)
            given = go("edges", "edges", partial(runs.handed, graph))
            scores = statistics.effects(given["handed"], gaps).value.reshape(graph.edges.shape)
            tried = circuits(graph, scores, given["looked"].mean(0))
            go(
                "circuits",
                "circuits",
                partial(runs.circuits, graph, tried.keep),
                [*range(len(tried.keep))],
                True,
            )
            about |= {"writer": graph.writers, "reader": graph.readers, "size": tried.sizes}
            about["edges"] = graph.edges.int().numpy().tolist()
            groups = [pair.group for pair in read_pairs]
            about["groups"] = groups if any(groups) else None
        meta = {
            "model": described(model, ())["model"],
            "corpus": {"name": name},
            "pairs": len(read_pairs),
            "example": example,
            **asked,
        }
        return steps.result(meta, about)


def _edges(heads: Sequence[Spot]) -> list[Edge]:
    """The edges from each head to each of a later layer, and to the logits (None)."""
    return [(one, other) for one in heads for other in (*heads, None) if other is None or one[0] < other[0]]


def _named(layers: Sequence[int], spot: Spot | None) -> str:
    return "logits" if spot is None else str(Head(layers[spot[0]], spot[1]))


class _PairRuns:
    """Runs of pairs in batches: `base` is the prompt that is patched, `source` the one that it is patched from."""

    def __init__(self, model: Model, outputs: Outputs, noising: bool, last: bool, batch_size: int) -> None:
        self._model = model
        self.outputs = outputs
        self._noising = noising
        self._last = last
        self._size = batch_size

    def batches(self, pairs: Sequence[Pair]) -> list[list[int]]:
        """The pairs by their numbers, in batches of prompts of one length."""
        lengths: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
        for number, pair in enumerate(pairs):
            lengths[len(pair.clean), pair.place].append(number)
        return [
            numbers[start : start + self._size]
            for numbers in lengths.values()
            for start in range(0, len(numbers), self._size)
        ]

    def queries(self, pairs: Sequence[Pair]) -> slice:
        """Which of their tokens are patched."""
        place = pairs[0].place
        return slice(place, place + 1) if self._last else slice(None)

    def ready(self, pairs: Sequence[Pair], clean: bool) -> dict[str, Tensor]:
        """What the model takes of one side of some pairs."""
        return self._model.inputs([pair.clean if clean else pair.corrupted for pair in pairs])

    def difference(self, pairs: Sequence[Pair], logits: Tensor) -> Tensor:
        """``logit(answer) − logit(wrong)`` of each pair."""
        rows = torch.arange(len(pairs), device=logits.device)
        at = logits[rows, [pair.place for pair in pairs]]
        difference = at[rows, [pair.answer for pair in pairs]] - at[rows, [pair.wrong for pair in pairs]]
        if not difference.isfinite().all():
            raise not_finite(self._model.name, self._model.module, "logits")
        return difference

    def estimate(self, pairs: Sequence[Pair], done: Callable[[int], None]) -> Arrays:
        """Give each pair's clean logit difference and gap, and what each head would change of it ``[pair head]``."""
        with torch.no_grad():
            other, source = self._run(pairs, not self._noising)
        with torch.enable_grad():
            unpatched, leaves = self._run(pairs, self._noising)
            gradients = torch.autograd.grad(unpatched.sum(), [*leaves.values()])
        some = self.queries(pairs)
        sign = -1.0 if self._noising else 1.0
        changes = [
            ((source[place] - leaf.detach()) * gradient)[:, some].sum((1, 3)) * sign
            for (place, leaf), gradient in zip(leaves.items(), gradients, strict=True)
        ]
        gap = (other - unpatched.detach()) * sign
        clean = unpatched.detach() if self._noising else other
        done(len(pairs))
        return {"clean": doubles(clean), "gap": doubles(gap), "change": doubles(torch.cat(changes, 1))}

    def patched(self, heads: Sequence[Spot], pairs: Sequence[Pair], done: Callable[[int], None]) -> Arrays:
        """What each head changes of each pair's gap, ``[pair head]``."""
        source, _, unpatched = self._both(pairs)
        changes = np.empty((len(pairs), len(heads)))
        for part in self._parts(pairs, len(heads)):
            puts = self._puts(source, pairs, [(row, heads[which]) for row, which in part])
            changes[tuple(zip(*part, strict=True))], _ = self._change(pairs, part, puts, unpatched)
            done(len(part))
        return {"changed": changes}

    def handed(self, graph: Graph, pairs: Sequence[Pair], done: Callable[[int], None]) -> Arrays:
        """What each edge changes of each pair's gap, estimated, ``[pair edge]``; where its heads look."""
        sign = -1.0 if self._noising else 1.0
        names = {STEPS: "handed"} | {steps: f"handed {steps}" for steps in OTHER_STEPS}
        handed: dict[str, list[Tensor]] = {name: [] for name in names.values()}
        for some in self._few(graph, pairs):
            base, source = self.ready(some, self._noising), self.ready(some, not self._noising)
            objective = partial(self.difference, some)
            for steps, name in names.items():
                scores = graph.scores(base, source, objective, steps, self.queries(some))
                handed[name].append(scores.flatten(1) * sign)
            done(len(some))
        return {
            **{name: doubles(torch.cat(parts)) for name, parts in handed.items()},
            "looked": looks(self._model, self.ready(pairs, True), self.ready(pairs, False)),
        }

    def circuits(
        self, graph: Graph, keep: Sequence[Tensor], pairs: Sequence[Pair], done: Callable[[int], None]
    ) -> Arrays:
        """The logit differences that circuits give, ``[pair circuit]``."""
        given: list[Tensor] = []
        for some in self._few(graph, pairs):
            clean, corrupted = self.ready(some, True), self.ready(some, False)
            given.append(graph.circuits(clean, corrupted, partial(self.difference, some), keep))
            done(len(some) * len(keep))
        return {"given": doubles(torch.cat(given))}

    def _few(self, graph: Graph, pairs: Sequence[Pair]) -> Iterator[Sequence[Pair]]:
        """As many pairs as their edges are computed of at once."""
        size = graph.at_once(len(pairs[0].clean))
        return (pairs[start : start + size] for start in range(0, len(pairs), size))

    def passed(self, edges: Sequence[Edge], pairs: Sequence[Pair], done: Callable[[int], None]) -> Arrays:
        """What each edge changes of each pair's gap, ``[pair edge]``."""
        source, base, unpatched = self._both(pairs)
        changes = np.empty((len(pairs), len(edges)))
        senders = sorted({sender for sender, _ in edges})
        given: dict[tuple[int, int], Tensor] = {}
        for part in self._parts(pairs, len(senders)):
            at = [(row, senders[which]) for row, which in part]
            held = {place: layer[[row for row, _ in part]] for place, layer in base.items()}
            direct, seen = self._change(pairs, part, self._puts(source, pairs, at), unpatched, held)
            for number, (row, sender) in enumerate(at):
                for which, (one, receiver) in enumerate(edges):
                    if one == sender and receiver is None:
                        changes[row, which] = direct[number]
                        done(1)
                    elif one == sender and receiver is not None:
                        given[row, which] = seen[receiver[0]][number, self.queries(pairs), receiver[1]]
        between = [(which, receiver) for which, (_, receiver) in enumerate(edges) if receiver is not None]
        for part in self._parts(pairs, len(between)):
            puts = [
                Put(number, *between[which][1], given[row, between[which][0]])
                for number, (row, which) in enumerate(part)
            ]
            rows, columns = [row for row, _ in part], [between[which][0] for _, which in part]
            changes[rows, columns], _ = self._change(pairs, part, puts, unpatched)
            done(len(part))
        return {"passed": changes}

    def _run(self, pairs: Sequence[Pair], clean: bool) -> tuple[Tensor, dict[int, Tensor]]:
        """The logit differences of one run of some pairs, and its heads' outputs by layer."""
        logits, given = self.outputs.run(self.ready(pairs, clean))
        return self.difference(pairs, logits), given

    def _both(self, pairs: Sequence[Pair]) -> tuple[dict[int, Tensor], dict[int, Tensor], Tensor]:
        """The outputs of both runs by layer, first those that are put in; the logit differences of the patched run."""
        with torch.no_grad():
            _, source = self._run(pairs, not self._noising)
            unpatched, base = self._run(pairs, self._noising)
        return source, base, unpatched

    def _puts(
        self, source: Mapping[int, Tensor], pairs: Sequence[Pair], at: Sequence[tuple[int, Spot]]
    ) -> list[Put]:
        """Outputs of one run, each of a pair and a head, put into rows of a batch of their own."""
        some = self.queries(pairs)
        return [
            Put(number, place, head, source[place][row, some, head])
            for number, (row, (place, head)) in enumerate(at)
        ]

    def _parts(self, pairs: Sequence[Pair], times: int) -> Iterator[list[tuple[int, int]]]:
        """Rows of pairs and numbers of what is done to each, as many as run at once."""
        every = [(row, which) for which in range(times) for row in range(len(pairs))]
        return (every[start : start + self._size] for start in range(0, len(every), self._size))

    def _change(
        self,
        pairs: Sequence[Pair],
        part: Sequence[tuple[int, int]],
        puts: Sequence[Put],
        unpatched: Tensor,
        held: Mapping[int, Tensor] | None = None,
    ) -> tuple[Floats, dict[int, Tensor]]:
        """What is made of the gap of these rows of the pairs by what is put in, and what the heads would give."""
        rows = [row for row, _ in part]
        of = [pairs[row] for row in rows]
        with torch.no_grad():
            ready = self.ready(of, self._noising)
            logits, seen = self.outputs.run(ready, puts, queries=self.queries(pairs), held=held)
        change = (self.difference(of, logits) - unpatched[rows]) * (-1.0 if self._noising else 1.0)
        return doubles(change), seen
