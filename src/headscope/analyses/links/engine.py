"""Links through a model: what every head chooses for each source, reduced as the model runs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
import xarray as xr
from torch import Tensor

from headscope.analyses.links.questions import (
    Asked,
    Axis,
    Direction,
    Question,
    Way,
    directions_of,
    question,
)
from headscope.analyses.links.sums import FIGURES, LinkSums
from headscope.attention.record import AttentionRecord
from headscope.attention.recording import recording
from headscope.corpora import Corpus, Example
from headscope.corpora.corpus import LISTED, leave_out, plain
from headscope.corpora.links import links_of
from headscope.errors import CorpusError, HeadscopeWarning, InputError, RefusedError
from headscope.heads import Head
from headscope.link import Link
from headscope.measures.measure import Floats
from headscope.models import Model, expect_model
from headscope.models.finite import not_finite
from headscope.models.model import uncached
from headscope.stream.batches import checked_first, cut, tokens_of, worked
from headscope.stream.forward import expect_square, forward
from headscope.stream.inputs import Inputs
from headscope.stream.long import Kind, run_long
from headscope.tokens import BoolArray, Tokens
from headscope.words import Rows

Maps = npt.NDArray[Any]


class Engine:
    """What is asked of which model.

    Args:
        model: the model.
        ways: in which a head chooses.
        baselines: names of the rules beside which heads stand.
        rows: attention from a unit is the ``mean`` over its pieces, or that of its ``first``.
        token_types: whether token types are as the tokenizer gives them, or all 0.
        full: also sum `FIGURES`.

    What syntax, coreference and negation have of their own they say in the methods that follow.
    """

    chance = False
    """Whether chance is one more baseline."""

    documents = False
    """Whether documents are taken as they are numbered, even where the corpus does not say which they are."""

    def __init__(
        self,
        model: Model,
        ways: Sequence[Way],
        baselines: Sequence[Any],
        *,
        rows: Rows = "mean",
        token_types: bool = True,
        full: bool = False,
    ) -> None:
        expect_model(model)
        self.model, self.ways, self.baselines = model, tuple(ways), tuple(baselines)
        self.rows: Rows = rows
        self.token_types, self.full = token_types, full
        self.remarks: list[str] = []

    def links(self, example: Example) -> Sequence[Link]:
        """The links of an input. Raises `CorpusError` for one that has none to read."""
        return links_of(example)

    def guesses(self, asked: Asked) -> BoolArray:
        """Whether the baselines are right, ``[baseline source]``."""
        return np.zeros((0, len(asked.question.labels)), np.bool_)

    def shares(self, asked: Asked) -> Floats | None:
        """What chance gives, ``[1 source]``; None without chance."""
        return None

    def settle(self, asked: Asked, right: BoolArray, chosen: Maps) -> BoolArray:
        """What counts as right, of ``[way layer head source]``, and of the units that were chosen."""
        return right

    settles = False
    """Whether `settle` does anything."""

    def look(self, asked: Asked, maps: Maps) -> Maps:
        """What `add` needs of a layer's maps ``[head unit unit]``."""
        return maps[:0]

    looks = False
    """Whether `look` does anything."""

    def examples(self, corpus: Corpus | Iterable[Example], limit: int | None) -> Iterator[Example]:
        """The inputs of a corpus, with their tokens."""
        given = corpus.encoded(self.model) if isinstance(corpus, Corpus) else plain(corpus)
        return islice(given, limit)

    def decoder(self, example: Example) -> Tokens | None:
        """What the decoder reads; None where the maps are of self-attention."""
        return None

    def question(self, example: Example, number: int) -> Asked:
        """An input with its question. Raises `CorpusError` for one that has none."""
        links, decoder = self.links(example), self.decoder(example)
        try:
            if decoder is None:
                made = question(
                    links, self.ways, tokens_of(example), causal=self.model.causal, aligned=self.full
                )
            else:
                made = question(links, self.ways, tokens_of(example), decoder, aligned=self.full)
        except InputError as error:
            raise example.error(error) from None
        return Asked.of(example, number, made, decoder=decoder)

    def asked(self, corpus: Corpus | Iterable[Example], limit: int | None) -> Iterator[Asked]:
        """The inputs of a corpus with their questions; those without are left out of it."""
        self.remarks.clear()
        for number, example in enumerate(self.examples(corpus, limit)):
            try:
                asked = self.question(example, number)
            except CorpusError as error:
                leave_out(corpus, error)
            else:
                self.remarks += [f"{example.source}: {remark}" for remark in asked.question.remarks]
                yield asked

    def tell(self) -> None:
        """Warn of the spans that part a piece."""
        if self.remarks:
            spans = (
                "1 span parts a piece"
                if len(self.remarks) == 1
                else f"{len(self.remarks):,} spans part a piece"
            )
            more = [f"and {len(self.remarks) - LISTED:,} more"] if len(self.remarks) > LISTED else []
            said = "\n  ".join([f"{spans}:", *self.remarks[:LISTED], *more])
            warnings.warn(said, HeadscopeWarning, stacklevel=3)

    def inputs(self, corpus: Corpus | Iterable[Example], limit: int | None) -> Inputs:
        """The same, counted; those of a strict corpus are read to the end before."""
        return checked_first(self.model, corpus, lambda: self.asked(corpus, limit))

    def block(
        self,
        batches: Iterable[Sequence[Example]],
        done: Callable[[int], None] | None = None,
        open: Collection[int] = (),
    ) -> LinkSums:
        """The sums of one block, given as batches."""
        found: list[Answered] = []
        figures: dict[str, Floats] = {}
        shape: tuple[list[int], int] = [], 0
        for _, (answered, sums, shape) in worked(batches, self.run, done):  # noqa: B007 (all have one shape)
            found += answered
            for label, values in sums.items():
                figures[label] = figures[label] + values if label in figures else values
        whole = LinkSums([way.name for way in self.ways], *shape, self.baselines, chance=self.chance)
        whole.figures = figures
        self.begin(whole)
        for each in sorted(found, key=lambda each: each.asked.number):
            known = each.asked.document_known or self.documents
            self.add(whole, each, whole.clusters.number(each.asked.document, known))
        return whole

    def whole(self, corpus: Corpus | Iterable[Example], batch_size: int) -> LinkSums:
        """The sums of a corpus that is small."""
        return self.block(chain.from_iterable(cut(self.inputs(corpus, None), batch_size, self.model)))

    def begin(self, sums: LinkSums) -> None:
        """Add to empty sums the answers that a run has beside."""

    def add(self, sums: LinkSums, answered: Answered, cluster: int) -> None:
        """Add the sources of an input."""
        asked = answered.asked
        sums.add(asked.question.labels, answered.right, self.guesses(asked), cluster, self.shares(asked))

    def run(
        self, batch: Sequence[Example]
    ) -> tuple[list[Answered], dict[str, Floats], tuple[list[int], int]]:
        """What is right in one batch, its `FIGURES` by label ``[figure way layer head]``, and layers and heads."""
        reader = _Reader(self, [each for each in batch if isinstance(each, Asked)])
        reader.run()
        return reader.answers(), reader.figures(), reader.shape

    def maps(self, asked: Asked, heads: Collection[Head]) -> dict[Head, Maps]:
        """The maps of some heads over the units of one input, ``[unit unit]``; of self-attention."""
        found: dict[Head, Maps] = {}
        units = _Units([asked.question.key], self.rows, self.model.device)

        def look(record: AttentionRecord) -> None:
            own = [head for head in heads if head.layer == record.layer]
            if own and record.kind != "cross":
                weights = record.weights()
                weights = weights.to(torch.promote_types(weights.dtype, torch.float32))
                maps = units.given(units.received(weights))[0].cpu().numpy()
                found.update({head: maps[head.head] for head in own})

        with torch.no_grad(), recording(self.model.backbone, look):
            forward(self.model, [tokens_of(asked)], token_types=self.token_types)
        return found


