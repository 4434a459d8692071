"""Train probes on a treebank and score them on another."""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal, cast, get_args

import numpy as np
import torch
import xarray as xr

from headscope.analyses.probes.cache import Precision, Store
from headscope.analyses.probes.data import Data, batches
from headscope.analyses.probes.fit import Fitted
from headscope.analyses.probes.gather import (
    fill,
    heads_of,
    layers_of,
    maps_of,
    model_vectors,
    roots,
    states_of,
)
from headscope.analyses.probes.pairs import SPECIAL, AttentionProbe, DistanceProbe, PairProbe
from headscope.analyses.probes.results import Heads, Row, Structure, dataset
from headscope.analyses.probes.score import Edges, by_depths, by_distances
from headscope.analyses.probes.structural import TreeDepth, TreeDistance
from headscope.analyses.probes.training import P, predictions, trained
from headscope.analyses.probes.trees import Trees, behaviours
from headscope.analyses.probes.vectors import Vectors, read_vectors
from headscope.attention.load import load
from headscope.corpora import Corpus, Example
from headscope.errors import InputError
from headscope.models import Model
from headscope.stream.estimate import FEWER, RUN, ahead, disk_size, duration, peak_memory
from headscope.stream.long import described, examples, versions, weights
from headscope.stream.progress import bar
from headscope.stream.provenance import COMMAND
from headscope.tokens import IntArray

Kind = Literal[
    "right-branching", "distance+words", "reinitialised", "attention", "attention+words", "structural"
]
KINDS: tuple[str, ...] = get_args(Kind)
"""In the order of table 3."""

RATES = {"attention": 0.05, "attention+words": 0.001, "distance+words": 0.001, "structural": 0.002}
"""Adam's first rate for each kind."""

_NAMES = {"reinitialised": "attention+words, re-initialised"}
_SCALE_OF = 64


def probe(
    model: Model,
    train: Corpus | Iterable[Example],
    dev: Corpus | Iterable[Example],
    *,
    kinds: Sequence[str] = KINDS,
    vectors: str | os.PathLike[str] | None = None,
    seed: int = 0,
    epochs: int = 40,
    precision: Precision = "uint8",
    replicates: int = 1000,
    limit: int | None = None,
    resume: str | os.PathLike[str] | None = None,
    batch_size: int = 32,
    progress: bool = False,
) -> xr.Dataset:
    """Probes for dependency trees, trained on one treebank and scored on another (Clark et al. 2019, table 3).

    Args:
        model: from `headscope.load`. Of an encoder-decoder the encoder is asked.
        train: `headscope.corpora.conllu`, or examples with words, heads, relations and tokens. A tenth of the
            sentences, drawn by `seed`, is held out to tell when to stop.
        dev: the same, to score on.
        kinds: some of `KINDS`; docs/probes.md says what each is.
        vectors: a text file of GloVe or word2vec; None: the model's own input embeddings, averaged over pieces.
        seed: of the split, the orders, the first weights, the control task, the re-initialised model and the bootstrap.
        epochs: at most.
        precision: how maps are kept on disk: ``uint8`` (of √w), ``float16`` or ``float32``.
        replicates: of the bootstrap over the sentences of `dev`.
        limit: at most so many sentences of `train`.
        resume: a folder for what is kept on disk; a run that was killed goes on from there and ends with the same
            digits. None: a temporary folder that is removed afterwards.
        batch_size: sentences in a batch of the model, at most.
        progress: show progress and losses on stderr.

    Returns:
        See `headscope.analyses.probes.results.dataset`; `headscope.analyses.probes.results.table` makes a table of it.

    Raises:
        CorpusError: a broken treebank or file of vectors, with file and line; a sentence that is longer than the model
            takes.
        InputError: a folder of another run, or a disk that is too small.

    >>> trees = list(hs.corpora.builtin_trees().encoded(model))
    >>> scores = hs.probe(model, trees[:60], trees[60:80], kinds=["right-branching"])
    >>> scores["probe"].values.tolist()
    ['right-branching']
    """
    chosen = _kinds(kinds)
    for name, value in (("epochs", epochs), ("limit", limit), ("batch_size", batch_size)):
        if value is not None and value < 1:
            raise InputError(f"{name}: expected at least 1, found {value}")
    if precision not in get_args(Precision):
        raise InputError(f"precision: expected {', '.join(get_args(Precision))}, found {precision!r}")
    started = time.monotonic()
    with ExitStack() as stack:
        place = resume or stack.enter_context(tempfile.TemporaryDirectory(prefix="headscope-"))
        run = _Run(
            model,
            (_Side("train", train, limit), _Side("dev", dev, None)),
            vectors,
            seed,
            epochs,
            precision,
            batch_size,
            progress,
            _made(Path(place)),
            stack,
        )
        rows = [row for kind in chosen for row in run.rows(kind)]
        meta = described(model, train)
        scored = dev.name if isinstance(dev, Corpus) else "examples"
        meta["corpus"] |= {"scored_on": scored, "train": len(run.train.trees), "dev": len(run.dev.trees)}
        options = {"vectors": vectors, "epochs": epochs, "precision": precision, "limit": limit}
        meta["options"] = {name: str(value) for name, value in options.items() if value is not None}
        meta |= run.about | {
            "losses": run.losses,
            "command": COMMAND.get(),
            "seconds": round(time.monotonic() - started, 3),
        }
        return dataset(rows, run.dev.trees, seed=seed, replicates=replicates, meta=meta)


