"""One layer's maps over a batch: what heads choose for each source, and how targets rank."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from headscope.analyses.links.axis import LinkAxis
from headscope.analyses.links.questions import Direction, Question, Way
from headscope.core.arrays import Bools


def by_label(questions: Sequence[Question], labels: Sequence[str], sources: int) -> Tensor:
    """1 where a source has a label and counts, ``[input · source, label]``."""
    numbers = {label: number for number, label in enumerate(labels)}
    hot = np.zeros((len(questions), sources, len(labels)))
    for place, question in enumerate(questions):
        which = [numbers[label] for label in question.labels]
        hot[place, range(len(which)), which] = ~(question.bare | question.idle)
    return torch.as_tensor(hot).flatten(0, 1)


def widened(values: Tensor, name: str, wide: int) -> Tensor:
    """Ids of a decoder filled up to so many; nothing looks at what comes after a text."""
    missing = wide - values.shape[-1] if name == "decoder_input_ids" else 0
    return torch.nn.functional.pad(values, (0, missing))


def voices(axes: Sequence[LinkAxis], direction: Direction, device: torch.device) -> Tensor:
    """What the units of each axis weigh in the average map of an input, ``[input unit]``."""
    weights = np.zeros((len(axes), max(len(axis.groups) for axis in axes)), np.float32)
    for place, axis in enumerate(axes):
        weights[place, : axis.size] = axis.voices(column=direction == "column")
    return torch.as_tensor(weights, device=device)


class Choice(NamedTuple):
    """What heads choose.

    Attributes:
        masked: the weights of the candidates, −∞ for others, ``[input head source unit]``.
        at: the unit that is chosen, the first of equals, ``[input head source]``.
        some: whether it gets anything at all.
        right: whether it is a target, and gets something.
    """

    masked: Tensor
    at: Tensor
    some: Tensor
    right: Tensor


class Side:
    """The sources of a batch, their candidates and their targets, of one direction."""

    def __init__(
        self,
        questions: Sequence[Question],
        direction: Direction,
        sources: int,
        units: int,
        device: torch.device,
    ) -> None:
        reads = [question.read[direction] for question in questions]
        self._column = direction == "column"
        index = np.zeros((len(reads), sources), np.int64)
        for place, read in enumerate(reads):
            index[place, : len(read.source)] = np.maximum(read.source, 0)
        self._all = all((read.source == np.arange(len(read.source))).all() for read in reads)
        self._index = torch.as_tensor(index, device=device)

        def batch(arrays: Sequence[Bools]) -> Tensor:
            padded = np.zeros((len(arrays), sources, units), np.bool_)
            for place, array in enumerate(arrays):
                padded[place, : array.shape[0], : array.shape[1]] = array
            return torch.as_tensor(padded, device=device)

        self._patches, self._within = (
            batch([getattr(read, name) for read in reads]) for name in ("patches", "within")
        )
        self.target = batch([read.target for read in reads])
        self.sure = batch([read.sure for read in reads])
        allowed = {kind: batch([read.allowed[kind] for read in reads]) for kind in reads[0].allowed}
        self._count = {kind: mask.sum(-1).float() for kind, mask in allowed.items()}
        self._hidden = {
            kind: torch.zeros(mask.shape, device=device).masked_fill_(~mask, -torch.inf)
            for kind, mask in allowed.items()
        }
        most = max(1, int(self.target.sum(-1).max()))
        order = torch.argsort(~self.target, dim=-1, stable=True)[..., :most]  # the targets first
        self._slots, self._there = order, self.target.gather(-1, order)
        self._off = {  # of targets that are no candidates, and of slots without a target
            kind: hidden.gather(-1, order).masked_fill_(~self._there, -torch.inf)
            for kind, hidden in self._hidden.items()
        }

    def turned(self) -> Side:
        """The same sources, candidates and targets, read in the other direction."""
        other = copy(self)
        other._column = not self._column
        return other

    def lines(self, maps: Tensor) -> Tensor:
        """The row or column of each source, ``[input head source unit]``."""
        turned = maps.transpose(2, 3) if self._column else maps
        if self._all and turned.shape[2] == self._index.shape[1]:
            return turned.contiguous()
        inputs = torch.arange(len(maps), device=maps.device)[:, None]
        return turned[inputs, :, self._index].transpose(1, 2)  # gather takes twice as long

    def average(self, maps: Tensor, weights: Tensor) -> Tensor:
        """The mean row or column of an input ``[input head 1 unit]``, by what its units weigh ``[input unit]``."""
        turned = maps.transpose(2, 3) if self._column else maps
        return weights.to(maps)[:, None, None] @ turned

    def choose(self, lines: Tensor, way: Way) -> Choice:
        """The candidate that gets most."""
        masked = lines + self._hidden[way.candidates][:, None].to(lines)
        best, at = masked.max(-1)
        some = best > 0
        choice = Choice(masked, at, some, some)
        return choice._replace(right=self.hits(choice, self.target))

    def hits(self, choice: Choice, target: Tensor) -> Tensor:
        """Whether what is chosen is among some targets, ``[input head source]``."""
        heads = choice.at.shape[1]
        return (
            target[:, None].expand(-1, heads, -1, -1).gather(-1, choice.at[..., None])[..., 0] & choice.some
        )

    def figures(self, lines: Tensor, choice: Choice, way: Way) -> Tensor:
        """`FIGURES`, ``[figure input head source]``.

        Of candidates with equal weights each has the mean of their ranks. A target that is no candidate has the rank
        after all of them, and adds nothing to the precision. All are 0 of a source without candidates.
        """
        masked, heads = choice.masked, choice.masked.shape[1]
        slots = self._slots[:, None].expand(-1, heads, -1, -1)
        there = self._there[:, None]
        weights = lines.gather(-1, slots)  # [input head source target]
        mass = (weights * there).sum(-1)
        weights = weights + self._off[way.candidates][:, None]
        ranks = _ranks(masked, weights)
        ranks = torch.where(weights >= 0, ranks, torch.inf)
        first = ranks.amin(-1)
        count = self._count[way.candidates][:, None]
        rank = torch.where(first.isinf(), count + 1, first)
        asked = (count > 0).to(mass).expand_as(mass)
        if ranks.shape[-1] == 1:
            return torch.stack([mass, rank, 1 / first, asked]) * asked
        among = _ranks(weights, weights)
        of = self._there.sum(-1).clamp(min=1)[:, None]
        precision = torch.where(weights >= 0, among / ranks, 0.0).sum(-1) / of
        return torch.stack([mass, rank, precision, asked]) * asked

    def regions(self, lines: Tensor) -> Tensor:
        """`IN_REGIONS`, ``[figure input head source]``; 0 of other links, and where the picture gets nothing."""
        within, patches = (mask[:, None].to(lines) for mask in (self._within, self._patches))
        total = (lines * patches).sum(-1)
        some = (total > 0).to(lines)
        share = (lines * within).sum(-1) / total.clamp(min=torch.finfo(lines.dtype).tiny)
        area = within.sum(-1) / patches.sum(-1).clamp(min=1)
        return torch.stack([share * some, area * some, some])


_FEW = 8  # targets up to which a rank each is soonest found


def _ranks(weights: Tensor, targets: Tensor) -> Tensor:
    """The rank of each of `targets` ``[... target]`` among the weights along their last axis, from 1.

    Of equals it is the mean. So many more are above it than below: half of that and of all of them, and one half.
    """
    count = weights.shape[-1]
    if targets.shape[-1] <= _FEW:
        above = [(weights - targets[..., slot, None]).sign_().sum(-1) for slot in range(targets.shape[-1])]
        return 0.5 + (torch.stack(above, -1) + count) / 2
    ordered, targets = (tensor.contiguous() for tensor in (weights.sort(-1).values, targets))
    below = torch.searchsorted(ordered, targets, right=False)
    upto = torch.searchsorted(ordered, targets, right=True)
    return 0.5 + (2 * count - below - upto).to(weights) / 2
