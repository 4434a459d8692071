"""Runs over corpora of any length, for whatever sums blocks have: resumed, sharded, and without inputs that fail."""

from __future__ import annotations

import json
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from typing import Any, Generic, cast

import xarray as xr

from headscope.core.saving import check_place
from headscope.corpora import Corpus, Example
from headscope.errors import HeadscopeWarning, InputError, RunError
from headscope.measures.dataset import check_suffix
from headscope.models import Model
from headscope.runs.batches import at_least_one, corpus_name, inputs_of_block, no_input
from headscope.runs.blocks import Batched, Encoded, Reader, reader_for, source
from headscope.runs.blocks import Inputs as InputsOf
from headscope.runs.checkpoint import Folder, remove_abandoned
from headscope.runs.engines import engine_of
from headscope.runs.identity import about_model, versions
from headscope.runs.identity import identity as of_run
from headscope.runs.inputs import Inputs
from headscope.runs.outcome import Failure, Given, Outcome, S, Shard
from headscope.runs.parts import merge_parts, write_part
from headscope.runs.progress import Place, bar
from headscope.runs.provenance import COMMAND
from headscope.runs.read import Read, Told
from headscope.runs.reduce import reduce
from headscope.runs.safefile import Arrays

WINDOWS: int | None = 4
"""A block ends after so many of its windows, in the midst of a document that is longer."""

DESCRIBED = 1_000
"""How many of the inputs that were left out a description names."""

_HIDDEN = ".headscope-"  # what folders of a shard's checkpoints are called while it runs

Batches = Iterable[Sequence[Example]]
Work = Callable[[Batches, Callable[[int], None], Collection[int]], S]


@dataclass(frozen=True)
class Kind(Generic[S]):
    """A kind of run whose sums can be kept on disk.

    Attributes:
        name: in checkpoints and parts, such as ``measure``.
        load: makes sums of what their `to_arrays` gave.
        figures: makes the dataset of the sums, the description of the run, and what the run said besides (`merge`
            gives it back as JSON does).
        span: so many blocks add up before their sum is added to the total: more than one where sums are large.
    """

    name: str
    load: Callable[[Arrays], S]
    figures: Callable[[S, dict[str, Any], Mapping[str, Any]], xr.Dataset]
    span: int = 1

    def merge(self, parts: Sequence[str | os.PathLike[str]]) -> xr.Dataset:
        """The figures of a whole corpus from the parts of all its shards; see `headscope.merge`."""
        started = time.monotonic()
        merged = merge_parts(parts, self.name, self.load)
        if merged.outcome.sums is None:
            raise InputError("parts: expected at least one input, found none")
        meta = {name: value for name, value in merged.about["meta"].items() if name != "shard"}
        meta = _with_read(meta, merged.outcome.read)
        if said := merged.outcome.read.documents.told(meta["corpus"]["name"]):
            warnings.warn(said, HeadscopeWarning, stacklevel=2)
        return self._dataset(merged.outcome, meta, merged.about, started)

    def _dataset(
        self,
        outcome: Outcome[S],
        meta: Mapping[str, Any],
        about: Mapping[str, Any],
        started: float,
    ) -> xr.Dataset:
        """The dataset of some blocks; one without figures for a shard that has none."""
        seconds = round(time.monotonic() - started, 3)
        described: dict[str, Any] = {**meta, "command": COMMAND.get(), "created": _now(), "seconds": seconds}
        if described["options"].get("skip_failures"):
            failures = [each._asdict() for each in outcome.failures]
            described["failures"] = {"count": len(failures), "inputs": failures}
        if outcome.sums is None:
            return without_figures(described)
        return self.figures(outcome.sums, described, about)


