"""Runs over corpora of any length, for whatever sums blocks have: resumed, sharded, and without inputs that fail."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from itertools import chain, islice
from pathlib import Path
from typing import Generic

import xarray as xr

from headscope.core.arrays import Arrays
from headscope.core.counts import plural
from headscope.core.failures import warn
from headscope.core.saving import check_place
from headscope.core.types import AnyDict, AnyMapping, AnyPath
from headscope.corpora import Corpus, Example
from headscope.errors import InputError, RunError
from headscope.measures.dataset import check_suffix
from headscope.models import Model
from headscope.runs.batches import checked_first, corpus_name, cut, inputs_of_block, no_input
from headscope.runs.blocks import Batched, CorpusBlock, CorpusBlocks, Encoded, PartReader, reader_for
from headscope.runs.blocks import Inputs as InputsOf
from headscope.runs.checkpoint import Failure, Folder, Outcome, S, Shard, remove_abandoned
from headscope.runs.engines import engine_of
from headscope.runs.engines.here import Engine
from headscope.runs.estimate import Estimate, Inputs, ahead
from headscope.runs.estimate import line as estimated
from headscope.runs.identity import about_model, versions
from headscope.runs.identity import identity as of_run
from headscope.runs.options import COMMAND, RunOptions
from headscope.runs.parts import merge_parts, write_part
from headscope.runs.progress import CorpusPlace, Progress, bar
from headscope.runs.read import ReadBlocks, Told
from headscope.runs.reduce import Reduced, reduce

WINDOWS: int | None = 4
"""A block ends after so many of its windows, in the midst of a document that is longer."""

_HIDDEN = ".headscope-"  # what folders of a shard's checkpoints are called while it runs

Batches = Iterable[Sequence[Example]]
Work = Callable[[Batches, Callable[[int], None], Collection[int]], S]
Figures = Callable[[S, AnyDict, AnyMapping], xr.Dataset]


def _nothing(_: object) -> None: ...


@dataclass(frozen=True)
class Kind(Generic[S]):
    """A kind of run whose sums can be kept on disk.

    Attributes:
        name: in checkpoints and parts, such as ``measure``.
        load: makes sums of what their `to_arrays` gave.
        figures: makes the dataset of the sums, the description of the run, and what the run said besides (`merge`
            gives it back as JSON does).
        span: so many blocks add up before their sum is added to the total: more than one where sums are large.
        title: of the progress that is shown.
        noun: what an estimate calls an input.
        grows: bytes that the figures take for each input, and of how many inputs at most; None: of all.
    """

    name: str
    load: Callable[[Arrays], S]
    figures: Figures[S]
    span: int = 1
    title: str = "measuring"
    noun: str = "input"
    grows: tuple[int, int | None] = (0, None)

    def merge(self, parts: Sequence[AnyPath]) -> xr.Dataset:
        """The figures of a whole corpus from the parts of all its shards; see `headscope.merge`."""
        started = time.monotonic()
        outcome, about = merge_parts(parts, self.name, self.load)
        if outcome.sums is None:
            raise InputError("parts: expected at least one input, found none")
        about = {**about}
        meta = {name: value for name, value in about.pop("meta").items() if name != "shard"}
        if outcome.read.inputs:
            meta = _with_read(meta, outcome.read)
        if note := outcome.read.documents.note(meta["corpus"]["name"]):
            warn(note)
        return self.dataset(outcome, meta, about, started)

    def dataset(self, outcome: Outcome[S], meta: AnyMapping, about: AnyMapping, started: float) -> xr.Dataset:
        """The dataset of some blocks; one without figures for a shard that has none."""
        seconds = round(time.monotonic() - started, 3)
        described: AnyDict = {**meta, "command": COMMAND.get(), "created": _now(), "seconds": seconds}
        if described.get("options", {}).get("skip_failures"):
            failures = [failure._asdict() for failure in outcome.failures]
            described["failures"] = {"count": len(failures), "inputs": failures}
        if outcome.sums is None or ("shard" in described and not outcome.sums):
            return xr.Dataset(attrs={"meta": json.dumps(described, ensure_ascii=False)})
        return self.figures(outcome.sums, described, about)


@dataclass(frozen=True)
class Run(Generic[S]):
    """A run over a corpus, or over a shard of one: its blocks, the sums of these, and the figures of the sums.

    Attributes:
        kind: of the run.
        model, corpus: what runs, and over what.
        block: the sums of a block's batches; tells how many inputs it has worked on, and is given the documents that
            have inputs in other blocks as well, all of them known when the batches have been read. It may be sent to
            other processes, so what it notes in itself is lost.
        options: how it goes through the corpus.
        decides: what decides about the figures besides `batch_size`, `limit` and how the corpus is packed (one of these
            names stands in its place), as JSON; those that are None are left out.
        identity: further options, for checkpoints and parts but not for the description.
        about: what `Kind.figures` needs besides, as JSON.
        inputs: of the corpus, or of a part of it, where they are more than its examples with their tokens. It is sent
            to other processes like `block`.
        notes: what was found of the inputs that were given last, by its kind; sent like `inputs`.
        tell: is told all notes at the end.
        size: inputs of a window, in which they are sorted, and of a block about; None:
            `headscope.runs.batches.BLOCK`.
        counted: of a corpus, what an estimate counts, where inputs are made of several that follow one another.
        others: models that run beside the first.
    """

    kind: Kind[S]
    model: Model
    corpus: Corpus | Iterable[Example]
    block: Work[S]
    options: RunOptions
    decides: AnyMapping = field(default_factory=AnyDict)
    identity: AnyMapping = field(default_factory=AnyDict)
    about: AnyMapping = field(default_factory=AnyDict)
    inputs: InputsOf | None = None
    notes: Callable[[], Mapping[str, Sequence[str]]] = dict
    tell: Callable[[Mapping[str, Told]], None] = _nothing
    size: int | None = None
    counted: InputsOf | None = None
    others: Sequence[Model] = ()

    def result(self) -> xr.Dataset:
        """The figures; of a shard they are also in its part, with the sums of its blocks.

        Raises:
            InputError: a checkpoint that is broken, or of another run; a corpus without inputs; a shard without a part,
                or a part that cannot be written.
            RunError: the model failed on an input, which the message names; or the disk is full.
        """
        options, started = self.options, time.monotonic()
        shard = shard_of(options.shard, options.part)
        blocks = self.blocks()
        with ExitStack() as stack:
            workers = stack.enter_context(engine_of(options.engine))
            folder = self._folder(stack, workers, shard)
            shown = stack.enter_context(bar(self.corpus, options.limit, options.progress, self.kind.title))
            watched = Inputs(self.model, (), corpus_name(self.corpus))
            reduced = self.sums(blocks, workers, folder, shown, watched)
            description = self._description(reduced, workers, watched)
            figures = self.kind.dataset(reduced.outcome, description, self.about, started)
            if options.part is not None and folder is not None:
                write_part(options.part, figures, folder, reduced, {"meta": description, **self.about})
        return figures

    def blocks(self) -> CorpusBlocks:
        """The blocks of the corpus, to be read once; those of a strict corpus are read to the end before."""
        corpus, limit = self.corpus, self.options.limit
        if isinstance(corpus, Corpus):
            checked_first(self.model, corpus, lambda: islice(self._reader.inputs(corpus), limit))
        kept = self.options.resume is not None or self.options.part is not None
        return CorpusBlocks(corpus, self._reader, windows=WINDOWS, limit=limit, hashed=kept)

    def sums(
        self,
        blocks: CorpusBlocks,
        workers: Engine,
        folder: Folder[S] | None,
        shown: Progress,
        watched: Inputs,
    ) -> Reduced[S]:
        """The sums of the blocks, added up in their order; what is done is kept in the folder.

        Raises as `result` does.
        """
        options, corpus = self.options, self.corpus
        sharded = options.shard is not None

        def reached(end: int | None, passed: bool, read: ReadBlocks) -> None:
            place = CorpusPlace(read.inputs, read.inputs if end is None or options.limit is not None else end)
            (shown.passed if passed and not sharded else shown.at)(place)
            watched.counted(read.unknown, read.pieces, read.documents)

        work = _Summing(self.block, self._reader, options.skip_failures)
        reduced = reduce(
            blocks,
            lambda units: workers.results([self.model, *self.others], work, shown.begun(units), shown),
            folder=folder,
            span=self.kind.span,
            fingerprint=blocks.fingerprint,
            place=lambda block: block.end,
            reached=reached,
            together=workers.together,
        )
        read, failures = reduced.outcome.read, reduced.outcome.failures
        if isinstance(corpus, Corpus):
            corpus.was_read(read.counts, read.errors, read.left_out)
        if not read.inputs and not sharded:
            raise no_input(corpus)
        watched.counted(read.unknown, read.pieces, read.documents)
        watched.end()
        self.tell(read.notes)
        if failures and not options.skip_failures:
            raise InputError(
                f"{options.resume}: the checkpoint left out {plural(len(failures), 'input')} that failed, first "
                f"{failures[0].input}: resume with --skip-failures"
            )
        if failures and reduced.outcome.sums is None:
            raise RunError(f"every input failed, the first with: {failures[0].error}")
        return reduced

    def estimate(self, corpus: Corpus, limit: int | None) -> Estimate:
        """One line that says what the run will take, told from the first inputs of its corpus, of at most so many."""
        counted = self.counted or self._reader.inputs
        extent, together = ahead(corpus, counted(corpus), limit), self.counted is not None
        kind, engine = self.kind, self.options.engine
        line = estimated(
            self.model, extent, self._tried, kind.noun, *kind.grows, together=together, engine=engine
        )
        text = line if kind.grows[0] else f"{line}, whatever the size of the corpus"
        return Estimate(text, line.seconds, line.bytes)

    def _tried(self, sample: Sequence[Example]) -> None:
        """The figures of some inputs, of what may count."""
        given = sample if self.counted is None else Corpus("sample", partial(iter, sample))
        batches = cut(self._reader.inputs(given), self.options.batch_size, self.model)
        sums = self.block(chain.from_iterable(batches), _nothing, ())
        if sums:
            self.kind.figures(sums, {**described(self.model, given), "options": {}}, self.about)

    @cached_property
    def _reader(self) -> PartReader:
        size = inputs_of_block(self.model, self.corpus, self.size)
        inputs = self.inputs or Encoded(self.model)
        return reader_for(self.model, inputs, self.notes, batch_size=self.options.batch_size, size=size)

    @property
    def _decides(self) -> AnyDict:
        """What decides about the figures, as it is described."""
        pack = self.corpus.pack if isinstance(self.corpus, Corpus) else None
        options = {"limit": self.options.limit, "batch_size": self.options.batch_size, "pack": pack}
        return {name: value for name, value in {**options, **self.decides}.items() if value is not None}

    def _folder(self, stack: ExitStack, workers: Engine, shard: Shard | None) -> Folder[S] | None:
        """Where checkpoints are, for as long as the stack is open; None where nothing is kept."""
        options, place = self.options, self.options.resume
        if place is None and options.part is not None:
            place = hidden_folder(options.part, stack)
        if place is None:
            return None
        identity = {
            **of_run(self.model, self.kind.name, workers.device(self.model).type),
            "corpus": {"name": corpus_name(self.corpus)},
            "options": {**self._decides, **self.identity},
        }
        folder = Folder(
            place,
            identity,
            self.kind.load,
            shard=shard,
            span=self.kind.span,
            circumstances=workers.circumstances(self.model),
            stays=options.resume is not None,
        )
        return stack.enter_context(folder)

    def _description(self, reduced: Reduced[S], workers: Engine, watched: Inputs) -> AnyDict:
        """The description of the run."""
        description = {**described(self.model, self.corpus, watched), "options": self._decides}
        if workers.remote:
            description["model"]["device"] = str(workers.device(self.model))
        if self.options.skip_failures:
            description["options"]["skip_failures"] = True
        if self.options.shard is not None:
            description["shard"] = {"shard": self.options.shard, "of_blocks": reduced.blocks}
        return description


def hidden_folder(part: AnyPath, stack: ExitStack) -> str:
    """A folder of checkpoints that nobody asked for, beside a shard's part, for as long as the stack is open."""
    parent = Path(part).resolve().parent
    remove_abandoned(parent.glob(f"{_HIDDEN}*"))
    return stack.enter_context(tempfile.TemporaryDirectory(prefix=_HIDDEN, dir=parent))


