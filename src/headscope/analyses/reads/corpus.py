"""Whose writing a head reads, over a corpus: mean shares with their errors, chance, and what ablation leaves."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Unpack

import numpy as np
import numpy.typing as npt
import torch
import xarray as xr
from torch import Tensor

from headscope.analyses.links.syntax.run import relations_of
from headscope.analyses.long_runs import long_run
from headscope.analyses.options import BlockOptions
from headscope.analyses.reads import statistics
from headscope.attention.load import load
from headscope.attention.reading import (
    PAIR,
    AskedKeys,
    call_of,
    compared,
    names,
    order,
    part_of,
    single,
    visible,
)
from headscope.attention.record import AttentionRecord
from headscope.attention.stream import Reader, Who
from headscope.core.arrays import Bools, Floats
from headscope.core.heads import AnyHead, Head
from headscope.core.link import End, Span, Unit, located
from headscope.core.terms import SHOWN, SIDES
from headscope.core.tokens import Tokens
from headscope.core.types import AnyDict, AnyMapping
from headscope.core.validation import Seed
from headscope.corpora import Corpus, Example
from headscope.errors import InputError
from headscope.measures.choose import choose
from headscope.measures.measure import Measure
from headscope.measures.sums import Gathering, Skewed
from headscope.models import Model
from headscope.runs.batches import tokens_of, worked
from headscope.runs.long import Kind, Run
from headscope.runs.options import RunOptions
from headscope.statistics import jackknife
from headscope.statistics.jackknife import false_discovery

Summed = tuple[tuple[str, ...], Floats, Floats, Counter[str]]
"""Of one input the names of the writers, what is summed, what it is a share of, and what is counted."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Shares(Skewed):
    """Sums of terms, `s`, and of what they are shares of, `n`; `writers` are named by the first axis but one."""

    writers: tuple[str, ...]
    labels: ClassVar[tuple[str, ...]] = ("writers",)


@dataclass
class ReadsWork:
    """What is read of the inputs of a corpus.

    Attributes:
        model: that reads.
    """

    model: Model

    def __post_init__(self) -> None:
        self._reader: Reader | None = None

    def __getstate__(self) -> AnyDict:
        return {**vars(self), "_reader": None}  # it holds modules: each process finds its own

    def reader(self, ready: Mapping[str, Tensor]) -> Reader:
        """The reader of the model, found on the first input."""
        if self._reader is None:
            self._reader = Reader(self.model, ready)
        return self._reader

    def block(
        self,
        block: Iterable[Sequence[Example]],
        done: Callable[[int], None] | None = None,
        open: Collection[int] = (),
    ) -> Shares:
        """The sums of one block."""
        gathering = Gathering(Shares)
        for batch, results in worked(block, self.run, done):
            for example, (writers, s, n, counts) in zip(batch, results, strict=True):
                gathering.labels.setdefault("writers", writers)
                gathering.gather(example.document, (s, n), counts)
        return gathering.close(open)

    def run(self, batch: Sequence[Example]) -> list[Summed]:
        """What is summed of each input."""
        return [self.summed(example) for example in batch]

    def summed(self, example: Example) -> Summed:
        """What is summed of one input."""
        raise NotImplementedError


ATTENDED = "attended"
LINK = "link:"


