"""Jensen–Shannon distances between all heads of a model over a corpus of any size (Clark et al. 2019, section 6)."""

from __future__ import annotations

import inspect
import json
import os
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
import xarray as xr

from headscope.analyses.distance.statistics import SMOOTHING, PairDocuments, PairSums, dataset
from headscope.attention.divergence import distributions, jensen_shannon
from headscope.attention.record import AttentionRecord
from headscope.attention.recording import recording
from headscope.corpora import Block, Corpus, Example, blocks
from headscope.errors import HeadscopeError, InputError, RefusedError, RunError
from headscope.heads import Head
from headscope.measures.surface import Preset
from headscope.models import Model
from headscope.stream.checkpoint import Reduced
from headscope.stream.long import WINDOWS, Long, described, failed, run_long
from headscope.stream.outcome import Outcome, Shard
from headscope.stream.parts import merge_parts
from headscope.tokens import Tokens

KIND = "distance"

BLOCK = 64
"""Inputs of a numbered block: few, because a document's sums have a number for every pair of heads."""

TOKENS_PER_INPUT = 128
"""A batch has at most `batch_size` times this many tokens, padding included: longer inputs come in fewer."""

Precision = Literal["float32", "float64"]
DTYPES: Mapping[Precision, torch.dtype] = {"float32": torch.float32, "float64": torch.float64}

_WEIGHTS = 1 << 22  # weights of all heads that are held at a time


@dataclass(frozen=True)
class Compared:
    """What one input gave.

    Attributes:
        heads: of all layers, in order.
        sums: divergences summed over the rows that were compared, ``[head head]``, in nats.
        rows: how many rows of the input count.
        compared: how many of them were compared.
    """

    heads: tuple[Head, ...]
    sums: npt.NDArray[np.float64]
    rows: int
    compared: int


