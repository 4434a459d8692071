"""What a corpus of any size will take on any number of workers, told from what a few of its blocks cost here.

Two assumptions:

1. Every block costs the same, and workers slow one another down by sharing cores only.
2. The client's own work on a block (reading, wire) is done one block after another, beside the workers': the slower
   side sets the pace. Workers have loaded the model.
"""

from __future__ import annotations

import math
import pickle
import time
from dataclasses import dataclass, fields
from itertools import islice, pairwise

import torch

from headscope.core.counts import plural
from headscope.corpora import Corpus
from headscope.errors import InputError
from headscope.measures.choose import choose, default_measures
from headscope.measures.sums import Sums
from headscope.models import Model
from headscope.runs.batches import BLOCK, tokens_of
from headscope.runs.blocks import BYTES as BLOCK_BYTES
from headscope.runs.blocks import Batched, CorpusBlocks, Encoded, reader_for
from headscope.runs.checkpoint import Outcome
from headscope.runs.engines.dispatch import BYTES, WINDOW
from headscope.runs.estimate import Estimate, ahead, disk_size, duration, peak_memory, threads
from headscope.runs.forward import forward
from headscope.runs.task import Task

SMALLEST = 2 * BLOCK * BLOCK_BYTES
"""Bytes of a corpus of two whole blocks: of a smaller one, bytes and the client's work are overstated."""


@dataclass(frozen=True)
class Costs:
    """What a block costs, on average.

    Attributes:
        tokens: that it has.
        read: seconds of the client: finding it, and packing what is sent.
        encode, forward, sums: seconds of a worker: reading and tokenizing, the plain model, and the statistics.
        wire: seconds of the client: unpacking what comes back, and adding it up.
        sent, back: bytes to a worker, and of its sums.
        memory: bytes of a worker's process.
    """

    tokens: float
    read: float
    encode: float
    forward: float
    sums: float
    wire: float
    sent: float
    back: float
    memory: float


@dataclass(frozen=True)
class Plan:
    """What a run takes: seconds; bytes over the wire, of the checkpoints of a run (or of the parts of its shards
    together), and of memory, the client's and each worker's.
    """

    seconds: float
    wire: float
    parts: float
    client: float
    worker: float


def plan(costs: Costs, tokens: float, workers: int, cores: int | None = None) -> Plan:
    """What a run over so many tokens takes.

    Args:
        costs: of a block.
        tokens: of the corpus.
        workers: how many there are.
        cores: that workers and client share; None: each has its own.
    """
    blocks = math.ceil(tokens / costs.tokens)
    worker, client = costs.encode + costs.forward + costs.sums, costs.read + costs.wire
    sides = [blocks * client, math.ceil(blocks / workers) * worker]
    if cores is not None:
        sides.append(blocks * (worker + client) / cores)
    held = min(WINDOW * workers * (costs.sent + costs.back), BYTES)
    return Plan(
        seconds=max(sides),
        wire=blocks * (costs.sent + costs.back),
        parts=blocks * costs.back,
        client=costs.memory + held,
        worker=costs.memory,
    )


@threads(1)
def measured(model: Model, corpus: Corpus, blocks: int = 4) -> Costs:
    """What the first blocks of a corpus cost here; the very first warms up where there are others.

    Raises `InputError` where they have no inputs.
    """
    clock = time.process_time if model.device.type == "cpu" else time.perf_counter
    reader = reader_for(model, Encoded(model), dict, batch_size=32, size=None)
    task = Task(model, choose(default_measures(corpus.kind)))
    total, samples = Outcome[Sums](), list[Costs]()
    given = islice(CorpusBlocks(corpus, reader, windows=4), blocks + 1)
    for block in given:
        times = [clock()]
        data = pickle.dumps([block], 5)
        times.append(clock())
        (there,) = pickle.loads(data)
        batches = list(Batched(there, reader))
        times.append(clock())
        inputs = [[tokens_of(example) for example in batch] for batch in batches]
        if not inputs:
            continue
        with torch.no_grad():
            for batch in inputs:
                forward(model, batch)
        _settle(model)
        times.append(clock())
        outcome = Outcome(task.block(batches))
        _settle(model)
        times.append(clock())
        back = pickle.dumps((outcome, None, []), 5)
        total = total.then(pickle.loads(back)[0])
        times.append(clock())
        read, encode, passes, both, wire = (after - before for before, after in pairwise(times))
        tokens = sum(len(example) for batch in inputs for example in batch)
        sums = max(0.0, both - passes)
        samples.append(Costs(tokens, read, encode, passes, sums, wire, len(data), len(back), 0))
    if not samples:
        raise InputError("corpus: expected at least one input, found none")
    samples = samples[1:] or samples
    means = {
        field.name: sum(getattr(sample, field.name) for sample in samples) / len(samples)
        for field in fields(Costs)
    }
    return Costs(**{**means, "memory": peak_memory(model)})


def _settle(model: Model) -> None:
    if model.device.type == "cuda":
        torch.cuda.synchronize(model.device)


def planned(model: Model, corpus: Corpus, workers: int, limit: int | None = None) -> Estimate:
    """One line that says what the measures of a corpus take on so many workers. Raises `InputError` without inputs."""
    costs, extent = measured(model, corpus), ahead(corpus, corpus.encoded(model), limit)
    forecast = plan(costs, extent.tokens, workers)
    wire, parts, worker, client = map(
        disk_size, (forecast.wire, forecast.parts, forecast.worker, forecast.client)
    )
    few = "; of less than two whole blocks, which overstates bytes and the client's work"
    text = (
        f"{extent.text('input')}: about {duration(forecast.seconds)} on {plural(workers, 'worker')} of {worker} of "
        f"memory, {client} of the client's, {wire} over the wire, {parts} of parts"
        f"{few if (corpus.size_hint() or 0) < SMALLEST else ''}"
    )
    return Estimate(text, forecast.seconds, forecast.worker)
