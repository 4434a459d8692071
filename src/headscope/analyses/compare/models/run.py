"""What did training change? Two models on the same inputs, head by head."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import islice
from operator import add
from typing import Any, Literal, Unpack

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import torch
import xarray as xr

from headscope.analyses.compare.models import statistics
from headscope.analyses.options import CorpusOptions, with_options
from headscope.analyses.result import Comparison
from headscope.attention.divergence import distributions
from headscope.attention.record import AttentionRecord
from headscope.core.arrays import Bools, Floats
from headscope.core.tokens import Tokens
from headscope.corpora import Corpus, Example
from headscope.corpora.corpus import leave_out, plain
from headscope.errors import InputError
from headscope.measures.choose import choose, row_statistic
from headscope.measures.measure import Measure, selection
from headscope.measures.sums import Documents, Sums
from headscope.models import Model
from headscope.runs.batches import Worked, checked_first, corpus_name, examples, over_blocks, tokens_of
from headscope.runs.estimate import Inputs, ahead, line
from headscope.runs.forward import word_maps
from headscope.runs.long import described
from headscope.runs.options import COMMAND, RunOptions
from headscope.runs.rows import Found
from headscope.runs.task import Task


def counterparts(a: Model, b: Model) -> str | None:
    """Why heads of two models have no counterparts, as far as their configurations say; None where they have."""
    if a.causal != b.causal:
        causal, other = (a, b) if a.causal else (b, a)
        return f"{causal.name} is causal and {other.name} is not: heads have no counterparts"
    shapes = [
        tuple(getattr(model.text_config, name, None) for name in ("num_hidden_layers", "num_attention_heads"))
        for model in (a, b)
    ]
    return None if shapes[0] == shapes[1] else _differ((a, b), shapes)


def check_shapes(models: Sequence[Model], shapes: Sequence[Mapping[int, int]]) -> None:
    """Raise `InputError` where two models do not have the same layers and heads (``{layer: heads}``)."""
    if shapes[0] != shapes[1]:
        counts = [(len(shape), "/".join(map(str, sorted(set(shape.values()))))) for shape in shapes]
        raise InputError(f"models: {_differ(models, counts)}; compare them by role")


def _differ(models: Sequence[Model], shapes: Sequence[tuple[object, ...]]) -> str:
    counts = [
        f"{model.name} has {layers} layers × {heads} heads"
        for model, (layers, heads) in zip(models, shapes, strict=True)
    ]
    return f"{', '.join(counts)}: heads have no counterparts"


MOST = 64
"""Words of an input; a line that is longer gives several."""

_WORD = re.compile(r"\w+|[^\w\s]")


def lines(model: Model, corpus: Corpus | Iterable[Example]) -> Iterator[Example]:
    """The lines (or sentences) of a corpus as words, with the first model's tokens; at most `MOST` words each."""
    for example in plain(corpus):
        if example.pair is not None or example.pair_words is not None or example.pieces is not None:
            raise example.error(
                "expected single texts for models with different tokenizers, found a pair or tokens"
            )
        words = list(example.words) if example.words is not None else _WORD.findall(example.text or "")
        for start in range(0, len(words), MOST):
            part = words[start : start + MOST]
            try:
                tokens = model.from_words(part)
            except InputError as error:
                leave_out(corpus, example.error(error))
                continue
            yield Example(words=part, tokens=tokens, document=example.document, source=example.source)


class Words:
    """Compares two models on the same words. Raises `InputError` where their layers or heads differ in number."""

    def __init__(self, a: Model, b: Model, measures: Sequence[Measure]) -> None:
        self._models, self._measures = (a, b), measures

    def run(self, batch: Sequence[Example]) -> statistics.Compared:
        """What both give for each input of a batch, and how many pieces of the second are unknown, and there."""
        a, b = self._models
        tokens = [b.from_words(list(example.words or ())) for example in batch]
        of_b = [replace(example, tokens=of) for example, of in zip(batch, tokens, strict=True)]
        unknown, pieces = (sum(counts) for counts in zip(*map(b.unknown, tokens), strict=True))
        (of_a, seen_a), (of_b_, seen_b) = _maps(a, batch), _maps(b, of_b)
        maps = [of_a, of_b_]
        check_shapes(self._models, [{layer: part.shape[1] for layer, part in of.items()} for of in maps])
        gathered = [
            self._gathered(
                example.words or (),
                [{layer: part[place] for layer, part in of.items()} for of in maps],
                {layer: seen[place] & seen_b[layer][place] for layer, seen in seen_a.items()},
            )
            for place, example in enumerate(batch)
        ]
        return gathered, (unknown, pieces)

    def _gathered(
        self, words: Sequence[str], maps: Sequence[Mapping[int, Floats]], sights: Mapping[int, Bools]
    ) -> statistics.Gathered:
        """What one input gives, of its maps in both models ``[head word word]``, and what both see, by layer."""
        causal, count, layers = self._models[0].causal, len(words), sorted(maps[0])
        axis = statistics.word_axis(words)
        heads = max(map(len, maps[0].values()))
        sums = np.full((2, len(self._measures), len(layers), heads), np.nan)
        chance, divisors = np.zeros((2, *sums.shape[1:]))
        moved = np.full((2, len(layers), heads), np.nan)
        for index, layer in enumerate(layers):
            weights = [of[layer][:, :count, :count] for of in maps]
            sight, queries = sights[layer][:, :count, :count], slice(len(weights[0]))
            rows, of = selection(self._measures, axis, sight)
            sums[:, :, index, queries] = [self._sums(shares, axis, rows, sight) for shares in weights]
            even = sight / np.maximum(sight.sum(-1, keepdims=True), 1)
            chance[:, index, queries] = self._sums(even, axis, rows, sight)
            divisors[:, index, queries] = of
            seen = (statistics.with_rest(shares[:, int(causal) :]) for shares in weights)
            moved[:, index, queries] = statistics.drift(*seen)
        gathered = statistics.stacked(sums[0], sums[1], chance, divisors, moved, count - int(causal))
        return (axis, layers, *gathered)

    def _sums(self, weights: Floats, axis: Tokens, rows: Floats, sight: Bools) -> Floats:
        """Sums over the rows that count, ``[measure head]``."""
        weights = weights.astype(np.float64)
        pairs = zip(self._measures, rows, strict=True)
        return np.array(
            [(row_statistic(one, weights, axis, sight=sight) * counted).sum(-1) for one, counted in pairs]
        )


