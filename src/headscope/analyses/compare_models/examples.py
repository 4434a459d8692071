"""The report's section on two models, with examples that have the maps of both."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.cards.section import gallery
from headscope.analyses.compare_inputs.statistics import compare
from headscope.analyses.compare_models.run import models
from headscope.analyses.compare_models.section import Compare
from headscope.analyses.compare_models.shapes import counterparts
from headscope.analyses.compare_models.summary import Kind
from headscope.analyses.compare_models.words import lines
from headscope.analyses.roles.run import roles as of_one
from headscope.analyses.roles.section import known_roles
from headscope.analyses.study import LEVEL, Gallery, Study, look
from headscope.attention.load import load
from headscope.corpora import Corpus
from headscope.errors import InputError
from headscope.heads import Head
from headscope.maps import AttentionMaps
from headscope.measures.dataset import description
from headscope.models import Model
from headscope.tokens import Tokens
from headscope.views.explorer import Input
from headscope.views.section import Beside, Section

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


@dataclass(frozen=True)
class Other:
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
    drawn = next((found for note in model.notes if (found := _UNTRAINED.match(note))), None)
    if drawn is None:
        made = load(model, untrained=0)
        return Other(
            made, "untrained", (model.name, "the same with its weights drawn again (untrained, seed 0)")
        )
    seed = int(drawn[1]) + 1
    made = load(model, untrained=seed, keep="embeddings" if drawn[2] else None)
    return Other(made, "redrawn", (_named(model), f"the same, drawn with seed {seed}"))


def section(study: Study) -> list[Section]:
    """The model beside itself untrained, or beside another, on the same corpus.

    Raises what `headscope.compare.models` raises.
    """
    model, corpus, against = study.model, study.corpus, study.against
    pages, roles = gallery(study), known_roles(study)
    apart = against is not None and counterparts(model, against) is not None
    command = study.typed and study.typed.versus(apart=apart)
    short = (example.tokens for example in study.short() if example.tokens is not None)
    beside = other(model, against)
    why: list[str] = []
    found: xr.Dataset | None = None
    examples: dict[Head, int] = {}
    drawn: list[tuple[Tokens, Tokens]] = []
    shape = counterparts(model, beside.model)
    if shape is None:
        found = models(model, beside.model, corpus, **study.run).figures
        over = str(description(found)["over"])
        if over == "words":
            why.append(
                "Their tokenizers differ, so they are compared on words, without special tokens: attention to a "
                "word is the sum over its pieces, from it the mean; what goes to special tokens is one more outcome"
            )
        if pages.show is not None:
            drawn = list(_drawn(model, beside.model, corpus, short, over, study.limit))
            examples = _examples(model, beside, drawn, found, over, pages)
    else:
        why.append(f"{shape}, so only their roles are compared")
    both: tuple[pd.DataFrame, pd.DataFrame] | None = None
    if roles is None:
        why.append("Roles are not compared: this report has none")
    else:
        try:
            both = roles, of_one(beside.model, corpus, level=LEVEL, **study.run)
        except InputError as error:
            why.append(f"Roles are not compared: {error}")
    if found is None and both is None:
        raise InputError("; ".join(why))
    return [Compare(beside.kind, beside.names, found, both, examples, tuple(why), len(drawn), command)]


def _drawn(
    a: Model, b: Model, corpus: Corpus, short: Iterable[Tokens], over: str, limit: int | None
) -> Iterator[tuple[Tokens, Tokens]]:
    """Short inputs, drawn with seed 0, as both models read them."""
    found = (
        ((tuple(one.pieces), (one, one)) for one in short)
        if over == "pieces"
        else (
            (tuple(words), (a.from_words(words), b.from_words(words)))
            for words in (list(example.words or ()) for example in islice(lines(a, corpus), limit))
            if WORDS[0] <= len(words) <= WORDS[1]
        )
    )
    kept = list(dict(islice(found, AMONG)).values())  # no text twice
    for place in np.random.default_rng(0).permutation(len(kept))[:DRAWN]:
        yield kept[place]


def _examples(
    model: Model,
    beside: Other,
    drawn: Sequence[tuple[Tokens, Tokens]],
    found: xr.Dataset,
    over: str,
    pages: Gallery,
) -> dict[Head, int]:
    """Add the inputs to the page on which the drift of heads is as over the corpus; which of them for each head."""
    if not drawn:
        return {}
    pairs: list[tuple[Input, Input]] = []
    drifts: list[npt.NDArray[np.float64]] = []
    for tokens in drawn:
        one, two = (
            replace(look(each, own), neurons={}, label=f"{letter} · {name}")
            for each, own, letter, name in zip((model, beside.model), tokens, "AB", beside.names, strict=True)
        )
        pairs.append((one, two))
        own = compare(
            _maps(one), _maps(two), align="position" if over == "pieces" else "word", measures=["current"]
        )
        drifts.append(np.asarray(own["js"].values, np.float64))
    corpus = np.asarray(found["js"].transpose("layer", "head").values, np.float64)
    away = np.abs(np.stack(drifts) - corpus)
    pages.room(BYTES)
    state: Mapping[str, Any] = {"side": "difference"}
    if over == "words":
        state = {**state, "unit": "words", "special": False}
    places: list[int] = []
    chosen: list[int] = []
    for number in nearest(away, EXAMPLES):
        place = pages.put(Beside(*pairs[number], state), must=not places)
        if place is not None:
            places.append(place)
            chosen.append(number)
    best = np.where(np.isfinite(corpus), away[chosen], 0.0).argmin(0)
    return {
        Head(int(layer), int(head)): places[int(best[row, column])]
        for row, layer in enumerate(found["layer"].values)
        for column, head in enumerate(found["head"].values)
        if np.isfinite(corpus[row, column])
    }


def nearest(away: npt.NDArray[np.float64], count: int) -> list[int]:
    """Which inputs to show: one after another, the one that leaves heads nearest to one of them.

    Args:
        away: how far each head on each input is from its figure, ``[input layer head]``; NaN: no such head.
        count: how many.
    """
    flat = np.nan_to_num(away.reshape(len(away), -1))
    chosen: list[int] = []
    left = np.full(flat.shape[1], np.inf)
    while len(chosen) < min(count, len(flat)):
        total = np.minimum(flat, left).sum(1)
        total[chosen] = np.inf
        chosen.append(int(total.argmin()))
        left = np.minimum(left, flat[chosen[-1]])
    return chosen


def _maps(one: Input) -> AttentionMaps:
    return next(iter(one.parts.values()))


def _named(model: Model) -> str:
    """Its name, and what was done to it."""
    return ", ".join([model.name, *model.notes])
