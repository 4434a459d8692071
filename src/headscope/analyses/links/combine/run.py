"""Heads of a model together, on links: fitted on one half of the documents, scored on the other."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Self

import numpy as np
import xarray as xr

from headscope.analyses.links.combine.statistics import (
    CONTACTS,
    SOURCES,
    SYSTEMS,
    CandidatePairs,
    LabelScores,
    PairSample,
    dataset,
    fit,
    likeliest,
    symmetrised,
    systems,
    top_pairs,
)
from headscope.analyses.links.engine import Answered, Maps
from headscope.analyses.links.questions import (
    ALL,
    DIRECTIONS,
    AskedExample,
    Direction,
    LinkAxis,
    ReadDirection,
)
from headscope.analyses.links.run import Kinds, Links
from headscope.analyses.links.sums import by_layer
from headscope.analyses.result import returns_result
from headscope.core.arrays import Arrays, Floats
from headscope.core.types import AnyDict, AnyPath
from headscope.core.validation import Count, Seed, validated
from headscope.core.words import Rows
from headscope.corpora import Corpus, Example, blocks
from headscope.corpora.example import spelled_out
from headscope.corpora.given import AnnotatedCorpus
from headscope.errors import InputError
from headscope.models import Model
from headscope.runs.batches import checked_first, inputs_of_block, no_input, worked
from headscope.runs.checkpoint import Folder, Outcome, SentBlock
from headscope.runs.estimate import Inputs, told_once
from headscope.runs.identity import circumstances, identity
from headscope.runs.long import described
from headscope.runs.progress import bar
from headscope.runs.reduce import reduce
from headscope.runs.safefile import under
from headscope.statistics.resample import Clusters

_TOKENS = 512
"""Tokens of a batch, at most, where it has more inputs than one: all maps of a batch are in memory together."""

_CHUNK = 16
"""Features whose choices are looked at together."""

PairWork = Callable[[AskedExample, CandidatePairs, int], None]
"""What is done with the pairs of an input, and its cluster."""


@returns_result
@validated
def combine_heads(
    model: Model,
    corpus: AnnotatedCorpus | Iterable[Example],
    *,
    candidates: Kinds = "any",
    direction: Literal["both", "row", "column"] = "both",
    symmetrise: bool = False,
    min_separation: Count = 6,
    rows: Rows = "mean",
    sources: Count = 2_000,
    least: Count = 20,
    seed: Seed = 0,
    limit: Count | None = None,
    batch_size: Count = 32,
    resume: AnyPath | None = None,
    progress: bool = False,
) -> xr.Dataset:
    """What all heads together know of links: a sparse weighted sum of them, the mean of the best few, the best alone.

    A logistic regression with an L1 penalty says from the attention that all heads give a source and a candidate
    whether the candidate is a target (Rao et al. 2021, "Transformer protein language models are unsupervised structure
    learners"); its weights name the heads that carry a relation. Documents (inputs where none are known) are divided in
    two halves by chance. All that is chosen or fitted, the strength of the penalty too, is so on one half and scored on
    the other, and the other way round; scores are means over both. The corpus is read twice.

    Args:
        model: from `headscope.load`.
        corpus: with links, as for `headscope.links`.
        candidates: among what is chosen, as in `headscope.links`. Of both directions, what is visible in either.
        direction: features are what heads give in the source's ``row``, in its ``column``, or ``both``.
        symmetrise: features are the sums of maps and their transposes with average-product correction, without special
            tokens, and links have no direction: for contacts of proteins. Heads are then chosen by the precision at L.
        min_separation: with `symmetrise`, pairs of units of one text that are nearer to each other do not count, as
            links or as candidates.
        rows: attention from a span is the ``mean`` over its pieces, or that of its ``first``.
        sources: the regression is fitted on so many sources of a half, at most, drawn uniformly: on their targets, and
            on ten other candidates of each. More take more memory and time.
        least: sources that a label needs to be fitted and scored; it also needs two documents in each half.
        seed: of the halves, the draws and the folds.
        limit: use at most this many inputs.
        batch_size: inputs in a batch, at most; long ones come in fewer.
        resume: keep in this folder what was done, and go on from there, as in `headscope.measure`.
        progress: show progress on stderr.

    Returns:
        A `Result`: see `headscope.analyses.links.combine.statistics.dataset`. Its ``table()`` has a row for each label
        and system (best head, mean of 2, 3, 5 and 10, regression, chance): ``n`` sources; ``accuracy`` (how often the
        likeliest candidate is a target) and ``average_precision``; with `symmetrise` also, of each of the ``inputs``
        with links, ``precision_at_l`` and ``precision_at_l5`` (of its L and L / 5 likeliest pairs the share that are
        links, L being its number of units), and labels with the same links in one row; without, of links between two
        texts the alignment error rate ``aer``; each with 95 % intervals over documents, given what was chosen and
        fitted (``…_low``, ``…_high``); and the ``heads`` that count most, with the regression's coefficients for a
        standard deviation of each. Of equals each counts as chosen as often.

    Raises:
        InputError: no input has a link; with `symmetrise`, links between what an encoder and a decoder read, or
            `candidates` other than any.
        CorpusError: a corpus of which nothing is left, with file and line.

    >>> corpus = hs.corpora.linked(["The cat sat because it was tired."] * 20, [[((20, 22), (4, 7))]] * 20)
    >>> result = hs.combine_heads(model, corpus)
    >>> result.table()["system"].tolist()
    ['best head', 'mean of 2', 'mean of 3', 'mean of 5', 'mean of 10', 'regression', 'chance']
    """
    if symmetrise and candidates != "any":
        raise InputError(f"candidates: expected any with symmetrise, found {candidates}")
    both: Sequence[Direction] = ("row",) if symmetrise else DIRECTIONS  # a sum with the transpose has both
    directions = both if symmetrise or direction == "both" else (direction,)
    apart = min_separation if symmetrise else None
    engine = Links(model, candidates, directions, (), rows)
    engine.full, engine.aligned, engine.look = False, not symmetrise, _maps
    repeatable = corpus if isinstance(corpus, Corpus) else list(corpus)
    options = {"candidates": candidates, "direction": direction, "symmetrise": symmetrise, "rows": rows}
    options |= {"min_separation": apart, "sources": sources, "least": least, "seed": seed}
    options |= {"limit": limit, "batch_size": batch_size}
    known = {name: value for name, value in options.items() if value is not None}
    run = _CombineRun(engine, repeatable, apart, seed, sources, limit, batch_size, progress)
    if resume is not None:
        run.kept = Path(resume), {**identity(model, "combine", model.device.type), "options": known}
    with told_once():
        inputs = run.over_inputs(run.choose, "choosing heads")
        run.fit(least)
        run.over_inputs(run.score, "scoring them")
    engine.tell()
    meta = {**described(model, repeatable, inputs), "options": known, "clusters": run.kind}
    return dataset(run.rows(), run.directions, run.layers, run.heads, meta)


def _maps(_: AskedExample, layer: int, maps: Maps) -> Maps:
    """All of a layer's maps."""
    return maps


@dataclass
class _LabelPairs:
    """What the first pass knows of a label, the one half of the documents and the other.

    Attributes:
        right: the sum over its sources of each feature's score alone, ``[half feature]``.
        n: what that is over.
        documents: those of its inputs.
        sources: how many count, in both halves.
        links: without direction a checksum of all of them.
    """

    right: Floats
    n: list[float] = field(default_factory=lambda: [0.0, 0.0])
    documents: list[list[int]] = field(default_factory=lambda: [[], []])
    sources: int = 0
    links: str = ""


@dataclass
class _CombineRun:
    """Both passes over a corpus: what they know is of all blocks so far."""

    engine: Links
    corpus: Corpus | Sequence[Example]
    apart: int | None
    seed: int
    sources: int
    limit: int | None
    batch_size: int
    progress: bool
    kept: tuple[Path, AnyDict] | None = None
    layers: Sequence[int] = ()
    heads: int = 0
    kind: str = ""

    def __post_init__(self) -> None:
        self.directions = ["both"] if self.apart is not None else [way.name for way in self.engine.ways]
        self._samples = PairSample(self.sources), PairSample(self.sources)
        self._alone: dict[str, _LabelPairs] = {}
        self._titles: dict[str, str] = {}
        self._weights: dict[str, Floats] = {}
        self._fitted: dict[str, Floats] = {}
        self._scored: dict[str, LabelScores] = {}

    def over_inputs(self, work: PairWork, title: str) -> Inputs:
        """One pass: what is done with the pairs of each input and its cluster. Returns what was read."""
        engine, corpus = self.engine, self.corpus
        inputs = checked_first(engine.model, corpus, lambda: engine.asked(corpus, self.limit))
        clusters, numbers = Clusters(), dict[int, int]()

        def numbered() -> Iterator[AskedExample]:
            for asked in inputs:
                assert isinstance(asked, AskedExample)
                numbers[asked.number] = clusters.number(asked.document, asked.document_known)
                yield asked

        def sent() -> Iterator[SentBlock]:
            for block in blocks(
                numbered(),
                size=inputs_of_block(engine.model, corpus),
                batch_size=self.batch_size,
                tokens_per_batch=_TOKENS,
                same_length=engine.model.same_length,
            ):
                batches = list(block)
                content = (part for batch in batches for example in batch for part in spelled_out(example))
                yield SentBlock(block.number, batches, hashlib.sha256(b"".join(content)).hexdigest())

        def added(units: Iterator[Sequence[SentBlock]]) -> Iterator[Outcome[_CombineRun]]:
            for (block,) in units:
                self._block(block, numbers, work, done)
                yield Outcome(self)

        with self._folder(work.__name__) as folder, bar(corpus, self.limit, self.progress, title) as done:
            reduce(
                sent(),
                added,
                folder=folder,
                span=sys.maxsize,
                place=lambda block: sum(map(len, block)),
                reached=lambda size, passed, _: done(size * passed),
            )
        if not clusters.count:
            raise no_input(corpus)
        self.kind = clusters.kind
        return inputs

    def _folder(self, stage: str) -> AbstractContextManager[Folder[_CombineRun] | None]:
        """Where a pass is kept: each block when it ends, as the next changes what is known."""
        if self.kept is None:
            return nullcontext()
        (place, run), now = self.kept, circumstances(self.engine.model.device)
        about = {**run, "stage": stage}
        return Folder(place / stage, about, self._take, span=sys.maxsize, circumstances=now, every=0.0)

    def __add__(self, after: Self) -> Self:
        return after

    def to_arrays(self) -> Arrays:
        """What both passes know so far."""
        alone = {label: {**vars(of), "right": None} for label, of in self._alone.items()}
        clusters = {label: scored.clusters for label, scored in self._scored.items()}
        arrays = {
            "told": np.array(json.dumps([self.layers, self.heads, alone, clusters])),
            "right": np.array([of.right for of in self._alone.values()]),
        }
        for place, scored in enumerate(self._scored.values()):
            arrays |= {f"sums{place}": np.array(scored.sums), f"counts{place}": np.array(scored.counts)}
        for half, sample in enumerate(self._samples):
            arrays |= {f"sample{half}/{name}": array for name, array in sample.to_arrays().items()}
        return arrays

    def _take(self, arrays: Arrays) -> _CombineRun:
        """Go on from what `to_arrays` gave."""
        self.layers, self.heads, alone, clusters = json.loads(arrays["told"].item())
        for (label, of), right in zip(alone.items(), arrays["right"], strict=True):
            self._alone[label] = _LabelPairs(**{**of, "right": right})
        for place, (label, of) in enumerate(clusters.items()):
            sums, counts = (list(arrays[f"{name}{place}"]) for name in ("sums", "counts"))
            self._scored[label] = LabelScores(of, sums, counts)
        for half, sample in enumerate(self._samples):
            sample.take(under(arrays, f"sample{half}/"))
        return self

    def _block(
        self,
        batches: Iterable[Sequence[Example]],
        numbers: dict[int, int],
        work: PairWork,
        done: Callable[[int], None],
    ) -> None:
        for _, (answered, _, shape) in worked(batches, self.engine.run, done):
            self.layers, self.heads = shape
            while answered:  # the maps of a batch go before those of the next come
                one = answered.pop()
                cluster = numbers.pop(one.asked.number)
                apart, heads = self.apart, self.heads
                pairs_of = (
                    directed(one, self.directions, heads) if apart is None else undirected(one, apart, heads)
                )
                for pairs in pairs_of:
                    work(one.asked, pairs, cluster)

    def _half(self, cluster: int) -> int:
        """Put one of two clusters that follow each other in each half."""
        return int(np.random.default_rng([self.seed, cluster // 2]).integers(2)) ^ (cluster % 2)

    def choose(self, asked: AskedExample, pairs: CandidatePairs, cluster: int) -> None:
        """Add to the pairs that are fitted on, and to the scores of each head alone."""
        half = self._half(cluster)
        generator = np.random.default_rng([self.seed, 1, asked.number])
        self._samples[half].add(pairs, cluster, generator)
        for labels, sources in pairs.labelled():
            counted = sources[pairs.counts[sources]]
            if not len(counted):
                continue
            right, n = _alone(pairs, sources)
            links = b"" if pairs.far is None else b"%d " % asked.number + pairs.contacts(sources).tobytes()
            for label in labels:
                alone = self._alone.setdefault(label, _LabelPairs(np.zeros((2, len(right)))))
                alone.right[half] += right
                alone.n[half] += n
                alone.documents[half].append(cluster)
                alone.sources += len(counted)
                if links:
                    alone.links = hashlib.sha256(alone.links.encode() + links).hexdigest()

    def fit(self, least: int) -> None:
        """Choose and fit on both halves, for each label with enough sources. Raises `InputError` without any link."""
        labels = sorted({*self._alone} - {ALL}, key=lambda label: (-self._alone[label].sources, label))
        if not labels:
            apart = "" if self.apart is None else f" of units {self.apart} or more apart"
            raise InputError(f"corpus: expected at least one link{apart}, found none")
        same: dict[str, list[str]] = {}  # without direction several may be the same
        for label in labels:
            same.setdefault(self._alone[label].links or label, []).append(label)
        titles = {names[0]: ", ".join(names) for names in same.values()}
        self._titles = {ALL: ALL, **titles} if len(titles) > 1 else titles
        for label in self._titles:
            alone = self._alone[label]
            weights = self._weights[label] = np.full((2, len(SYSTEMS), alone.right.shape[1]), np.nan)
            if alone.sources < least or min(len({*documents}) for documents in alone.documents) < 2:
                scores = len(SOURCES) + (1 if self.apart is None else len(CONTACTS))
                none = np.full((len(SYSTEMS) + 1, scores), np.nan)
                self._scored[label] = LabelScores([0], [none], [np.full(scores, float(alone.sources))])
                continue
            self._scored[label], applied = LabelScores(), weights.copy()
            for half, sample in enumerate(self._samples):
                weights[half, :-1] = applied[half, :-1] = systems(alone.right[half] / alone.n[half])
                weights[half, -1], applied[half, -1] = fit(*sample.of(label), self.seed)
            self._fitted[label] = applied

    def score(self, asked: AskedExample, pairs: CandidatePairs, cluster: int) -> None:
        """Score an input by what the other half says."""
        other = 1 - self._half(cluster)
        for labels, sources in pairs.labelled():
            for label in labels:
                if label not in self._fitted or not pairs.counts[sources].any():
                    continue
                sums, counts = pairs.scores(self._fitted[label][other], sources)
                scored = self._scored[label]
                scored.clusters.append(cluster)
                scored.sums.append(np.concatenate([sums, pairs.chance(sources)[None]]))
                scored.counts.append(counts)

    def rows(self) -> dict[str, tuple[dict[str, Floats], Floats]]:
        """What `dataset` takes of each label."""
        rate = self.apart is None
        return {
            title: (self._scored[label].figures(rate=rate), self._weights[label])
            for label, title in self._titles.items()
        }


def _alone(
    pairs: CandidatePairs, sources: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> tuple[Floats, float]:
    """The sum of each feature's score by which heads are chosen, and what it is over."""
    features = pairs.features
    if (far := pairs.far) is not None:
        contacts = pairs.contacts(sources)
        return _chunked(features, lambda part: top_pairs(part, contacts, far)[:, 0]), 1.0
    counted = sources[pairs.counts[sources]]
    allowed, target = pairs.allowed[counted], pairs.target[counted]

    def work(part: Floats) -> Floats:
        values = part[:, pairs.row[counted]]
        some = (allowed & (values != 0)).any(-1)  # else the head chooses nothing, as in `headscope.links`
        return (likeliest(values, allowed, target) * some).sum(-1)

    return _chunked(features, work), float(len(counted))


def _chunked(features: Floats, work: Callable[[Floats], Floats]) -> Floats:
    return np.concatenate([work(features[at : at + _CHUNK]) for at in range(0, len(features), _CHUNK)])


def directed(answered: Answered, directions: Sequence[str], heads: int) -> Iterator[CandidatePairs]:
    """The sources of an input: all with both directions as features, or, where they are of two axes, each with its."""
    asked, maps = answered.asked.question, answered.looked
    sides = [[name] for name in directions] if asked.crossed else [list(directions)]
    for side in sides:
        reads: list[ReadDirection] = [asked.read[name] for name in DIRECTIONS if name in side]
        there = np.flatnonzero(reads[0].source >= 0)
        if not len(there):
            continue
        rows = reads[0].source[there]
        allowed = np.logical_or.reduce([mask[there] for read in reads for mask in read.allowed.values()])
        features = np.zeros((len(directions), len(maps), heads, *allowed.shape), np.float32)
        for place, name in enumerate(directions):
            if name in side:
                turned = maps if name == "row" else [of.swapaxes(1, 2) for of in maps]
                features[place] = by_layer((of[:, rows] for of in turned), heads, 0)
        yield CandidatePairs(
            [asked.labels[source] for source in there.tolist()],
            np.arange(len(there)),
            allowed,
            reads[0].target[there],
            allowed.any(1) & ~asked.bare[there],
            features.reshape(-1, *allowed.shape),
            bare=asked.bare[there],
            sure=reads[0].sure[there] if asked.aligned else None,
        )


def undirected(answered: Answered, apart: int, heads: int) -> Iterator[CandidatePairs]:
    """Each unit of an input as a source, for each label: linked with what links name at either end."""
    asked, maps = answered.asked.question, answered.looked
    if asked.crossed:
        raise InputError("symmetrise: expected links within one text, found links of cross-attention")
    axis, (read,) = asked.key, asked.read.values()
    kept = _kept(axis)
    allowed = (np.abs(kept[:, None] - kept) >= apart) | (axis.text[kept][:, None] != axis.text[kept])
    if not allowed.any():
        return
    labels: list[str] = []
    targets = [np.zeros((0, len(kept)), np.bool_)]
    for label in dict.fromkeys(asked.labels):
        linked = np.zeros((axis.size, axis.size), np.bool_)
        for source, name in enumerate(asked.labels):
            if name == label:
                unit = int(read.source[source])
                linked[axis.first[unit] : axis.last[unit] + 1] |= read.target[source, : axis.size]
        targets.append((linked | linked.T)[np.ix_(kept, kept)] & allowed)
        labels += [label] * len(kept)
    target = np.concatenate(targets)
    times = len(target) // len(kept)
    features = by_layer((symmetrised(of[:, kept][:, :, kept]) for of in maps), heads, 0).astype(
        np.float32, copy=False
    )
    yield CandidatePairs(
        labels,
        np.tile(np.arange(len(kept)), times),
        np.tile(allowed, (times, 1)),
        target,
        np.asarray(target.any(-1)),
        features.reshape(-1, *allowed.shape),
        np.triu(allowed),
    )


def _kept(axis: LinkAxis) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The axis' own units without special tokens."""
    special = axis.tokens.special_mask
    units = range(axis.size)
    if special is not None:
        units = [unit for unit in units if not special[axis.groups[unit]].any()]
    return np.array(units, np.int64)