def _maps(model: Model, batch: Sequence[Example]) -> tuple[dict[int, Floats], dict[int, Bools]]:
    """The maps of each layer, ``[input head word word]``, and which words each word can see, alike."""
    maps: dict[int, Floats] = {}
    sights: dict[int, Bools] = {}
    word_maps(model, batch, maps.__setitem__, sight=sights.__setitem__)
    return maps, sights


MEASURES = ("surface", "patterns")
"""What is compared unless measures are named."""

_WEIGHTS = 1 << 21  # weights of all heads of one model that are held at a time


@dataclass(frozen=True, eq=False, repr=False)
class Models(Comparison):
    """Two models, compared on the same inputs.

    Attributes:
        figures: see `headscope.analyses.compare.models.statistics.dataset`.
        sums: what they are made of.
        measures: that were compared.
    """

    figures: xr.Dataset
    sums: Sums
    measures: Sequence[Measure]

    @property
    def drift(self) -> pd.DataFrame:
        """One row a head, those that moved most first."""
        return statistics.by_drift(self.figures)

    @property
    def layers(self) -> pd.DataFrame:
        """One row a layer: the means over its heads."""
        return statistics.by_layer(self.figures)


@with_options(batch_size=16)
def models(
    a: Model,
    b: Model,
    corpus: Corpus | Iterable[Example],
    *,
    measures: Sequence[str | Measure] | None = None,
    by: Literal["token", "document"] = "token",
    **options: Unpack[CorpusOptions],
) -> Models:
    """Compare two models of one shape: how far each head's maps moved on the same inputs, and each of its measures.

    Drift is the Jensen–Shannon divergence of the two models' rows (nats, 0 to ln 2), and their cosine, averaged over
    the tokens of the corpus (in a causal model without the first, which sees only itself). Differences of measures are
    A − B. Errors are paired, a jackknife by document.

    Models with different tokenizers are compared on words: inputs are the lines of the corpus, split at white space and
    punctuation; attention to a word is the sum over its pieces, from it the mean (Clark et al. 2019, section 4.1); what
    goes to special tokens is one more outcome of a row; entropies have no row.

    Args:
        a, b: from `headscope.load`; A is the first of the difference.
        corpus: from `headscope.corpora`, or examples that have their tokens (of both models).
        measures: which measures, by names or definitions; by default the groups ``surface`` and ``patterns``.
        by: average over tokens, or over documents' means.
        engine: as in `headscope.measure`; workers load both models.

    Raises:
        InputError: models of different shapes, or of which one is causal; see `headscope.compare.roles` for those.
        CorpusError: a broken corpus, with file and line.
        RunError: a model failed on an input, which the message names.

    >>> float(hs.compare.models(model, model, corpus, measures=["previous"]).figures["js"].max())
    0.0
    """
    definitions = choose(MEASURES if measures is None else measures)
    if any(measure.matrix != "weights" for measure in definitions):
        raise InputError("measures: expected measures of attention weights, found one of gradients or norms")
    if (why := counterparts(a, b)) is not None:
        raise InputError(f"models: {why}; compare them by role")
    over = "pieces" if same_tokens(a, b, corpus) else "words"
    started = time.monotonic()
    through = RunOptions(**options)
    absent: dict[str, str] = {}
    inputs, of_b = examples(a, corpus, through.limit), None
    if over == "pieces":
        work = Pieces(a, b, definitions).run
    else:
        absent = statistics.not_over_words(definitions)
        first = definitions[0].name
        definitions = [measure for measure in definitions if measure.name not in absent]
        if not definitions:
            raise InputError(f"measures: {first}: {absent[first]}")
        inputs = checked_first(a, corpus, lambda: islice(lines(a, corpus), through.limit))
        if a.same_length or b.same_length:  # of two tokenizers, no length is the other's
            through = replace(through, batch_size=1)
        of_b = Inputs(b, (), corpus_name(corpus))
        work = Words(a, b, definitions).run
    blocks = over_blocks(a, corpus, work, through, inputs=inputs, others=[b], title="comparing")

    def summed(block: Worked[statistics.Compared]) -> Sums:
        documents = Documents(statistics.names(definitions), by)
        for batch, (gathered, pieces) in block:
            if of_b is not None:
                of_b.add(*pieces)
            for example, figures in zip(batch, gathered, strict=True):
                documents.add(example.document, *figures)
        return documents.close()

    total = reduce(add, map(summed, blocks))
    if of_b is not None:
        of_b.end()
    meta = described(a, corpus, inputs)
    asked = {"by": by, "limit": through.limit, "batch_size": through.batch_size}
    meta |= {
        "a": meta.pop("model"),
        "b": described(b, corpus)["model"],
        "options": {name: value for name, value in asked.items() if value is not None},
        "over": over,
        "command": COMMAND.get(),
        "seconds": round(time.monotonic() - started, 3),
    }
    figures = statistics.dataset(total, definitions, causal=a.causal, absent=absent, meta=meta)
    return Models(figures, total, definitions)


