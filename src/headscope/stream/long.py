"""Runs over corpora of any length, for whatever sums blocks have: resumed, sharded, and without inputs that fail."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import tempfile
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
import transformers
import xarray as xr

import headscope
from headscope.corpora import Block, Corpus, Example
from headscope.corpora.batches import Reading
from headscope.errors import HeadscopeWarning, InputError, RunError
from headscope.measures.dataset import check_place
from headscope.models import Model, expect_model
from headscope.stream.checkpoint import Folder, Reduced, reduce
from headscope.stream.outcome import Failure, Outcome, S, Shard
from headscope.stream.parts import write_part
from headscope.stream.progress import Progress, bar
from headscope.stream.safefile import Arrays

WINDOWS = 4
"""A block ends after so many of its windows, in the midst of a document that is longer."""

Batches = Iterable[Sequence[Example]]
Work = Callable[[Batches, Callable[[int], None], Collection[int]], S]


@dataclass(frozen=True)
class Long:
    """How a long run is kept.

    Attributes:
        resume: the folder of its checkpoints: a run that was ended goes on from there.
        shard: measure these blocks only.
        part: where the shard's part goes, ``.nc``.
        skip_failures: leave inputs out at which the model fails, instead of ending the run.

    Raises `InputError` for a shard without a part, or a part without a shard, and where the part cannot be written.
    """

    resume: str | os.PathLike[str] | None = None
    shard: Shard | None = None
    part: str | os.PathLike[str] | None = None
    skip_failures: bool = False

    def __post_init__(self) -> None:
        if (self.shard is None) != (self.part is None):
            raise InputError("shard: expected a file for its part, and a part only of a shard")
        if self.part is not None:
            if Path(self.part).suffix.lower() != ".nc":
                found = Path(self.part).suffix or "none"
                raise InputError(
                    f"{self.part}: expected a name that ends in .nc for a shard's part, found {found}"
                )
            check_place(self.part)


def run_long(
    model: Model,
    corpus: Corpus | Iterable[Example],
    long: Long,
    *,
    kind: str,
    options: Mapping[str, Any],
    cut: Callable[[Iterable[Example]], Iterator[Block]],
    block: Work[S],
    load: Callable[[Arrays], S],
    close: Callable[[Reduced[S]], tuple[xr.Dataset, Mapping[str, Any]]],
    limit: int | None = None,
    progress: bool = False,
    title: str = "measuring",
) -> xr.Dataset:
    """Reduce all blocks of a corpus, or those of a shard.

    Args:
        model, corpus: what runs, and over what.
        long: how the run is kept.
        kind: of the run, such as ``measure``.
        options: all that decides about its figures, as JSON.
        cut: makes numbered blocks of the examples.
        block: the sums of a block's batches; tells how many inputs it has worked on, and is given the documents that
            have inputs in other blocks as well, all of them known when the batches have been read.
        load: makes sums of what their `to_arrays` gave.
        close: makes the figures, and what merging needs to make them.
        limit: use at most this many inputs.
        progress: show progress on stderr.
        title: of the progress.

    Raises:
        InputError: a checkpoint that is broken, or of another run, or a corpus without inputs.
        RunError: the model failed on an input, which the message names; or the disk is full.
    """
    reading = Reading(examples(model, corpus, limit))
    with ExitStack() as stack:
        folder: Folder[S] | None = None
        if long.resume is not None or long.part is not None:
            place = long.resume
            if place is None:
                assert long.part is not None
                own = Path(long.part).resolve().parent
                place = stack.enter_context(tempfile.TemporaryDirectory(prefix=".headscope-", dir=own))
            name = corpus.name if isinstance(corpus, Corpus) else "examples"
            identity = {
                "kind": kind,
                "model": {**_model(model), "device": model.device.type, "weights": weights(model)},
                "corpus": {"name": name},
                "options": options,
                "versions": {key: each for key, each in versions().items() if key != "python"},
            }
            folder = stack.enter_context(
                Folder(place, identity, load, shard=long.shard, circumstances=_circumstances(model))
            )
        shown = stack.enter_context(bar(corpus, limit, progress, title))

        def work(one: Block) -> Outcome[S]:
            shown.begin()
            shown.reached(reading.count - 1)  # the first input of the block is read already
            return (
                _left_out(one, block, shown) if long.skip_failures else Outcome(block(one, shown, one.open))
            )

        def passed() -> None:
            (shown.reached if long.shard else shown.passed)(reading.count - 1)

        fingerprint = str if folder is None else reading.fingerprint
        try:
            reduced = reduce(cut(reading), work, folder=folder, fingerprint=fingerprint, passed=passed)
        except RunError as error:
            if folder is None or long.resume is None:
                raise
            raise RunError(f"{error}; what was done before is kept in {folder.path}") from error
        if not reading.count:
            raise InputError("corpus: expected at least one input, found none")
        failures = reduced.outcome.failures
        if failures and not long.skip_failures:
            raise InputError(
                f"{long.resume}: the checkpoint left out {len(failures)} inputs that failed, {failures[0].input} the "
                "first: expected that to be asked for again"
            )
        if failures and reduced.outcome.sums is None:
            raise RunError(f"every input failed, the first with: {failures[0].error}")
        found, about = close(reduced)
        if long.part is not None:
            assert folder is not None
            write_part(long.part, found, folder, reduced, about)
    return found


def examples(model: Model, corpus: Corpus | Iterable[Example], limit: int | None) -> Iterator[Example]:
    """The inputs of a model, with their tokens."""
    expect_model(model)
    return islice(corpus.encoded(model) if isinstance(corpus, Corpus) else iter(corpus), limit)


def _left_out(
    block: Block,
    sums: Work[S],
    done: Progress,
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


def failed(outcome: Outcome[Any]) -> dict[str, Any]:
    """The inputs that were left out, for the description of a run."""
    return {"count": len(outcome.failures), "inputs": [each._asdict() for each in outcome.failures]}


def weights(model: Model) -> str:
    """A sha256 of the model's weights and configuration."""
    expect_model(model)
    digest = hashlib.sha256()
    for name, value in model.module.state_dict().items():
        if isinstance(value, torch.Tensor):
            digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
            flat = value.detach().cpu().contiguous().reshape(-1)
            digest.update(flat.view(torch.uint8).numpy().data)
    if hasattr(model.config, "to_dict"):
        known: dict[str, Any] = model.config.to_dict()
        told = {key: value for key, value in known.items() if not key.startswith("_")}
        digest.update(json.dumps(told, sort_keys=True, default=_told).encode())
    return digest.hexdigest()[:16]