@dataclass
class _CorpusWork(ReadsWork):
    """What is read of the inputs of a corpus.

    Attributes:
        head: whose queries and keys.
        of: at which keys it is asked to look: where a measure's pairs are, or at the targets of links with this label;
            None: where it looks most.
        seed: of the keys that are shuffled.
        ablated: the writers without which the head is read again, in place of its terms.
    """

    head: Head
    of: Measure | str | None
    seed: int
    ablated: tuple[Who, ...] = ()

    def summed(self, example: Example) -> Summed:
        """What is summed of one input: terms, what they are by chance, and less that; or what is left."""
        tokens = tokens_of(example)
        ready = self.model.inputs([tokens])
        reader = self.reader(ready)
        part = part_of(reader, "encoder" if self.model.encoder_decoder else None)
        read = reader.read(ready, (part, self.head.layer))
        record = call_of(read, part, self.head).record
        among = compared(tokens, visible(record, self.head.head), causal=self.model.causal)
        asked = AskedKeys(self.head.head, self._contrast(record, example, among))
        counts = Counter(inputs=1, queries=int(asked.contrast.any(-1).sum()))
        contrast = float(asked.numbers(record, "key").detach()) + asked.of_pairs(record, "key")
        if self.ablated:
            until = part, self.head.layer
            left, attention = self._without(reader, ready, until, asked, record)
            return tuple(map(written, self.ablated)), left, np.array([contrast, attention]), counts
        ways = asked, replace(asked, contrast=self._shuffled(asked.contrast, among, example))
        terms = [[single(read.by_name(way.numbers(record, side))) for side in SIDES] for way in ways]
        writers = sorted({PAIR, *(who for way in terms for side in way for who in side)}, key=order)
        s = np.zeros((len(SIDES), len(writers), 3))
        for at, (way, sides) in enumerate(zip(ways, terms, strict=True)):
            for side, of in enumerate(sides):
                of[PAIR] = way.of_pairs(record, SIDES[side])
                s[side, :, at] = [of.get(who, 0.0) for who in writers]
        s[..., 2] = s[..., 0] - s[..., 1]
        return tuple(map(written, writers)), s[None], np.array([contrast]), counts

    def _without(
        self,
        reader: Reader,
        ready: Mapping[str, Tensor],
        until: tuple[str, int],
        asked: AskedKeys,
        record: AttentionRecord,
    ) -> tuple[Floats, float]:
        """What is left of contrasts and of attention where a writer gives its mean, and that attention as it is."""
        wanted = (asked.contrast > 0).to(record.q)

        def looked(call: AttentionRecord) -> float:
            return float((call.weights()[0, asked.head] * wanted).sum().detach())

        left = np.full((2, len(self.ablated)), np.nan)
        for at, who in enumerate(self.ablated):
            call = reader.without(ready, who, until)
            if call is not None:
                score = float(asked.numbers(call, "key")) + asked.of_pairs(call, "key")
                left[:, at] = score, looked(call)
        return left, looked(record)

    def _contrast(self, record: AttentionRecord, example: Example, among: Bools) -> Tensor:
        """The keys that each query is asked about less the mean of the others, ``[query key]``."""
        tokens = tokens_of(example)
        weights = record.weights()[0, self.head.head].detach().cpu().numpy()
        if self.of is None:
            most: npt.NDArray[np.intp] = np.where(among, weights, -1.0).argmax(-1)
            chosen: Bools = np.arange(len(tokens)) == most[:, None]
            worth = np.where(chosen & among, weights, 0.0).sum(-1)
        else:
            chosen = (
                _linked(self.of, example, self.model.causal)
                if isinstance(self.of, str)
                else _pairs(self.of, tokens)
            )
            worth = np.ones(len(tokens))
        contrast = _less_mean(chosen & among, among & ~chosen) * worth[:, None]
        return torch.as_tensor(contrast, device=record.q.device)

    def _shuffled(self, contrast: Tensor, among: Bools, example: Example) -> Tensor:
        """The contrasts with the keys of each query among which it chooses in another order."""
        tokens = tokens_of(example)
        ids = np.zeros(0, np.int64) if tokens.ids is None else np.asarray(tokens.ids, np.int64)
        draw = np.random.default_rng([self.seed, example.document, zlib.crc32(ids.tobytes())])
        shuffled = contrast.cpu().numpy().copy()
        for row in np.flatnonzero(shuffled.any(-1)):
            shuffled[row, among[row]] = draw.permutation(shuffled[row, among[row]])
        return torch.as_tensor(shuffled, device=contrast.device)


def _less_mean(chosen: Bools, others: Bools) -> Floats:
    """The mean over the chosen keys less that over the others; 0 in rows that lack either."""
    count, rest = chosen.sum(-1, keepdims=True), others.sum(-1, keepdims=True)
    contrast = chosen / np.maximum(count, 1) - others / np.maximum(rest, 1)
    return np.where(count * rest > 0, contrast, 0.0)


def _pairs(measure: Measure, tokens: Tokens) -> Bools:
    """The keys of each query that a measure is about."""
    queries = np.arange(len(tokens))
    if measure.statistic == "offset":
        return queries == queries[:, None] + measure.offset
    assert measure.pairs is not None
    pairs: np.ndarray = measure.pairs(tokens, queries)
    return pairs != 0


def _linked(label: str, example: Example, causal: bool) -> Bools:
    """The targets of each query's links with this label; of a causal model the end that sees the other is the query."""
    tokens = tokens_of(example)
    links = [*(example.links or ()), *(relations_of(example) if example.relations is not None else ())]
    both = tokens.sequence_ids is not None and bool((tokens.sequence_ids == 1).any())

    def places(end: End, unit: Unit) -> Any:
        sequence = "ab".index(end.text) if both and isinstance(end, Span) else None
        return located(end, unit, tokens, sequence=sequence)[0]

    pairs = np.zeros((len(tokens), len(tokens)), np.bool_)
    for link in links:
        if link.label == label:
            for target in link.targets:
                ends = places(link.source, link.unit), places(target, link.target_unit or link.unit)
                pairs[np.ix_(*ends)] = True
    return pairs | pairs.T if causal else pairs


def written(who: Who) -> str:
    """A writer in a file."""
    return "/".join(map(str, who))


def writer(text: str) -> Who:
    """What `written` wrote."""
    kind, part, layer, head = text.split("/")
    return Who(kind, part, int(layer), int(head))  # pyright: ignore[reportArgumentType]