class Answered(NamedTuple):
    """One input: what is right of its sources.

    Attributes:
        asked: the input.
        right: of the choices, ``[way layer head source]``.
        sure: which of them are a target that must be found; None where no words are aligned.
        looked: what `Engine.look` found, by layer.
    """

    asked: Asked
    right: BoolArray
    sure: BoolArray | None
    looked: Sequence[Maps]


class _Reader:
    """One batch on its way through the model."""

    def __init__(self, engine: Engine, asked: Sequence[Asked]) -> None:
        self._engine, self._asked, self._model = engine, asked, engine.model
        device = engine.model.device
        questions = [each.question for each in asked]
        self._crossed = questions[0].crossed
        self._query = _Units([each.query for each in questions], engine.rows, device)
        self._key = (
            _Units([each.key for each in questions], engine.rows, device) if self._crossed else self._query
        )
        sources = max(1, *(len(each.labels) for each in questions))
        self._directions = {
            direction: _Direction(
                questions,
                direction,
                sources,
                (self._key if direction == "row" else self._query).count,
                device,
            )
            for direction in directions_of(engine.ways)
        }
        self._aligned = any(each.aligned for each in questions)
        self._labels = sorted({label for each in questions for label in each.labels})
        self._hot = _hot(questions, self._labels, sources).to(device) if engine.full else None
        self._right: dict[int, list[BoolArray]] = {}
        self._sure: dict[int, list[BoolArray]] = {}
        self._chosen: dict[int, list[Maps]] = {}
        self._looked: dict[int, list[Maps]] = {}
        self._figures: dict[int, Floats] = {}

    @property
    def shape(self) -> tuple[list[int], int]:
        """The layers, and the most heads that one has."""
        return sorted(self._right), max(layer[0].shape[1] for layer in self._right.values())

    def run(self) -> None:
        """One forward pass, reduced layer by layer."""
        model, inputs = self._model, [tokens_of(each) for each in self._asked]
        module = model.module if self._crossed else model.backbone
        with torch.no_grad(), recording(module, self._reduce):
            if self._crossed:
                module(**self._both(), **uncached(module))
            else:
                forward(model, inputs, token_types=self._engine.token_types)
        if not self._right:
            kind = "cross-attention" if self._crossed else "self-attention over the tokens"
            raise RefusedError(f"{model.name}: expected {kind}, found none")

    def _both(self) -> dict[str, Tensor]:
        """What encoder and decoder take."""
        made = [each.ready for each in self._asked if each.ready is not None]
        if made:
            wide = max(each["decoder_input_ids"].shape[1] for each in made)
            return {name: torch.cat([_wide(each[name], name, wide) for each in made]) for name in made[0]}
        ready = self._model.inputs([tokens_of(each) for each in self._asked])
        read = self._model.inputs([each.decoder for each in self._asked if each.decoder is not None])
        both = ("input_ids", "attention_mask")
        return {name: ready[name] for name in both} | {f"decoder_{name}": read[name] for name in both}

    def _reduce(self, record: AttentionRecord) -> None:
        if (record.kind == "cross") != self._crossed:
            return
        if not self._crossed:
            expect_square(record, len(self._asked), self._key.tokens, self._right)
        weights = record.weights()
        weights = weights.to(torch.promote_types(weights.dtype, torch.float32))
        if not torch.isfinite(weights.sum()):
            sources = list(dict.fromkeys(each.source for each in (self._asked[0], self._asked[-1])))
            what = f"{' to '.join(sources)}: attention of layer {record.layer}"
            raise not_finite(self._model.name, self._model.module, what)
        maps = self._query.given(self._key.received(weights))
        engine, layer = self._engine, record.layer
        lines = {name: each.lines(maps) for name, each in self._directions.items()}
        choices = [self._directions[way.direction].choose(lines[way.direction], way) for way in engine.ways]
        self._right[layer] = [choice.right.cpu().numpy() for choice in choices]
        if self._aligned:
            sides = [self._directions[way.direction] for way in engine.ways]
            self._sure[layer] = [
                side.found(choice, side.sure).cpu().numpy()
                for side, choice in zip(sides, choices, strict=True)
            ]
        if engine.settles:
            self._chosen[layer] = [choice.at.cpu().numpy() for choice in choices]
        if self._hot is not None:
            figures = torch.stack(
                [
                    self._directions[way.direction].figures(lines[way.direction], choice, way)
                    for way, choice in zip(engine.ways, choices, strict=True)
                ]
            )  # [way figure input head source]
            flat = figures.permute(1, 0, 3, 2, 4).flatten(3).double()
            self._figures[layer] = (flat @ self._hot).cpu().numpy()
        if engine.looks:
            whole = maps.cpu().numpy()
            self._looked[layer] = [
                engine.look(
                    each, whole[place, :, : len(each.question.query.groups), : len(each.question.key.groups)]
                )
                for place, each in enumerate(self._asked)
            ]

    def answers(self) -> list[Answered]:
        """What is right of each input's sources."""
        engine, (layers, heads) = self._engine, self.shape
        found: list[Answered] = []
        for place, asked in enumerate(self._asked):
            right = self._of(self._right, place, layers, heads)
            if engine.settles:
                right = engine.settle(asked, right, self._of(self._chosen, place, layers, heads))
            sure = self._of(self._sure, place, layers, heads) if self._aligned else None
            looked = [self._looked[layer][place] for layer in layers] if engine.looks else []
            found.append(Answered(asked, right, sure, looked))
        return found

    def _of(
        self, by_layer: Mapping[int, Sequence[Maps]], place: int, layers: Sequence[int], heads: int
    ) -> Maps:
        """What the layers have of one input, ``[way layer head source]``; 0 for heads that a layer does not have."""
        size = len(self._asked[place].question.labels)
        kind = by_layer[layers[0]][0].dtype
        padded = np.zeros((len(self._engine.ways), len(layers), heads, size), kind)
        for row, layer in enumerate(layers):
            for way, each in enumerate(by_layer[layer]):
                padded[way, row, : each.shape[1]] = each[place, :, :size]
        return padded

    def figures(self) -> dict[str, Floats]:
        """The sums of each label, ``[figure way layer head]``."""
        if self._hot is None:
            return {}
        layers, heads = self.shape
        sums = np.zeros((len(self._labels), len(FIGURES), len(self._engine.ways), len(layers), heads))
        for row, layer in enumerate(layers):
            values = self._figures[layer]  # [figure way head label]
            sums[:, :, :, row, : values.shape[2]] = values.transpose(3, 0, 1, 2)
        return dict(zip(self._labels, sums, strict=True))


