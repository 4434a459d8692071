"""What is right in a task, read from the model that the lab is about."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from headscope import corpora
from headscope.analyses.links.syntax.run import syntax
from headscope.analyses.measure.run import measure
from headscope.attention.one import capture
from headscope.core.heads import Head
from headscope.core.maps import AttentionMaps
from headscope.core.types import AnyDict, AnyMapping
from headscope.corpora import Example
from headscope.errors import InputError
from headscope.live.session import Live
from headscope.models import Model
from headscope.views.digits import bare, fixed

NEAR = 0.8
"""A head is right, too, so far up from the worst one's score to the best one's."""

NAMED = 6
"""So many right heads are named in an answer."""

READ = {"score": 0.03, "weight": 0.03, "heads": 0.5, "says": 0.05}
"""How far a figure may be from that of the model: a page rounds weights, and readers round figures."""


class LabScores(NamedTuple):
    """A figure of every head, and what a neighbour's place gets of the same (of a relation)."""

    of: Mapping[Head, float]
    lowest: bool = False
    near: float = NEAR
    baseline: float = float("nan")

    @property
    def best(self) -> Head:
        """The head that the task looks for."""
        return self._end(self.lowest)

    @property
    def worst(self) -> Head:
        """The head at the other end, which a task begins with."""
        return self._end(not self.lowest)

    def _end(self, low: bool) -> Head:
        return min(self.of, key=lambda head: self.of[head] if low else -self.of[head])

    @property
    def layers(self) -> list[float]:
        """The mean of each layer."""
        return [
            float(np.mean([value for head, value in self.of.items() if head.layer == layer]))
            for layer in sorted({head.layer for head in self.of})
        ]

    @property
    def right(self) -> list[Head]:
        """The best head, and those that do nearly as well."""
        best, room = self.of[self.best], (1 - self.near) * abs(self.of[self.best] - self.of[self.worst])
        near = [head for head, value in self.of.items() if abs(value - best) <= room]
        return sorted(near, key=lambda head: abs(self.of[head] - best))


def scores(model: Model, tokens: Any, spec: AnyMapping, drift: Any = None) -> LabScores:
    """The figure that a lab's file names: a ``measure`` (of the text, or of the ``corpus``), the weight ``from`` a word
    ``to`` another, the accuracy at a ``relation``, or the ``drift`` between two models, which is given.
    """
    lowest, near = bool(spec.get("lowest")), spec.get("near", NEAR)
    baseline = float("nan")
    array: Any
    if "measure" in spec:
        texts = builtin(model) if spec.get("corpus") else [Example(tokens=tokens, document=0, source="lab")]
        measured: Any = measure(model, texts, measures=[spec["measure"]])
        array = measured[spec["measure"]]
    elif "relation" in spec:
        relation: Any = syntax(model, corpora.builtin_trees(), least=10).sel(relation=spec["relation"])
        array = relation["accuracy"].sel(direction="dep->head")
        baseline = float(relation["baseline"].max())
    elif "drift" in spec:
        array = drift["drift"]
    else:
        maps = maps_of(model, tokens)
        query, keys = places(tokens, spec["from"])[-1], places(tokens, spec["to"])
        weights = [(layer, maps.layers[at][:, query, keys].sum(-1)) for at, layer in enumerate(maps.index)]
        return LabScores(
            {Head(layer, head): float(weight) for layer, row in weights for head, weight in enumerate(row)},
            lowest,
            near,
        )
    of = {
        Head(int(layer), int(head)): float(array.sel(layer=layer, head=head))
        for layer in array["layer"].values
        for head in array["head"].values
    }
    return LabScores(
        {head: value for head, value in of.items() if np.isfinite(value)}, lowest, near, baseline
    )


def builtin(model: Model) -> corpora.Corpus:
    """The built-in corpus in inputs that the model takes."""
    return corpora.builtin(pack=min(128, model.max_length or 128))


def maps_of(model: Model, tokens: Any) -> AttentionMaps:
    """The maps of an encoder, or of a decoder alone."""
    maps = capture(model, tokens)
    assert isinstance(maps, AttentionMaps)
    return maps


def places(tokens: Any, word: str) -> list[int]:
    """The tokens of a word: ``it``, its second occurrence ``it#2``, in text B ``it@b``; ``last`` is the last token."""
    match = re.fullmatch(r"(.+?)(?:#(\d))?(@b)?", word)
    assert match is not None
    if word == "last":
        return [len(tokens) - 1]
    side = 1 if match[3] else 0
    kept = [place for place, text in enumerate(tokens.sequence_ids) if text == side]
    read = "".join(tokens.texts[place] for place in kept)
    starts = [match_.start() for match_ in re.finditer(rf"\b{re.escape(match[1])}\b", read)]
    number = int(match[2] or 1)
    if len(starts) < number:
        raise InputError(f"lab: expected {word!r} in the text, found {read!r}")
    begin, end = starts[number - 1], starts[number - 1] + len(match[1])
    covered: list[int] = []
    at = 0
    for place in kept:
        after = at + len(tokens.texts[place])
        if at < end and after > begin and read[at:after].strip():
            covered.append(place)
        at = after
    return covered


class Said(NamedTuple):
    """The likeliest token, and its probability with changes."""

    token: str
    probability: float


def spoken(model: Model, text: str, changes: Sequence[str] = ()) -> Said:
    """What a language model says at the end of a text, and what changes make of its probability."""
    live = Live(model)
    asked: AnyDict = {"kind": "show", "id": 0, "input": {"text": text}, "changes": [], "chosen": None}
    answer, _ = live.answer(asked)
    first = answer["says"][0]["top"][0]
    answer, _ = live.answer({**asked, "changes": list(changes), "chosen": first["id"]})
    return Said(first["text"].strip(), float(answer["says"][-1]["chosen"]["p"]))


def named(of: LabScores, heads: Sequence[Head]) -> str:
    """The first heads with their scores: ``L0H2 (.993), L2H11 (.340) and 7 more``."""
    listed = ", ".join(f"{head} ({short(of.of[head])})" for head in heads[:NAMED])
    return listed if len(heads) <= NAMED else f"{listed} and {len(heads) - NAMED} more"


def short(value: float) -> str:
    """A figure as the page writes it."""
    return bare(fixed(value, 3))