def run_long(
    kind: Kind[S],
    model: Model,
    corpus: Corpus | Iterable[Example],
    block: Work[S],
    *,
    options: Mapping[str, Any],
    more: Mapping[str, Any] | None = None,
    identity: Mapping[str, Any] | None = None,
    meta: Callable[[], Mapping[str, Any]] = dict,
    about: Mapping[str, Any] | None = None,
    inputs: InputsOf | None = None,
    notes: Callable[[], Mapping[str, Sequence[str]]] = dict,
    tell: Callable[[Mapping[str, Told]], None] | None = None,
    size: int | None = None,
    batch_size: int,
    limit: int | None,
    resume: str | os.PathLike[str] | None,
    shard: str | None,
    part: str | os.PathLike[str] | None,
    skip_failures: bool,
    progress: bool,
    title: str = "measuring",
    engine: Any = None,
) -> xr.Dataset:
    """The figures of a corpus, or of a shard of one, from the sums of its blocks.

    Args:
        kind: of the run.
        model, corpus: what runs, and over what.
        block: the sums of a block's batches; tells how many inputs it has worked on, and is given the documents that
            have inputs in other blocks as well, all of them known when the batches have been read. It may be sent to
            other processes, so what it notes in itself is lost.
        options: what decides about the figures besides `batch_size`, `limit` and how the corpus is packed, as JSON;
            those that are None are left out.
        more: options that stand after these.
        identity: further options, for checkpoints and parts but not for the description.
        meta: further parts of the description, asked for at the end.
        about: what `Kind.figures` needs besides, as JSON.
        inputs: of the corpus, or of a part of it, where they are more than its examples with their tokens. It is sent
            to other processes like `block`.
        notes: what was found of the inputs that were given last, by its kind; sent like `inputs`.
        tell: is told all notes at the end.
        size: inputs of a window, in which they are sorted, and of a block about; by default
            `headscope.runs.batches.BLOCK`.
        batch_size: inputs in a batch, at most.
        limit: use at most this many inputs.
        resume: the folder of checkpoints: a run that was ended goes on from there.
        shard: such as ``2/8``: these blocks only.
        part: where the shard's part goes, ``.nc``.
        skip_failures: leave inputs out at which the model fails, instead of ending the run.
        progress, title: show progress on stderr, under this title.
        engine: where blocks are worked on (`headscope.runs.engines.engine_of`); by default here.

    Raises:
        InputError: a checkpoint that is broken, or of another run; a corpus without inputs; a shard without a part, or
            a part that cannot be written.
        RunError: the model failed on an input, which the message names; or the disk is full.
    """
    at_least_one(batch_size=batch_size, limit=limit)
    mine = _shard(shard, part)
    started = time.monotonic()
    pack = corpus.pack if isinstance(corpus, Corpus) else None
    options = _known({**options, "limit": limit, "batch_size": batch_size, "pack": pack, **(more or {})})
    inputs = Encoded(model) if inputs is None else inputs
    size = inputs_of_block(model, corpus, size)
    reader = reader_for(model, inputs, notes, batch_size=batch_size, size=size)
    if isinstance(corpus, Corpus):
        corpus.look()
        if corpus.strict:
            for _ in Inputs(model, islice(inputs(corpus), limit), corpus.name):
                pass
    kept = resume is not None or part is not None
    given = source(corpus, reader, windows=WINDOWS, limit=limit, hashed=kept)
    with ExitStack() as stack:
        workers = stack.enter_context(engine_of(engine))
        folder: Folder[S] | None = None
        if resume is not None or part is not None:
            place = resume
            if place is None:
                beside = Path(cast(str, part)).resolve().parent
                remove_abandoned(beside.glob(f"{_HIDDEN}*"))
                place = stack.enter_context(tempfile.TemporaryDirectory(prefix=_HIDDEN, dir=beside))
            run = {
                **of_run(model, kind.name, workers.device(model).type),
                "corpus": {
                    "name": corpus_name(corpus),
                    **({"bytes": given.bytes} if mine and given.bytes else {}),
                },
                "options": {**options, **(identity or {})},
            }
            circumstances = workers.circumstances(model)
            folder = stack.enter_context(
                Folder(place, run, kind.load, shard=mine, span=kind.span, circumstances=circumstances)
            )
        shown = stack.enter_context(bar(corpus, limit, progress, title))

        watched = Inputs(model, (), corpus_name(corpus))

        def each(units: Iterator[Sequence[Given]]) -> Iterator[Outcome[S]]:
            return workers.each([model], _Summing(block, reader, skip_failures), begun(units), shown)

        def begun(units: Iterator[Sequence[Given]]) -> Iterator[Sequence[Given]]:
            for unit in units:
                shown.begin()
                yield unit

        def reached(end: int | None, passed: bool, read: Read) -> None:
            place = Place(read.inputs, read.inputs if end is None or limit is not None else end)
            (shown.passed if passed and not mine else shown.at)(place)
            watched.counted(read.unknown, read.pieces, read.documents)

        try:
            reduced = reduce(
                given,
                each,
                folder=folder,
                span=kind.span,
                fingerprint=given.fingerprint,
                place=lambda block: block.end,
                reached=reached,
                together=workers.together,
            )
        except RunError as error:
            if folder is None or resume is None:
                raise
            raise folder.kept(error) from error
        read = reduced.outcome.read
        if isinstance(corpus, Corpus):
            corpus.was_read(read.counts, read.errors, read.left_out)
        if not read.inputs and not mine:
            raise no_input(corpus)
        watched.counted(read.unknown, read.pieces, read.documents)
        watched.end()
        if tell is not None:
            tell(read.notes)
        failures = reduced.outcome.failures
        if failures and not skip_failures:
            raise InputError(
                f"{resume}: the checkpoint left out {len(failures)} inputs that failed, first {failures[0].input}: "
                "resume with --skip-failures"
            )
        if failures and reduced.outcome.sums is None:
            raise RunError(f"every input failed, the first with: {failures[0].error}")
        told = {**described(model, corpus, watched), "options": dict(options), **meta()}
        if workers.remote:
            told["model"]["device"] = str(workers.device(model))
        if skip_failures:
            told["options"]["skip_failures"] = True
        if mine:
            told["shard"] = {"shard": shard, "of_blocks": reduced.blocks}
        figures = kind._dataset(reduced.outcome, told, about or {}, started)  # pyright: ignore[reportPrivateUsage]
        if part is not None and folder is not None:
            write_part(part, figures, folder, reduced, {"meta": told, **(about or {})})
    return figures