def _made(folder: Path) -> Path:
    """A folder, made where there is none."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be used ({error.strerror})") from None
    return folder


def _kinds(kinds: Sequence[str]) -> list[str]:
    asked = [kinds] if isinstance(kinds, str) else list(kinds)
    for kind in asked:
        if kind not in (*KINDS, "all"):
            raise InputError(f"kind: expected {', '.join(KINDS)} or all, found {kind!r}")
    return [kind for kind in KINDS if kind in asked or "all" in asked]


class _Side:
    """A treebank to train or to score on."""

    def __init__(self, name: str, source: Corpus | Iterable[Example], limit: int | None) -> None:
        self.name, self.limit = name, limit
        self.source: Corpus | list[Example] = source if isinstance(source, Corpus) else list(source)
        self.trees: Trees = cast(Trees, None)

    def read(self, vocabulary: dict[str, int]) -> None:
        """Its trees."""
        self.trees = Trees.read(islice(self.source, self.limit), vocabulary)

    def inputs(self, model: Model) -> Iterable[Example]:
        """Its sentences with their tokens."""
        return examples(model, self.source, self.limit)


@dataclass
class _Run:
    model: Model
    sides: tuple[_Side, _Side]
    vectors_file: str | os.PathLike[str] | None
    seed: int
    epochs: int
    precision: Precision
    batch_size: int
    progress: bool
    folder: Path
    stack: ExitStack
    about: dict[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        self.train, self.dev = self.sides
        self.vocabulary: dict[str, int] = {}
        for side in self.sides:
            side.read(self.vocabulary)
            if side is self.train:
                self.known = len(self.vocabulary)
        spelled = hashlib.sha256("\n".join(self.vocabulary).encode("utf-8", "surrogatepass")).hexdigest()[:16]
        self.identity: dict[str, Any] = {
            "forms": spelled,
            "versions": {key: each for key, each in versions().items() if key != "python"},
        }
        self.edges = Edges.of(self.dev.trees)
        self._maps: dict[bool, list[Data]] = {}
        self._checksum = weights(self.model)
        self.losses: dict[str, list[list[float]]] = {}
        self._vectors: tuple[Vectors, torch.Tensor] | None = None

    def rows(self, kind: str) -> list[Row]:
        """The rows of the table of one kind."""
        name = _NAMES.get(kind, kind)
        if kind == "right-branching":
            return [Row(name, Heads(self.dev.trees.right_branching()))]
        if kind == "structural":
            return self._structural()
        again = kind == "reinitialised"
        shape = "attention+words" if again else kind
        if shape == "distance+words":
            data = [Data(side.trees, device=self.model.device) for side in self.sides]
        else:
            data = self._attention(again)
        vectors, size = "", 0
        if shape != "attention":
            found, values = self._words()
            vectors, size = found.name, values.shape[1]
            data = [replace(each, vectors=values) for each in data]
        heads = data[0].heads

        def make() -> PairProbe:
            return DistanceProbe(size) if shape == "distance+words" else AttentionProbe(heads, size)

        own, fitted = self._fit(name, "gold", make, data[0], shape)
        control = behaviours(len(self.vocabulary), self.seed)
        tasks = [replace(each, trees=each.trees.control(control)) for each in data]
        other, _ = self._fit(name, "control", make, tasks[0], shape)
        numbers = sum(each.numel() for each in own.parameters())
        if isinstance(own, AttentionProbe) and not own.size:
            w, u = own.pair.detach().cpu().double().numpy().round(4).tolist()
            self.about["scalars"] = {"heads": [list(each) for each in self.heads], "w": w, "u": u}
        return [
            Row(
                name,
                Heads(predictions(own, data[1])),
                Heads(predictions(other, tasks[1]), tasks[1].trees.heads),
                vectors=vectors,
                fitted=fitted,
                parameters=numbers,
            )
        ]

    def _structural(self) -> list[Row]:
        """A row for the best layer, by the loss on held-out sentences of the training part, and one for each layer."""
        data = self._states()
        first = next(iter(self.train.inputs(self.model)))
        count, size = layers_of(self.model, first)
        found: list[tuple[float, Row]] = []
        for layer in range(count):
            one, two = (replace(each, layer=layer) for each in data)
            sample = one.batch(np.arange(min(_SCALE_OF, len(one.trees))))
            assert sample.states is not None
            scale = float(sample.states[sample.inside].square().mean().sqrt()) or 1.0
            name = f"structural, layer {layer}"
            near, fitted = self._fit(
                name, "distance", partial(TreeDistance, size, scale=scale), one, "structural"
            )
            deep, _ = self._fit(name, "depth", partial(TreeDepth, size, scale=scale), one, "structural")
            scored = self._structure(near, deep, two)
            numbers = sum(each.numel() for each in (*near.parameters(), *deep.parameters()))
            found.append((fitted.held_out, Row(name, scored, layer=layer, fitted=fitted, parameters=numbers)))
        best = min(found, key=lambda each: each[0])[1]
        return [replace(best, name="structural"), *(row for _, row in found)]

    def _structure(self, near: TreeDistance, deep: TreeDepth, data: Data) -> Structure:
        trees, count = data.trees, len(data.trees)
        edges = np.zeros(len(self.edges.sentences), np.bool_)
        rank, depth = np.zeros(count), np.zeros(count)
        root = np.zeros(count, np.bool_)
        with torch.no_grad():
            for sentences in batches(trees.lengths, np.arange(count)):
                batch = data.batch(sentences)
                far, low = (each(batch).double().cpu().numpy() for each in (near, deep))
                for place, number in enumerate(sentences):
                    words = trees.words(int(number))
                    size = words.stop - words.start
                    one, other = far[place, :size, :size], low[place, :size]
                    edges[self.edges.sentences == number] = self.edges.spanned(trees, int(number), one)
                    gold = trees.heads[words]
                    rank[number], depth[number] = by_distances(gold, one), by_depths(gold, other)
                    counted = np.where(trees.punct[words], np.inf, other)
                    root[number] = gold[counted.argmin()] < 0
        return Structure(edges, rank, depth, root)

    def _attention(self, again: bool) -> list[Data]:
        """Both treebanks with maps: those of the model, or of the model re-initialised but for its embeddings."""
        if again not in self._maps:
            model = load(self.model, untrained=self.seed, keep="embeddings") if again else self.model
            first = next(iter(self.train.inputs(model)))
            self.heads = heads_of(model, first)
            total = sum(number for _, number in self.heads)
            checksum = weights(model) if again else self._checksum
            assert first.tokens is not None
            self.about["root"] = list(roots(first.tokens)[1])
            found: list[Data] = []
            for side in self.sides:
                sizes = side.trees.lengths * (side.trees.lengths + SPECIAL) * total
                name = f"maps-{side.name}{f'-reinitialised-{self.seed}' if again else ''}"
                store = self._store(side, name, sizes, self.precision, checksum)
                self._fill(store, side, model, maps_of(model, self.heads, self.precision), name)
                found.append(Data(side.trees, maps=store, heads=total, device=self.model.device))
            self._maps[again] = found
        return self._maps[again]

    def _states(self) -> list[Data]:
        found: list[Data] = []
        layers, size = layers_of(self.model, next(iter(self.train.inputs(self.model))))
        for side in self.sides:
            name = f"states-{side.name}"
            store = self._store(side, name, side.trees.lengths * layers * size, "float16", self._checksum)
            self._fill(store, side, self.model, states_of(self.model), name)
            found.append(Data(side.trees, states=store, size=size, device=self.model.device))
        return found

    def _store(self, side: _Side, name: str, sizes: IntArray, precision: Precision, checksum: str) -> Store:
        identity = self.identity | {"model": checksum, "treebank": side.trees.fingerprint()}
        return self.stack.enter_context(Store(self.folder, name, sizes, precision, identity))

    def _fill(self, store: Store, side: _Side, model: Model, work: Any, name: str) -> None:
        if store.done == len(store):
            return
        with bar([], len(store), self.progress, f"{name} ({store.nbytes / 1e6:,.0f} MB on disk)") as done:
            fill(store, side.inputs(model), work, batch_size=self.batch_size, done=done)

    def _words(self) -> tuple[Vectors, torch.Tensor]:
        if self._vectors is None:
            if self.vectors_file is None:
                found = model_vectors(self.model, self.vocabulary)
            else:
                found = read_vectors(Path(self.vectors_file), self.vocabulary)
            values = torch.as_tensor(found.standardised(self.known), device=self.model.device)
            forms = np.concatenate([side.trees.forms for side in self.sides])
            self.about["vectors"] = {
                "name": found.name,
                "size": values.shape[1],
                "share of words without": round(1.0 - float(found.known[forms].mean()), 4),
            }
            self._vectors = found, values
        return self._vectors

    def _fit(self, name: str, task: str, make: Callable[[], P], data: Data, shape: str) -> tuple[P, Fitted]:
        """A trained probe."""
        identity = self.identity | {"model": self._checksum, "precision": self.precision}
        title = name if task == "gold" else f"{name}, {task}"
        found = trained(
            make,
            data,
            self.folder / f"{name.replace(', ', '-').replace(' ', '-')}-{task}-{self.seed}.safetensors",
            identity | {"probe": name, "task": task},
            rate=RATES[shape],
            seed=self.seed,
            epochs=self.epochs,
            title=title,
            progress=self.progress,
        )
        self.losses[title] = [[round(one, 5), round(other, 5)] for one, other in found[1].losses]
        return found


def estimate(
    model: Model,
    train: Corpus,
    dev: Corpus,
    *,
    epochs: int = 40,
    limit: int | None = None,
    **options: Any,
) -> str:
    """One line that says what `headscope.probe` will take with these options at most, with its disk.

    Vectors of words are taken to be the model's own: reading a file of others is not in the time.
    """

    sides = [ahead(train, train.encoded(model), limit), ahead(dev, dev.encoded(model), None)]
    samples = [side.sample[:: max(1, len(side.sample) // RUN)][:RUN] for side in sides]

    def timed(folder: str, epochs: int, size: int = RUN) -> float:
        started = time.perf_counter()
        probe(model, *(sample[:size] for sample in samples), epochs=epochs, resume=folder, **options)
        return time.perf_counter() - started

    with tempfile.TemporaryDirectory(prefix="headscope-") as folder:
        timed(f"{folder}/first", 1, FEWER)
        first, second, last = (timed(f"{folder}/all", count) for count in (1, 2, 2))
        disk = sum(path.stat().st_size for path in Path(folder, "all").glob("*.bin"))
    factor = sum(side.inputs for side in sides) / sum(map(len, samples))
    epoch = max(second - last, 0.0)
    seconds = factor * (max(first - second, 0.0) + epochs * epoch + last)
    train_on, score_on = (side.told("sentence") for side in sides)
    return (
        f"{train_on} to train on, {score_on} to score on: at most about {duration(seconds)} on {model.device} "
        f"({epochs} epochs; training stops when it no longer helps), {peak_memory(model) / 1e9:.1f} GB of memory and "
        f"{disk_size(disk * factor)} on disk"
    )