def same_tokens(a: Model, b: Model, corpus: object) -> bool:
    """Whether two models read the same tokens: one vocabulary, and the same pieces of the first inputs."""
    if not isinstance(corpus, Corpus) or a.tokenizer is b.tokenizer:
        return True
    if a.tokenizer is None or b.tokenizer is None or a.tokenizer.get_vocab() != b.tokenizer.get_vocab():
        return False
    first = (list(islice(corpus.encoded(model), 8)) for model in (a, b))
    return all(tokens_of(one).pieces == tokens_of(other).pieces for one, other in zip(*first, strict=False))


class Pieces:
    """Compares two models that read the same tokens.

    Raises `InputError` where their layers or heads differ in number.
    """

    def __init__(self, a: Model, b: Model, measures: Sequence[Measure]) -> None:
        self._models = (a, b)
        self._tasks = (Task(a, measures), Task(b, measures))

    def run(self, batch: Sequence[Example]) -> statistics.Compared:
        """What both give for each input of a batch."""
        records: list[list[AttentionRecord]] = []
        measured: list[Found] = []
        for task in self._tasks:
            layers: dict[int, AttentionRecord] = {}

            def keep(record: AttentionRecord, layers: dict[int, AttentionRecord] = layers) -> None:
                layers[record.layer] = replace(record, v=None)

            measured.append(task.measured(batch, keep))
            records.append([layers[layer] for layer in sorted(layers)])
        check_shapes(self._models, [{record.layer: record.shape[1] for record in side} for side in records])
        a, b = measured
        if not np.array_equal(a.divisors, b.divisors):
            names = " and ".join(model.name for model in self._models)
            raise InputError(
                f"models: {names} see different tokens (windows that are not the same), so other rows count in each; "
                "compare them by role"
            )
        gathered: list[statistics.Gathered] = [
            (
                tokens,
                a.layers,
                *statistics.stacked(
                    a.sums[place],
                    b.sums[place],
                    a.chance[place],
                    a.divisors[place],
                    *self._drift(records, place, len(tokens)),
                ),
            )
            for place, tokens in enumerate(map(tokens_of, batch))
        ]
        return gathered, (0, 0)

    def _drift(
        self, records: Sequence[Sequence[AttentionRecord]], place: int, length: int
    ) -> tuple[Floats, int]:
        """`drift` of one input ``[2 layer head]``, and over how many rows."""
        sinks = any(record.sinks is not None for side in records for record in side)
        start = 1 if self._models[0].causal and not sinks else 0
        counts = [record.shape[1] for record in records[0]]
        total = np.zeros((2, sum(counts)))
        step = max(1, _WEIGHTS // (sum(counts) * length))
        for first in range(start, length, step):
            rows = torch.arange(first, min(first + step, length))
            a, b = (
                distributions(side, place, rows.to(side[0].q.device), length, dtype=torch.float64)
                .cpu()
                .numpy()
                for side in records
            )
            total += statistics.drift(a, b)
        moved = np.full((2, len(counts), max(counts)), np.nan)
        for layer, (count, end) in enumerate(zip(counts, np.cumsum(counts), strict=True)):
            moved[:, layer, :count] = total[:, end - count : end]
        return moved, length - start


def estimate(
    a: Model, b: Model, corpus: Corpus, *, limit: int | None = None, engine: Any = None, **options: Any
) -> str:
    """One line that says what `headscope.compare.models` will take with these options; roles are not in it."""

    same = same_tokens(a, b, corpus)

    def work(sample: Sequence[Example]) -> object:
        given = sample if same else Corpus(corpus.name, lambda: iter(sample))
        return models(a, b, given, **options)

    plan = ahead(corpus, corpus.encoded(a) if same else lines(a, corpus), limit)
    return line(a, plan, work, "input", engine=engine)
