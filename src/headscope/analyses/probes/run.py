"""Train probes on a treebank and score them on another."""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, Unpack, get_args

import numpy as np
import torch
import xarray as xr

from headscope.analyses.options import Resumed, with_options
from headscope.analyses.probes import gather, statistics
from headscope.analyses.probes.cache import Precision, Store
from headscope.analyses.probes.fit import Data, Fitted, P, outputs, predictions, trained
from headscope.analyses.probes.gather import read_vectors
from headscope.analyses.probes.modules import (
    SPECIAL,
    AttentionProbe,
    DistanceProbe,
    PairProbe,
    TreeDepth,
    TreeDistance,
)
from headscope.analyses.probes.trees import Trees, behaviours
from headscope.analyses.result import returns_result
from headscope.attention.load import load
from headscope.core.arrays import Ints
from headscope.core.types import AnyDict, AnyPath
from headscope.core.validation import Count, Seed
from headscope.corpora import Corpus, Example
from headscope.corpora.given import AnnotatedCorpus
from headscope.errors import InputError
from headscope.models import Model
from headscope.runs.batches import examples
from headscope.runs.engines import engine_of
from headscope.runs.estimate import (
    FEWER,
    RUN,
    Estimate,
    Inputs,
    ahead,
    disk_size,
    duration,
    peak_memory,
    threads,
    unwatched,
    where,
)
from headscope.runs.identity import versions, weights
from headscope.runs.long import described
from headscope.runs.options import COMMAND, RunOptions
from headscope.runs.progress import bar

Kind = Literal[
    "right-branching", "distance+words", "reinitialised", "attention", "attention+words", "structural"
]
KINDS: tuple[str, ...] = get_args(Kind)
"""The probes in the order of table 3."""

RATES = {"attention": 0.05, "attention+words": 0.001, "distance+words": 0.001, "structural": 0.002}
"""Adam's first rate for each kind."""

_NAMES = {"reinitialised": "attention+words, re-initialised"}
_SCALE_OF = 64


@returns_result
@with_options()
def probe(
    model: Model,
    train: AnnotatedCorpus | Iterable[Example],
    dev: AnnotatedCorpus | Iterable[Example],
    *,
    kinds: Sequence[str] = KINDS,
    vectors: AnyPath | None = None,
    seed: Seed = 0,
    epochs: Count = 40,
    precision: Precision = "uint8",
    **options: Unpack[Resumed],
) -> xr.Dataset:
    """Probes for dependency trees, trained on one treebank and scored on another (Clark et al. 2019, table 3).

    Args:
        model: from `headscope.load`. Of an encoder-decoder, the encoder is measured.
        train: `headscope.corpora.conllu`, or examples with words, heads, relations and tokens. A tenth of the
            sentences, drawn by `seed`, is held out to decide when to stop.
        dev: the same, to score on.
        kinds: which probes; by default all. They are `KINDS`; docs/probes.md says what each is.
        vectors: a text file of vectors of words, GloVe or word2vec; by default the model's own input embeddings,
            averaged over pieces.
        seed: of the split, the orders, the first weights, the control task, the re-initialised model.
        epochs: at most; training stops when it no longer helps.
        precision: how maps are kept on disk: ``uint8`` (of √w), ``float16`` or ``float32``.
        batch_size: sentences in a batch of the model, at most; long ones come in fewer.
        limit: use at most this many sentences of `train`.
        resume: a folder for what is kept on disk; an interrupted run continues from there and ends with the same
            digits. None: a temporary folder that is removed afterwards.
        engine: as in `headscope.measure`: where the model runs; probes are trained here.

    Returns:
        See `headscope.analyses.probes.statistics.dataset`; `headscope.table` makes a table of it.

    Raises:
        CorpusError: a broken treebank or file of vectors, with file and line; a sentence that is longer than the model
            takes.
        InputError: a folder of another run, or a disk that is too small.

    >>> trees = list(hs.corpora.builtin_trees().encoded(model))
    >>> scores = hs.probe(model, trees[:60], trees[60:80], kinds=["right-branching"])
    >>> scores["probe"].values.tolist()
    ['right-branching']
    """
    kinds = _kinds(kinds)
    if vectors is not None and not os.path.isfile(vectors):
        raise InputError(f"vectors: expected a file of word vectors, found none at {os.fspath(vectors)}")
    through = RunOptions(**options)
    started = time.monotonic()
    with ExitStack() as stack:
        folder = Path(through.resume or stack.enter_context(tempfile.TemporaryDirectory(prefix="headscope-")))
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{folder}: cannot be used ({error.strerror})") from None
        vocabulary: dict[str, int] = {}
        sides = (
            _ProbeTreebank(model, "train", train, through.limit, vocabulary),
            _ProbeTreebank(model, "dev", dev, None, vocabulary),
        )
        through = replace(through, engine=stack.enter_context(engine_of(through.engine)))
        run = _ProbeRun(model, sides, vocabulary, vectors, seed, epochs, precision, through, folder, stack)
        if vectors is not None:
            run.expect_vectors()
        rows = [row for kind in kinds for row in run.rows(kind)]
        meta, of_dev = described(model, train), described(model, dev)
        if isinstance(dev, Corpus):
            meta["broken"] = [*meta.get("broken", ()), *of_dev["broken"]]
        scored = dev.name if isinstance(dev, Corpus) else "examples"
        for side in sides:
            if side.read is not None:
                meta["corpus"][f"unknown_{side.name}"] = dict(side.read.counts())
        meta["corpus"] |= {"scored_on": scored, **{side.name: len(side.trees) for side in sides}}
        asked = {"vectors": vectors, "epochs": epochs, "precision": precision, "limit": through.limit}
        meta["options"] = {name: str(value) for name, value in asked.items() if value is not None}
        meta |= {**run.about, "losses": run.losses, "command": COMMAND.get()}
        meta["seconds"] = round(time.monotonic() - started, 3)
        return statistics.dataset(rows, run.dev.trees, seed=seed, meta=meta)


