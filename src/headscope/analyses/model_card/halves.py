"""What a list of heads is made of, document by document, and whether two halves of them agree on its top."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr

from headscope.analyses.align.heads import alignment_heads
from headscope.analyses.contribution.importance import NAME, by_gates
from headscope.analyses.roles.run import READINGS, needles
from headscope.attention.objective import objective
from headscope.core.arrays import Floats
from headscope.corpora import Corpus, Example
from headscope.measures.choose import choose
from headscope.measures.dataset import dataset
from headscope.measures.sums import Documents
from headscope.models import Model
from headscope.runs.batches import examples, over_blocks, reader_of, tokens_of
from headscope.runs.long import described
from headscope.runs.options import RunOptions
from headscope.runs.task import Task
from headscope.statistics.overlap import Overlap, overlap


@dataclass
class ReadCorpus:
    """What was read of a corpus.

    Attributes:
        name: of the corpus.
        sha256: of the pieces of all inputs, in their order.
        documents, inputs, tokens: how many.
    """

    name: str
    sha256: str = ""
    documents: int = 0
    inputs: int = 0
    tokens: int = 0


@dataclass
class Halves:
    """Measures what lists are made of, and keeps what two halves of it say: nothing is read twice.

    Attributes:
        seed: of halvings and needles.
        corpus: its name.
        read: what was read, by what for.
        overlaps: of each list; None with too few documents.
    """

    seed: int
    corpus: str
    read: dict[str, ReadCorpus] = field(default_factory=dict[str, ReadCorpus])
    overlaps: dict[str, Overlap | None] = field(default_factory=dict[str, "Overlap | None"])

    def measure(
        self, model: Model, corpus: Corpus | Iterable[Example], *, measures: Any, **options: Any
    ) -> xr.Dataset:
        """The figures of the next of `READINGS`, as `headscope.measure` has them."""
        model, chosen, through = reader_of(model, corpus), choose(measures), RunOptions(**options)
        documents = Documents([measure.name for measure in chosen])
        name = READINGS[len(self.read)]
        seen = _SeenInputs("repeated random tokens" if name == "repeated" else self.corpus)
        inputs = examples(model, corpus, through.limit)
        for block in over_blocks(model, corpus, Task(model, chosen).measured, through, inputs=inputs):
            for batch, rows in block:
                for example, *arrays in zip(batch, rows.sums, rows.chance, rows.divisors, strict=True):
                    documents.add(example.document, tokens_of(example), rows.layers, *arrays)
                    seen.add(example, arrays[0], arrays[-1])
        self._keep(name, seen, [measure.name for measure in chosen])
        meta = described(model, corpus, inputs)
        return dataset(documents.close(), chosen, causal=model.causal, meta=meta)

    def importance(self, model: Model, corpus: Corpus, options: RunOptions) -> xr.Dataset:
        """Head importance."""
        seen = _SeenInputs(self.corpus)
        result = by_gates(objective(model), corpus, options, seen=seen.add)
        self._keep(NAME, seen, [NAME])
        return result

    def needles(self, model: Model) -> xr.Dataset:
        """What is known of retrieval."""
        result = needles(model, self.seed)
        self._counted("retrieval", result["hits"].values, result["answered"].values)
        return result

    def alignment(self, model: Model, corpus: Corpus, limit: int | None) -> xr.Dataset:
        """Which heads align words with sound."""
        result = alignment_heads(model, corpus, limit=limit)
        self._counted("alignment", result["right"].values, result["words"].values)
        return result

    def _counted(self, name: str, hits: Floats, counts: Floats) -> None:
        hits = hits.reshape(len(hits), -1)
        self.overlaps[name] = overlap(hits, np.broadcast_to(counts[:, None], hits.shape), seed=self.seed)

    def _keep(self, name: str, seen: _SeenInputs, names: list[str]) -> None:
        both = [np.stack([seen.sums[document][side] for document in sorted(seen.sums)]) for side in (0, 1)]
        s, n = (array.reshape(*array.shape[:2], -1) for array in both)
        self.overlaps |= {
            one: overlap(s[:, place], n[:, place], seed=self.seed) for place, one in enumerate(names)
        }
        self.read[name] = seen.close()


class _SeenInputs:
    """What inputs were seen, and what their documents gave."""

    def __init__(self, name: str) -> None:
        self.sums: dict[int, tuple[Floats, Floats]] = {}
        self._digest, self._read = hashlib.sha256(), ReadCorpus(name)

    def add(self, example: Example, s: Floats, n: Floats) -> None:
        pieces = tokens_of(example).pieces
        self._digest.update("\n".join([*pieces, ""]).encode())
        self._read.inputs += 1
        self._read.tokens += len(pieces)
        before = self.sums.get(example.document, (0.0, 0.0))
        self.sums[example.document] = (before[0] + s, before[1] + n)

    def close(self) -> ReadCorpus:
        self._read.sha256, self._read.documents = self._digest.hexdigest(), len(self.sums)
        return self._read
