"""Circuits that are known, and how well they are found; and how faithful circuits are, as MIB scores them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headscope.analyses.patching import pairs as prompts
from headscope.analyses.patching import statistics
from headscope.analyses.patching.curve import STEPS, looks
from headscope.analyses.patching.pairs import Pair
from headscope.analyses.reads.run import reads
from headscope.attention.edges import LOGITS, Graph
from headscope.attention.load import load
from headscope.attention.residual import Outputs, written
from headscope.core.arrays import Bools, Floats, Ints
from headscope.core.tokens import Tokens
from headscope.core.types import AnyDict, AnyMapping
from headscope.corpora import Example
from headscope.errors import InputError
from headscope.models import Model
from headscope.statistics.jackknife import share_interval

WAYS = ("path patching", "EAP-IG", "EAP", "reads", "attention", "random")
"""What scores edges."""

SHARES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Of all edges, how many a circuit has, as MIB has it."""

AT_ONCE = 32


@dataclass(frozen=True, eq=False)
class CircuitInputs:
    """Pairs of prompts of one length."""

    model: Model
    pairs: Sequence[Pair]

    def ready(self, clean: bool) -> dict[str, Tensor]:
        """What the model takes of one side."""
        return self.model.inputs([pair.clean if clean else pair.corrupted for pair in self.pairs])

    def difference(self, logits: Tensor) -> Tensor:
        """``logit(answer) − logit(wrong)`` of each pair."""
        rows = torch.arange(len(self.pairs))
        at = logits[rows, [pair.place for pair in self.pairs]]
        return at[rows, [pair.answer for pair in self.pairs]] - at[rows, [pair.wrong for pair in self.pairs]]

    def circuits(self, graph: Graph, keep: Sequence[Tensor]) -> Floats:
        """The differences by circuits ``[pair circuit]``."""
        given = graph.circuits(self.ready(True), self.ready(False), self.difference, keep)
        return given.double().cpu().numpy()

    def ends(self, graph: Graph) -> Floats:
        """The differences of the corrupted and of the clean run ``[pair 2]``."""
        none, clean, corrupted = torch.zeros_like(graph.edges), self.ready(True), self.ready(False)
        ways = (clean, corrupted), (corrupted, clean)
        runs = [graph.circuits(one, other, self.difference, [none]) for one, other in ways]
        return torch.cat(runs, 1).double().cpu().numpy()

    def edges(self, graph: Graph, steps: int) -> Floats:
        """What each edge takes away where it hands on what it does in the corrupted run ``[writer reader]``."""
        scores = graph.scores(self.ready(True), self.ready(False), self.difference, steps)
        return -scores.sum(0).double().cpu().numpy()


def batches(model: Model, pairs: Sequence[Pair], most: int = AT_ONCE) -> list[CircuitInputs]:
    """The pairs in batches of one length."""
    lengths: defaultdict[tuple[int, int], list[Pair]] = defaultdict(list)
    for pair in pairs:
        lengths[len(pair.clean), pair.place].append(pair)
    return [
        CircuitInputs(model, some[start : start + most])
        for some in lengths.values()
        for start in range(0, len(some), most)
    ]


def graph_of(model: Model, some: Sequence[CircuitInputs]) -> Graph:
    """The graph of a model that reads these pairs."""
    first = some[0].ready(True)
    return Graph(model, Outputs(model, first), first)


# Circuits that are known.


@dataclass(frozen=True, eq=False)
class Known:
    """A model whose circuit is known.

    Attributes:
        name, made: its task, and whether it is ``compiled`` or ``trained``.
        edges: of its circuit, by the names of writer and reader; `token` is the embedding.
    """

    name: str
    made: str
    model: Model
    pairs: Sequence[Pair]
    edges: Sequence[tuple[str, str]]