def _kinds(kinds: Sequence[str]) -> list[str]:
    asked = [kinds] if isinstance(kinds, str) else list(kinds)
    if not asked:
        raise InputError(f"kinds: expected some of {', '.join(KINDS)} or all, found none")
    for kind in asked:
        if kind not in (*KINDS, "all"):
            raise InputError(f"kind: expected {', '.join(KINDS)} or all, found {kind!r}")
    return [kind for kind in KINDS if kind in asked or "all" in asked]


class _ProbeTreebank:
    """A treebank to train or to score on. New forms of its words are added to the vocabulary."""

    def __init__(
        self,
        model: Model,
        name: str,
        source: Corpus | Iterable[Example],
        limit: int | None,
        vocabulary: dict[str, int],
    ) -> None:
        self.name, self._limit = name, limit
        self._source = source if isinstance(source, Corpus) else list(source)
        self.trees = Trees.read(self.inputs(model), vocabulary)
        self.forms = len(vocabulary)
        self.read: Inputs | None = None

    def inputs(self, model: Model) -> Inputs:
        """Its sentences with their tokens."""
        return examples(model, self._source, self._limit)


@dataclass
class _ProbeRun:
    """One run: probes are made kind by kind, what several of them read once.

    Attributes:
        about: what the description of the run says of it.
        losses: of each probe, epoch by epoch.
    """

    model: Model
    sides: tuple[_ProbeTreebank, _ProbeTreebank]
    vocabulary: dict[str, int]
    vectors_file: AnyPath | None
    seed: int
    epochs: int
    precision: Precision
    options: RunOptions
    folder: Path
    stack: ExitStack
    about: AnyDict = field(default_factory=AnyDict)
    losses: dict[str, list[list[float]]] = field(default_factory=dict[str, list[list[float]]])

    def __post_init__(self) -> None:
        self.train, self.dev = self.sides
        forms = "\n".join(self.vocabulary).encode("utf-8", "surrogatepass")
        self._identity: AnyDict = {
            "forms": hashlib.sha256(forms).hexdigest()[:16],
            "versions": {key: version for key, version in versions().items() if key != "python"},
            "model": weights(self.model),
        }
        self._edges = statistics.Edges.of(self.dev.trees)
        self._maps: dict[bool, list[Data]] = {}

    def rows(self, kind: str) -> list[statistics.Row]:
        """The rows of the table of one kind."""
        name = _NAMES.get(kind, kind)
        if kind == "right-branching":
            return [statistics.Row(name, statistics.Heads(self.dev.trees.right_branching()))]
        if kind == "structural":
            return self._structural()
        reinitialised = kind == "reinitialised"
        shape = "attention+words" if reinitialised else kind
        if shape == "distance+words":
            data = [Data(side.trees, device=self.model.device) for side in self.sides]
        else:
            data = self._attention(reinitialised)
        vectors, size = "", 0
        if shape != "attention":
            vectors, values = self._words
            size = values.shape[1]
            data = [replace(treebank, vectors=values) for treebank in data]
        heads = data[0].heads

        def make() -> PairProbe:
            return DistanceProbe(size) if shape == "distance+words" else AttentionProbe(heads, size)

        control = behaviours(len(self.vocabulary), self.seed)
        tasks = [replace(treebank, trees=treebank.trees.control(control)) for treebank in data]
        probe, fitted = self._fit(name, "gold", make, data[0], shape)
        scored, parameters = statistics.Heads(predictions(probe, data[1])), _size(probe)
        if isinstance(probe, AttentionProbe) and not probe.size:
            w, u = probe.pair.detach().cpu().double().numpy().round(4).tolist()
            self.about["scalars"] = {"heads": [list(head) for head in self._heads], "w": w, "u": u}
        del probe  # not two at a time
        learner, _ = self._fit(name, "control", make, tasks[0], shape)
        return [
            statistics.Row(
                name,
                scored,
                statistics.Heads(predictions(learner, tasks[1]), tasks[1].trees.heads),
                vectors=vectors,
                training=fitted.figures(),
                parameters=parameters,
            )
        ]

    def _structural(self) -> list[statistics.Row]:
        """A row for the best layer, by the loss on held-out sentences of the training part, and one for each layer."""
        count, size = gather.layers_of(self.model, next(iter(self.train.inputs(self.model))))
        stores = self._stores(
            "states",
            lambda trees: trees.lengths * count * size,
            "float16",
            self.model,
            gather.states_of(self.model),
        )
        rows: list[statistics.Row] = []
        for layer in range(count):
            train, dev = (
                Data(side.trees, states=store, layer=layer, size=size, device=self.model.device)
                for side, store in zip(self.sides, stores, strict=True)
            )
            sample = train.batch(np.arange(min(_SCALE_OF, len(train.trees))))
            assert sample.states is not None
            scale = float(sample.states[sample.inside].square().mean().sqrt()) or 1.0
            name = f"structural, layer {layer}"
            near, fitted = self._fit(
                name, "distance", partial(TreeDistance, size, scale=scale), train, "structural"
            )
            deep, _ = self._fit(name, "depth", partial(TreeDepth, size, scale=scale), train, "structural")
            scored, training = self._structure(near, deep, dev), fitted.figures()
            rows.append(
                statistics.Row(name, scored, layer=layer, training=training, parameters=_size(near, deep))
            )
        best = min(rows, key=lambda row: row.training["held_out"])
        return [replace(best, name="structural"), *rows]

    def _structure(self, near: TreeDistance, deep: TreeDepth, data: Data) -> statistics.Structure:
        trees, count = data.trees, len(data.trees)
        edges, root = np.zeros(len(self._edges.sentences), np.bool_), np.zeros(count, np.bool_)
        rank, depth = np.zeros(count), np.zeros(count)
        for number, (far, low) in outputs(data, near, deep):
            words = trees.words(number)
            gold = trees.heads[words]
            far, low = (
                distances.astype(np.float64)
                for distances in (far[: len(gold), : len(gold)], low[: len(gold)])
            )
            edges[self._edges.sentences == number] = self._edges.spanned(trees, number, far)
            rank[number], depth[number] = statistics.by_distances(gold, far), statistics.by_depths(gold, low)
            root[number] = gold[np.where(trees.punct[words], np.inf, low).argmin()] < 0
        return statistics.Structure(edges, rank, depth, root)

    def _attention(self, reinitialised: bool) -> list[Data]:
        """Both treebanks with maps: those of the model, or of the model re-initialised but for its embeddings."""
        if reinitialised not in self._maps:
            model = load(self.model, untrained=self.seed, keep="embeddings") if reinitialised else self.model
            first = next(iter(self.train.inputs(model)))
            self._heads = gather.heads_of(model, first)
            total = sum(number for _, number in self._heads)
            assert first.tokens is not None
            self.about["root"] = list(gather.roots(first.tokens)[1])
            stores = self._stores(
                "maps",
                lambda trees: trees.lengths * (trees.lengths + SPECIAL) * total,
                self.precision,
                model,
                gather.maps_of(model, self._heads, self.precision),
                f"-reinitialised-{self.seed}" if reinitialised else "",
            )
            self._maps[reinitialised] = [
                Data(side.trees, maps=store, heads=total, device=self.model.device)
                for side, store in zip(self.sides, stores, strict=True)
            ]
        return self._maps[reinitialised]

    def _stores(
        self,
        what: str,
        sizes: Callable[[Trees], Ints],
        precision: Precision,
        model: Model,
        work: gather.Work,
        suffix: str = "",
    ) -> list[Store]:
        """What is read of a model, for both treebanks."""
        stores: list[Store] = []
        model_weights = self._identity["model"] if model is self.model else weights(model)
        for side in self.sides:
            name = f"{what}-{side.name}{suffix}"
            identity = {**self._identity, "model": model_weights, "treebank": side.trees.fingerprint()}
            store = Store(self.folder, name, sizes(side.trees), precision, identity)
            self.stack.callback(store.close)
            side.read = side.inputs(model)
            if store.done == len(store):
                for _ in side.read:  # their pieces are counted
                    pass
            else:
                title = f"{name} ({store.nbytes / 1e6:,.0f} MB on disk)"
                with bar([], len(store), self.options.progress, title) as shown:
                    gather.fill(store, side.read, model, work, self.options, shown)
            stores.append(store)
        return stores

    def expect_vectors(self) -> None:
        """Read the file of vectors: one that is broken is told before the model runs."""
        _ = self._words

    @cached_property
    def _words(self) -> tuple[str, torch.Tensor]:
        """Where the words' vectors are from, and those of each form."""
        if self.vectors_file is None:
            vectors = gather.model_vectors(self.model, self.vocabulary)
        else:
            vectors = read_vectors(Path(self.vectors_file), self.vocabulary)
        values = torch.as_tensor(vectors.standardised(self.train.forms), device=self.model.device)
        forms = np.concatenate([side.trees.forms for side in self.sides])
        self.about["vectors"] = {
            "name": vectors.name,
            "size": values.shape[1],
            "share of words without": round(1.0 - float(vectors.known[forms].mean()), 4),
        }
        return vectors.name, values

    def _fit(self, name: str, task: str, make: Callable[[], P], data: Data, shape: str) -> tuple[P, Fitted]:
        """A trained probe."""
        title = name if task == "gold" else f"{name}, {task}"
        file = f"{name.replace(', ', '-').replace(' ', '-')}-{task}-{self.seed}.safetensors"
        probe, fitted = trained(
            make,
            data,
            self.folder / file if self.options.resume else None,
            self._identity | {"precision": self.precision, "probe": name, "task": task},
            rate=RATES[shape],
            seed=self.seed,
            epochs=self.epochs,
            title=title,
            progress=self.options.progress,
        )
        self.losses[title] = [[round(loss, 5), round(held_out, 5)] for loss, held_out in fitted.losses]
        fitted.arrays = {}  # of use to go on alone
        return probe, fitted