def shard_of(shard: str | None, part: AnyPath | None) -> Shard | None:
    """The shard that was asked for. Raises `InputError` for one without a part, or a part that cannot be written."""
    if (shard is None) != (part is None):
        raise InputError("shard: give a file for its part with it, and a part only with a shard")
    if shard is None or part is None:
        return None
    suffix = Path(part).suffix
    if suffix.lower() != ".nc":
        raise InputError(
            f"{part}: expected a name that ends in .nc for a shard's part, found {suffix or 'none'}"
        )
    check_suffix(part)
    check_place(part)
    return Shard.parse(shard)


@dataclass(frozen=True)
class _Summing(Generic[S]):
    """What a unit of blocks gives, with or without inputs that fail."""

    block: Work[S]
    reader: PartReader
    skip_failures: bool

    def __call__(self, unit: Sequence[CorpusBlock], done: Callable[[int], None]) -> Outcome[S]:
        outcome: Outcome[S] = Outcome()
        for given in unit:
            block = Batched(given, self.reader)
            outcome = outcome.then(replace(self._summed(block, done), read=block.read))
        return outcome

    def _summed(self, block: Batched, done: Callable[[int], None]) -> Outcome[S]:
        if self.skip_failures:
            return _left_out(block, self.block, done)
        batches = iter(block)
        first = next(batches, None)
        return Outcome() if first is None else Outcome(self.block(chain([first], batches), done, block.open))


