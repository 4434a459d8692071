"""The report's section on two models, with examples that have the maps of both."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.compare.inputs.run import compare
from headscope.analyses.compare.models.run import counterparts, lines, models
from headscope.analyses.compare.models.section import Compare
from headscope.analyses.compare.models.summary import Kind
from headscope.analyses.example_maps import look, side_by_side
from headscope.analyses.roles.run import every_role
from headscope.analyses.roles.section import known_tests
from headscope.analyses.study import EXAMPLE_TOKENS, Gallery, Study
from headscope.attention.load import load
from headscope.core.arrays import Floats, Ints
from headscope.core.heads import Head
from headscope.core.maps import AttentionMaps
from headscope.core.tokens import Tokens
from headscope.core.words import group, matrix
from headscope.corpora.readable import sentences
from headscope.errors import InputError
from headscope.measures.dataset import description
from headscope.models import Model
from headscope.models.weights import left_out
from headscope.runs.batches import tokens_of
from headscope.views.payload import Pin
from headscope.views.section import Section, SideBySide

EXAMPLES = 4
"""How many examples have the maps of both models."""

DRAWN = 24
"""From how many short inputs these are chosen."""

AMONG = 512
"""Among how many short inputs of the corpus those are drawn."""

WORDS = 4, 20
"""The fewest and the most words of an example, where tokenizers differ."""

BYTES = 1_500_000
"""Up to how many bytes of maps the examples add to the page; one is there whatever its size."""

_UNTRAINED = re.compile(r"untrained, seed (\d+)(, embeddings kept)?")


class Other(NamedTuple):
    """The model that another is compared with.

    Attributes:
        model: the other.
        kind: what it is.
        names: what to call the first and the other.
    """

    model: Model
    kind: Kind
    names: tuple[str, str]


def other(model: Model, against: Model | None) -> Other:
    """What a model is compared with: another, or itself untrained; of an untrained model another draw."""
    if against is not None:
        return Other(against, "other", (_named(model), _named(against)))
    match = next((match for note in model.notes if (match := _UNTRAINED.match(note))), None)
    if match is None:
        name = "the same with its weights drawn again (untrained, seed 0)"
        return Other(load(model, untrained=0), "untrained", (model.name, name))
    seed = int(match[1]) + 1
    redrawn = load(model, untrained=seed, keep="embeddings" if match[2] else None)
    return Other(redrawn, "redrawn", (_named(model), f"the same, drawn with seed {seed}"))


def section(study: Study) -> list[Section]:
    """The model beside itself untrained, or beside another, on the same corpus.

    Of a model whose weights are more than `LARGE`, packed or in several devices there is none beside itself
    untrained. Raises what `headscope.compare.models` raises.
    """
    model, corpus, against = study.model, study.corpus, study.against
    if against is None and (why_not := left_out(model.module)) is not None:
        study.absent["compare"] = (
            f"not compared with itself untrained: {why_not} (headscope compare models MODEL --untrained 0)"
        )
        return []
    pages, roles = study.gallery, known_tests(study)
    apart = against is not None and counterparts(model, against) is not None
    second = other(model, against)
    why: list[str] = []
    figures: xr.Dataset | None = None
    examples: dict[Head, int] = {}
    pins: dict[Head, Pin] = {}
    drawn: list[tuple[Tokens, Tokens]] = []
    if (differ := counterparts(model, second.model)) is None:
        figures = models(model, second.model, corpus, **study.run).figures
        words = description(figures)["over"] == "words"
        if words:
            why.append(
                "Their tokenizers differ, so they are compared on words, without special tokens: attention to a "
                "word is the sum over its pieces, from it the mean; what goes to special tokens is one more outcome"
            )
        if pages.show is not None:
            drawn = _drawn(_of_words(study, second.model) if words else _of_pieces(study))
            examples = _examples(model, second, drawn, figures, pages, words=words)
            pins = _pins(pages, examples, words=words)
    else:
        why.append(f"{differ}, so only their roles are compared")
    both: tuple[pd.DataFrame, pd.DataFrame] | None = None
    if roles is None:
        why.append("Roles are not compared: this report has none")
    else:
        try:
            both = roles, every_role(second.model, corpus, **study.run)
        except InputError as error:
            why.append(f"Roles are not compared: {error}")
    if figures is None and both is None:
        raise InputError("; ".join(why))
    command = study.typed and study.typed.versus(apart=apart, roles=both is not None)
    return [
        Compare(second.kind, second.names, figures, both, examples, tuple(why), len(drawn), command, pins)
    ]


_Texts = Iterator[
    tuple[tuple[str, ...], tuple[Tokens, Tokens]]
]  # pieces or words, and the tokens of A and of B


def _of_pieces(study: Study) -> _Texts:
    for example in study.short():
        tokens = tokens_of(example)
        yield tuple(tokens.pieces), (tokens, tokens)


def _of_words(study: Study, b: Model) -> _Texts:
    examples = sentences(study.model, study.corpus.examples(), 2 * EXAMPLE_TOKENS)
    for example in islice(lines(study.model, examples), study.limit):
        words = tuple(example.words or ())
        if WORDS[0] <= len(words) <= WORDS[1]:
            yield words, (study.model.from_words(list(words)), b.from_words(list(words)))


def _drawn(texts: _Texts) -> list[tuple[Tokens, Tokens]]:
    """Short inputs, drawn with seed 0, as both models read them; no text twice."""
    inputs = list(dict(islice(texts, AMONG)).values())
    return [inputs[place] for place in np.random.default_rng(0).permutation(len(inputs))[:DRAWN]]


def _examples(
    model: Model,
    second: Other,
    drawn: Sequence[tuple[Tokens, Tokens]],
    figures: xr.Dataset,
    pages: Gallery,
    *,
    words: bool,
) -> dict[Head, int]:
    """Add the inputs to the page on which the drift of heads is as over the corpus; which of them for each head."""
    if not drawn:
        return {}
    state = {"side": "difference", **({"unit": "words", "special": False} if words else {})}
    views = [side_by_side((look(model, a), look(second.model, b)), second.names, state) for a, b in drawn]
    drifts: list[Floats] = []
    for view in views:
        a, b = (next(iter(side.parts.values())) for side in (view.first, view.second))
        drifts.append(compare(a, b, align="word" if words else "position", measures=["current"])["js"].values)
    corpus = figures["js"].transpose("layer", "head").values
    away = np.abs(np.stack(drifts) - corpus)
    pages.room(BYTES)
    indices: dict[int, int] = {}
    for number in nearest(away, EXAMPLES):
        index = pages.put(views[number], must=not indices)
        if index is not None:
            indices[number] = index
    there = np.isfinite(corpus)
    best = np.where(there, away[list(indices)], 0.0).argmin(0)
    layers, heads = figures["layer"].values, figures["head"].values
    return {
        Head(int(layers[row]), int(heads[column])): list(indices.values())[best[row, column]]
        for row, column in np.argwhere(there)
    }


def _pins(pages: Gallery, examples: Mapping[Head, int], *, words: bool) -> dict[Head, Pin]:
    """Of each head, the token of its example whose rows in A and in B have least in common; special ones are none.

    Over words the first token of a word, and of special tokens neither rows nor columns.
    """
    pins: dict[Head, Pin] = {}
    for head, index in examples.items():
        view = pages.inputs[index]
        assert isinstance(view, SideBySide)
        a, b = (_rows(one.first, head, words=words) for one in (view.first, view.second))
        apart = np.abs(a.weights - b.weights).sum(-1)
        pins[head] = Pin(side="from", place=int(a.place[apart.argmax()]))
    return pins


class _HeadRows(NamedTuple):
    """Rows of a head, ``[row column]``, and of each the place of its token, or of its word's first."""

    weights: Floats
    place: Ints


