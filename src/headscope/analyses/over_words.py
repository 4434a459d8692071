"""Annotated corpora through a model: what every layer's maps over words give for each input."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy.typing as npt

from headscope.corpora import Corpus, Example
from headscope.corpora.corpus import leave_out
from headscope.errors import CorpusError
from headscope.models import Model
from headscope.stream.batches import over_blocks
from headscope.stream.inputs import Inputs
from headscope.stream.long import described
from headscope.stream.provenance import COMMAND
from headscope.stream.words import word_maps
from headscope.words import Rows

A = TypeVar("A")
T = TypeVar("T")


class Measured(NamedTuple, Generic[A, T]):
    """One input: its place in the corpus, its annotation, and what was made of each layer."""

    number: int
    annotation: A
    layers: Mapping[int, T]


def over_word_maps(
    model: Model,
    corpus: Corpus | Iterable[Example],
    annotation: Callable[[Example], A],
    measure: Callable[[A, npt.NDArray[Any]], T],
    *,
    inputs: Iterable[Example],
    rows: Rows = "mean",
    token_types: bool = True,
    batch_size: int,
    limit: int | None,
    progress: bool,
) -> Iterator[list[Measured[A, T]]]:
    """The inputs of each block of a corpus, in the order in which they are worked on.

    Args:
        model, corpus: what runs, and over what.
        annotation: reads what is annotated off an input; one for which it raises `CorpusError` is left out.
        measure: is given that and the maps ``[head word word]`` of a layer.
        inputs: of the corpus, with their tokens.
        rows, token_types: see `headscope.stream.words.word_maps`.
        batch_size: inputs in a batch, at most.
        limit, progress: of the run.

    Raises: see `headscope.stream.batches.over_blocks`.
    """
    known: dict[int, tuple[int, A]] = {}  # of the inputs that are being worked on, by identity

    def numbered() -> Iterator[Example]:
        for number, example in enumerate(inputs):
            try:
                known[id(example)] = number, annotation(example)
            except CorpusError as error:
                leave_out(corpus, error)
            else:
                yield example

    def work(batch: Sequence[Example]) -> list[Measured[A, T]]:
        annotations = [known[id(example)][1] for example in batch]
        layers: list[dict[int, T]] = [{} for _ in batch]

        def look(layer: int, maps: npt.NDArray[Any]) -> None:
            for place, (example, annotated) in enumerate(zip(batch, annotations, strict=True)):
                size = len(example.words or ())
                layers[place][layer] = measure(annotated, maps[place, :, :size, :size])

        word_maps(model, batch, look, rows=rows, token_types=token_types)
        return [
            Measured(*known.pop(id(example)), dict(sorted(each.items())))
            for example, each in zip(batch, layers, strict=True)
        ]

    for block in over_blocks(
        model, corpus, work, inputs=numbered(), batch_size=batch_size, limit=limit, progress=progress
    ):
        yield [each for _, measured in block for each in measured]


def description(
    model: Model,
    corpus: Corpus | Iterable[Example],
    inputs: Inputs,
    options: Mapping[str, Any],
    started: float,
) -> dict[str, Any]:
    """What made the figures of a run over these inputs that began at this monotonic time."""
    meta = described(model, corpus, inputs) | {"options": dict(options), "command": COMMAND.get()}
    meta["seconds"] = round(time.monotonic() - started, 3)
    return meta