def known(limit: int | None = None) -> Iterator[Known]:
    """The models of the package, made by ``tools/circuit_models.py``, compiled and trained in turn."""
    transformers: Any = import_module("transformers")
    with (files("headscope.analyses.bench") / "circuits.npz").open("rb") as file:
        arrays = dict(np.load(file))
    about: AnyMapping = json.loads(str(arrays["about"]))
    many = len(about["models"])
    for number in np.arange(many).reshape(2, -1).T.flatten()[:limit].tolist():
        model: AnyMapping = about["models"][number]
        config = transformers.GPT2Config(
            **about["sizes"], n_layer=model["layers"], activation_function="relu", tie_word_embeddings=False,
            bos_token_id=0, eos_token_id=0,
        )  # fmt: skip
        module: Any = transformers.GPT2LMHeadModel(config).eval()
        shapes: Mapping[str, list[int]] = model["weights"]
        flat = arrays[f"{number} weights"].astype(np.float32)
        parts = np.split(flat, np.cumsum([np.prod(shape) for shape in shapes.values()])[:-1])
        state = {
            name: torch.as_tensor(part.reshape(shape))
            for (name, shape), part in zip(shapes.items(), parts, strict=True)
        }
        module.load_state_dict(state)
        fields = [arrays[f"{number} {field}"].astype(np.int64) for field in prompts.FIELDS]
        pairs = [
            Pair(_tokens(clean), _tokens(corrupted), int(answer), int(wrong), len(clean) - 1)
            for clean, corrupted, answer, wrong in zip(*fields, strict=True)
        ]
        yield Known(model["name"], model["made"], load(module), pairs, model["edges"])


def _tokens(ids: Ints) -> Tokens:
    return Tokens([str(number) for number in ids], ids=ids)


def scored(one: Known, seed: int) -> dict[str, tuple[float, float]]:
    """Of each way the area under the ROC curve of edges, and the precision of as many heads as the circuit has."""
    some = batches(one.model, one.pairs)
    graph = graph_of(one.model, some)
    there = graph.edges.cpu().numpy()
    named = {"token": graph.embedding}
    circuit = {(named.get(writer, writer), reader) for writer, reader in one.edges}
    true = np.array([[(writer, reader) in circuit for reader in graph.readers] for writer in graph.writers])
    heads = [place for place, name in enumerate(graph.writers) if name.startswith("L")]
    scores_by_way: dict[str, tuple[float, float]] = {}
    for way in WAYS:
        scores, of_heads = _scores(way, graph, some, seed)
        if of_heads is None:
            of_heads = np.where(there, scores, 0.0).max(1)[heads]
        in_circuit = np.asarray(true.any(axis=1), np.bool_)
        scores_by_way[way] = area(scores[there], true[there]), precision(of_heads, in_circuit[heads])
    return scores_by_way


def _scores(way: str, graph: Graph, some: Sequence[CircuitInputs], seed: int) -> tuple[Floats, Floats | None]:
    """How much a way makes of each edge ``[writer reader]``; and of each head, where that is not by its edges."""
    if way == "path patching":
        return np.abs(_alone(graph, some)), None
    if way.startswith("EAP"):
        steps = STEPS if way == "EAP-IG" else 0
        return np.abs(sum((one.edges(graph, steps) for one in some), np.zeros(graph.edges.shape))), None
    if way == "reads":
        return _read(graph, some), None
    heads = [place for place, name in enumerate(graph.writers) if name.startswith("L")]
    if way == "random":
        dice = np.random.default_rng(seed)
        return dice.random(graph.edges.shape), dice.random(len(heads))
    looked = np.concatenate([looks(one.model, one.ready(True), one.ready(False)) for one in some]).mean(0)
    likely = np.full(len(graph.writers) + 1, looked.mean())
    likely[heads] = looked
    return likely[:-1, None] * likely[None, 1:], looked


def _alone(graph: Graph, some: Sequence[CircuitInputs]) -> Floats:
    """What is lost where one edge alone hands on what it does in the corrupted run, run for run."""
    places = np.nonzero(graph.edges.cpu().numpy())
    keep = [graph.edges.clone() for _ in range(1 + len(places[0]))]
    for one, writer, reader in zip(keep[1:], *places, strict=True):
        one[writer, reader] = False
    given = sum((one.circuits(graph, keep).sum(0) for one in some), np.zeros(len(keep)))
    lost = np.zeros(graph.edges.shape)
    lost[places] = given[0] - given[1:]
    return lost


