"""Links through a model: what every head chooses for each source, reduced as the model runs."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from headscope.analyses.links.axis import LinkAxis
from headscope.analyses.links.choices import Side, by_label, voices, widened
from headscope.analyses.links.questions import (
    AskedExample,
    Direction,
    Way,
    by_chance,
    directions_of,
    question,
)
from headscope.analyses.links.sums import LinkSums, added, by_layer
from headscope.attention.record import AttentionRecord
from headscope.core.arrays import Bools, Floats
from headscope.core.failures import warn
from headscope.core.heads import Head
from headscope.core.link import OUT_OF_SIGHT, Link
from headscope.core.tokens import Tokens
from headscope.core.types import AnyDict
from headscope.core.words import Rows
from headscope.corpora import Corpus, Example
from headscope.corpora.corpus import LISTED, leave_out, plain
from headscope.corpora.links import links_of
from headscope.errors import CorpusError, InputError, RefusedError
from headscope.models import Model
from headscope.models.model import uncached
from headscope.runs.batches import tokens_of, worked
from headscope.runs.forward import RunPasses, Units, expect_square, foreign, forward, weights_of
from headscope.runs.long import Kind, Run
from headscope.runs.options import RunOptions
from headscope.runs.read import Told

Maps = np.ndarray

_TOGETHER = 32  # inputs of which maps are made at once

_NOTES = (
    ("remarks", "1 span parts a piece", "spans part a piece"),
    ("unseen", f"left out 1 region: {OUT_OF_SIGHT}", f"regions left out: {OUT_OF_SIGHT}"),
    ("idle", "1 source left out, without any candidate", "sources left out, without any candidate"),
)
"""What is said of `Question.notes`, of one and of several."""


class LinkEngine:
    """What is asked of which model.

    Args:
        model: the model.
        ways: in which a head chooses.
        baselines: names of the rules beside which heads stand.
        rows: attention from a unit is the ``mean`` over its pieces, or that of its ``first``.
        token_types: whether token types are as the tokenizer gives them, or all 0.
        full: also sum `FIGURES`; of a model that sees pictures also `IN_REGIONS`, and ask average maps as well.

    What syntax, coreference and negation have of their own they say in the methods that follow.
    """

    chance = False
    """Whether chance is one more baseline."""

    documents = False
    """Whether documents are taken as they are numbered, even where the corpus does not say which they are."""

    sifts = False
    """Whether sources without a candidate are left out, which is said."""

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
        self.model, self.ways, self.baselines = model, tuple(ways), tuple(baselines)
        self.rows: Rows = rows
        self.token_types, self.full, self.aligned = token_types, full, full
        self.sees = full and model.image_processor is not None
        self._notes: dict[str, list[str]] = {}
        self.passes = RunPasses(model.backbone), RunPasses(model.module)
        """Those through the backbone, and for cross-attention through the whole module."""

    def links(self, example: Example) -> Sequence[Link]:
        """The links of an input. Raises `CorpusError` for one that has none to read."""
        return links_of(example)

    def guesses(self, asked: AskedExample) -> Bools:
        """Whether the baselines are right, ``[baseline source]``."""
        return np.zeros((0, len(asked.question.labels)), np.bool_)

    def shares(self, asked: AskedExample) -> Floats | None:
        """What chance gives, ``[1 source]``; None without chance."""
        return by_chance(asked.question, self.ways)[None] if self.chance else None

    settle: Callable[[AskedExample, Bools, Maps], Bools] | None = None
    """What counts as right, of ``[way layer head source]``, and of the units that were chosen; None: what is."""

    look: Callable[[AskedExample, int, Maps], Any] | None = None
    """What is needed of a layer's maps ``[head unit unit]``; None: nothing."""

    def examples(self, corpus: Corpus | Iterable[Example], limit: int | None) -> Iterator[Example]:
        """The inputs of a corpus, with their tokens."""
        given = corpus.encoded(self.model) if isinstance(corpus, Corpus) else plain(corpus)
        return islice(given, limit)

    def decoder(self, example: Example) -> Tokens | None:
        """What the decoder reads; None where the maps are of self-attention."""
        return None

    def question(self, example: Example, number: int) -> AskedExample:
        """An input with its question. Raises `CorpusError` for one that has none."""
        links, decoder = self.links(example), self.decoder(example)
        try:
            made = question(
                links,
                self.ways,
                tokens_of(example),
                decoder,
                causal=self.model.causal,
                aligned=self.aligned,
            )
        except InputError as error:
            raise example.error(error) from None
        return AskedExample.of(example, number, made, decoder=decoder)

    def asked(self, corpus: Corpus | Iterable[Example], limit: int | None = None) -> Iterator[AskedExample]:
        """The inputs of a corpus with their questions; those without are left out of it."""
        self._notes.clear()
        for number, example in enumerate(self.examples(corpus, limit)):
            try:
                asked = self.question(example, number)
            except CorpusError as error:
                leave_out(corpus, error)
            else:
                for kind, notes in asked.question.notes.items():
                    self._notes.setdefault(kind, []).extend(f"{example.place}: {note}" for note in notes)
                yield asked

    def notes(self) -> Mapping[str, Sequence[str]]:
        """What was found of the inputs that were asked last, by its kind (`Question.notes`)."""
        return self._notes

    def tell(self, notes: Mapping[str, Told] | None = None) -> None:
        """Warn of what was found of inputs, by default of the last."""
        if notes is None:
            notes = {kind: Told(len(lines), tuple(lines)) for kind, lines in self.notes().items()}
        for kind, one, several in _NOTES if self.sifts else _NOTES[:2]:
            count, listed = notes.get(kind, Told())
            if listed:
                title = one if count == 1 else f"{count:,} {several}"
                more = [f"and {count - LISTED:,} more"] if count > LISTED else []
                message = "\n  ".join([f"{title}:", *listed[:LISTED], *more])
                warn(message, 3)

    def block(
        self,
        batches: Iterable[Sequence[Example]],
        done: Callable[[int], None] | None = None,
        open: Collection[int] = (),
    ) -> LinkSums:
        """The sums of one block, given as batches."""
        answers: list[Answered] = []
        figures: dict[str, Floats] = {}
        shape: tuple[list[int], int] = [], 0
        for _, (answered, sums, shape) in worked(batches, self.run, done):  # noqa: B007 (all have one shape)
            answers += answered
            figures = added(figures, sums)
        ways = [way.name for way in self.ways]
        total = LinkSums(ways, *shape, self.baselines, chance=self.chance, blind=self.sees)
        total.figures = figures
        self.begin(total)
        for answer in sorted(answers, key=lambda answer: answer.asked.number):
            known = answer.asked.document_known or self.documents
            self.add(total, answer, total.clusters.number(answer.asked.document, known))
        return total

    def over(
        self, kind: Kind[LinkSums], corpus: Corpus | Iterable[Example], options: RunOptions, **more: Any
    ) -> Run[LinkSums]:
        """The run that asks this of a corpus."""
        given: AnyDict = {"inputs": self.asked, "notes": self.notes, "tell": self.tell, **more}
        return Run(kind, self.model, corpus, self.block, options, **given)

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
        reader = _Reader(self, [asked for asked in batch if isinstance(asked, AskedExample)])
        reader.run()
        return reader.answers(), reader.figures(), reader.shape

    def maps(self, asked: Sequence[AskedExample], heads: Collection[Head]) -> list[dict[Head, Maps]]:
        """The maps of some heads over the units of each input, ``[unit unit]``; of self-attention."""
        engine, step = copy(self), 1 if self.model.same_length else _TOGETHER
        engine.look = lambda _, layer, maps: {
            head: maps[head.head].copy() for head in heads if head.layer == layer
        }
        answers = (engine.run(asked[at : at + step])[0] for at in range(0, len(asked), step))
        return [dict(ChainMap(*one.looked)) for batch in answers for one in batch]


