"""Does attention differ between two groups of inputs?"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, Unpack

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.compare.groups import statistics
from headscope.analyses.compare.groups.statistics import choose_groups
from headscope.analyses.options import CorpusOptions, with_options
from headscope.analyses.result import Comparison
from headscope.analyses.shown import Page
from headscope.core.arrays import Ints, Singles
from headscope.core.counts import plural
from headscope.core.failures import warn
from headscope.core.heads import Head
from headscope.core.tokens import Tokens
from headscope.core.validation import Draws, Level, Seed, validated
from headscope.corpora import Corpus, Example
from headscope.corpora.batches import checked
from headscope.corpora.corpus import leave_out
from headscope.errors import HeadscopeWarning, InputError
from headscope.live.view import view
from headscope.measures.choose import choose
from headscope.measures.dataset import describe, description
from headscope.measures.measure import Measure, without
from headscope.models import Model
from headscope.runs.batches import corpus_name, examples, no_input, over_blocks, tokens_of
from headscope.runs.estimate import Inputs, ahead, line
from headscope.runs.long import described
from headscope.runs.options import COMMAND, RunOptions
from headscope.runs.task import Task
from headscope.statistics.design import Design
from headscope.statistics.permutation import PERMUTATIONS
from headscope.views.view import View


@dataclass(frozen=True, eq=False)
class Values:
    """The mean of each input, measure by measure, head by head.

    Attributes:
        values: ``[input measure layer head]``; NaN where an input has no row that counts, or a layer no such head.
        measures: the definitions; those that no input has are left out.
        layers: the model's index of each layer.
        inputs: in the order of the corpus.
        absent: which measures no input has, and why.
    """

    values: Singles
    measures: Sequence[Measure]
    layers: Sequence[int]
    inputs: Sequence[Example]
    absent: dict[str, str]

    @property
    def labels(self) -> list[str | None]:
        """What the corpus says of each input; None for nothing."""
        return [None if one.label is None else str(one.label) for one in self.inputs]

    @property
    def documents(self) -> Ints:
        """The number of each input's document."""
        return np.array([one.document for one in self.inputs], np.int64)

    @property
    def tokens(self) -> list[Tokens]:
        """Of each input, special ones included."""
        return [tokens_of(one) for one in self.inputs]


def values(
    model: Model,
    corpus: Corpus | Iterable[Example],
    measures: Sequence[str | Measure],
    options: RunOptions | None = None,
) -> Values:
    """Measure each input of a corpus by itself.

    Args:
        model: from `headscope.load`.
        corpus: from `headscope.corpora`, or examples that have their tokens.
        measures: names or definitions.
        options: how it goes through the corpus.

    Raises:
        InputError: no input, or no measure that any input has.
        RunError: the model failed on an input, which the message names.
    """
    options = options or RunOptions()
    definitions = choose(measures)
    task = Task(model, definitions, "segment")
    inputs = list(examples(model, corpus, options.limit))
    places = {id(example): place for place, example in enumerate(inputs)}
    counts: Counter[str] = Counter()
    order: list[int] = []
    layers: Sequence[int] = ()
    parts: list[Singles] = []
    through = replace(options, limit=len(inputs))
    over = over_blocks(model, corpus, task.measured, through, inputs=inputs)
    for batch, sums in chain.from_iterable(over):
        by, layers = sums.divisors, sums.layers
        parts.append(np.where(by > 0, sums.sums / np.where(by > 0, by, 1.0), np.nan).astype(np.float32))
        for example in batch:
            order.append(places[id(example)])
            counts += _classes(tokens_of(example))
    means = np.concatenate(parts)[np.argsort(order)]
    there = [bool(np.isfinite(means[:, row]).any()) for row in range(len(definitions))]
    absent = without(definitions, model.causal, counts, there)
    kept = [row for row, measure in enumerate(definitions) if measure.name not in absent]
    means = means if len(kept) == len(definitions) else means[:, kept]
    return Values(means, [definitions[row] for row in kept], layers, inputs, absent)


def _classes(tokens: Tokens) -> Counter[str]:
    counts = Counter({name: int(mask.sum()) for name, mask in tokens.classes.items()})
    if tokens.special_mask is not None:
        counts["special"] = int(tokens.special_mask.sum())
    return counts


MEASURES = ("surface", "patterns")
"""What is compared unless measures are named; those that no input has are left out."""