def _read(graph: Graph, some: Sequence[CircuitInputs]) -> Floats:
    """Of whom heads read what they look by, and who writes the answer's logit; MLPs are not asked."""
    texts = [pair.clean for one in some for pair in one.pairs]
    scores = np.zeros(graph.edges.shape)
    rows = {name: place for place, name in enumerate(graph.writers)}
    for reader, name in enumerate(graph.readers):
        if name.startswith("L"):
            examples = [Example(tokens=text, document=number) for number, text in enumerate(texts)]
            result = reads(some[0].model, examples, name, ablated=0)
            shares = np.abs(np.nan_to_num(result["share"].values)).sum(0)
            for writer, share in zip(result["writer"].values.tolist(), shares, strict=True):
                if writer in rows:
                    scores[rows[writer], reader] = share
    for one in some:
        for pair in one.pairs:
            terms = written(some[0].model, some[0].model.inputs([pair.clean]), pair.place, pair.answer)
            mine = np.abs([
                float(terms.terms["embedding"]),
                *(x for heads, mlp in zip(terms.heads, terms.terms["mlp"], strict=True) for x in (*heads.sum(1), mlp)),
            ])  # fmt: skip
            scores[:, graph.readers.index(LOGITS)] += mine / mine.sum() / len(texts)
    return scores


def area(scores: Floats, true: Bools) -> float:
    """How often an edge of the circuit has a higher score than one that is not in it, ties counted half.

    >>> area(np.array([3.0, 2.0, 2.0, 1.0]), np.array([True, True, False, False]))
    0.875
    """
    one, other = scores[true][:, None], scores[~true][None]
    return float((one > other).mean() + (one == other).mean() / 2)


def precision(scores: Floats, true: Bools) -> float:
    """The share of the circuit's heads among as many with the highest scores; of ties, as many as chance takes.

    >>> precision(np.array([3.0, 1.0, 1.0, 0.0]), np.array([True, True, False, False]))
    0.75
    """
    count = int(true.sum())
    least = np.sort(scores)[-count]
    above, tied = scores > least, scores == least
    return float((true[above].sum() + (count - above.sum()) * true[tied].mean()) / count)


def circuits_rows(_: Any, *, seed: int, limit: int | None) -> Iterator[AnyMapping]:
    """The rows of the table ``circuits``."""
    every = [(one.made, scored(one, seed + number)) for number, one in enumerate(known(limit))]
    for what, of in enumerate(("edges", "heads")):
        for way in WAYS:
            for made in ("compiled", "trained", "both"):
                if values := [
                    scores_by_way[way][what] for how, scores_by_way in every if made in (how, "both")
                ]:
                    yield {"data": of, "model": made, "system": way, **mean_of(np.array(values))}


def mean_of(values: Floats) -> AnyDict:
    """The mean over models, with its interval."""
    count = float(len(values))
    low, high = share_interval(
        values.mean(), values.std(ddof=1) / np.sqrt(count) if count > 1 else np.nan, count
    )
    return {"value": values.mean(), "ci_low": float(low), "ci_high": float(high), "n": len(values)}


# Faithfulness, as MIB scores it.


def pairs_of(rows: Sequence[AnyMapping], name: str) -> list[AnyDict]:
    """Pairs as `headscope.patching` takes them, of rows of MIB's data or of such pairs.

    A row of MIB's has a ``prompt`` and a counterfactual one (the first of ``s2_io_flip_counterfactual``,
    ``symbol_counterfactual``, ``random_counterfactual`` that is there), and answers by ``metadata`` (indirect object
    and subject), ``choices`` and ``answerKey``, or ``label``.

    Raises `InputError` for a row that is neither.
    """
    return [
        dict(row) if {*row} == {*prompts.FIELDS} else _of_mib(row, f"{name}:{number}")
        for number, row in enumerate(rows, 1)
    ]


COUNTERFACTUALS = ("s2_io_flip_counterfactual", "symbol_counterfactual", "random_counterfactual")


def _of_mib(row: AnyMapping, where: str) -> AnyDict:
    name = next((name for name in COUNTERFACTUALS if isinstance(row.get(name), Mapping)), None)
    if name is None or not isinstance(row.get("prompt"), str):
        raise InputError(
            f"{where}: expected clean, corrupted, answer and wrong, or MIB's prompt and one of "
            f"{', '.join(COUNTERFACTUALS)}, found {', '.join(row)}"
        )
    other: AnyMapping = row[name]
    try:
        if "metadata" in row:
            answers = [f" {row['metadata'][who]}" for who in ("indirect_object", "subject")]
        elif "choices" in row:
            answers = [str(one["choices"]["label"][one["answerKey"]]) for one in (row, other)]
        else:
            answers = [str(one["label"]) for one in (row, other)]
        return {
            "clean": row["prompt"],
            "corrupted": other["prompt"],
            "answer": answers[0],
            "wrong": answers[1],
        }
    except (KeyError, IndexError, TypeError):
        raise InputError(
            f"{where}: expected answers by metadata (indirect_object, subject), by choices (label) and answerKey, or "
            f"by label, of the prompt and of {name}"
        ) from None