def _told(value: Any) -> Any:
    if isinstance(value, set | frozenset):
        return sorted(map(str, cast(set[Any], value)))
    return type(value).__name__


def versions() -> dict[str, str]:
    """Of the libraries that make figures."""
    return {
        "headscope": headscope.__version__,
        "torch": str(torch.__version__),
        "transformers": transformers.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def described(model: Model, corpus: Corpus | Iterable[Example]) -> dict[str, Any]:
    """What made the figures, but for the run itself."""
    named: dict[str, Any] = {"name": "examples"}
    if isinstance(corpus, Corpus):
        named = {"name": corpus.name, "cuts": corpus.counts.cuts, "empty": corpus.counts.empty}
    about = {**_model(model), "device": str(model.device)}
    created = datetime.now(UTC).isoformat(timespec="seconds")
    return {"model": about, "corpus": named, "versions": versions(), "created": created}


def _model(model: Model) -> dict[str, Any]:
    return {
        "name": model.name,
        "revision": model.revision,
        "parameters": model.parameters,
        "dtype": str(model.dtype).removeprefix("torch."),
        "causal": model.causal,
        "notes": list(model.notes),
    }


def _circumstances(model: Model) -> dict[str, Any]:
    """What may move the last digits."""
    found: dict[str, Any] = {
        "machine": platform.machine(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
    }
    if model.device.type == "cuda":
        found["device"] = torch.cuda.get_device_name(model.device)
    return found