@dataclass
class Distances:
    """What is compared of which model.

    Attributes:
        model: the model.
        rows: how many rows of each input are compared, drawn at random; None for all.
        seed: of that draw, which depends on the input and its document and on nothing else.
        preset: whose code is followed.
        precision: in which the divergences are computed, at least.
    """

    model: Model
    rows: int | None = None
    seed: int = 0
    preset: Preset | None = None
    precision: Precision = "float32"

    def sums(
        self, examples: Iterable[Example], batch_size: int = 8, done: Callable[[int], None] | None = None
    ) -> Iterator[PairSums]:
        """The sums of each block, in order; `done` is told how many inputs were read."""
        for block in _cut(examples, batch_size):
            yield self.block(block, done, block.open)

    def block(
        self,
        block: Iterable[Sequence[Example]],
        done: Callable[[int], None] | None = None,
        open: Collection[int] = (),
    ) -> PairSums:
        """The sums of one block, given as batches.

        `done` is told how many inputs were read. `open` are the documents that have inputs in other blocks as well;
        looked at when all batches have been read.
        """
        documents = PairDocuments()
        for batch in block:
            try:
                found = self.run(batch)
            except HeadscopeError:
                raise
            except Exception as error:
                raise self._named(error, batch) from error
            for example, one in zip(batch, found, strict=True):
                if not np.isfinite(one.sums).all():
                    raise RunError(f"{example.source}: expected finite attention weights, found others")
                count = len(_tokens(example))
                documents.add(example.document, one.heads, one.sums, one.rows, one.compared, count)
            if done is not None:
                done(len(batch))
        return documents.close(open)

    def run(self, batch: Sequence[Example]) -> list[Compared]:
        """The sums of each input of one batch."""
        inputs = [_tokens(example) for example in batch]
        records = self._records(inputs)
        return [self._compare(records, place, example) for place, example in enumerate(batch)]

    def _records(self, inputs: Sequence[Tokens]) -> list[AttentionRecord]:
        """The self-attention of one forward pass, by layer, without values."""
        ready: dict[str, Any] = dict(self.model.inputs(inputs, token_types=self.preset is None))
        module, expected = self.model.backbone, max(map(len, inputs))
        found: dict[int, AttentionRecord] = {}

        def keep(record: AttentionRecord) -> None:
            if record.kind == "cross":
                return
            items, _, queries, keys = record.shape
            if (items, queries, keys) != (len(inputs), expected, expected):
                raise RefusedError(
                    f"{record.module}: expected attention of {len(inputs)} inputs over {expected} tokens, found "
                    f"{items} from {queries} to {keys}; layers that look at other axes are not compared"
                )
            if record.layer in found:
                raise RefusedError(
                    f"{record.module}: expected one self-attention a layer, found layer {record.layer} again"
                )
            found[record.layer] = replace(record, v=None)

        if "use_cache" in inspect.signature(module.forward).parameters:
            ready["use_cache"] = False
        with torch.no_grad(), recording(module, keep, fused=self.precision == "float32"):
            module(**ready)
        if not found:
            raise RefusedError("no self-attention was seen in the forward pass")
        return [found[layer] for layer in sorted(found)]

    def _compare(self, records: Sequence[AttentionRecord], place: int, example: Example) -> Compared:
        heads = tuple(Head(record.layer, head) for record in records for head in range(record.shape[1]))
        length, causal = len(_tokens(example)), self.model.causal
        sinks = any(record.sinks is not None for record in records)
        counting = np.arange(1 if causal and not sinks and self.preset is None else 0, length)
        chosen = self._drawn(counting, example)
        sums = np.zeros((len(heads), len(heads)))
        step = max(1, _WEIGHTS // (len(heads) * length))
        for start in range(0, len(chosen), step):
            rows = torch.as_tensor(chosen[start : start + step], device=records[0].q.device)
            keys = int(rows[-1]) + 1 if causal and self.preset is None else length
            weights = distributions(
                records, place, rows, keys, smoothing=SMOOTHING[self.preset], dtype=DTYPES[self.precision]
            )
            sums += jensen_shannon(weights)
        return Compared(heads, sums, len(counting), len(chosen))

    def _drawn(self, rows: npt.NDArray[np.int64], example: Example) -> npt.NDArray[np.int64]:
        if self.rows is None or self.rows >= len(rows):
            return rows
        ids = _tokens(example).ids
        assert ids is not None
        print_of = zlib.crc32(np.asarray(ids, np.int64).tobytes())
        draw = np.random.default_rng([self.seed, example.document, print_of])
        return np.sort(draw.choice(rows, self.rows, replace=False))

    def _named(self, error: Exception, batch: Sequence[Example]) -> RunError:
        """The error of a batch as that of the input that causes it."""
        culprit = batch[0]
        for example in batch if len(batch) > 1 else ():
            try:
                self.run([example])
            except Exception as own:
                culprit, error = example, own
                break
        lines = str(error).strip().splitlines()
        which = culprit.source or f"document {culprit.document}"
        return RunError(
            f"{which}: the model failed ({type(error).__name__}: {lines[0] if lines else 'no message'})"
        )


def distance(
    model: Model,
    corpus: Corpus | Iterable[Example],
    *,
    rows: int | None = None,
    seed: int = 0,
    preset: Preset | None = None,
    precision: Precision = "float32",
    batch_size: int = 8,
    limit: int | None = None,
    resume: str | os.PathLike[str] | None = None,
    shard: str | None = None,
    part: str | os.PathLike[str] | None = None,
    skip_failures: bool = False,
    progress: bool = False,
    command: str = "",
) -> xr.Dataset:
    """Distances between all pairs of heads over a corpus: Jensen–Shannon, nats a token (Clark et al. 2019, section 6).

    Every token of the corpus counts once, special ones included; padding never does. In a causal model the first
    token, which sees nothing but itself, is left out (not by the preset). Where a model has attention sinks, what a
    row gives to its sink is one more outcome besides the keys. Of an encoder-decoder the encoder is compared.

    Weights are computed by blocks of rows from queries and keys, in memory linear in an input's length (a model that
    is traced makes its maps itself). Divergences add up to within 1e-7 nats a token of the exact sum.

    Args:
        model: from `headscope.load`.
        corpus: from `headscope.corpora`, or examples that have their tokens.
        rows: compare only this many rows of each input, drawn at random; they stand for all rows of the input, so
            that means stay unbiased, and the standard error tells what the draw adds.
        seed: of the draw.
        preset: ``clark2019`` computes what the released code of that paper does: token types all 0, rows mixed with
            0.001 of uniform attention, and the sum over tokens in place of the mean.
        precision: ``float64`` computes the divergences in float64, of the weights that the model's own eager
            attention makes, at twice the time and with all maps of a batch in memory.
        batch_size: inputs in a batch, at most; long ones come in fewer.
        limit: compare on at most this many inputs.
        resume, shard, part, skip_failures: as in `headscope.measure` (docs/streams.md).
        progress: show progress on stderr.
        command: what was typed, for the record.

    Returns:
        A dataset over ``(head_a, head_b)``: ``distance`` and ``distance_se`` (clustered by document); see
        `headscope.analyses.distance.statistics.dataset`, and `headscope.analyses.distance.arrangement` for maps, clusters and tests.

    Raises:
        InputError: an option that makes no sense, or a corpus without a token that counts.
        CorpusError: a broken corpus, with file and line.
        RunError: the model failed on an input, which the message names.
    """
    for name, value in (("rows", rows), ("batch_size", batch_size), ("limit", limit)):
        if value is not None and value < 1:
            raise InputError(f"{name}: expected at least 1, found {value}")
    if preset not in SMOOTHING:
        raise InputError(f"preset: expected clark2019, found {preset!r}")
    if precision not in DTYPES:
        raise InputError(f"precision: expected float32 or float64, found {precision!r}")
    long = Long(resume, None if shard is None else Shard.parse(shard), part, skip_failures)
    task = Distances(model, rows, seed, preset, precision)
    started = time.monotonic()
    pack = corpus.pack if isinstance(corpus, Corpus) else None
    options = {"rows": rows, "preset": preset, "precision": precision, "limit": limit}
    options |= {"batch_size": batch_size, "pack": pack}
    options |= {"seed": seed} if rows is not None else {}
    options = {name: value for name, value in options.items() if value is not None}

    def close(reduced: Reduced[PairSums]) -> tuple[xr.Dataset, dict[str, Any]]:
        meta = described(model, corpus) | {"route": "blocks of rows"}
        meta["options"] = {**options, **({"skip_failures": True} if skip_failures else {})}
        if shard is not None:
            meta["shard"] = {"shard": shard, "of_blocks": reduced.blocks}
        return _figures(reduced.outcome, preset, meta, command, started), {"meta": meta, "preset": preset}

    return run_long(
        model,
        corpus,
        long,
        kind=KIND,
        options=options,
        cut=partial(_cut, batch_size=batch_size),
        block=task.block,
        load=PairSums.from_arrays,
        close=close,
        limit=limit,
        progress=progress,
        title="comparing",
    )


def merge(parts: Sequence[str | os.PathLike[str]], *, command: str = "") -> xr.Dataset:
    """The distances over a whole corpus from the parts of all its shards; see `headscope.merge`."""
    started = time.monotonic()
    merged = merge_parts(parts, KIND, PairSums.from_arrays)
    meta = {name: value for name, value in merged.about["meta"].items() if name != "shard"}
    if merged.outcome.sums is None:
        raise InputError("parts: expected at least one input, found none")
    return _figures(merged.outcome, merged.about["preset"], meta, command, started)


def _cut(examples: Iterable[Example], batch_size: int) -> Iterator[Block]:
    most = batch_size * TOKENS_PER_INPUT
    return blocks(examples, size=BLOCK, windows=WINDOWS, batch_size=batch_size, tokens_per_batch=most)


def _figures(
    outcome: Outcome[PairSums],
    preset: Preset | None,
    about: Mapping[str, Any],
    command: str,
    started: float,
) -> xr.Dataset:
    """The dataset of some blocks; one without figures for a shard that has none."""
    created = datetime.now(UTC).isoformat(timespec="seconds")
    seconds = round(time.monotonic() - started, 3)
    meta: dict[str, Any] = {**about, "command": command, "created": created, "seconds": seconds}
    if meta["options"].get("skip_failures"):
        meta["failures"] = failed(outcome)
    if outcome.sums is None or ("shard" in meta and not outcome.sums.closed().n > 0):
        return xr.Dataset(attrs={"meta": json.dumps(meta, ensure_ascii=False)})
    return dataset(outcome.sums, preset=preset, meta=meta)


def _tokens(example: Example) -> Tokens:
    if example.tokens is None:
        raise example.error("expected an example with tokens: give corpus.encoded(model)")
    return example.tokens