def _figures(sums: Shares, meta: AnyDict, about: AnyMapping) -> xr.Dataset:
    """Shares with their errors, chance, p and q."""
    total = sums.closed()
    value, se, skew = total.value()[0], total.error()[0], total.skewness()[0]
    if not total.n[0] > 0:  # keys that are not looked for: nothing to share out
        value = np.full_like(value, np.nan)
    documents = np.broadcast_to(total.effective()[0], value.shape[:-1])
    ends = jackknife.interval(value[..., 0], se[..., 0], documents, skew=skew[..., 0])
    beyond: Floats = value[..., 2] * ~(np.abs(value[..., 2]) <= statistics.EXACT)  # chance
    p = jackknife.differs(beyond, se[..., 2], documents, skew[..., 2])
    p_of_some = np.where(np.abs(value[..., 0]) > statistics.EXACT, p, np.nan)
    q = false_discovery(p_of_some.ravel()).reshape(p.shape)
    writers = [writer(text) for text in sums.writers]
    called = names(writers)
    labels = [(called[who], who.kind, who.layer, who.head) for who in writers]
    values = jackknife.ends("share", value[..., 0], ends) | {"share_se": se[..., 0]}
    values |= {"chance": value[..., 1], "chance_se": se[..., 1], "p": p, "q": q}
    counts = total.counts
    values |= {"contrast": float(total.n[0] / max(1, counts["queries"])), "queries": float(counts["queries"])}
    values["documents"] = float(counts["documents"])
    result: Any = statistics.dataset(labels, values, None, {**meta, **about})
    return result.assign_coords(written=("writer", list(sums.writers)))


KIND = Kind("reads", Shares.from_arrays, _figures, title="reading")


def _left(sums: Shares, meta: AnyDict, about: AnyMapping) -> xr.Dataset:
    total = sums.closed()
    value, se = total.value(), total.error()
    figures = {"contrast_left": value[0], "left_se": se[0], "attention_left": value[1], "attention_se": se[1]}
    return xr.Dataset(
        {name: ("written", values) for name, values in figures.items()}, {"written": list(sums.writers)}
    )


LEFT = Kind("reads_ablated", Shares.from_arrays, _left, title="ablating")


@long_run(KIND, batch_size=8)
def shares(
    model: Model,
    corpus: Corpus | Iterable[Example],
    head: AnyHead,
    *,
    of: str = ATTENDED,
    seed: Seed = 0,
    **options: Unpack[BlockOptions],
) -> Run[Shares]:
    """Whose writing a head reads over a corpus; see `headscope.reads`."""
    work = _work(model, head, of, seed)
    about = _about(work, of)
    return Run(KIND, model, corpus, work.block, RunOptions(**options), about, about=about)


@long_run(LEFT, batch_size=8)
def _ablated(
    model: Model,
    corpus: Corpus | Iterable[Example],
    head: AnyHead,
    *,
    of: str = ATTENDED,
    seed: Seed = 0,
    writers: Sequence[str],
    **options: Unpack[BlockOptions],
) -> Run[Shares]:
    """What is left of a head's contrasts and attention where these writers give their mean."""
    work = replace(_work(model, head, of, seed), ablated=tuple(map(writer, writers)))
    return Run(
        LEFT, model, corpus, work.block, RunOptions(**options), {**_about(work, of), "writers": writers}
    )


def _work(model: Model, head: AnyHead, of: str, seed: int) -> _CorpusWork:
    asked = Head.of(head)
    measure: Measure | str | None = None
    if of.startswith(LINK):
        measure = of.removeprefix(LINK)
    elif of != ATTENDED:
        (measure,) = choose([of])
        if measure.statistic not in ("pairs", "offset"):
            raise InputError(
                "of: expected attended, a measure of pairs of tokens such as induction or previous, or link:LABEL, "
                f"found {of!r}"
            )
    return _CorpusWork(model, asked, measure, seed)


def _about(work: _CorpusWork, of: str) -> AnyDict:
    return {"head": str(work.head), "of": of, "seed": work.seed}


def over_corpus(
    model: Model,
    corpus: Corpus | Iterable[Example],
    head: AnyHead,
    *,
    ablated: int,
    reinitialised: int | None,
    options: AnyMapping,
    **asked: Any,
) -> xr.Dataset:
    """Shares over a corpus, those of the re-initialised model, and what is left without the heads with the largest.

    Passes beside the first take no checkpoint, and a shard has none.
    """
    result = shares(model, corpus, head, **asked, **options)
    of = str(asked["of"])
    if of.startswith(LINK) and "share" in result and not float(result["queries"]):
        raise InputError(f"of: expected a label of links or relations that the corpus has, found {of!r}")
    if "share" not in result or options.get("shard") is not None:
        return result
    rest = {name: value for name, value in options.items() if name != "resume"}
    if reinitialised is not None:
        other = shares(load(model, untrained=reinitialised), corpus, head, **asked, **rest)
        result[statistics.UNTRAINED] = other["share"].reindex(writer=result["writer"])
    largest = np.abs(result["share"].values).max(0)
    order = [int(place) for place in np.argsort(-largest, kind="stable")]
    heads = [place for place in order if result["kind"].values[place] == "head"]
    most = [place for place in heads if largest[place] >= SHOWN][:ablated]
    if not most:
        return result
    writers = [str(result["written"].values[place]) for place in most]
    left = _ablated(model, corpus, head, writers=writers, **asked, **rest)
    for name in statistics.CORPUS_ABLATED:
        column = np.full(result.sizes["writer"], np.nan)
        column[most] = left[name].values
        result[name] = "writer", column
    return result
