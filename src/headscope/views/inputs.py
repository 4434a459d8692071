"""One input that is shown: its maps, what came beside them, and the layers and heads that are drawn."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from headscope.core.arrays import AnyFloats, Bools
from headscope.core.counts import plural
from headscope.core.heads import Head
from headscope.core.maps import AttentionMaps
from headscope.core.media import KINDS, Medium, Picture
from headscope.core.neurons import Neurons
from headscope.core.tokens import Tokens
from headscope.errors import InputError, ShapeError
from headscope.views.payload import LinkInfo, ReadsInfo

Matrices = Mapping[str, Mapping[str, Sequence[AnyFloats]]]

AT_ONCE = 2**16
"""About so many weights of a layer are looked at together."""


@dataclass(frozen=True)
class Input:
    """One input to show.

    Attributes:
        parts: maps by part: ``{"self": …}`` or ``{"encoder": …, "decoder": …, "cross": …}``.
        label: a few words that name it; by default the pieces do.
        neurons: queries and keys by part, for the neuron view.
        opened: the heads whose queries and keys are shown; None: all.
        side: as queries so many patches a side are put together, at least (`headscope.views.images`).
        matrices: other matrices per pair by name (``gradient``, …), by part, ``[head query key]`` a layer;
            they may be negative.
        notes: what a matrix is of, by its name: ``{"gradient": "the loss on the input"}``.
        links: gold links by part (`headscope.views.gold.of_parts`).
        reads: of some lines why they are there, by part.
    """

    parts: Mapping[str, AttentionMaps]
    label: str = ""
    neurons: Mapping[str, Neurons] = field(default_factory=dict[str, Neurons])
    matrices: Matrices = field(default_factory=dict[str, Mapping[str, Sequence[AnyFloats]]])
    notes: Mapping[str, str] = field(default_factory=dict[str, str])
    links: Mapping[str, Sequence[LinkInfo]] = field(default_factory=dict[str, Sequence[LinkInfo]])
    reads: Mapping[str, Sequence[ReadsInfo]] = field(default_factory=dict[str, Sequence[ReadsInfo]])
    opened: Collection[Head] | None = None
    side: int = 1

    @property
    def first(self) -> AttentionMaps:
        """The maps of the first part."""
        return next(iter(self.parts.values()))

    def part(self, name: str = "") -> str:
        """The part of this name, or the first one where there is none."""
        return name if name in self.parts else next(iter(self.parts))

    def quantities(self, part: str) -> dict[str, Sequence[AnyFloats]]:
        """What a part has beside its weights, by name: ``[head query key]`` a layer."""
        quantities = {name: by_part[part] for name, by_part in self.matrices.items() if part in by_part}
        neurons = self.neurons.get(part)
        if neurons is not None and neurons.norms is not None:
            quantities.setdefault("norms", neurons.norms)
        return quantities


class Included:
    """The layers and heads of maps that are shown, by the model's own indices.

    Attributes:
        index: the model's own index of each shown layer.
        places: the place of each of them among the maps' layers.
        heads: the shown heads of each.
    """

    def __init__(
        self, maps: AttentionMaps, layers: Sequence[int] | None, heads: Sequence[int] | None
    ) -> None:
        self.maps = maps
        self.index = list(maps.index) if layers is None else sorted({int(layer) for layer in layers})
        missing = [layer for layer in self.index if layer not in maps.index]
        if missing or not self.index:
            raise InputError(
                f"include_layers: no layer {missing[0] if missing else '(none given)'}; "
                f"these maps have {list(maps.index)}"
            )
        self.places = [maps.index.index(layer) for layer in self.index]
        most = max(len(maps.layers[place]) for place in self.places)
        asked = list(range(most)) if heads is None else sorted({int(head) for head in heads})
        if not asked or asked[0] < 0 or asked[-1] >= most:
            raise InputError(f"include_heads: expected heads from 0 to {most - 1}, found {list(heads or [])}")
        self.heads = [[head for head in asked if head < len(maps.layers[place])] for place in self.places]

    def on(self, maps: AttentionMaps) -> Included:
        """The same layers and heads of other maps of as many."""
        other = copy(self)
        other.maps = maps
        return other

    def of(self, layer: int) -> list[int]:
        """The shown heads of a layer; none where it is not shown."""
        return self.heads[self.index.index(layer)] if layer in self.index else []

    def weights(self) -> Iterator[tuple[AnyFloats, Bools]]:
        """The weights of the shown heads, some of a layer at a time, ``[head query key]``; and which keys their queries
        see, ``[1 query key]`` where the layer's heads agree.
        """
        for place, heads in zip(self.places, self.heads, strict=True):
            layer, sight = self.maps.layers[place], self.maps.sight(place)
            step = max(1, AT_ONCE // max(1, layer[0].size))
            for start in range(0, len(heads), step):
                some = heads[start : start + step]
                yield layer[some], sight[some] if len(sight) > 1 else sight

    def cut(self, layers: Sequence[npt.NDArray[Any]], name: str) -> list[npt.NDArray[Any]]:
        """The shown heads of one array ``[head …]`` a layer."""
        if len(layers) != len(self.maps.layers):
            raise ShapeError(f"{name}, axis layer: expected {len(self.maps.layers)}, found {len(layers)}")
        shown = [np.asarray(layers[place]) for place in self.places]
        # Whole layers, which may be large, are not copied.
        return [
            layer if len(heads) == len(layer) else layer[heads]
            for layer, heads in zip(shown, self.heads, strict=True)
        ]


NAMED = 3
"""Of more media an input is not called by all their names."""

UNKNOWN = frozenset({"[UNK]", "<unk>", "<|unk|>"})
"""Pieces that stand for what a tokenizer does not know."""


def piece_labels(tokens: Tokens) -> list[str]:
    """The pieces, those that stand for what is not known with what the text says there: ``[UNK]☃``.

    The spaces in those of media, such as ``frame 2:patch[0,1]``, are of a name: they do not break, nor are they shown.
    """
    texts = tokens.texts or [""] * len(tokens)
    return [
        f"{piece}{text.strip()}"
        if piece in UNKNOWN and text.strip()
        else piece.replace(" ", "\N{NO-BREAK SPACE}")
        if number >= 0
        else piece
        for piece, text, number in zip(tokens.pieces, texts, tokens.medium.tolist(), strict=True)
    ]


def word_labels(words: Tokens) -> list[str]:
    """The words of an axis (`headscope.core.words.words`) as the text has them; what is in no text as its pieces."""
    if words.texts is None:
        return piece_labels(words)
    return [text.strip() or piece for piece, text in zip(piece_labels(words), words.texts, strict=True)]


def in_words(tokens: Tokens) -> str:
    """Tokens as a text on one line, without special ones: what an input without a label is called."""
    return re.sub(r"\s+", " ", "".join(text for text, _ in runs(tokens)))


def runs(tokens: Tokens, changed: Container[int] = ()) -> list[tuple[str, bool]]:
    """Tokens as a text, without special ones, in stretches of pieces whose places are among `changed`, or are not.

    The text is as it was written, where that is known; between two texts stands a space. Patches and frames, which are
    numbered, read ``patch 0 … patch 63``, and those of media as these are called.
    """
    around = ~tokens.special & (tokens.medium < 0)
    places: list[int] = np.flatnonzero(around if tokens.media else ~tokens.special).tolist()
    if tokens.media and not places:
        return [(_seen(tokens.media), False)]
    pieces = [tokens.pieces[place] for place in places]
    stems = {piece.rstrip("0123456789") for piece in pieces}
    if len(pieces) > 3 and len(stems) == 1 and pieces[0] not in stems:
        return [(f"{pieces[0]} … {pieces[-1]}", False)]
    stretches: list[tuple[str, bool]] = []
    last = ""
    for number, (place, piece) in enumerate(zip(places, pieces, strict=True)):
        if tokens.texts is None:
            text = piece if piece.startswith("##") else f" {piece}"
            text = re.sub("^(##| [Ġ▁]+)", lambda mark: " " * (mark[0] != "##"), text)
        else:
            text = tokens.texts[place]
            apart = (number and place > places[number - 1] + 1) or _other_text(tokens, place)
            if apart and text[:1].strip() and last.strip():
                text = f" {text}"
        last = text[-1:] or last
        stripped = text.lstrip()
        stretches += [(text[: len(text) - len(stripped)], False), (stripped, place in changed)]
    while stretches and not stretches[0][0].strip():
        del stretches[0]
    while stretches and not stretches[-1][0].strip():
        stretches.pop()
    if stretches:
        stretches[-1] = (stretches[-1][0].rstrip(), stretches[-1][1])
    kept = [(text, mine) for text, mine in stretches if text]
    return [("".join(text for text, _ in some), mine) for mine, some in groupby(kept, itemgetter(1))]


def _seen(media: Sequence[Medium]) -> str:
    """What media are called together: the name of one, of several of them or how many there are."""
    kinds = Counter(map(type, media))
    if len(media) == 1:
        return media[0].name or f"a {KINDS[type(media[0])]}"
    names = ", ".join(medium.name for medium in media)
    if all(medium.name for medium in media) and len(media) <= NAMED:
        return names
    if all(isinstance(medium, Picture) and medium.frames for medium in media):
        return f"a video of {len(media)} steps"
    return ", ".join(plural(count, KINDS[kind]) for kind, count in kinds.items())


def _other_text(tokens: Tokens, place: int) -> bool:
    """Whether a token is of another text than the one before it."""
    sequence = tokens.sequence_ids
    return place > 0 and sequence is not None and bool(sequence[place] != sequence[place - 1])