def _left_out(
    block: Batched,
    sums: Work[S],
    done: Callable[[int], None],
) -> Outcome[S]:
    """The sums of a block without the inputs that fail: each batch that fails is looked through, and the block done
    again without them. Holds the tokens of one block.
    """
    failures: list[Failure] = []
    rest = iter(block)
    batches: list[Sequence[Example]] = list(islice(rest, 1))
    at = 0

    def given() -> Iterator[Sequence[Example]]:
        nonlocal at
        for at, batch in enumerate(chain(tuple(batches), rest)):
            if at == len(batches):
                batches.append(batch)
            yield batch

    while batches:
        try:
            return Outcome(sums(given(), done, block.open), tuple(failures))
        except RunError:
            kept: list[Example] = []
            for example in batches[at]:
                try:
                    sums([[example]], _nothing, ())
                    kept.append(example)
                except RunError as error:
                    failures.append(Failure(example.source or f"document {example.document}", str(error)))
                    warn(f"left out: {error}")
            if len(kept) == len(batches[at]):
                raise  # together they fail, such as for memory: no input is to blame
            batches[at : at + 1] = [kept] if kept else list(islice(rest, 1)) if at == len(batches) - 1 else []
    return Outcome(None, tuple(failures))


def described(model: Model, corpus: Corpus | Iterable[Example], inputs: Inputs | None = None) -> AnyDict:
    """What made the figures, but for the run itself; `inputs` are those that were read of the corpus.

    Warns of the inputs that were left out.
    """
    named: AnyDict = {"name": corpus_name(corpus)}
    if inputs is not None:
        named |= inputs.counts()
    about = {**about_model(model), "device": str(model.device)}
    description: AnyDict = {"model": about, "corpus": named, "versions": versions(), "created": _now()}
    if isinstance(corpus, Corpus):
        corpus.tell()
        counts = {"cuts": corpus.counts.cuts, "empty": corpus.counts.empty, "left_out": corpus.left_out}
        kind = {} if corpus.kind == "text" else {"kind": corpus.kind, "noun": corpus.noun}
        description["corpus"] = {**named, **kind, "document": corpus.documents, **counts}
        description["broken"] = [str(error) for error in corpus.broken]
    return description


def _with_read(meta: AnyMapping, read: ReadBlocks) -> AnyDict:
    """A description, of what reading other blocks has told."""
    counted = {"pieces": read.pieces, "unknown": read.unknown, "identical": read.documents.identical()[0]}
    corpus = {**meta["corpus"], **counted}
    if "broken" not in meta:
        return {**meta, "corpus": corpus}
    corpus |= {"cuts": read.counts.cuts, "empty": read.counts.empty, "left_out": read.left_out}
    return {**meta, "corpus": corpus, "broken": [str(error) for error in read.errors]}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