def _hot(questions: Sequence[Question], labels: Sequence[str], sources: int) -> Tensor:
    """1 where a source has a label and counts, ``[input · source, label]``."""
    numbers = {label: number for number, label in enumerate(labels)}
    hot = np.zeros((len(questions), sources, len(labels)))
    for place, each in enumerate(questions):
        for source, label in enumerate(each.labels):
            hot[place, source, numbers[label]] = not each.bare[source]
    return torch.as_tensor(hot).flatten(0, 1)


def _wide(values: Tensor, name: str, wide: int) -> Tensor:
    """Ids of a decoder filled up to so many; nothing looks at what comes after a text."""
    missing = wide - values.shape[-1] if name == "decoder_input_ids" else 0
    return torch.nn.functional.pad(values, (0, missing))


class _Units:
    """From the tokens of an axis to its units: attention to a unit is the sum over its tokens, from it their mean."""

    def __init__(self, axes: Sequence[Axis], rows: Rows, device: torch.device) -> None:
        self.count = max(len(axis.groups) for axis in axes)
        self.tokens = max(len(axis.tokens) for axis in axes)
        self._plain = all(
            axis.unit in ("tokens", "cells") and len(axis.groups) == len(axis.tokens) for axis in axes
        )
        if self._plain:
            return
        give = np.zeros((len(axes), self.count, self.tokens), np.float32)
        get = np.zeros((len(axes), self.tokens, self.count), np.float32)
        for place, axis in enumerate(axes):
            sizes = np.array([len(group) for group in axis.groups])
            units = np.repeat(np.arange(len(sizes)), sizes)
            tokens = np.concatenate(axis.groups) if len(units) else units
            get[place, tokens, units] = 1.0
            if rows == "mean":
                give[place, units, tokens] = 1.0
                give[place] /= give[place].sum(-1, keepdims=True).clip(1.0)
            else:
                starts = np.cumsum([0, *sizes[:-1]])[sizes > 0]
                give[place, units[starts], tokens[starts]] = 1.0
        self._give, self._get = (torch.as_tensor(array, device=device) for array in (give, get))

    def received(self, weights: Tensor) -> Tensor:
        """Sums over the tokens of each key unit, ``[input head query key] -> [input head query unit]``."""
        if self._plain:
            return weights[..., : self.count]  # of speech, the silence after it
        inputs, heads, queries, _ = weights.shape
        return (weights.flatten(1, 2) @ self._get.to(weights)).view(inputs, heads, queries, -1)

    def given(self, maps: Tensor) -> Tensor:
        """Means over the tokens of each query unit, ``[input head query key] -> [input head unit key]``."""
        if self._plain:
            return maps
        inputs, heads, _, keys = maps.shape
        mean = self._give.to(maps) @ maps.transpose(1, 2).flatten(2)
        return mean.view(inputs, self.count, heads, keys).transpose(1, 2)