@dataclass(frozen=True, eq=False, repr=False)
class Groups(Comparison):
    """Two groups of inputs, compared.

    Attributes:
        figures: over ``(measure, layer, head)``, see `headscope.analyses.compare.groups.statistics.compare`.
        model: that was measured.
        inputs: what each input of both groups gave.
        second: inputs of group B.
    """

    figures: xr.Dataset
    model: Model
    inputs: Values
    second: np.ndarray[tuple[int], np.dtype[np.bool_]]

    @validated
    def differing(self, level: Level = statistics.LEVEL) -> pd.DataFrame:
        """The rows of the table whose q is at most `level`, the largest effects first; none where nothing differs."""
        return statistics.differing(self.figures, level)

    @validated
    def sentence(self, level: Level = statistics.LEVEL) -> str:
        """One sentence: how many heads differ, or that none does."""
        return statistics.sentence(self.figures, level)

    def view(
        self, measure: str | None = None, layer: int | None = None, head: int | None = None, **state: Any
    ) -> View:
        """An input of each group beside each other, each the one whose figure is nearest to its group's mean.

        By default the measure and head of the smallest p, of equals the one of the largest effect. `state` is as in
        `headscope.view`.
        """
        rows: Any = self.table
        for name, value in (("measure", measure), ("layer", layer), ("head", head)):
            rows = rows if value is None else rows[rows[name] == value]
        if not len(rows):
            raise InputError(
                f"view: expected a measure and head that were compared, found {measure}, {layer}, {head}"
            )
        rows = rows.assign(size=rows["effect"].abs())
        best = rows.sort_values(["p", "size"], ascending=[True, False]).iloc[0]
        first, second = self.typical(str(best["measure"]), Head(int(best["layer"]), int(best["head"])))
        state = {"layer": int(best["layer"]), "heads": [int(best["head"])], **state}
        return view(self.model, first, against=second, **state)

    def typical(self, measure: str, head: Head) -> tuple[Tokens, Tokens]:
        """The input of each group whose figure is nearest to its group's mean."""
        place = (
            [of.name for of in self.inputs.measures].index(measure),
            list(self.inputs.layers).index(head.layer),
            head.head,
        )
        first, second = statistics.typical(self.inputs.values, self.second, place)
        return tokens_of(self.inputs.inputs[first]), tokens_of(self.inputs.inputs[second])


def save_view(result: Groups, view: Page) -> str:
    """Write an input of each group.

    Args:
        result: from `headscope.compare.groups`.
        view: also an input of each group, side by side: .html, .svg, .pdf or .png.
    """
    result.view().save(view)
    return "an input of each group"


@with_options()
def groups(
    model: Model,
    corpus: Corpus | Iterable[Example],
    *,
    groups: Sequence[str] | None = None,
    measures: Sequence[str | Measure] | None = None,
    null: statistics.Null | None = None,
    length: statistics.Length | None = None,
    permutations: Draws = PERMUTATIONS,
    seed: Seed = 0,
    **options: Unpack[CorpusOptions],
) -> Groups:
    """Compare every measure of every head between the inputs of two labels.

    Each input gives one mean; groups are compared in the means of their inputs. What is tested is said in the result:
    that means are equal, by a bootstrap of documents (`headscope.statistics.bootstrap`), or that figures have the same
    distribution in both groups, by permuted labels (`headscope.statistics.permutation`). q is adjusted for all measures
    and heads. Errors and intervals are by document.

    Args:
        model: from `headscope.load`.
        corpus: labelled inputs, such as from `headscope.corpora.pairs`, or examples that have their tokens.
        groups: the labels of group A and of group B; needed where there are more than two.
        measures: which measures, by names or definitions; by default the groups ``surface`` and ``patterns``.
        null: what is tested to be equal: ``means``, whatever the spread of the groups, or ``distributions``; by default
            means, or distributions where a group is of one document. They have more power where groups differ in their
            means alone.
        length: hold the lengths of inputs equal: as a ``covariate`` (a slope on the logarithm of the tokens that both
            groups share), or in each ``stratum`` of like length. Means are tested then.
        permutations: of the labels, or draws of the bootstrap, at least 20,000.
        seed: of the permutations or draws.

    Raises:
        InputError: inputs without labels, other than two labels, fewer than two inputs with one of them, or a null that
            cannot be tested.
        CorpusError: a broken corpus, with file and line.
        RunError: the model failed on an input, which the message names.

    Warns before the model runs where the labels can be dealt out in too few ways for anything to be found.

    >>> result = hs.compare.groups(model, hs.corpora.pairs("pairs.tsv"), measures=["previous"])
    >>> result.sentence()[:7]
    'no head'
    """
    started = time.monotonic()
    through = RunOptions(**options)
    if not isinstance(corpus, Corpus):
        corpus = list(corpus)
    there, documents = _labels(_labelled(model, corpus))
    if not there:
        raise no_input(corpus)
    labels = choose_groups([label for several in there for label in several], groups)
    chosen = [_group(several, labels) for several in there]
    place = np.flatnonzero([label is not None for label in chosen])[: through.limit]
    if not len(place):
        raise InputError(
            f"groups: expected inputs labelled {labels[0]} or {labels[1]}, found that all are both"
        )
    both = [labels for labels, label in zip(there, chosen, strict=True) if label is not None]
    if several := sum(len(labels) > 1 for labels in both[: through.limit]):
        which = f"each is in the group of the one of {labels[0]} and {labels[1]} that it has"
        message = f"groups: {plural(several, 'input')} with several labels; {which}"
        warn(message, 3)
    design = Design(np.array(chosen)[place] == labels[1], documents[place])
    statistics.null_of(design, null, length)
    if (reason := statistics.nothing(design)) is not None:
        warn(reason, 3)
    read = Inputs(model, islice(_grouped(model, corpus, labels), through.limit), corpus_name(corpus))
    inputs = values(model, read, MEASURES if measures is None else measures, through)
    second = np.array([label == labels[1] for label in inputs.labels], np.bool_)
    lengths = np.array([len(tokens) for tokens in inputs.tokens])
    asked = {"groups": list(labels), "limit": through.limit, "batch_size": through.batch_size}
    meta = described(model, corpus, read) | {
        "options": {name: value for name, value in asked.items() if value is not None},
        "groups": [
            {
                "label": label,
                "inputs": int(group.sum()),
                "tokens": float(lengths[group].mean()) if group.any() else 0.0,
            }
            for label, group in zip(labels, (~second, second), strict=True)
        ],
        "documents": len(np.unique(inputs.documents)),
        "absent": inputs.absent,
        "command": COMMAND.get(),
    }
    figures = statistics.compare(
        inputs.values,
        second,
        inputs.documents,
        inputs.measures,
        inputs.layers,
        null=null,
        length=length,
        tokens=lengths,
        permutations=permutations,
        seed=seed,
        meta=meta,
    )
    meta = {**description(figures), "seconds": round(time.monotonic() - started, 3)}
    return Groups(figures.assign_attrs(describe(meta)), model, inputs, second)


