"""What did training change? Two models on the same inputs, head by head."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import torch
import xarray as xr

from headscope.analyses.compare_figures import Width, about, models_figure
from headscope.analyses.compare_models import statistics, words
from headscope.analyses.compare_models.batch import Batch, check_shapes
from headscope.analyses.compare_models.words import lines
from headscope.analyses.distance.run import Distances
from headscope.analyses.measure.figure import Figure
from headscope.attention.divergence import distributions
from headscope.attention.record import AttentionRecord
from headscope.corpora import Corpus, Example, blocks
from headscope.errors import HeadscopeError, InputError, RunError
from headscope.measures.choose import choose
from headscope.measures.measure import Measure
from headscope.measures.sums import Documents, Floats, Sums
from headscope.models import Model, expect_model
from headscope.stream.estimate import ahead, line
from headscope.stream.long import described, examples
from headscope.stream.progress import bar
from headscope.stream.provenance import COMMAND
from headscope.stream.task import TOKENS_PER_INPUT, Task, named, tokens_of
from headscope.tokens import Tokens
from headscope.views.palette import Theme

MEASURES = ("surface", "patterns")
"""What is compared unless measures are named."""

_WEIGHTS = 1 << 21  # weights of all heads of one model that are held at a time


@dataclass(frozen=True, eq=False)
class Models:
    """Two models, compared on the same inputs.

    Attributes:
        figures: see `headscope.analyses.compare_models.statistics.dataset`.
    """

    figures: xr.Dataset

    @property
    def table(self) -> pd.DataFrame:
        """One row a measure and head, with `headscope.analyses.compare_models.statistics.COLUMNS`."""
        return statistics.table(self.figures)

    @property
    def drift(self) -> pd.DataFrame:
        """One row a head, those that moved most first."""
        return statistics.by_drift(self.figures)

    @property
    def layers(self) -> pd.DataFrame:
        """One row a layer: the means over its heads."""
        return statistics.by_layer(self.figures)

    def figure(self, *, theme: Theme = "light", width: Width = "text") -> Figure:
        """How far every head moved, and the mean of each layer with its 95 % interval.

        `theme` and `width` are as in `headscope.figure`. The figure shows itself in a notebook, and has
        ``save("models.svg")``.
        """
        canvas = models_figure(self.figures, theme=theme, width=width)
        return Figure(canvas, about(self.figures, "Two models"))


def models(
    a: Model,
    b: Model,
    corpus: Corpus | Iterable[Example],
    *,
    measures: Sequence[str | Measure] | None = None,
    by: Literal["token", "document"] = "token",
    batch_size: int = 16,
    limit: int | None = None,
    progress: bool = False,
) -> Models:
    """Compare two models of one shape: how far each head's maps moved on the same inputs, and each of its measures.

    Drift is the Jensen–Shannon divergence of the two models' rows (nats, 0 to ln 2), and their cosine, averaged over
    the tokens of the corpus (in a causal model without the first, which sees only itself). Differences of measures are
    A − B. Errors are paired, clustered by document.

    Models with different tokenizers are compared on words: inputs are the lines of the corpus, split at white space and
    punctuation; attention to a word is the sum over its pieces, from it the mean (Clark et al. 2019, section 4.1); what
    goes to special tokens is one more outcome of a row; entropies have no row.

    Args:
        a, b: from `headscope.load`; A is the first of the difference.
        corpus: from `headscope.corpora`, or examples that have their tokens (of both models).
        measures: names or definitions; by default `MEASURES`.
        by: average over tokens, or over documents' means.
        batch_size, limit, progress: as in `headscope.measure`.

    Raises:
        InputError: models of different shapes, or of which one is causal; see `headscope.compare.roles` for those.
        CorpusError: a broken corpus, with file and line.
        RunError: a model failed on an input, which the message names.

    >>> float(hs.compare.models(model, model, corpus, measures=["previous"]).figures["js"].max())
    0.0
    """
    chosen = choose(MEASURES if measures is None else measures)
    if by not in ("token", "document"):
        raise InputError(f"by: expected token or document, found {by!r}")
    if any(one.matrix != "weights" for one in chosen):
        raise InputError("measures: expected measures of attention weights, found one of gradients or norms")
    for each in (a, b):
        expect_model(each)
    if (why := counterparts(a, b)) is not None:
        raise InputError(f"models: {why}; compare them by role")
    over = "pieces" if same_tokens(a, b, corpus) else "words"
    started = time.monotonic()
    total: Sums | None = None
    if over == "pieces":
        absent: dict[str, str] = {}
        read: Iterator[Example] = examples(a, corpus, limit)
        run: Callable[[Sequence[Example]], Batch] = Pieces(a, b, chosen).run
    else:
        absent = statistics.not_over_words(chosen)
        kept = [one for one in chosen if one.name not in absent]
        if not kept:
            raise InputError(f"measures: {chosen[0].name}: {absent[chosen[0].name]}")
        chosen = kept
        read = islice(words.lines(a, corpus), limit)
        run = words.Words(a, b, chosen).run
    most = batch_size * TOKENS_PER_INPUT
    with bar(corpus, limit, progress, "comparing") as done:
        for block in blocks(read, batch_size=batch_size, tokens_per_batch=most):
            documents = Documents(statistics.names(chosen), by)
            for batch in block:
                _add(documents, batch, _tried(run, batch))
                done(len(batch))
            sums = documents.close()
            total = sums if total is None else total + sums
    if total is None:
        raise InputError("corpus: expected at least one input, found none")
    meta = _described(a, b, corpus, {"by": by, "limit": limit, "batch_size": batch_size})
    meta |= {"over": over, "command": COMMAND.get(), "seconds": round(time.monotonic() - started, 3)}
    return Models(statistics.dataset(total, chosen, causal=a.causal, absent=absent, meta=meta))


def same_tokens(a: Model, b: Model, corpus: object) -> bool:
    """Whether two models read the same tokens: one vocabulary, and the same pieces of the first inputs."""
    if not isinstance(corpus, Corpus) or a.tokenizer is b.tokenizer:
        return True
    if a.tokenizer is None or b.tokenizer is None or a.tokenizer.get_vocab() != b.tokenizer.get_vocab():
        return False
    first = (list(islice(corpus.encoded(model), 8)) for model in (a, b))
    return all(tokens_of(one).pieces == tokens_of(other).pieces for one, other in zip(*first, strict=False))


def counterparts(a: Model, b: Model) -> str | None:
    """Why heads of two models have no counterparts, as far as their configurations say; None where they have."""
    if a.causal != b.causal:
        one, other = (a, b) if a.causal else (b, a)
        return f"{one.name} is causal and {other.name} is not: heads have no counterparts"
    shapes = [
        (
            getattr(one.text_config, "num_hidden_layers", None),
            getattr(one.text_config, "num_attention_heads", None),
        )
        for one in (a, b)
    ]
    if shapes[0] == shapes[1]:
        return None
    told = [
        f"{one.name} has {layers} layers × {heads} heads"
        for one, (layers, heads) in zip((a, b), shapes, strict=True)
    ]
    return f"{told[0]}, {told[1]}: heads have no counterparts"


class Pieces:
    """Compares two models that read the same tokens.

    Raises `InputError` where their layers or heads differ in number.
    """

    def __init__(self, a: Model, b: Model, measures: Sequence[Measure]) -> None:
        self._models = (a, b)
        self._tasks = (Task(a, measures), Task(b, measures))

    def run(self, batch: Sequence[Example]) -> Batch:
        """What both give for the inputs of a batch."""
        inputs = [tokens_of(example) for example in batch]
        records = [_records(model, inputs) for model in self._models]
        shapes = [{record.layer: record.shape[1] for record in own} for own in records]
        check_shapes(self._models, shapes)
        one, other = (task.run(inputs) for task in self._tasks)
        for found in (one, other):
            if not found.finite.all():
                place = int(np.flatnonzero(~found.finite)[0])
                raise RunError(f"{batch[place].source}: expected finite attention weights, found others")
        heads = one.sums.shape[3]
        moved = [self._drift(records, place, len(tokens), heads) for place, tokens in enumerate(inputs)]
        return Batch(
            inputs,
            one.layers,
            one.sums,
            other.sums,
            one.chance,
            one.divisors,
            np.array([found for found, _ in moved]),
            [rows for _, rows in moved],
        )

    def _drift(
        self, records: Sequence[Sequence[AttentionRecord]], place: int, length: int, heads: int
    ) -> tuple[Floats, int]:
        """`drift` of one input ``[2 layer head]``, and over how many rows."""
        sinks = any(record.sinks is not None for own in records for record in own)
        start = 1 if self._models[0].causal and not sinks else 0
        counts = [record.shape[1] for record in records[0]]
        total = np.zeros((2, sum(counts)))
        step = max(1, _WEIGHTS // (sum(counts) * length))
        for first in range(start, length, step):
            rows = torch.arange(first, min(first + step, length), device=records[0][0].q.device)
            a, b = (
                distributions(own, place, rows.to(own[0].q.device), length, dtype=torch.float64).cpu().numpy()
                for own in records
            )
            total += statistics.drift(a, b)
        found = np.full((2, len(counts), heads), np.nan)
        for layer, (count, end) in enumerate(zip(counts, np.cumsum(counts), strict=True)):
            found[:, layer, :count] = total[:, end - count : end]
        return found, length - start


def _records(model: Model, inputs: Sequence[Tokens]) -> list[AttentionRecord]:
    return Distances(model)._records(inputs)  # pyright: ignore[reportPrivateUsage]


def _add(documents: Documents, batch: Sequence[Example], found: Batch) -> None:
    for place, example in enumerate(batch):
        sums, chance, divisors = statistics.stacked(
            found.a[place],
            found.b[place],
            found.chance[place],
            found.divisors[place],
            found.moved[place],
            found.rows[place],
        )
        documents.add(example.document, found.tokens[place], found.layers, sums, chance, divisors)


def _tried(run: Callable[[Sequence[Example]], Batch], batch: Sequence[Example]) -> Batch:
    try:
        return run(batch)
    except HeadscopeError:
        raise
    except Exception as error:
        raise named(error, batch, run) from error


def _described(a: Model, b: Model, corpus: Any, options: dict[str, Any]) -> dict[str, Any]:
    meta = described(a, corpus)
    first = meta.pop("model")
    return {
        "a": first,
        "b": described(b, corpus)["model"],
        **meta,
        "options": {name: value for name, value in options.items() if value is not None},
    }


def estimate(
    a: Model, b: Model, corpus: Corpus, *, limit: int | None = None, batch_size: int = 16, **options: Any
) -> str:
    """One line that says what `headscope.compare.models` will take with these options; roles are not in it."""

    same = same_tokens(a, b, corpus)

    def work(sample: Sequence[Example]) -> object:
        given = sample if same else Corpus(corpus.name, lambda: iter(sample))
        return models(a, b, given, batch_size=batch_size, **options)

    return line(a, ahead(corpus, corpus.encoded(a) if same else lines(a, corpus), limit), work, "input")