def _rows(maps: AttentionMaps, head: Head, *, words: bool) -> _HeadRows:
    tokens, layer = maps.query, list(maps.index).index(head.layer)
    weights = np.asarray(maps.layers[layer][head.head], np.float64)
    special = tokens.special
    kept = np.flatnonzero(~special) if not special.all() else np.arange(len(tokens))
    if not words:
        return _HeadRows(weights[kept], kept)
    from_pieces, to_words = matrix(tokens)
    first = np.unique(group(tokens), return_index=True)[1]
    kept_first = np.flatnonzero(np.isin(first, kept))
    return _HeadRows((from_pieces @ weights @ to_words)[np.ix_(kept_first, kept_first)], first[kept_first])


def nearest(away: Floats, count: int) -> list[int]:
    """Which inputs to show: one after another, the one that leaves heads nearest to one of them.

    Args:
        away: how far each head on each input is from its figure, ``[input layer head]``; NaN: no such head.
        count: how many.
    """
    flat = np.nan_to_num(away.reshape(len(away), -1))
    numbers: list[int] = []
    nearest = np.full(flat.shape[1], np.inf)
    while len(numbers) < min(count, len(flat)):
        total = np.minimum(flat, nearest).sum(1)
        total[numbers] = np.inf
        numbers.append(int(total.argmin()))
        nearest = np.minimum(nearest, flat[numbers[-1]])
    return numbers


def _named(model: Model) -> str:
    """Its name, and what was done to it."""
    return ", ".join([model.name, *model.notes])