def faithfulness_rows(
    model: Model,
    chosen_on: Sequence[AnyMapping],
    scored_on: Sequence[AnyMapping] | None = None,
    *,
    seed: int,
    limit: int | None,
) -> Iterator[AnyMapping]:
    """The rows of the table ``faithfulness``: CPR and CMD of circuits by EAP-IG, by EAP and at random."""
    kept, _, _ = prompts.read(model, chosen_on, fitting=True)
    if scored_on is None:
        kept, tested = kept[::2], kept[1::2]
    else:
        tested, _, _ = prompts.read(model, scored_on, fitting=True)
    kept, tested = kept[:limit], tested[:limit]
    if not tested:
        raise InputError("PAIRS: expected at least two pairs that fit, half of them to score on, found 1")
    some, others = batches(model, kept), batches(model, tested)
    graph = graph_of(model, some)
    given = {way: sum((one.edges(graph, steps) for one in few(graph, some)), np.zeros(graph.edges.shape))
             for way, steps in (("EAP-IG", STEPS), ("EAP", 0))}  # fmt: skip
    given["random"] = np.random.default_rng(seed).random(graph.edges.shape)
    tried = [*few(graph, others)]
    ends = np.concatenate([one.ends(graph) for one in tried])
    parts = np.empty(0)
    for way, scores in given.items():
        for name, order in (("CPR", scores), ("CMD", np.abs(scores))):
            if name == "CPR" or scores.min() < 0:
                keep = [first_of(graph, order, share) for share in SHARES[:-1]]
                parts = np.concatenate([one.circuits(graph, keep) for one in tried])
                parts = np.concatenate([ends[:, :1], parts, ends[:, 1:]], 1)
            yield {"system": f"{name}, {way}", **integrated(parts, distance=name == "CMD"), "n": len(parts)}


def few(graph: Graph, some: Sequence[CircuitInputs]) -> Iterator[CircuitInputs]:
    """The batches in parts whose edges are computed at once."""
    for one in some:
        yield from batches(one.model, one.pairs, graph.at_once(len(one.pairs[0].clean)))


def first_of(graph: Graph, order: Floats, share: float) -> Tensor:
    """The edges with the highest scores, so many of all."""
    there = graph.edges.cpu().numpy()
    ranked = np.argsort(-np.where(there, order, -np.inf), axis=None, kind="stable")
    chosen = np.zeros(there.size, np.bool_)
    chosen[ranked[: int(share * there.sum())]] = True
    return torch.as_tensor(chosen.reshape(there.shape))


def integrated(given: Floats, *, distance: bool) -> AnyDict:
    """The area under the faithfulness of circuits by their share of all edges, or between that and 1; its interval.

    Faithfulness is a ratio of means over pairs, and the area a sum of these, by the trapezoidal rule; so it is such a
    ratio, too, and the distance where each circuit stays on its side of 1.

    Args:
        given: the logit differences ``[pair circuit]`` by no edges, then by those of `SHARES`, the last of them all.
        distance: the area between faithfulness and 1.
    """
    gaps, changes = given[:, -1] - given[:, 0], given[:, 1:] - given[:, :1]
    widths = np.array([after - before for before, after in pairwise(SHARES)])
    weights = np.concatenate([widths, [0.0]]) / 2 + np.concatenate([[0.0], widths]) / 2
    if distance:
        changes = gaps[:, None] - changes
        changes = changes * np.sign(changes.sum(0) * gaps.sum())
    one = statistics.effects((changes @ weights)[:, None], gaps)
    low = np.maximum(one.low, 0.0) if distance else one.low
    return {"value": float(one.value[0]), "ci_low": float(low[0]), "ci_high": float(one.high[0])}