class _Choice(NamedTuple):
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


class _Direction:
    """The sources of a batch, their candidates and their targets, of one direction."""

    def __init__(
        self,
        questions: Sequence[Question],
        direction: Direction,
        sources: int,
        units: int,
        device: torch.device,
    ) -> None:
        reads = [each.read[direction] for each in questions]
        self._column = direction == "column"
        index = np.zeros((len(reads), sources), np.int64)
        asked = np.zeros((len(reads), sources), np.float32)
        for place, read in enumerate(reads):
            index[place, : len(read.source)] = np.maximum(read.source, 0)
            asked[place, : len(read.source)] = read.source >= 0
        self._asked = torch.as_tensor(asked, device=device)
        self._all = all((read.source == np.arange(len(read.source))).all() for read in reads)
        self._index = torch.as_tensor(index, device=device)

        def batch(arrays: Sequence[BoolArray]) -> Tensor:
            whole = np.zeros((len(arrays), sources, units), np.bool_)
            for place, array in enumerate(arrays):
                whole[place, : array.shape[0], : array.shape[1]] = array
            return torch.as_tensor(whole, device=device)

        self.target = batch([read.target for read in reads])
        self.sure = batch([read.sure for read in reads])
        allowed = {kind: batch([read.allowed[kind] for read in reads]) for kind in reads[0].allowed}
        self._count = {kind: each.sum(-1).float() for kind, each in allowed.items()}
        self._hidden = {
            kind: torch.zeros(each.shape, device=device).masked_fill_(~each, -torch.inf)
            for kind, each in allowed.items()
        }
        most = max(1, int(self.target.sum(-1).max()))
        order = torch.argsort(~self.target, dim=-1, stable=True)[..., :most]  # the targets first
        self._slots, self._there = order, self.target.gather(-1, order)
        self._off = {  # of targets that are no candidates, and of slots without a target
            kind: hidden.gather(-1, order).masked_fill_(~self._there, -torch.inf)
            for kind, hidden in self._hidden.items()
        }

    def lines(self, maps: Tensor) -> Tensor:
        """The row or column of each source, ``[input head source unit]``."""
        turned = maps.transpose(2, 3).contiguous() if self._column else maps
        if self._all and turned.shape[2] == self._index.shape[1]:
            return turned
        index = self._index[:, None, :, None].expand(-1, maps.shape[1], -1, turned.shape[3])
        return turned.gather(2, index)

    def choose(self, lines: Tensor, way: Way) -> _Choice:
        """The candidate that gets most."""
        masked = lines + self._hidden[way.candidates][:, None].to(lines)
        best, at = masked.max(-1)
        some = best > 0
        choice = _Choice(masked, at, some, some)
        return choice._replace(right=self.found(choice, self.target))

    def found(self, choice: _Choice, target: Tensor) -> Tensor:
        """Whether what is chosen is among some targets, ``[input head source]``."""
        heads = choice.at.shape[1]
        return (
            target[:, None].expand(-1, heads, -1, -1).gather(-1, choice.at[..., None])[..., 0] & choice.some
        )

    def figures(self, lines: Tensor, choice: _Choice, way: Way) -> Tensor:
        """`FIGURES`, ``[figure input head source]``.

        Of candidates with equal weights each has the mean of their ranks. A target that is no candidate has the rank
        after all of them, and adds nothing to the precision.
        """
        masked, heads = choice.masked, choice.masked.shape[1]
        slots = self._slots[:, None].expand(-1, heads, -1, -1)
        there = self._there[:, None]
        weights = lines.gather(-1, slots)  # [input head source target]
        mass = (weights * there).sum(-1)
        weights = weights + self._off[way.candidates][:, None]
        each = [weights[..., slot, None] for slot in range(weights.shape[-1])]
        ranks = torch.stack([_rank(masked, own) for own in each], -1)
        ranks = torch.where(weights >= 0, ranks, torch.inf)
        first = ranks.amin(-1)
        rank = torch.where(first.isinf(), self._count[way.candidates][:, None] + 1, first)
        asked = self._asked[:, None].expand_as(mass)
        if ranks.shape[-1] == 1:
            return torch.stack([mass, rank, 1 / first, asked])
        among = torch.stack([_rank(weights, own) for own in each], -1)
        of = self._there.sum(-1).clamp(min=1)[:, None]
        precision = torch.where(weights >= 0, among / ranks, 0.0).sum(-1) / of
        return torch.stack([mass, rank, precision, asked])


def _rank(weights: Tensor, own: Tensor) -> Tensor:
    """The rank of one weight among those along the last axis, from 1; the mean of those that are equal.

    So many more are above it than below: half of that and of all of them, and one half.
    """
    return 0.5 + ((weights - own).sign_().sum(-1) + weights.shape[-1]) / 2


def run(
    kind: Kind[LinkSums],
    engine: Engine,
    corpus: Corpus | Iterable[Example],
    *,
    limit: int | None,
    progress: bool,
    **options: Any,
) -> xr.Dataset:
    """A long run of an engine; `options` are those of `headscope.stream.long.run_long`."""
    inputs = engine.inputs(corpus, limit)
    result = run_long(
        kind, engine.model, corpus, engine.block, inputs=inputs, limit=limit, progress=progress, **options
    )
    engine.tell()
    return result
