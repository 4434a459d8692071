"""What a model's heads are right about, source by source: sums that add up, are kept and are merged.

In an input each head chooses, in one or several ways, a candidate for each source. Which of many heads is best is
chosen and scored apart (`headscope.statistics.resample`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from typing import Any, Self

import numpy as np

from headscope.core.arrays import Arrays, Bools, Floats
from headscope.core.counts import layers_by_heads
from headscope.errors import InputError
from headscope.runs.safefile import under
from headscope.statistics.resample import Answers, Clusters

FIGURES = ("mass", "rank", "precision", "asked")
"""Of each source, beside whether the choice is right: the attention that its targets get, the rank of the first of them
among the candidates, the average precision with which the head ranks them, and whether it has candidates on this side
of the map at all (a word of a decoder is no key of cross-attention, the first word of a causal model sees no other)."""

IN_REGIONS = ("inside", "area", "pictured")
"""Of each source with regions of a picture as targets: how much of the attention that the picture gets they get, how
many of its patches they are, and whether the picture gets any attention."""


def added(first: Mapping[str, Floats], second: Mapping[str, Floats]) -> dict[str, Floats]:
    """Sums by label."""
    return {
        **first,
        **{label: first[label] + sums if label in first else sums for label, sums in second.items()},
    }


def by_layer(layers: Iterable[np.ndarray], heads: int, axis: int) -> np.ndarray:
    """Layers along a new axis before that of their heads, with 0 for heads that a layer does not have."""
    missing = [(layer, [(0, 0)] * axis + [(0, heads - layer.shape[axis])]) for layer in layers]
    return np.stack(
        [
            np.pad(layer, more + [(0, 0)] * (layer.ndim - axis - 1)) if more[-1][1] else layer
            for layer, more in missing
        ],
        axis,
    )


class LinkSums:
    """Which choices are right, source by source, of all heads and of baselines.

    Args:
        ways: in which a head chooses, such as by rows and by columns.
        layers, heads: of the model; a head that a layer does not have is never right.
        baselines: their names.
        chance: whether one more, ``chance``, is known as the share of candidates that are targets.
        blind: whether there is an answer for the average map of each head as well: what it chooses whatever the source.

    Attributes:
        count: how many inputs were added.
        clusters: their documents.
        answers: a bit for each predictor (heads first, then baselines) and source.
        others: further answers that some runs have, by name.
        figures: of each label, sums over its sources, ``[figure way layer head]`` (`FIGURES`, and in pictures
            `IN_REGIONS`).
    """

    def __init__(
        self,
        ways: Sequence[str],
        layers: Sequence[int],
        heads: int,
        baselines: Sequence[Any],
        *,
        chance: bool = False,
        blind: bool = False,
    ) -> None:
        self.ways, self.layers, self.heads = tuple(ways), tuple(layers), heads
        self.baselines = (*baselines, "chance") if chance else tuple(baselines)
        self.shape = len(self.ways), len(self.layers), heads
        self.blind = blind
        self.count = 0
        self.clusters = Clusters()
        self.answers = self.empty(len(self.baselines) + blind * math.prod(self.shape), int(chance))
        self.others: dict[str, Answers] = {}
        self.figures: dict[str, Floats] = {}

    def __bool__(self) -> bool:
        """Whether there is any source."""
        return len(self.answers) > 0

    def empty(self, baselines: int, shares: int = 0) -> Answers:
        """Answers of all heads and so many baselines, without any source."""
        return Answers(math.prod(self.shape) + baselines, shares)

    def other(self, name: str, baselines: Sequence[Any] | None = None) -> LinkSums:
        """The same with the answers of this name, and without those for average maps."""
        sums = copy(self)
        sums.answers, sums.blind = self.others[name], False
        sums.baselines = sums.baselines if baselines is None else tuple(baselines)
        return sums

    def add(
        self,
        labels: Sequence[str],
        right: Bools,
        baselines: Bools,
        cluster: int | None = None,
        shares: Floats | None = None,
        *,
        other: str | None = None,
    ) -> None:
        """Add the sources of an input.

        Args:
            labels: of each.
            right: ``[way layer head source]``; where there are answers for average maps, these follow, ``[2 way …]``.
            baselines: ``[baseline source]``, without chance.
            cluster: its number (`headscope.statistics.resample.Clusters`), in order; None: its own.
            shares: what chance gives, ``[1 source]``.
            other: the name of the answers `others` to which they are added, and no input is counted.
        """
        if labels:
            bits = np.concatenate([right.reshape(-1, len(labels)), baselines])
            answers = self.answers if other is None else self.others[other]
            answers.add(labels, bits, self.count if cluster is None else cluster, shares)
        self.count += other is None

    def means(self, labels: Collection[str]) -> dict[str, Floats]:
        """The mean of each figure over the sources of some labels that are asked, and how many, ``[way layer head]``.

        `IN_REGIONS` are means over those where the picture gets any attention.
        """
        sums: Floats = np.sum([self.figures[label] for label in labels], 0)
        means: dict[str, Floats] = dict(zip((*FIGURES, *IN_REGIONS), sums, strict=False))
        for of, names in (("asked", FIGURES[:-1]), ("pictured", IN_REGIONS[:-1])):
            if of in means:
                some = np.where(means[of] > 0, means[of], np.nan)
                means |= {name: means[name] / some for name in names}
        return means

    def __add__(self, other: Self) -> Self:
        names = ("ways", "layers", "heads", "baselines", "blind")
        if any(getattr(self, name) != getattr(other, name) for name in names):
            raise InputError(
                f"links: expected {layers_by_heads([self.heads] * len(self.layers))} in all inputs, found "
                f"{layers_by_heads([other.heads] * len(other.layers))}"
            )
        both = copy(self)
        both.count = self.count + other.count
        both.clusters, shift = self.clusters.then(other.clusters)
        both.answers = self.answers.then(other.answers, shift)
        both.others = {name: answers.then(other.others[name], shift) for name, answers in self.others.items()}
        both.figures = added(self.figures, other.figures)
        return both

    def to_arrays(self) -> dict[str, np.ndarray]:
        """All of it as arrays of numbers and strings."""
        arrays: dict[str, np.ndarray] = {
            "count": np.array([self.count, self.heads, self.blind]),
            "layers": np.array(self.layers, np.int64),
            "ways": np.array(self.ways, np.str_),
            "baselines": np.array(self.baselines),
            "beside": np.array(list(self.others), np.str_),
            "figures": np.array(list(self.figures), np.str_),
            "sums": np.array(list(self.figures.values())),
        }
        kept = {"clusters": self.clusters, "main": self.answers}
        kept |= {f"beside {name}": answers for name, answers in self.others.items()}
        return arrays | {
            f"{name}.{key}": array for name, part in kept.items() for key, array in part.to_arrays().items()
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> LinkSums:
        """Restore sums from what `to_arrays` gave."""
        count, heads, blind = map(int, arrays["count"])
        sums = LinkSums(
            arrays["ways"].tolist(),
            arrays["layers"].tolist(),
            heads,
            arrays["baselines"].tolist(),
            blind=bool(blind),
        )
        sums.count = count

        sums.clusters = Clusters.from_arrays(under(arrays, "clusters."))
        sums.answers = Answers.from_arrays(under(arrays, "main."))
        names = arrays["beside"].tolist()
        sums.others = {name: Answers.from_arrays(under(arrays, f"beside {name}.")) for name in names}
        sums.figures = dict(zip(arrays["figures"].tolist(), arrays["sums"], strict=True))
        return sums