def _size(*probes: torch.nn.Module) -> int:
    return sum(parameter.numel() for probe in probes for parameter in probe.parameters())


def estimate(
    model: Model,
    train: Corpus,
    dev: Corpus,
    *,
    epochs: int = 40,
    limit: int | None = None,
    engine: Any = None,
    **options: Any,
) -> str:
    """One line that says what `headscope.probe` will take with these options at most, with its disk.

    The time assumes the model's own vectors of words, not a file of others.
    """
    workers = engine_of(engine)
    sides = [ahead(train, train.encoded(model), limit), ahead(dev, dev.encoded(model), None)]
    samples = [side.sample[:: max(1, len(side.sample) // RUN)][:RUN] for side in sides]

    def timed(folder: str, epochs: int, size: int = RUN) -> float:
        started = time.perf_counter()
        with unwatched(), threads(workers.threads):
            probe(model, *(sample[:size] for sample in samples), epochs=epochs, resume=folder, **options)
        return time.perf_counter() - started

    with tempfile.TemporaryDirectory(prefix="headscope-") as folder:
        timed(f"{folder}/first", 1, FEWER)
        first, second, last = (timed(f"{folder}/all", count) for count in (1, 2, 2))
        kept = (path for what in ("maps", "states") for path in Path(folder, "all").glob(f"{what}-*"))
        disk = sum(path.stat().st_size for path in kept)
    factor = sum(side.inputs for side in sides) / sum(map(len, samples))
    epoch = max(second - last, 0.0)
    seconds = factor * (max(first - second, 0.0) / workers.workers + epochs * epoch + last)
    train_on, score_on = (side.text("sentence") for side in sides)
    memory = peak_memory(model)
    text = (
        f"{train_on} to train on, {score_on} to score on: at most about {duration(seconds)} {where(model, workers)} "
        f"({epochs} epochs; training stops when it no longer helps), {memory / 1e9:.1f} GB of memory and "
        f"{disk_size(disk * factor)} on disk"
    )
    return Estimate(text, seconds, memory)