def _labelled(model: Model, corpus: Corpus | Iterable[Example]) -> Iterator[Example]:
    """The inputs with their tokens; those without a label are left out of a corpus."""
    for example in checked(corpus.encoded(model) if isinstance(corpus, Corpus) else corpus):
        if not example.labels:
            leave_out(corpus, example.error("expected an input with a label, found none"))
        else:
            yield example


def _labels(inputs: Iterable[Example]) -> tuple[list[tuple[str, ...]], Ints]:
    """The labels and the document of each input, in their order."""
    both = [(example.labels, example.document) for example in inputs]
    return [labels for labels, _ in both], np.array([document for _, document in both], np.int64)


def _group(several: Sequence[str], labels: Sequence[str]) -> str | None:
    """The one of two labels that is among an input's; None for neither and for both."""
    mine = [label for label in labels if label in several]
    return mine[0] if len(mine) == 1 else None


def _grouped(model: Model, corpus: Corpus | Iterable[Example], labels: tuple[str, str]) -> Iterator[Example]:
    """The inputs of two groups, each with its group as its label; those of both are left out."""
    for example in _labelled(model, corpus):
        if (label := _group(example.labels, labels)) is not None:
            yield example.but(label=label)
        elif labels[0] in example.labels:
            leave_out(corpus, example.error(f"expected the label {labels[0]} or {labels[1]}, found both"))


def estimate(
    model: Model,
    corpus: Corpus,
    *,
    groups: Sequence[str] | None = None,
    limit: int | None = None,
    engine: Any = None,
    **options: Any,
) -> str:
    """One line that says what `headscope.compare.groups` will take with these options, permutations included."""
    there = _labels(_labelled(model, corpus))[0]
    inputs = _grouped(model, corpus, choose_groups([label for several in there for label in several], groups))
    width = 0

    def work(sample: Sequence[Example]) -> object:
        nonlocal width
        halves = [
            replace(example, label="AB"[index % 2], document=index) for index, example in enumerate(sample)
        ]
        with warnings.catch_warnings(action="ignore", category=HeadscopeWarning):
            result = _compared(model, halves, **options)
        width = result.inputs.values[0].size
        return result

    plan = ahead(corpus, inputs, limit)
    if plan.inputs < 4:
        raise InputError(f"groups: expected at least 2 inputs in each, found {plan.inputs} in both")
    return line(model, plan, work, "input", lambda: 12 * width, engine=engine)


_compared = groups  # where `groups` is an argument