class Answered(NamedTuple):
    """One input: what is right of its sources.

    Attributes:
        asked: the input.
        right: of the choices, ``[way layer head source]``.
        blind: of those of average maps; None where they are not asked.
        sure: which of them are a target that must be found; None where no words are aligned.
        looked: what `Engine.look` found, by layer.
    """

    asked: AskedExample
    right: Bools
    blind: Bools | None
    sure: Bools | None
    looked: Sequence[Any]


class _Reader:
    """One batch on its way through the model."""

    def __init__(self, engine: LinkEngine, asked: Sequence[AskedExample]) -> None:
        self._engine, self._asked, self._model = engine, asked, engine.model
        self._inputs = [tokens_of(example) for example in asked]
        device = engine.model.device
        questions = [example.question for example in asked]
        self._crossed = questions[0].crossed

        def grouped(axes: Sequence[LinkAxis]) -> Units:
            longest = max(len(axis.tokens) for axis in axes)
            return Units([axis.groups for axis in axes], longest, engine.rows, device)

        self._query = self._key = grouped([question.query for question in questions])
        if self._crossed:
            self._key = grouped([question.key for question in questions])
        sources = max(1, *(len(question.labels) for question in questions))
        self._directions: dict[Direction, Side] = {}
        for direction in directions_of(engine.ways):
            if self._directions and all(
                question.read["row"] is question.read["column"] for question in questions
            ):
                self._directions[direction] = self._directions["row"].turned()
            else:
                units = (self._key if direction == "row" else self._query).count
                self._directions[direction] = Side(questions, direction, sources, units, device)
        self._aligned = any(question.aligned for question in questions)
        self._labels = sorted({label for question in questions for label in question.labels})
        self.by_label = by_label(questions, self._labels, sources).to(device) if engine.full else None
        self._voices: dict[Direction, Tensor] = {}
        for direction in self._directions if engine.sees else ():
            axes = [question.query if direction == "row" else question.key for question in questions]
            self._voices[direction] = voices(axes, direction, device)
        self._layers: dict[int, AnyDict] = {}

    @property
    def shape(self) -> tuple[list[int], int]:
        """The layers, and the most heads that one has."""
        return sorted(self._layers), max(read["right"].shape[2] for read in self._layers.values())

    def run(self) -> None:
        """One forward pass, reduced layer by layer."""
        model, inputs = self._model, self._inputs
        passes = self._engine.passes[self._crossed]
        with passes.recording(self._reduce):
            if self._crossed:
                passes.module(**self._both(), **uncached(passes.module))
            else:
                forward(model, inputs, token_types=self._engine.token_types)
        if not self._layers:
            kind = "cross-attention" if self._crossed else "self-attention over the tokens"
            raise RefusedError(f"{model.name}: expected {kind}, found none")

    def _both(self) -> dict[str, Tensor]:
        """What encoder and decoder take."""
        made = [example.ready for example in self._asked if example.ready is not None]
        if made:
            wide = max(inputs["decoder_input_ids"].shape[1] for inputs in made)
            return {
                name: torch.cat([widened(inputs[name], name, wide) for inputs in made]) for name in made[0]
            }
        ready = self._model.inputs(self._inputs)
        read = self._model.inputs([example.decoder for example in self._asked if example.decoder is not None])
        both = ("input_ids", "attention_mask")
        if "input_ids" in ready:
            ready = {name: ready[name] for name in both}
        return {**ready, **{f"decoder_{name}": read[name] for name in both}}

    def _reduce(self, record: AttentionRecord) -> None:
        if (record.kind == "cross") != self._crossed:
            return
        if not self._crossed:
            if foreign(record, self._inputs):
                return
            expect_square(record, len(self._asked), self._key.tokens, self._layers)
        weights = weights_of(record, self._model, self._asked)
        maps = self._query.given(self._key.received(weights))
        engine = self._engine
        lines = {name: side.lines(maps) for name, side in self._directions.items()}
        ways = [(way, self._directions[way.direction], lines[way.direction]) for way in engine.ways]
        choices = [side.choose(of, way) for way, side, of in ways]
        read = self._layers[record.layer] = {"right": _stacked(choice.right for choice in choices)}
        if engine.sees:  # what is chosen whatever the source is
            averages = ((way, side, side.average(maps, self._voices[way.direction])) for way, side, _ in ways)
            read["blind"] = _stacked(side.choose(of, way).right for way, side, of in averages)
        if self._aligned:
            pairs = zip(ways, choices, strict=True)
            read["sure"] = _stacked(side.hits(choice, side.sure) for (_, side, _), choice in pairs)
        if engine.settle is not None:
            read["chosen"] = _stacked(choice.at for choice in choices)
        if self.by_label is not None:
            pairs = zip(ways, choices, strict=True)
            figures = [
                torch.cat([side.figures(of, choice, way), *([side.regions(of)] if engine.sees else [])])
                for (way, side, of), choice in pairs
            ]  # [figure input head source] of each way
            flat = torch.stack(figures).permute(1, 0, 3, 2, 4).flatten(3).double()
            read["figures"] = (flat @ self.by_label).cpu().numpy()
        if engine.look is not None:
            averaged = maps.cpu().numpy()
            sizes = [
                (len(asked.question.query.groups), len(asked.question.key.groups)) for asked in self._asked
            ]
            read["looked"] = [
                engine.look(asked, record.layer, averaged[place, :, :queries, :keys])
                for place, (asked, (queries, keys)) in enumerate(zip(self._asked, sizes, strict=True))
            ]

    def answers(self) -> list[Answered]:
        """What is right of each input's sources."""
        engine, answers = self._engine, list[Answered]()
        for place, asked in enumerate(self._asked):
            right, blind, sure = (self._of(name, place) for name in ("right", "blind", "sure"))
            if engine.settle is not None:
                right = engine.settle(asked, right, self._of("chosen", place))
            looked = [self._layers[layer]["looked"][place] for layer in self.shape[0]] if engine.look else []
            answers.append(Answered(asked, right, blind, sure, looked))
        return answers

    def _of(self, name: str, place: int) -> Any:
        """What the layers have of one input, ``[way layer head source]``; 0 for heads that a layer does not have."""
        (layers, heads), size = self.shape, len(self._asked[place].question.labels)
        reads: list[Any] = [self._layers[layer].get(name) for layer in layers]
        if reads[0] is None:
            return None
        return by_layer([read[:, place, :, :size] for read in reads], heads, 1)

    def figures(self) -> dict[str, Floats]:
        """The sums of each label, ``[figure way layer head]``."""
        if self.by_label is None:
            return {}
        layers, heads = self.shape
        figures = (self._layers[layer]["figures"].transpose(3, 0, 1, 2) for layer in layers)
        return dict(zip(self._labels, by_layer(figures, heads, 3), strict=True))


def _stacked(tensors: Iterable[Tensor]) -> Maps:
    """What each way gives, ``[way input head source]``."""
    return torch.stack([*tensors]).cpu().numpy()