def without_figures(meta: Mapping[str, Any]) -> xr.Dataset:
    """The dataset of a shard that has no figures: its description."""
    return xr.Dataset(attrs={"meta": json.dumps(meta, ensure_ascii=False)})


def _shard(shard: str | None, part: str | os.PathLike[str] | None) -> Shard | None:
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
    reader: Reader
    skip_failures: bool

    def __call__(self, unit: Sequence[Given], done: Callable[[int], None]) -> Outcome[S]:
        outcome: Outcome[S] = Outcome()
        for given in unit:
            own = given if given.here else Batched(given.part, self.reader)
            outcome = outcome.then(replace(self._summed(own, done), read=own.read))
        return outcome

    def _summed(self, block: Given | Batched, done: Callable[[int], None]) -> Outcome[S]:
        if self.skip_failures:
            return _left_out(block, self.block, done)
        batches = iter(block)
        first = next(batches, None)
        return Outcome() if first is None else Outcome(self.block(chain([first], batches), done, block.open))


def _left_out(
    block: Given | Batched,
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
                    warnings.warn(f"left out: {error}", HeadscopeWarning, stacklevel=2)
            if len(kept) == len(batches[at]):
                raise  # together they fail, such as for memory: no input is to blame
            batches[at : at + 1] = [kept] if kept else list(islice(rest, 1)) if at == len(batches) - 1 else []
    return Outcome(None, tuple(failures))


def _nothing(_: int) -> None: ...


def described(
    model: Model, corpus: Corpus | Iterable[Example], inputs: Inputs | None = None
) -> dict[str, Any]:
    """What made the figures, but for the run itself; `inputs` are those that were read of the corpus.

    Warns of the inputs that were left out.
    """
    named: dict[str, Any] = {"name": corpus_name(corpus)}
    if inputs is not None:
        named |= inputs.counts()
    about = {**about_model(model), "device": str(model.device)}
    told: dict[str, Any] = {"model": about, "corpus": named, "versions": versions(), "created": _now()}
    if isinstance(corpus, Corpus):
        corpus.tell()
        counts = {"cuts": corpus.counts.cuts, "empty": corpus.counts.empty, "left_out": corpus.left_out}
        kind = {} if corpus.kind == "text" else {"kind": corpus.kind}
        told["corpus"] = {**named, **kind, "document": corpus.documents, **counts}
        told["broken"] = [str(error) for error in corpus.broken[:DESCRIBED]]
    return told


def _with_read(meta: Mapping[str, Any], read: Read) -> dict[str, Any]:
    """A description, of what reading other blocks has told."""
    counted = {"pieces": read.pieces, "unknown": read.unknown, "identical": read.documents.identical()[0]}
    corpus = {**meta["corpus"], **counted}
    if "broken" not in meta:
        return {**meta, "corpus": corpus}
    corpus |= {"cuts": read.counts.cuts, "empty": read.counts.empty, "left_out": read.left_out}
    return {**meta, "corpus": corpus, "broken": [str(error) for error in read.errors]}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _known(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}
